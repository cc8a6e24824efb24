"""Hostile input of every kind: files, command lines, requests; see the module of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Self

from forked import close_nursery

from .campaign import Campaign
from .hostile_commands import HostileCommands
from .hostile_reading import Reading
from .hostile_requests import HostileRequests

# Rounds of each kind in a row of rounds: a seed says by its remainder which it is.
_TURNS = ("files", "commands", "files", "requests", "files", "commands")
_FILES, _COMMANDS, _REQUESTS = 24, 40, 100


class HostileInput(Campaign):
    """Files, command lines and requests that nobody should send.

    A round is of one kind. What came in is stored, rejected or told; a command ends as documented
    and in bounds of memory and time, and leaves a sound store; a server goes on answering others,
    keeps what it holds and ends when it is told to.
    """

    title = "hostile files, command lines and requests"
    unit = "inputs"
    slice_rounds = len(_TURNS)
    full_cases = 10_000

    def __enter__(self) -> Self:
        shared = self.make_folder("hostile-shared")
        # That of the servers.
        self.held.callback(close_nursery)
        self._nursery = self.make_nursery()
        self._commands = HostileCommands(self._nursery, shared, is_sealed=self.place.sealed)
        self._requests = HostileRequests(self._nursery, shared)
        return self

    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        """Give hostile input of one kind, and judge what becomes of it."""
        chance = Random(seed)
        kind = _TURNS[seed % len(_TURNS)]
        if kind == "files":
            inputs = Reading(self._nursery, folder).round(chance, _FILES)
            return {self.unit: inputs, "of files": inputs}
        if kind == "commands":
            inputs = self._commands.round(chance, folder, _COMMANDS)
            return {self.unit: inputs, "command lines": inputs}
        counts = self._requests.round(chance, folder, _REQUESTS)
        return {**counts, "requests": counts[self.unit]}
