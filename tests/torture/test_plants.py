"""Each campaign finds a fault that is put into the package, and nothing where there is none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from forked import close_nursery

from . import plants
from .campaign import Place, load
from .faults import cannot_build
from .plants import Put

pytestmark = pytest.mark.torture

# A fault, the campaign that finds it, seeds of rounds that meet it soon, and what is told of it.
FOUND = [
    (plants.commit_without_sync, "power", [5], "holds|damaged|in the end|malformed"),
    (plants.draft_without_sync, "power", [5], "cannot be read|holds"),
    (plants.name_without_sync, "power", [5], "holds|is gone"),
    (plants.commit_error_swallowed, "faults", [6], "code=0"),
    (plants.write_error_swallowed, "faults", [296], "export: EIO.*code=0"),
    (plants.short_pages, "histories", [11, 16], "near|packed|pages of segment"),
    (plants.short_band_pages, "histories", [1, 6, 10], "minhash|bands"),
    (plants.short_unpacked_pages, "damage", [31], "fsck of the undamaged store: pages"),
    (plants.check_without_clusters, "damage", [23], "fsck says sound"),
]
ROUNDS = sorted({(name, seed) for _, name, seeds, _ in FOUND for seed in seeds})


def stories(name: str, seeds: Sequence[int], folder: Path) -> list[str]:
    """Run rounds of a campaign; return what each found that found something."""
    if name in ("power", "faults") and (reason := cannot_build()):
        pytest.skip(reason)
    found = []
    folder.mkdir()
    with load(name)(Place(folder, sealed=False)) as campaign:
        for seed in seeds:
            place = folder / f"{name}-{seed}"
            place.mkdir()
            try:
                campaign.round(seed, place)
            except Exception as error:
                found.append(str(error))
    return found


@pytest.mark.parametrize(
    ("plant", "name", "seeds", "told"), FOUND, ids=[plant.__name__ for plant, *_ in FOUND]
)
def test_planted_fault_is_found(
    plant: Callable[[Put], None],
    name: str,
    seeds: list[int],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = tmp_path / "start"
    plants.write_start(start, plant)
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(start), before))))
    # One that is there has no fault.
    close_nursery()
    if name == "histories":
        # Its stores are used by this process, too.
        plant(monkeypatch.setattr)
    found = stories(name, seeds, tmp_path / "rounds")
    assert len(found) == len(seeds), found
    for story in found:
        assert re.search(told, story, re.DOTALL), story


@pytest.mark.parametrize(("name", "seed"), ROUNDS)
def test_same_round_finds_nothing_without_a_planted_fault(
    name: str, seed: int, tmp_path: Path
) -> None:
    assert stories(name, [seed], tmp_path / "rounds") == []
