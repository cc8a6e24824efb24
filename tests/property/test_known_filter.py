"""The crawler's filter against a plain count of what was added and removed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from simstore import KnownFilter
from simstore.errors import FilterFull
from simstore.search.cuckoo import MOST_COPIES, CuckooTable

KEYS = st.integers(0, 60).map(lambda number: f"http://site/{number}")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.just("add many"), st.lists(KEYS, max_size=12)),
    ),
    max_size=60,
)


@given(STEPS, st.integers(1, 40))
def test_what_was_added_and_not_removed_is_always_known(
    steps: list[tuple[str, str | list[str]]], buckets: int
) -> None:
    # Short tags and few buckets: tags meet, buckets are full, tags move.
    known = KnownFilter({"keys": CuckooTable(buckets, 8)})
    held: Counter[str] = Counter()
    for what, given_ in steps:
        many = [given_] if isinstance(given_, str) else given_
        if what == "remove":
            if held[many[0]] and known.remove_key(many[0]):
                held[many[0]] -= 1
        else:
            try:
                known.add_key(many[0]) if what == "add" else known.add_keys(many)
            except FilterFull:
                pass
            else:
                held.update(many)
        assert all(known.knows_key(key) for key in +held)
    assert known.knows_keys(list(+held)).all()
    # Removed as often as added, nothing is left but what was added too often.
    for key, count in held.items():
        for _ in range(count):
            known.remove_key(key)
    assert len(known.table("keys")) % MOST_COPIES == 0


@given(st.lists(st.text(max_size=8), unique=True, max_size=300), st.data())
def test_any_split_into_additions_gives_the_same_answers(
    keys: list[str], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(keys)))
    first, second = (KnownFilter.create(300, of=["keys"]) for _ in range(2))
    first.add_keys(keys)
    second.add_keys(keys[:cut])
    for key in keys[cut:]:
        second.add_key(key)
    asked = [*keys, *(f"{key}!" for key in keys)]
    assert first.knows_keys(asked).tolist() == second.knows_keys(asked).tolist()
