"""The crawler's filter: what was added is known, however it was added."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simstore import KnownFilter


@given(st.lists(st.text(max_size=8), max_size=60), st.data())
def test_what_was_added_is_known_and_any_split_gives_the_same_file(
    keys: list[str], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(keys)))
    # Too small for many of these: more strangers are known, and nothing is forgotten.
    first, second = (KnownFilter.create(10, of=["keys"]) for _ in range(2))
    first.add_keys(keys)
    second.add_keys(keys[:cut])
    for key in keys[cut:]:
        second.add_key(key)
    assert first.knows_keys(keys).all()
    assert all(map(second.knows_key, keys))
    assert (
        first.to_bytes() == second.to_bytes() == KnownFilter.from_bytes(first.to_bytes()).to_bytes()
    )
