"""Clusters and duplicates go by characters where that is asked for, and then not of titles."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from stores import create

from simstore.errors import NotFound
from simstore.services.ingest.options import IngestOptions
from simstore.store import Store

ALL = ("simhash", "minhash", "characters")
BY = ("characters",)
TITLES = {
    "one": "Chapter 1 of the harbourmaster's memoirs",
    "two": "Chapter 2 of the harbourmaster's memoirs",
    "misspelt": "Chapter 1 of the harbourmaster's memcirs",
}


def text_of(seed: int, count: int = 80) -> str:
    drawn = random.Random(seed)
    return " ".join(
        "".join(drawn.choices("abcdefghijklmnop", k=drawn.randint(4, 9))) for _ in range(count)
    )


def scanned(text: str, share: float, seed: int) -> str:
    drawn = random.Random(seed)
    return "".join("z" if c != " " and drawn.random() < share else c for c in text)


# Of each text its scans: 4 % of the letters are wrong.
SCANS = {
    f"{number}/{copy}": text if copy == 0 else scanned(text, 0.04, 10 * number + copy)
    for number, text in enumerate(map(text_of, range(12)))
    for copy in range(3)
}


def filled(tmp_path: Path, texts: dict[str, str], **options: Any) -> Store:
    store = create(tmp_path, **{"channels": ALL} | options)
    store.add_many(texts, threads=1)
    return store


def groups(store: Store, **options: Any) -> list[list[str]]:
    return [sorted(m.key for m in one.members) for one in store.clusters.once(**options)]


def test_scans_of_a_text_are_one_cluster_by_characters_alone(tmp_path: Path) -> None:
    expected = [[f"{number}/{copy}" for copy in range(3)] for number in range(12)]
    with filled(tmp_path, SCANS) as store:
        assert groups(store, channels=BY) == expected
        store.maintenance.compact()
        assert groups(store, channels=BY) == expected
        assert groups(store, channels=BY, exact_join=True) == expected
        assert groups(store, min_resemblance=0.5) == []
        assert groups(store, channels=("minhash",), min_resemblance=0.5) == []
        assert store.clusters.build().cluster_count == 0


def test_a_store_without_texts_goes_by_the_estimate(tmp_path: Path) -> None:
    with filled(tmp_path, SCANS, text=False) as store:
        found = store.clusters.once(channels=BY, min_resemblance=0.4)
        assert (found.basis, len(found.clusters)) == ("sketch", 12)
        assert found.least.resemblance == 0.4
        copy = scanned(SCANS["3/0"], 0.04, 99)
        outcome = store.add("again", copy, on_duplicate="flag", channels=BY, min_resemblance=0.4)
        assert outcome == "flagged"
        with pytest.raises(NotFound, match="no texts for the exact join"):
            store.clusters.once(channels=BY, exact_join=True)


def test_titles_are_acted_on_only_where_that_is_asked_for(tmp_path: Path) -> None:
    options = {"channels": BY}
    with filled(tmp_path, {"one": TITLES["one"]}) as store:
        # A query finds them all.
        for title in TITLES.values():
            assert [match.key for match in store.query(title, channels=BY)] == ["one"]
        for key in ("two", "misspelt"):
            asked = IngestOptions(on_duplicate="skip", min_resemblance=0.5, **options)
            assert store.add_many({key: TITLES[key]}, options=asked).added == 1
        # The same text is no other title.
        again = store.add("again", TITLES["one"], on_duplicate="flag", **options)
        assert again == "flagged"
        assert groups(store, min_resemblance=0.5, **options) == [["again", "one"]]
        assert groups(store, min_resemblance=0.5, exact_join=True, **options) == [["again", "one"]]
        found = groups(store, channels=BY, short_texts=True)
        assert found == [["again", "misspelt", "one", "two"]]
        outcome = store.add(
            "asked", TITLES["two"][:-1], on_duplicate="skip", channels=BY, short_texts=True
        )
        assert outcome == "skipped"


def test_twenty_five_words_are_no_title(tmp_path: Path) -> None:
    texts = {
        f"{count}{name}": f"{text_of(1, count - 1)} {name}"
        for count in (24, 25)
        for name in ("first", "second")
    }
    with filled(tmp_path, texts) as store:
        found = store.clusters.once(channels=BY, min_resemblance=0.8)
    assert [[m.key for m in one.members] for one in found] == [["25first", "25second"]]
    assert found.too_short_count == 2
