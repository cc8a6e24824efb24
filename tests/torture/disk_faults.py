"""Commands that write, of which one operation on a file fails.

For each command: what an operation that is killed, torn or refused leaves is a sound store with
all that was acknowledged, a command that ended well did all that it was asked for, and the same
command again ends in the state that an undisturbed run ends in.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self

import second_migration

from .campaign import Campaign, Place
from .faults import ALL_KINDS, Faulted, Faults, cannot_build
from .scenarios import SCENARIOS, Scenario, make_templates, state

# Operations of one command that fail in a round.
_RUNS = 12


class DiskFaults(Campaign):
    """Each round runs one command some times, each time with a fault at another operation."""

    title = "a fault at the n-th operation on a file"
    unit = "kills"
    slice_rounds = 9
    full_cases = 1_000

    @classmethod
    def cannot_run(cls) -> str | None:
        """Return why there can be no faults here; None where there can."""
        return cannot_build()

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        # Of each scenario: operations of an undisturbed run, the state before and after it.
        self._clean: dict[str, tuple[list[str], dict[str, Any], dict[str, Any]]] = {}

    def __enter__(self) -> Self:
        self._shared = self.make_folder("faults")
        self._faults = self.held.enter_context(closing(Faults(self._shared)))
        make_templates(self._shared)
        return self

    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        """Run one command with faults of one kind; half of the rounds kill."""
        chance = random.Random(seed)
        scenario = SCENARIOS[seed // 2 % len(SCENARIOS)]
        others = [kind for kind in ALL_KINDS if kind != "killed"]
        fault = "killed" if seed % 2 else chance.choice(others)
        operations, before, after = self._undisturbed(scenario, folder)
        numbers = chance.sample(range(1, len(operations) + 1), min(_RUNS, len(operations)))
        met = 0
        for number in numbers:
            place = self._prepared(scenario, folder)
            faulted = self._faults.run(list(scenario.words), place, number, fault)
            met += faulted.operation is not None
            try:
                self._judge(scenario, place, faulted, fault, before, after)
            except Exception as error:
                told = f"{scenario.name}: {fault} at {faulted.operation}: {faulted.done}"
                raise AssertionError(told) from error
        return {"kills" if fault == "killed" else "refused or torn": met}

    def _prepared(self, scenario: Scenario, folder: Path) -> Path:
        place = folder / scenario.name.replace(" ", "-")
        with suppress(FileNotFoundError):
            shutil.rmtree(place)
        shutil.copytree(self._shared / scenario.template, place)
        if scenario.words[0] == "upgrade":
            second_migration.write(place)
        return place

    def _undisturbed(
        self, scenario: Scenario, folder: Path
    ) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
        """Return the operations of a run without a fault, and the state before and after it."""
        if scenario.name not in self._clean:
            place = self._prepared(scenario, folder)
            before = state(place)
            operations = self._faults.operations(list(scenario.words), place, scenario.code)
            self._clean[scenario.name] = operations, before, state(place)
        return self._clean[scenario.name]

    def _judge(
        self,
        scenario: Scenario,
        place: Path,
        faulted: Faulted,
        fault: str,
        before: dict[str, Any],
        after: dict[str, Any],
    ) -> None:
        done = faulted.done
        assert "Traceback" not in done.errors
        if done.code == scenario.code:
            # It says that all is done.
            assert state(place) == after, "ended well, and is not in the state after it"
        else:
            if faulted.operation and fault != "killed":
                assert done.errors.strip(), "failed without a word"
            _between(before, state(place, partly=True), after)
        again = self._faults.nursery.simstore(place, *scenario.again)
        assert again.code in (scenario.code, *scenario.codes_again), again
        assert state(place) == after, f"not in the state of a clean run: {again}"


def _between(before: dict[str, Any], now: dict[str, Any], after: dict[str, Any]) -> None:
    """Hold the documents of an interrupted run against those before and after it."""
    for name, documents in now["documents"].items():
        old = before["documents"].get(name, {})
        new = after["documents"].get(name, {})
        for key, text in documents.items():
            assert text in (old.get(key, text), new.get(key, text)), (name, key)
            assert key in old or key in new, f"{name}: {key} was never stored"
        lost = old.keys() & new.keys() - documents.keys()
        assert not lost, f"{name} lost {sorted(lost)[:5]}"
    lost_stores = before["documents"].keys() - now["documents"].keys()
    assert not lost_stores, f"{lost_stores} gone"
