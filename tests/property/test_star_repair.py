"""Stars that are repaired are those made from the first, whatever the changes and their order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore.search.stars import Place, Spokes, joined_centre, repair, star_clusters

TEXTS = 14
PAIRS = [(a, b) for b in range(TEXTS) for a in range(b)]
# At least as many as the other property tests look at.
many = settings(max_examples=4 * settings.default.max_examples)


@dataclass
class Kept:
    """Stars kept in dictionaries, with the edges of all texts that there may ever be."""

    joined: set[frozenset[int]]
    spoke_rows: dict[int, Spokes] = field(default_factory=dict)
    place_of: dict[int, Place] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)
    # What has gone, whether its turn has come or not.
    away: set[int] = field(default_factory=set)

    def places(self, texts: Collection[int]) -> Mapping[int, Place]:
        return {text: self.place_of[text] for text in texts if text in self.place_of}

    def spokes(self, texts: Collection[int]) -> Mapping[int, Spokes]:
        return {text: dict(self.spoke_rows[text]) for text in texts if self.spoke_rows[text]}

    def followers(self, centres: Collection[int]) -> Mapping[int, Collection[int]]:
        return {
            centre: [text for text, spokes in self.spoke_rows.items() if centre in spokes]
            for centre in centres
        }

    def absent(self, texts: Collection[int]) -> set[int]:
        return self.away & set(texts)

    def edges(
        self, texts: Collection[int], *, canonical_only: bool
    ) -> Mapping[int, Mapping[int, float]]:
        if not canonical_only:
            self.asked += texts
        return {
            text: {
                other: share(text, other)
                for other in self.place_of
                if frozenset((text, other)) in self.joined
                and not self.away & {text, other}
                and not (canonical_only and self.spoke_rows.get(other, {0: 0.0}))
            }
            for text in texts
        }

    def change(self, gone: set[int], moved: Mapping[int, Place], new: Mapping[int, Place]) -> None:
        self.place_of = {t: p for t, p in self.place_of.items() if t not in gone} | {**moved, **new}
        was = {text for text, spokes in self.spoke_rows.items() if not spokes}
        made = repair(self, gone=gone, moved=list(moved), new=list(new))
        for text, spokes in made.before.items():
            assert spokes == self.spoke_rows.get(text, {})
        assert gone <= made.gone <= gone | self.away
        for text in made.gone:
            self.spoke_rows.pop(text, None)
            self.place_of.pop(text, None)
        self.spoke_rows |= {text: dict(spokes) for text, spokes in made.after.items()}
        now = {text for text, spokes in self.spoke_rows.items() if not spokes}
        assert set(made.promoted) == now - was
        assert set(made.demoted) == (was - now) - made.gone


def share(one: int, other: int) -> float:
    # Few values, so that many are alike.
    return 1 / (2 + (one + other) % 3)


def from_the_first(joined: set[frozenset[int]], place_of: Mapping[int, Place]) -> dict[int, Spokes]:
    """Return the spokes that the rule asks for."""
    texts = sorted(place_of)
    rows = {text: row for row, text in enumerate(texts)}
    held = [sorted(pair) for pair in joined if pair <= rows.keys()]
    ends = np.array([[rows[a], rows[b]] for a, b in held], np.int64).reshape(-1, 2)
    order = np.array([rows[t] for t in sorted(texts, key=place_of.__getitem__)], np.int64)
    shares = np.array([share(a, b) for a, b in held], np.float64)
    centres = star_clusters(ends[:, 0], ends[:, 1], order, shares).tolist()
    canonical = {text for text in texts if centres[rows[text]] == rows[text]}
    spokes = {
        text: {
            other: share(text, other)
            for other in canonical
            if frozenset((text, other)) in joined and place_of[other] < place_of[text]
        }
        for text in texts
    }
    for text in texts:
        assert centres[rows[text]] == rows[joined_centre(text, spokes[text], place_of)]
    return spokes


@st.composite
def histories(draw: st.DrawFn) -> tuple[set[frozenset[int]], list[dict[int, Place | None]]]:
    """Return edges, and changes: texts to their new place, or None where they go."""
    pairs = draw(st.sets(st.sampled_from(PAIRS), max_size=40))
    # Few places, so that texts come before, between and behind others.
    place = st.tuples(st.integers(0, 1), st.integers(0, 5))
    change = st.dictionaries(
        st.integers(0, TEXTS - 1), st.one_of(st.none(), place, place), max_size=8
    )
    changes = draw(st.lists(change, max_size=5))
    return {frozenset(pair) for pair in pairs}, [
        {text: None if at is None else (*at, text) for text, at in one.items()} for one in changes
    ]


@pytest.mark.slow
@many
@given(histories(), st.integers(1, 8))
def test_repaired_stars_are_those_made_from_the_first(
    history: tuple[set[frozenset[int]], list[dict[int, Place | None]]], together: int
) -> None:
    joined, changes = history
    kept = Kept(joined)
    for change in changes:
        # Dealt with in parts, where all has happened already when the first is.
        kept.away = {text for text, place in change.items() if place is None}
        for start in range(0, len(change), together):
            part = dict(list(change.items())[start : start + together])
            there = set(kept.place_of)
            kept.change(
                {text for text, place in part.items() if place is None and text in there},
                {text: place for text, place in part.items() if place and text in there},
                {text: place for text, place in part.items() if place and text not in there},
            )
        kept.away = set()
        assert kept.spoke_rows == from_the_first(joined, kept.place_of)


@many
@given(
    st.sets(st.sampled_from(PAIRS), max_size=40),
    st.permutations(range(TEXTS)),
    st.lists(st.integers(0, TEXTS), max_size=4).map(sorted),
)
def test_stars_do_not_depend_on_the_order_in_which_texts_come(
    pairs: set[tuple[int, int]], order: list[int], cuts: list[int]
) -> None:
    joined = {frozenset(pair) for pair in pairs}
    kept = Kept(joined)
    for start, end in zip([0, *cuts], [*cuts, TEXTS], strict=True):
        kept.change(set(), {}, {text: (0, 0, text) for text in order[start:end]})
    assert kept.spoke_rows == from_the_first(joined, kept.place_of)


@given(st.integers(1, TEXTS))
def test_copies_of_what_is_canonical_have_no_more_edges_looked_up(count: int) -> None:
    kept = Kept({frozenset(pair) for pair in PAIRS})
    kept.change(set(), {}, {0: (0, 0, 0)})
    kept.asked.clear()
    kept.change(set(), {}, {text: (0, 0, text) for text in range(1, count)})
    assert kept.asked == []
    assert all(kept.spoke_rows[text] == {0: share(text, 0)} for text in range(1, count))
