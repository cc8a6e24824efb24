"""An answer that misses a stored document says that the generation is stale, whoever wrote."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from simstore import Store
from simstore.model import QueryOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice

WORDS = [f"q{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(300)]


class _Stopped(Exception):
    pass


def _stop(_done: int, _total: int) -> None:
    raise _Stopped


def _text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(3, 60)))


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "seed"), [("simtool", 0), ("web", 1)])
def test_what_any_process_stored_is_found_by_all_or_the_answer_is_stale(
    tmp_path: Path, seed: int, scheme: str
) -> None:
    """Stores that keep what they have read, and others, as processes of a server have them open."""
    chance = random.Random(seed)
    place = tmp_path / "s.db"
    Store.create(place, scheme=scheme).close()
    held: dict[str, str] = {}
    found = missed = 0

    def add(store: Store) -> None:
        count = chance.choice((1, 1, 5, 40))
        texts = {f"{len(held)} {number}": _text(chance) for number in range(count)}
        store.add_many(texts.items(), refresh=chance.random() < 0.2)
        held.update(texts)

    def change(store: Store) -> None:
        if held:
            key = chance.choice(list(held))
            held[key] = _text(chance)
            store.add(key, held[key], refresh=False)

    def remove(store: Store) -> None:
        if held:
            key = chance.choice(list(held))
            del held[key]
            store.remove(key, refresh=chance.random() < 0.2)

    def begin(store: Store) -> None:
        with suppress(_Stopped):
            store.vocabulary.refresh(force=True, on_progress=_stop)

    def reindex(store: Store) -> None:
        bits = chance.choice((32, 64))
        store.maintenance.reindex(SchemeChoice(scheme, bits=bits))

    steps: list[Callable[[Store], object]] = [
        add, add, add, change, remove, begin, reindex,
        lambda store: store.vocabulary.refresh(),
        lambda store: store.maintenance.compact(), lambda store: store.maintenance.warm(),
    ]  # fmt: skip
    with ExitStack() as stack:
        stores = [
            stack.enter_context(Store.open(place, resident=number % 2 == 0)) for number in range(4)
        ]
        for _ in range(40):
            # One of them only reads.
            step = chance.choice(steps)
            step(chance.choice(stores[1:]))
            for store in stores:
                asked = chance.sample(list(held.items()), min(len(held), 4))
                run = store.query_many(asked, QueryOptions(radius=chance.choice((0, 3))))
                for (key, _), one in zip(asked, run.samples, strict=True):
                    if key in {match.key for match in one.matches}:
                        found += 1
                    else:
                        # What comes later gets its fingerprint by the generation that stands.
                        assert "no generation was made yet" in str(run.stale), (step, key)
                        missed += 1
    assert found > missed
