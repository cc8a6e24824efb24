"""Clusters and duplicates by runs of characters are those of plain sets, however they come in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore.services.clusters.cluster import ClusterOptions
from simstore.store import Store

from .state import assert_sound
from .test_check_insert import KEYS, NOW, Mode, Plain, assert_is

pytestmark = pytest.mark.slow

few = settings(max_examples=max(settings.default.max_examples // 2, 1))
ALL = ("simhash", "minhash", "characters")
BY = ("characters",)
# The most features of a text that is short.
SHORT = 24
WORDS = [
    "harbour", "lantern", "weather", "station", "evening", "captain", "village", "morning",
    "engines", "tickets", "baggage", "windows", "kitchen", "gardens", "letters", "bridges",
    "winters", "summers", "players", "watches", "bottles", "candles", "feather", "pebbles",
    "journey", "orchard", "quarter", "sailing", "thunder", "umbrella",
]  # fmt: skip


def typed(wrong: int, count: int) -> str:
    """Return the first words, in so many of which a letter is another."""
    return " ".join(
        f"{word[:2]}z{word[3:]}" if place < wrong else word
        for place, word in enumerate(WORDS[:count])
    )


def runs(text: str) -> set[str]:
    letters = text.replace(" ", "")
    return {letters[at : at + 6] for at in range(max(len(letters) - 5, min(len(letters), 1)))}


def resemblance(one: str, other: str) -> Fraction:
    if one == other:
        return Fraction(1)
    a, b = runs(one), runs(other)
    return Fraction(len(a & b), max(len(a | b), 1))


def is_edge(one: str, other: str, least: Fraction, *, short_texts: bool) -> bool:
    if one == other:
        return bool(one.strip())
    if not short_texts and min(len(one.split()), len(other.split())) <= SHORT:
        return False
    return bool(runs(one) and runs(other)) and resemblance(one, other) >= least


@dataclass
class PlainByCharacters(Plain):
    short_texts: bool = False

    def is_edge(self, one: str, other: str) -> bool:
        assert self.least is not None
        return is_edge(one, other, self.least, short_texts=self.short_texts)

    def resemblance(self, one: str, other: str) -> Fraction:
        return resemblance(one, other)


# Long and short ones, each more or less like the others of its length.
LONG = st.builds(typed, st.integers(0, 14), st.sampled_from([25, 27, 30]))
TITLES = st.builds(typed, st.integers(0, 3), st.sampled_from([3, 8, SHORT]))
TEXTS = st.one_of(LONG, LONG, TITLES, st.just(""))
# What is less alike may share no band.
LEAST = st.integers(5, 9).map(lambda tenths: Fraction(tenths, 10))
PAGES = st.lists(st.tuples(st.sampled_from(KEYS), TEXTS), max_size=12)


@contextmanager
def new_store(**options: Any) -> Iterator[Store]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(
            Path(folder) / "s.db", **{"channels": ALL, "synchronous": "normal"} | options
        ) as store,
    ):
        yield store


@pytest.fixture(autouse=True, scope="module")
def _one_moment() -> Iterator[None]:
    """Let no second pass: what has no date has the same one."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("run", "one_document"):
            patch.setattr(f"simstore.services.ingest.{module}.now", lambda: NOW)
        yield


def by_the_rule(texts: list[str], least: Fraction, *, short_texts: bool) -> list[list[int]]:
    stars: list[list[int]] = []
    for row, text in enumerate(texts):
        near = [
            star for star in stars if is_edge(texts[star[0]], text, least, short_texts=short_texts)
        ]
        if near:
            # The first of those that it resembles most.
            max(near, key=lambda star: resemblance(texts[star[0]], text)).append(row)
        else:
            stars.append([row])
    return stars


@few
@given(
    st.lists(TEXTS, min_size=1, max_size=14),
    LEAST,
    st.booleans(),
    st.booleans(),
    st.sampled_from([ALL, BY]),
)
def test_clusters_are_those_of_the_rule(
    texts: list[str], least: Fraction, exact: bool, short_texts: bool, channels: tuple[str, ...]
) -> None:
    expected = by_the_rule(texts, least, short_texts=short_texts)
    options = ClusterOptions(
        min_resemblance=float(least),
        exact_join=exact,
        min_size=1,
        channels=BY,
        short_texts=short_texts,
    )
    with new_store(channels=channels) as store:
        store.add_many(((str(row), text) for row, text in enumerate(texts)), threads=1)
        found = store.clusters.once(options)
        store.maintenance.compact()
        assert store.clusters.once(options).clusters == found.clusters
    assert [[int(m.key) for m in cluster.members] for cluster in found.clusters] == expected
    for cluster in found.clusters:
        for member in cluster.members:
            share = resemblance(texts[int(member.key)], texts[int(cluster.key)])
            assert member.resemblance == pytest.approx(float(share))


@few
@given(
    st.lists(st.tuples(st.sampled_from(["keep", "flag", "skip"]), PAGES), min_size=1, max_size=3),
    LEAST,
    st.sampled_from([1, 2, 1000]),
    st.booleans(),
)
def test_any_history_of_batches_does_what_the_rule_says(
    history: list[tuple[Mode, list[tuple[str, str]]]],
    least: Fraction,
    batch_documents: int,
    short_texts: bool,
) -> None:
    plain = PlainByCharacters(least, short_texts=short_texts)
    with new_store() as store:
        for mode, pages in history:
            expected = [plain.add(key, text, mode) for key, text in pages]
            summary = store.add_many(
                pages,
                threads=1,
                batch_documents=batch_documents,
                on_duplicate=mode,
                min_resemblance=float(least),
                channels=BY,
                short_texts=short_texts,
            )
            for outcome in ("added", "updated", "unchanged", "flagged", "skipped"):
                assert getattr(summary, outcome) == expected.count(outcome)
            assert_is(store, plain)


@few
@given(PAGES, st.sampled_from(["flag", "skip"]))
def test_what_the_channel_knows_changes_no_duplicates_of_words(
    pages: list[tuple[str, str]], mode: Mode
) -> None:
    found = []
    for channels in (ALL, ALL[:2]):
        with new_store(channels=channels) as store:
            store.add_many(pages, threads=1, on_duplicate=mode)
            assert_sound(store)
            clusters = store.clusters.once().clusters
            found.append((list(store.duplicates.list()), [one.key for one in store], clusters))
    times = [
        [(one.key, one.state, one.original, one.resemblance) for one in listed]
        for listed, _, _ in found
    ]
    assert times[0] == times[1]
    assert found[0][1:] == found[1][1:]
