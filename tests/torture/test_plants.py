"""Campaigns and the contract find a fault that is put into the package, and nothing without it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from forked import close_nursery
from served import REPOSITORY

from . import plants
from .campaign import Place, load
from .faults import cannot_build
from .plants import Put

pytestmark = pytest.mark.torture

# A fault, the campaign that finds it, seeds of rounds that meet it soon, and what is told of it.
FOUND = [
    (plants.commit_without_sync, "power", [5], "holds|damaged|in the end|malformed|recorded"),
    (plants.draft_without_sync, "power", [5], "cannot be read|holds"),
    (plants.name_without_sync, "power", [5], "holds|is gone"),
    (plants.commit_error_swallowed, "faults", [6], "code=0"),
    (plants.write_error_swallowed, "faults", [1030], "export: EIO.*code=0"),
    (plants.journals_unchecked, "foreign", [10], "new.db-.*code=0"),
    (plants.short_pages, "histories", [40, 41], "entries, [0-9]+ counted"),
    (plants.short_band_runs, "histories", [1, 6, 7], "minhash|bands"),
    (plants.short_unpacked_pages, "damage", [31], "fsck of the undamaged store: pages"),
    (plants.check_without_clusters, "damage", [23], "fsck says sound"),
]
ROUNDS = sorted({(name, seed) for _, name, seeds, _ in FOUND for seed in seeds})

# A fault, a case of the contract that fails because of it on one face, and how.
CAUGHT = [
    (
        plants.collection_ignored,
        "store: an unknown collection has no documents and is no error",
        "0 expected, not 1",
    ),
    (plants.radius_exclusive, "store: the default radius is 3", "2 expected, not 1"),
    (
        plants.removal_not_sent,
        "client: a document that is removed through a server is found by no process any more",
        "0 expected, not 1",
    ),
    (
        plants.outcome_not_counted,
        "http: a reply to a write names the outcome of each document and counts them",
        "skipped: not shown",
    ),
    (
        plants.every_error_is_usage,
        "cli: creating a store in the place of another is a conflict and changes nothing",
        "'conflict' expected, not 'usage'",
    ),
]


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


def contract(cases: Sequence[str], start: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run cases of the contract in a process of its own, with the fault of a folder."""
    paths = [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    paths = [*([] if start is None else [str(start)]), *filter(None, paths)]
    test = "tests/contract/test_contract.py::test_each_face_keeps_the_contract"
    return subprocess.run(
        # A fault imports packages before pytest does, which then warns of plugins among them.
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        + [f"{test}[{case}]" for case in cases],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("plant", "case", "told"), CAUGHT, ids=[plant.__name__ for plant, *_ in CAUGHT]
)
def test_contract_catches_a_planted_fault(
    plant: Callable[[Put], None], case: str, told: str, tmp_path: Path
) -> None:
    plants.write_start(tmp_path / "start", plant)
    done = contract([case], tmp_path / "start")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert re.search(f"AssertionError: step .*{told}", done.stdout), done.stdout


def test_contract_passes_without_a_planted_fault() -> None:
    done = contract([case for _, case, _ in CAUGHT])
    assert done.returncode == 0, done.stdout + done.stderr
