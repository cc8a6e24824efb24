"""Check and insert does what plain rules say, one document after the other, however batched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore.fingerprint.simhash import to_integers
from simstore.fingerprint.web import WebScheme
from simstore.search import star_search
from simstore.search.coverage import coverage
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store
from simstore.text.normalization import FOLDED

from .kernels import kernels
from .state import assert_sound
from .test_batches import new_store
from .test_clusters import LEAST_FEATURES, TEXTS, is_edge, resemblance, shingles

pytestmark = pytest.mark.slow

few = settings(max_examples=max(settings.default.max_examples // 2, 1))
# Of so few bits that each is within three of each: what is looked at is every text that has a
# shingle, and the rule alone decides.
THREE_BITS = SchemeChoice("web", bits=3)
SIXTEEN = WebScheme(16)
Mode = Literal["keep", "flag", "skip"]
NOW = 1_700_000_000
KEYS = [f"page {number}" for number in range(5)]
WORDS = [f"word{number}" for number in range(14)]


def chain(number: int) -> str:
    """Return a text that is like its neighbours, and the less like the others the farther."""
    return " ".join([f"other{place}" for place in range(number)] + WORDS[number:])


# Few, so that texts come back, and each is like some of the others and not like the rest.
ALIKE = st.sampled_from([*(chain(number) for number in range(0, 12, 2)), "word0 word1 word2", ""])
PAGES = st.lists(st.tuples(st.sampled_from(KEYS), st.one_of(ALIKE, ALIKE, TEXTS)), max_size=14)
LEAST = st.integers(3, 8).map(lambda tenths: Fraction(tenths, 10))


@dataclass
class Plain:
    """The rule, word by word: plain lists, every text compared with every other."""

    least: Fraction | None
    within: int | None = None
    texts: dict[str, str] = field(default_factory=dict)  # in order of ingest
    duplicates: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    orphaned: set[str] = field(default_factory=set)
    uncovered: set[str] = field(default_factory=set)
    unflagged: set[str] = field(default_factory=set)
    dates: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    count: int = 0
    displaced: int = 0

    def add(self, key: str, text: str, mode: Mode, date: int = NOW) -> str:
        held = self.texts.get(key)
        known = self.duplicates.get(key)
        was = self.dates.get(key) if held is not None or known is not None else None
        date = date if was is None else min(was, date)
        place = date, self.numbers[key] if held is not None else self.count + 1
        if held == text:
            self.dates[key] = date
            if mode != "keep" and was is not None and date < was:
                before = was, self.numbers[key]
                if self.makes_duplicates(key, text, place, before):
                    self.settle(key)
            return "unchanged"
        was_skipped = mode == "skip" and known is not None and known[:2] == ("skipped", text)
        if was_skipped and known is not None and self.place(known[2]) < place:
            self.dates[key] = date
            return "skipped"
        original = None if mode == "keep" else self.first_original(key, text, place)
        makes = mode != "keep" and original is None and self.makes_duplicates(key, text, place)
        if held is not None:
            is_skipped = original is not None and mode == "skip"
            self.let_go(key, None if is_skipped else text)
        self.duplicates.pop(key, None)
        self.orphaned.discard(key)
        self.uncovered.discard(key)
        self.unflagged.discard(key)
        self.dates[key] = date
        if original is not None and mode == "skip":
            self.texts.pop(key, None)
            self.duplicates[key] = "skipped", text, original
            return "skipped"
        self.texts[key] = text
        if held is None:
            self.count += 1
            self.numbers[key] = self.count
        if original is not None:
            self.duplicates[key] = "flagged", text, original
            return "flagged"
        if makes:
            self.settle(key)
        return "added" if held is None else "updated"

    def place(self, key: str) -> tuple[int, int]:
        return self.dates[key], self.numbers[key]

    def original_of(self, key: str) -> str | None:
        """Return what a stored document is flagged because of."""
        state, _, original = self.duplicates.get(key, ("", "", ""))
        return original if state == "flagged" else None

    def near(self, key: str, text: str) -> list[str]:
        return [o for o, held in self.texts.items() if o != key and self.is_edge(text, held)]

    def first_original(self, key: str, text: str, place: tuple[int, int]) -> str | None:
        near = [other for other in self.near(key, text) if self.original_of(other) is None]
        before = [other for other in near if self.place(other) < place]
        return min(before, key=lambda other: self.nearness(text, other), default=None)

    def nearness(self, text: str, original: str) -> tuple[Fraction, tuple[int, int]]:
        """Return by what originals of a text are compared; the smallest is chosen."""
        return -self.resemblance(text, self.texts[original]), self.place(original)

    def makes_duplicates(
        self, key: str, text: str, place: tuple[int, int], end: tuple[int, int] | None = None
    ) -> bool:
        """Return whether one comes before an original, or is more like a later duplicate."""
        for other in self.near(key, text):
            original = self.original_of(other)
            if place > self.place(other) or original == key:
                continue
            mine = -self.resemblance(text, self.texts[other]), place
            if original is not None and mine > self.nearness(self.texts[other], original):
                continue
            if end is None or min(self.place(other), self.place(original or other)) < end:
                return True
        return False

    def settle(self, seed: str) -> None:
        """Let one come before those that it is like, and look again at what they held."""
        before = {key for key, found in self.duplicates.items() if found[0] == "flagged"}
        waiting, done = {seed}, set()

        def put(key: str, original: str) -> None:
            if self.original_of(key) is None:
                waiting.update(k for k in self.texts if self.original_of(k) == key)
            self.duplicates[key] = "flagged", self.texts[key], original

        while waiting:
            key = min(waiting, key=self.place)
            waiting.remove(key)
            held = self.original_of(key)
            rests = held is not None and self.original_of(held) is None
            if key in done or (key != seed and rests):
                continue
            done.add(key)
            near = self.near(key, self.texts[key])
            originals = [other for other in near if self.original_of(other) is None]
            chosen = self.first_original(key, self.texts[key], self.place(key))
            if chosen is not None:
                put(key, chosen)
                continue
            self.duplicates.pop(key, None)
            for other in originals:
                put(other, key)
            for other in near:
                theirs = self.original_of(other)
                text = self.texts[other]
                if (
                    theirs is not None
                    and self.place(key) < self.place(other)
                    and self.nearness(text, key) < self.nearness(text, theirs)
                ):
                    put(other, key)
        flagged = {key for key, found in self.duplicates.items() if found[0] == "flagged"}
        self.unflagged |= before - flagged
        self.unflagged -= flagged - before
        self.displaced += len(flagged - before)

    def resemblance(self, one: str, other: str) -> Fraction:
        return resemblance(one, other)

    def is_edge(self, one: str, other: str) -> bool:
        if self.within is None:
            assert self.least is not None
            return is_edge(one, other, self.least)
        if one == other:
            return bool(one.strip())
        first, second = to_integers(SIXTEEN.fingerprints(SIXTEEN.count([one, other])))
        a, b = shingles(one), shingles(other)
        if (first ^ second).bit_count() > self.within or not a or not b:
            return False
        if self.least is not None and Fraction(len(a & b), len(a | b)) < self.least:
            return False
        short = min(len(one.split()), len(other.split())) < LEAST_FEATURES
        return not short or a <= b or b <= a

    def let_go(self, key: str, new: str | None = None) -> None:
        """Release what duplicates a document that gets a new text, or leaves."""
        is_covered = new is not None and coverage(self.texts[key], [new], FOLDED).is_complete
        for other, (state, text, original) in list(self.duplicates.items()):
            if original == key and state == "flagged":
                del self.duplicates[other]
                self.unflagged.add(other)
            elif original == key and new is None:
                if state != "orphaned":
                    self.orphaned.add(other)
                self.duplicates[other] = "orphaned", text, original
            elif original == key and state == "skipped" and not is_covered:
                self.duplicates[other] = "uncovered", text, original
                self.uncovered.add(other)

    def remove(self, key: str) -> None:
        self.let_go(key)
        del self.texts[key]
        self.duplicates.pop(key, None)


@pytest.fixture(autouse=True, scope="module")
def _one_moment() -> Iterator[None]:
    """Let no second pass: what has no date has the same one."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("run", "one_document"):
            patch.setattr(f"simstore.services.ingest.{module}.now", lambda: NOW)
        # Batches of a transaction are made one.
        patch.setattr("simstore.services.ingest.ingest.BATCH_DOCUMENTS", 3)
        yield


def assert_is(store: Store, plain: Plain) -> None:
    assert_sound(store)
    assert {one.key: one.text for one in store.list(with_text=True)} == plain.texts
    assert [one.key for one in store] == list(plain.texts)
    found = {one.key: (one.state, one.original) for one in store.duplicates.list()}
    assert found == {
        key: (state, original) for key, (state, _, original) in plain.duplicates.items()
    }
    assert [one.key for one in store.duplicates.list(state="orphaned")] == sorted(
        key for key, (state, _, _) in plain.duplicates.items() if state == "orphaned"
    )
    for one in store.duplicates.list():
        assert plain.least is None or (one.resemblance or 0) >= float(plain.least)
        if plain.within is not None and one.basis != "same":
            assert one.distance is not None
            assert one.distance <= plain.within


@given(
    st.lists(st.tuples(st.sampled_from(["keep", "flag", "skip"]), PAGES), min_size=1, max_size=4),
    LEAST,
    st.sampled_from([2, 1000]),
)
def test_any_history_of_batches_does_what_the_rule_says(
    runs: list[tuple[Mode, list[tuple[str, str]]]], least: Fraction, batch_documents: int
) -> None:
    plain = Plain(least)
    with new_store(THREE_BITS) as (_, store):
        for mode, pages in runs:
            plain.orphaned, plain.uncovered, plain.unflagged = set(), set(), set()
            plain.displaced = 0
            expected = [plain.add(key, text, mode) for key, text in pages]
            summary = store.add_many(
                pages,
                threads=1,
                batch_documents=batch_documents,
                on_duplicate=mode,
                min_resemblance=float(least),
            )
            for outcome in ("added", "updated", "unchanged", "flagged", "skipped"):
                assert getattr(summary, outcome) == expected.count(outcome)
            assert summary.orphaned == len(plain.orphaned)
            assert summary.unflagged == len(plain.unflagged)
            assert summary.uncovered == len(plain.uncovered)
            assert summary.displaced == plain.displaced
            assert_is(store, plain)


@given(
    st.lists(st.tuples(st.sampled_from(["keep", "flag", "skip"]), PAGES), min_size=1, max_size=4),
    st.none() | LEAST,
    st.integers(0, 16),
    st.sampled_from([2, 1000]),
)
def test_distance_decides_where_a_radius_is_given(
    runs: list[tuple[Mode, list[tuple[str, str]]]],
    least: Fraction | None,
    within: int,
    batch_documents: int,
) -> None:
    plain = Plain(least, within)
    with new_store(SchemeChoice("web", bits=16)) as (_, store):
        for mode, pages in runs:
            expected = [plain.add(key, text, mode) for key, text in pages]
            summary = store.add_many(
                pages,
                threads=1,
                batch_documents=batch_documents,
                on_duplicate=mode,
                min_resemblance=None if least is None else float(least),
                radius=within,
            )
            for outcome in ("added", "updated", "unchanged", "flagged", "skipped"):
                assert getattr(summary, outcome) == expected.count(outcome)
            assert_is(store, plain)


@few
@given(PAGES, st.data(), LEAST, st.sampled_from(["flag", "skip"]))
def test_removing_and_ingesting_orphans_again_does_what_the_rule_says(
    pages: list[tuple[str, str]], data: st.DataObject, least: Fraction, mode: Mode
) -> None:
    plain = Plain(least)
    texts = dict(pages)
    with new_store(THREE_BITS) as (_, store):
        for key, text in pages:
            outcome = store.add(key, text, on_duplicate=mode, min_resemblance=float(least))
            assert outcome == plain.add(key, text, mode)
        for _ in range(data.draw(st.integers(0, 3)) if plain.texts else 0):
            if not plain.texts:
                break
            key = data.draw(st.sampled_from(list(plain.texts)))
            freed: list[str] = []
            store.remove(key, on_unflagged=freed.append)
            plain.unflagged = set()
            plain.remove(key)
            assert freed == sorted(plain.unflagged)
            assert_is(store, plain)
        again = [one.key for one in store.duplicates.list(state="orphaned")]
        store.add_many(
            [(key, texts[key]) for key in again],
            on_duplicate=mode,
            min_resemblance=float(least),
        )
        for key in again:
            plain.add(key, texts[key], mode)
        assert_is(store, plain)
        assert not list(store.duplicates.list(state="orphaned"))


@few
@given(
    st.lists(st.one_of(ALIKE, TEXTS), max_size=30),
    st.lists(st.one_of(ALIKE, TEXTS), max_size=4),
    LEAST,
    st.sampled_from(["flag", "skip"]),
    st.sampled_from([1, 5, 1 << 17]),
    st.booleans(),
)
def test_what_comes_together_is_decided_as_what_comes_one_by_one(
    texts: list[str], held: list[str], least: Fraction, mode: Mode, told_pairs: int, on: bool
) -> None:
    plain = Plain(least)
    with pytest.MonkeyPatch.context() as patch, kernels(on), new_store(THREE_BITS) as (_, store):
        patch.setattr(star_search, "TOLD_PAIRS", told_pairs)
        for given_texts, first in ((held, 0), (texts, len(held))):
            pages = [(f"page {first + n}", text) for n, text in enumerate(given_texts)]
            for key, text in pages:
                plain.add(key, text, mode)
            store.add_many(pages, threads=1, on_duplicate=mode, min_resemblance=float(least))
        assert_is(store, plain)
