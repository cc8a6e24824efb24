"""The index finds what a look at everything finds, whatever the plan, the bits and the radius."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore.errors import InvalidParameter
from simstore.index.segments import probe_count, segment_widths
from simstore.model import QueryOptions
from simstore.search.methods import CLASSIC_METHODS, check_method
from simstore.search.plan import cheapest_thresholds, default_radius, uniform_costs
from simstore.services.channels import fingerprint_index
from simstore.store import Store

from .hexadecimal import create_hexadecimal, hexadecimal_stores
from .state import assert_sound
from .strategies import MAX_BITS, bits_and_radius, fingerprints_of, flipped

PLANS = ("auto", "scan", "segments")
# Above so many probes a forced look-up of segments is left out: it takes long.
MOST_PROBES = 4_000


@pytest.fixture(autouse=True, scope="module")
def _hexadecimal() -> Iterator[None]:
    with hexadecimal_stores():
        yield


def found(
    store: Store, samples: Sequence[int], radius: int | None, plan: str
) -> list[list[tuple[int, int]]]:
    """Return (document, distance) of the matches of each sample."""
    options = QueryOptions(radius=radius, plan=plan)  # type: ignore[arg-type]
    results = store.query_many([("", f"{sample:x}") for sample in samples], options)
    return [[(int(match.key), match.distance) for match in one.matches] for one in results]


def expected(
    stored: Sequence[int], samples: Sequence[int], radius: int
) -> list[list[tuple[int, int]]]:
    return [oracle.within(stored, sample, radius) for sample in samples]


def affordable_plans(width: int, radius: int, count: int) -> list[str]:
    thresholds, _ = cheapest_thresholds(uniform_costs(width, radius, count), radius)
    probes = sum(map(probe_count, segment_widths(width), thresholds))
    usual = [plan for plan in PLANS if plan != "segments" or probes <= MOST_PROBES]
    return [*usual, *classic_plans(width, radius)]


def classic_plans(width: int, radius: int) -> list[str]:
    """Return the classic methods that can do it, and do it soon."""
    if probe_count(width, radius) > MOST_PROBES:
        return ["tables4", "tables16"] if width == 64 and radius <= 3 else []
    able = []
    for method in CLASSIC_METHODS:
        try:
            check_method(method, width, radius)
        except InvalidParameter:
            continue
        able.append(method)
    return able


def flip(source: random.Random, value: int, width: int, count: int) -> int:
    return value ^ sum(1 << place for place in source.sample(range(width), count))


def planted(width: int, radius: int, seed: int) -> tuple[list[int], list[int]]:
    """Return stored fingerprints and samples with pairs at exactly radius and radius + 1."""
    source = random.Random(seed)
    samples = [source.getrandbits(width), 0, (1 << width) - 1]
    stored = [source.getrandbits(width) for _ in range(12)]
    for sample in samples:
        distances = {0, radius - 1, radius, radius + 1} & set(range(width + 1))
        stored += [flip(source, sample, width, distance) for distance in distances]
    source.shuffle(stored)
    return stored, samples


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1, MAX_BITS + 1, 16))
def test_query_finds_document_at_exactly_the_radius_for_all_bits(
    tmp_path: Path, first: int
) -> None:
    for width in range(first, first + 16):
        radius = default_radius(width)
        stored, samples = planted(width, radius, seed=width)
        with create_hexadecimal(tmp_path / f"{width}.db", width, stored) as store:
            right = expected(stored, samples, radius)
            assert any(distance == radius for one in right for _, distance in one)
            for plan in (*PLANS, *classic_plans(width, min(radius, 2))):
                near = radius if plan in PLANS else min(radius, 2)
                assert found(store, samples, near, plan) == expected(stored, samples, near), (
                    width,
                    near,
                    plan,
                )
            if width % 8 == 4:
                assert found(store, samples, None, "auto") == right
            wide = min(width, 4 + width % 5)
            plan = affordable_plans(width, wide, len(stored))[-1]
            assert found(store, samples, wide, plan) == expected(stored, samples, wide)


@pytest.mark.parametrize("width", [1, 5, 16, 40, 128])
def test_query_finds_document_at_exactly_the_radius_for_all_radii(
    tmp_path: Path, width: int
) -> None:
    source = random.Random(width)
    sample = source.getrandbits(width)
    stored = [flip(source, sample, width, distance) for distance in range(width + 1)]
    source.shuffle(stored)
    with create_hexadecimal(tmp_path / "s.db", width, stored) as store:
        for radius in [*range(0, width, 1 if width <= 40 else 4), width]:
            right = expected(stored, [sample], radius)
            assert len(right[0]) == radius + 1
            for plan in affordable_plans(width, radius, len(stored)):
                assert found(store, [sample], radius, plan) == right, (radius, plan)


@pytest.mark.slow
@given(bits_and_radius(), st.data())
def test_index_equals_the_oracle(shape: tuple[int, int], data: st.DataObject) -> None:
    width, radius = shape
    samples = data.draw(st.lists(fingerprints_of(width), min_size=1, max_size=4))
    stored = data.draw(st.lists(fingerprints_of(width), max_size=12))
    for sample in samples:
        stored.append(data.draw(flipped(sample, width, radius)))
        if radius < width:
            stored.append(data.draw(flipped(sample, width, radius + 1)))
    with (
        tempfile.TemporaryDirectory() as folder,
        create_hexadecimal(Path(folder) / "s.db", width, stored) as store,
    ):
        right = expected(stored, samples, radius)
        for plan in affordable_plans(width, radius, len(stored)):
            assert found(store, samples, radius, plan) == right, plan
        assert_sound(store)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.sampled_from([33, 64, 100]), st.integers(0, 6), st.data())
def test_index_equals_the_oracle_where_a_segment_is_crowded(
    width: int, radius: int, data: st.DataObject
) -> None:
    """The planner counts postings, and looks into the rare segments instead."""
    source = random.Random(data.draw(st.integers(0, 2**32)))
    sample = source.getrandbits(width)
    low = (1 << (width - 16)) - 1
    # All share the first segment of the sample; some are near it in the others.
    stored = [sample & ~low | source.getrandbits(width - 16) for _ in range(60)]
    stored += [flip(source, sample, width, distance) for distance in range(radius + 2)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint_index, "_CROWDED_ROWS", 10)
        with create_hexadecimal(Path(folder) / "s.db", width, stored) as store:
            options = QueryOptions(radius=radius, plan="segments")
            (result,) = store.query_many([("", f"{sample:x}")], options)
            assert [(int(match.key), match.distance) for match in result.matches] == (
                oracle.within(stored, sample, radius)
            )
            thresholds = result.explanation.thresholds if result.explanation else ()
            assert sum(threshold + 1 for threshold in thresholds) == radius + 1
            if radius == 0:
                assert thresholds[0] == -1


def test_documents_of_one_fingerprint_are_all_found_in_order_of_ingest(tmp_path: Path) -> None:
    stored = [5, 9, 5, 5, 4, 5]
    with create_hexadecimal(tmp_path / "s.db", 16, stored) as store:
        for plan in (*PLANS, *classic_plans(16, 1)):
            assert found(store, [5], 1, plan) == [[(0, 0), (2, 0), (3, 0), (5, 0), (4, 1)]]
        assert store.stats().distinct_fingerprints == 3


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("first", [True, False])
def test_filter_does_not_end_the_search_at_a_segment_whose_matches_it_leaves_out(
    tmp_path: Path, plan: str, first: bool
) -> None:
    # Document 0 shares the first segment with the sample, document 1 the second one.
    stored = [0x0000_0001_0001_0001, 0x0001_0000_0001_0001]
    with create_hexadecimal(tmp_path / "s.db", 64, stored) as store:
        options = QueryOptions(exclude_self=True, first=first, plan=plan)  # type: ignore[arg-type]
        for own, other in (("0", "1"), ("1", "0")):
            (result,) = store.query_many([(own, "0")], options)
            assert [(match.key, match.distance) for match in result.matches] == [(other, 3)]
