"""The views for people show documents, duplicates and clusters as the program lists them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from postgres_places import is_on_server, raw_store

from simstore import Document, Store

WORDS = ("harbour", "dawn", "tide", "boat", "wind", "rope", "net", "gull", "quay", "salt", "mast")


def shown(path: Path, name: str) -> list[dict[str, Any]]:
    with raw_store(path) as connection:
        cursor = connection.execute(f"SELECT * FROM {name}")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def near_texts(source: random.Random, count: int) -> list[tuple[str, str]]:
    """Return texts of which many are alike, some in chains, some the same."""
    made: list[tuple[str, str]] = []
    for number in range(count):
        words = source.choices(WORDS, k=40)
        if made and source.random() < 0.7:
            words = source.choice(made)[1].split()
            for _ in range(source.randrange(4)):
                words[source.randrange(40)] = source.choice(WORDS)
        made.append((f"k{source.randrange(10**6)}-{number}", " ".join(words)))
    return made


def listed(store: Store) -> list[tuple[Any, ...]]:
    return sorted(
        (cluster.cluster_id, member.key, cluster.key, member.key == cluster.key, member.resemblance)
        for cluster in store.clusters.list()
        for member in cluster.members
    )


def viewed(path: Path) -> list[tuple[Any, ...]]:
    names = ("cluster_id", "key", "canonical_key", "is_canonical", "resemblance")
    rows = shown(path, "clusters")
    sizes: dict[int, int] = {}
    for row in rows:
        sizes[row["cluster_id"]] = sizes.get(row["cluster_id"], 0) + 1
    assert all(row["size"] == sizes[row["cluster_id"]] > 1 for row in rows)
    return sorted(tuple(row[name] for name in names) for row in rows)


def cut(rows: list[tuple[Any, ...]], columns: int | None) -> list[tuple[Any, ...]]:
    return [row[:columns] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["first", "longest", "prefer:^k1"])
def test_clusters_are_those_that_the_program_lists(tmp_path: Path, policy: str) -> None:
    path, source = tmp_path / "s.db", random.Random(policy)
    texts = near_texts(source, 120)
    with Store.create(path) as store:
        store.add_many(texts[:80], threads=1)
        assert shown(path, "clusters") == []
        store.clusters.build(policy=policy)
        assert viewed(path) == listed(store)
        assert len(viewed(path)) > 20
        store.add_many(texts[80:], threads=1)
        store.clusters.build()
        assert viewed(path) == listed(store)
        # Not brought up to date: canonical documents go, copies of texts come.
        gone = {row[2] for row in viewed(path)[::9]}
        store.remove(sorted(gone))
        store.add_many([(f"a{key}", text) for key, text in texts[::11]], threads=1)
        # Of what is left the view cannot tell by a pattern which document is canonical.
        members = 2 if policy.startswith("prefer") else None
        assert cut(viewed(path), members) == cut(listed(store), members)
        store.clusters.build()
        assert viewed(path) == listed(store)


def test_documents_have_their_keys_as_text_and_what_is_known_of_them(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    keys = ["plain", "码头 é", "odd \udcff\udce4 name", "a ' \" % : | b", "\U0001f6a2", "~", "\x7f"]
    with Store.create(path) as store:
        for number, key in enumerate(keys):
            store.add(key, f"text {number} of the harbour", title="T", metadata={"n": number})
        rows = shown(path, "documents")
        assert [row["document_id"] for row in rows] == sorted(row["document_id"] for row in rows)
        odd = "odd \\377\\344 name" if is_on_server(path) else "odd \ufffd\ufffd name"
        assert [row["key"] for row in rows] == [odd if "odd" in key else key for key in keys]
        for row, key in zip(rows, keys, strict=True):
            found = store.get(key)
            assert (row["title"], row["collection"], row["source"]) == ("T", None, None)
            assert row["first_seen"] == found.first_seen
            assert len(row["digest"]) == 32


def test_duplicates_are_those_that_the_program_lists(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    text = "The harbour was quiet at dawn, and the first boats came in with the tide."
    with Store.create(path) as store:
        store.add_many(
            [Document("one", text), Document("码头", text)], on_duplicate="skip", threads=1
        )
        store.add_many([Document("three", text)], on_duplicate="flag", threads=1)
        found = [
            (one.key, one.original, one.state, one.resemblance, one.basis)
            for one in store.duplicates.list()
        ]
    rows = shown(path, "duplicates")
    names = ("key", "original_key", "state", "resemblance", "basis")
    assert sorted(tuple(row[name] for name in names) for row in rows) == sorted(found)
    assert len(found) == 2
    assert {row["state"]: row["document_id"] is None for row in rows} == {
        "skipped": True,
        "flagged": False,
    }
