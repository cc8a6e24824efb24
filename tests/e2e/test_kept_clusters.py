"""Clusters that are kept, by several processes at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked import Nursery

from simstore import Store

from . import corpora
from .states import assert_sound


def pages() -> dict[str, str]:
    return dict(corpora.pages(5, 400, repeats=False))


def clusters(path: Path) -> list[tuple[str, list[tuple[str, float]]]]:
    """Return the kept clusters without their names."""
    with Store.open(path) as store:
        found = [
            (one.key, [(m.key, m.resemblance) for m in one.members])
            for one in store.clusters.list(1)
        ]
    return sorted(found)


@pytest.mark.slow
def test_several_processes_bring_the_same_clusters_up_to_date(
    nursery: Nursery, tmp_path: Path
) -> None:
    made = list(pages().items())
    path, clean = tmp_path / "s.db", tmp_path / "clean.db"
    with Store.create(path) as store:
        store.add_many(made[:100], threads=1)
        store.clusters.build()
        store.add_many(made[100:], threads=1)
    children = [
        nursery.start("keep_clusters", tmp_path, place=str(path), batch_texts=7, rebuild=turn == 2)
        for turn in range(4)
    ]
    for child in children:
        assert list(child.messages())[-1] == "done"
        assert child.wait().code == 0
    assert_sound(path)
    with Store.create(clean) as store:
        store.add_many(made, threads=1)
        store.clusters.build()
    with Store.open(path) as store:
        # Whoever began last to make them may have left something to the next.
        store.clusters.build()
    assert clusters(path) == clusters(clean)
