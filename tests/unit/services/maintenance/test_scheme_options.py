"""Options of the scheme web in a store: metadata as features, other packages, other versions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from stores import create, raw, rows

from simstore.errors import MissingExtra, SchemeMismatch
from simstore.model import Document
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store
from simstore.text import folding, segmentation, stemming

FIELD = SchemeChoice("web", fields=("lang:enum:en,fr,zh:40",))
TEXT = "The harbour was quiet; the boats came in."


def fingerprint(store: Store, key: str) -> str | None:
    return store.get(key).fingerprint


def document(key: str, lang: str | None) -> dict[str, Any]:
    return {"key": key, "text": TEXT, "metadata": {} if lang is None else {"lang": lang, "n": 1}}


def test_change_of_the_field_alone_changes_the_fingerprint(tmp_path: Path) -> None:
    with create(tmp_path, FIELD) as store:
        store.add_many([document("a", "en"), document("b", "zh")], threads=1)
        before = fingerprint(store, "a")
        assert store.add("a", TEXT, metadata={"lang": "zh"}) == "updated"
        assert fingerprint(store, "a") == fingerprint(store, "b") != before
        assert {one.term: one.document_count for one in store.vocabulary.terms()}["lang=zh"] == 2
        assert store.maintenance.fsck() == []
        assert store.add("a", TEXT, metadata={"lang": "en", "n": 1}) == "updated"
        assert fingerprint(store, "a") == before
        store.remove("a")
        assert store.maintenance.fsck() == []


def test_reindex_reads_the_stored_metadata(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add_many([document("a", "en"), document("b", "zh"), document("c", None)], threads=1)
        assert len({fingerprint(store, key) for key in "abc"}) == 1
        store.maintenance.reindex(FIELD)
        made = [fingerprint(store, key) for key in "abc"]
        assert len(set(made)) == 3
        store.maintenance.reindex(None)
        assert [fingerprint(store, key) for key in "abc"] == made
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize(
    ("choice", "name", "package"),
    [
        (SchemeChoice("web", stem="english"), "stemmer", "snowballstemmer"),
        (SchemeChoice("web", segmenter="min-cut"), "dictionary", "rjieba"),
        (SchemeChoice("web", han="simplified"), "opencc", "OpenCC"),
    ],
)
def test_store_made_with_another_version_is_refused_only_where_answers_differ(
    tmp_path: Path, choice: SchemeChoice, name: str, package: str
) -> None:
    create(tmp_path, choice).close()
    ((text, answers),) = rows(tmp_path, "SELECT parameters, known_answers FROM scheme")
    parameters = json.loads(text)
    holder = parameters["normalization"] if name == "opencc" else parameters
    holder[name] = "0.9" if name == "opencc" else f"{package} 0.9"

    def write(column: str, value: object) -> None:
        with raw(tmp_path) as connection:
            connection.execute(f"UPDATE scheme SET {column} = ?", (json.dumps(value),))

    write("parameters", parameters)
    with Store.open(tmp_path / "s.db") as store:
        store.add("a", TEXT)
    write("known_answers", ["f" * 16, *json.loads(answers)[1:]])
    with Store.open(tmp_path / "s.db") as store:
        with pytest.raises(SchemeMismatch, match=f"made with {package} 0.9, here is {package} "):
            store.query(TEXT)
        store.maintenance.reindex(choice)
        assert store.query(TEXT)
        assert store.maintenance.fsck() == []


def test_a_field_does_not_make_a_short_text_long(tmp_path: Path) -> None:
    seven = "one two three four five six seven"
    with create(tmp_path, FIELD) as store:
        store.add("a", seven, metadata={"lang": "fr"})
        assert store.get("a").token_count == 7
        sample = Document("s", "alpha beta gamma delta five six seven", metadata={"lang": "fr"})
        (result,) = store.query_many([sample])
        assert (result.too_short, result.matches) == (True, ())
        (copy,) = store.query_many([Document("s", seven, metadata={"lang": "fr"})])
        assert [match.key for match in copy.matches] == ["a"]


@pytest.mark.parametrize(
    ("choice", "module", "extra"),
    [
        (SchemeChoice("web", stem="english"), "snowballstemmer", "stem"),
        (SchemeChoice("web", han="simplified"), "opencc", "han"),
    ],
)
def test_store_whose_package_is_missing_here_is_not_called_damaged(
    tmp_path: Path, choice: SchemeChoice, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(tmp_path, choice).close()
    monkeypatch.setitem(sys.modules, module, None)
    for cached in (folding, segmentation, stemming):
        for made in vars(cached).values():
            if hasattr(made, "cache_clear"):
                made.cache_clear()
    with Store.open(tmp_path / "s.db") as store:
        for ask in (lambda: store.query(TEXT), store.maintenance.fsck, store.stats):
            with pytest.raises(MissingExtra, match=rf"extra '{extra}'"):
                ask()
