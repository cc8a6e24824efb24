"""A posting index finds what a plain list of its entries holds, however it was merged."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore import compiled
from simstore.index import pages, postings, tuning
from simstore.index.filters import FIRST_PLACE
from simstore.index.pages import DamagedPage, Entries
from simstore.index.postings import Kind, PostingIndex

from .memory_pages import Entry, MemoryPages, entries_of, rows_of

KINDS = st.builds(
    Kind,
    name=st.just("a kind"),
    key_bits=st.sampled_from([32, 40, 47, 64]),
    value_count=st.integers(0, 3),
    is_filtered=st.booleans(),
    most_runs=st.integers(1, 3),
)
# Few leading values, so that keys share pages, and some keys are crowded.
KEYS = st.one_of(
    st.sampled_from([0, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF]),
    st.builds(lambda lead, rest: lead << 58 | rest, st.integers(0, 63), st.integers(0, 1 << 57)),
)
VALUES = st.one_of(st.integers(0, 300), st.integers(0, (1 << 40) - 1))


def drawn_entries(data: st.DataObject, kind: Kind) -> list[Entry]:
    count = data.draw(st.integers(0, 40))
    return [
        (data.draw(KEYS), *(data.draw(VALUES) for _ in range(kind.value_count)))
        for _ in range(count)
    ]


@pytest.fixture(params=[False, True], ids=["plain", "compiled"], autouse=True)
def _forms(request: pytest.FixtureRequest) -> Any:
    compiled.enable(0.0) if request.param else compiled.disable()
    yield
    compiled.enable()


@given(KINDS, st.data())
def test_look_ups_find_what_was_added_and_not_removed(kind: Kind, data: st.DataObject) -> None:
    mask = (1 << 64) - (1 << (64 - kind.key_bits))
    index = PostingIndex(kind, MemoryPages())
    held: set[Entry] = set()
    with pytest.MonkeyPatch.context() as patch:
        # Rows of two entries and more, pages of some, and merges in parts.
        patch.setattr(pages, "ROW_BYTES", data.draw(st.sampled_from([64, 200, 1_974])))
        patch.setattr(tuning, "PAGE_ENTRIES", data.draw(st.sampled_from([2, 48])))
        patch.setattr(tuning, "MERGED_ENTRIES", data.draw(st.sampled_from([4, 1 << 20])))
        patch.setattr(postings, "_LEAST_LEVEL_BITS", data.draw(st.sampled_from([3, 10])))
        for step in range(data.draw(st.integers(1, 8))):
            added = drawn_entries(data, kind)
            index.add(entries_of(added, kind.value_count), step)
            held |= {(row[0] & mask, *row[1:]) for row in added}
            gone = set(data.draw(st.permutations(sorted(held)))[:3]) if step % 2 else set()

            def keep(entries: Entries, gone: set[Entry] = gone) -> Any:
                return np.array([row not in gone for row in rows_of(entries)], np.bool_)

            if step % 3 == 1:
                index.merge(keep=keep)
                held -= gone
                assert len(index.runs) == 1
            assert index.last == step
        assert list(index.check()) == []
        everything = [
            row for run in index.runs for part in index.scan(run) for row in rows_of(part)
        ]
        assert set(everything) == held
        asked = sorted({row[0] for row in held})[:30] + [data.draw(KEYS) for _ in range(5)]
        check_found(index, held, asked, mask)


def is_even(entries: Entries) -> Any:
    return entries.values.sum(axis=1, dtype=np.uint64) % np.uint64(2) == 0


def check_found(index: PostingIndex, held: set[Entry], asked: list[int], mask: int) -> None:
    """Check the look-ups of keys by a plain list of entries."""
    expected = {
        (turn, *row) for turn, key in enumerate(asked) for row in held if row[0] == key & mask
    }
    keys = np.array(asked, np.uint64)
    turns, entries = index.look_up(keys)
    found = [(turn, *row) for turn, row in zip(turns.tolist(), rows_of(entries), strict=True)]
    assert set(found) == expected
    for turn, key in enumerate(asked):
        one = {(turn, key & mask, *row) for _, row in index.look_up_few(np.array([key], np.uint64))}
        assert one == {row for row in expected if row[0] == turn}
    few_keys = index.look_up_few(keys)
    assert {(turn, asked[turn] & mask, *row) for turn, row in few_keys} == expected
    counts = np.bincount(turns, minlength=len(asked))
    turns, entries = index.look_up(keys, most=2)
    few = {(turn, *row) for turn, row in zip(turns.tolist(), rows_of(entries), strict=True)}
    assert few == {row for row in expected if counts[row[0]] <= 2}
    # Entries that are no longer true neither come nor count.
    turns, entries = index.look_up(keys, keep=is_even)
    counts = np.bincount(turns, minlength=len(asked))
    turns, entries = index.look_up(keys, most=2, keep=is_even)
    few = {(turn, *row) for turn, row in zip(turns.tolist(), rows_of(entries), strict=True)}
    assert few == {row for row in expected if sum(row[2:]) % 2 == 0 and counts[row[0]] <= 2}
    turns, entries = index.look_up(keys[:3], bits=7)
    near = {(turn, *row) for turn, row in zip(turns.tolist(), rows_of(entries), strict=True)}
    assert near == {
        (turn, *row)
        for turn, key in enumerate(asked[:3])
        for row in held
        if row[0] >> 57 == key >> 57
    }


OTHERS = [number * 0x9E3779B97F4A7C15 % (1 << 64) >> 24 << 24 for number in range(1, 200)]
CROWDED = 1 << 62


def crowded_index(count: int) -> tuple[PostingIndex, MemoryPages]:
    """Return an index of hashes, one of which has so many entries."""
    held = MemoryPages()
    index = PostingIndex(Kind("crowded", 40, 1), held)
    rows = [(CROWDED, number) for number in range(count)]
    index.add(entries_of([*rows, *zip(OTHERS, range(1, 200), strict=True)], 1))
    return index, held


def test_crowded_key_is_read_no_further_than_tells_that_it_is() -> None:
    index, held = crowded_index(20_000)
    (run,) = index.runs
    assert max(len(row) for row in held.rows[run.number].values()) <= pages.ROW_BYTES
    before = len(held.rows[run.number])
    assert before > 50
    wanted = np.array([CROWDED, OTHERS[6]], np.uint64)
    read: list[int] = []
    whole = held.read_between

    def counted(run: Any, first: int, end: int) -> Any:
        rows = whole(run, first, end)
        read.append(len(rows))
        return rows

    held.read_between = counted  # type: ignore[method-assign]
    found = index.look_up(wanted, most=100)
    assert found.entries.values.ravel().tolist() == [7]
    assert sum(read) <= 4
    assert len(index.look_up(wanted).turns) == 20_001

    def few_are_true(entries: Entries) -> Any:
        return entries.values[:, 0] >= 19_960

    found = index.look_up(wanted, most=100, keep=few_are_true)
    assert found.entries.values.ravel().tolist() == [*range(19_960, 20_000)]


def test_absent_key_costs_a_page_of_the_filter_once() -> None:
    index, held = crowded_index(10)
    absent = np.array([5 << 60], np.uint64)
    for expected in (1, 1):
        assert len(index.look_up(absent).turns) == 0
        assert held.read_count == expected


def calls_of(work: Callable[[], object]) -> int:
    """Return how many Python functions some work calls."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_a_few_keys_cost_two_statements_and_later_look_ups_read_no_filter() -> None:
    held = MemoryPages()
    index = PostingIndex(Kind("some", 40, 1), held)
    rng = np.random.default_rng(1)
    for count in (30_000, 3_000, 300):
        keys = rng.integers(0, 1 << 40, count, np.uint64) << np.uint64(24)
        index.add(Entries(keys, np.arange(count, dtype=np.uint64)[:, None]))
    some = [rng.choice(keys, 20) for _ in range(30)]
    for turn, one in enumerate(some):
        held.statement_count = 0
        assert {place for place, _ in index.look_up_few(one)} == set(range(20))
        # Pages of filters, if some are missing, then pages of entries, of all runs together.
        assert held.statement_count <= (2 if turn <= 16 else 1)
    # A call for each page that is read, and some for the whole, those of NumPy among them.
    assert calls_of(lambda: index.look_up_few(some[0])) <= 20 + 40
    held.read_count = 0
    index.look_up_few(rng.integers(1 << 63, 1 << 64, 20, np.uint64))
    # Three in a hundred pass a filter by chance.
    assert held.read_count <= 10


@pytest.mark.parametrize(
    ("place_of", "change"),
    [
        ("first", lambda row: row[:-1]),
        ("first", lambda _row: b""),
        ("first", lambda _row: "text"),
        ("filter", lambda row: row[:-8]),
    ],
)
def test_damaged_rows_are_told(place_of: str, change: Any) -> None:
    index, held = crowded_index(3)
    (run,) = index.runs
    rows = held.rows[run.number]
    place = FIRST_PLACE if place_of == "filter" else min(rows)
    rows[place] = change(rows[place])
    keys = np.array(OTHERS, np.uint64)
    with pytest.raises(DamagedPage):
        index.look_up(keys)
    if place_of == "first":
        with pytest.raises(DamagedPage):
            index.look_up_few(keys)
        with pytest.raises(DamagedPage):
            list(index.check())


def test_check_tells_lost_moved_and_changed_rows() -> None:
    def problems(change: Any) -> list[str]:
        index, held = crowded_index(5)
        (run,) = index.runs
        change(held.rows[run.number])
        return list(index.check())

    def lose(rows: dict[int, bytes]) -> None:
        del rows[min(rows)]

    def flip(rows: dict[int, bytes]) -> None:
        row = bytearray(rows[min(rows)])
        row[-1] ^= 1
        rows[min(rows)] = bytes(row)

    def turn(rows: dict[int, bytes]) -> None:
        place = max(rows, key=lambda one: len(rows[one]) * (one < FIRST_PLACE))
        size = 7 if len(rows[place]) % 7 == 0 else 6
        row = rows[place]
        rows[place] = row[-size:] + row[:-size]

    def blind(rows: dict[int, bytes]) -> None:
        rows[FIRST_PLACE] = bytes(len(rows[FIRST_PLACE]))

    assert problems(lambda _rows: None) == []
    assert "counted" in problems(lose)[0]
    assert "checksum" in problems(flip)[0]
    assert any("order" in one for one in problems(turn))
    assert "checksum" in problems(blind)[0]
