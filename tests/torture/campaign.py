"""What a campaign is: rounds that are made by chance from a seed, and what they found.

A campaign takes one seed a round, so that a round which found a fault can be run again alone. Its
name and module stand in ``CAMPAIGNS``; a module is imported when its campaign is run.
"""

from __future__ import annotations

import importlib
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from forked import Nursery

# Name: module, class. The order is that of a whole run.
CAMPAIGNS = {
    "faults": ("disk_faults", "DiskFaults"),
    "power": ("power_loss", "PowerLoss"),
    "histories": ("histories", "Histories"),
    "damage": ("damage", "Damage"),
    "hostile": ("hostile_input", "HostileInput"),
    "foreign": ("foreign_files", "ForeignFiles"),
    "load": ("load", "Load"),
}

# After so many faults in a row a campaign ends: it has lost a server or a process of its own.
_MOST_IN_A_ROW = 10


@dataclass(frozen=True)
class Place:
    """Where a campaign works.

    Attributes:
        folder: The only folder that it writes to.
        sealed: Whether nothing else can be written to: a sandbox sees to it. Only then may a case
            name a device or a path outside of the folder.
    """

    folder: Path
    sealed: bool


class Campaign(ABC):
    """One way to look for faults; used as a context manager, which holds servers and the like.

    Attributes:
        title: What it does, in a few words.
        unit: What it counts, in the plural: what a whole run must reach so many of.
        slice_rounds: Rounds of the slice that each change runs.
        full_cases: Cases of a whole run.
    """

    title: str
    unit: str
    slice_rounds: int
    full_cases: int

    def __init__(self, place: Place) -> None:
        self.place = place
        # What is closed when it ends, the last first.
        self.held = ExitStack()

    @classmethod
    def cannot_run(cls) -> str | None:
        """Return why it cannot run here; None where it can."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.held.close()

    def make_folder(self, name: str) -> Path:
        """Make a folder for what the rounds share, and return it."""
        folder = self.place.folder / name
        folder.mkdir()
        return folder

    def make_nursery(self, environment: Mapping[str, str] | None = None) -> Nursery:
        """Start a nursery, which ends with the campaign.

        Args:
            environment: What its environment has besides this process's.
        """
        return self.held.enter_context(closing(Nursery(environment)))

    @abstractmethod
    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        """Run one round; return what was counted, ``unit`` among it.

        Args:
            seed: All chance of the round comes from it.
            folder: An empty folder of this round.

        Raises:
            Exception: Anything that is raised is a fault that was found; its message says what
                happened, so that a reader can find the cause.
        """


@dataclass
class Outcome:
    """What the rounds of a campaign found.

    Attributes:
        name: The campaign's.
        rounds: How many were run.
        counts: What they counted, summed.
        faults: Seed and story of each round that found a fault.
        seconds: How long it took.
    """

    name: str
    rounds: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0


def load(name: str) -> type[Campaign]:
    """Return the class of a campaign.

    Args:
        name: One of ``CAMPAIGNS``.
    """
    module, kind = CAMPAIGNS[name]
    found: type[Campaign] = getattr(importlib.import_module(f".{module}", __package__), kind)
    return found


def run(
    name: str,
    place: Place,
    *,
    seed: int,
    goes_on: Callable[[Outcome], bool],
    told: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:
    """Run rounds of a campaign from a seed upward; a fault does not end it, ten in a row do.

    Args:
        name: One of ``CAMPAIGNS``.
        place: Where.
        seed: Of the first round; each next round has the next number.
        goes_on: Says before each round whether there is another.
        told: Called after each round.
    """
    outcome = Outcome(name)
    start = time.monotonic()
    with load(name)(place) as campaign:
        in_a_row = 0
        while in_a_row < _MOST_IN_A_ROW and goes_on(outcome):
            number = seed + outcome.rounds
            folder = place.folder / f"{name}-{number}"
            folder.mkdir()
            try:
                outcome.counts.update(campaign.round(number, folder))
            except Exception:
                outcome.faults.append((number, traceback.format_exc()))
                in_a_row += 1
            else:
                _remove(folder)
                in_a_row = 0
            outcome.rounds += 1
            outcome.seconds = time.monotonic() - start
            told(outcome)
    outcome.seconds = time.monotonic() - start
    return outcome


def _remove(folder: Path) -> None:
    """Delete a folder and all in it, also what a case has made unreadable."""
    import shutil

    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder)
