"""Readers of a server that is killed: what was acknowledged is found, whatever happened since."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .load_clients import Checked
from .load_ledger import Held
from .load_sender import JSON, Lost, Refused, Sender

_NO_GENERATION = "no generation was made yet"
_WORD = re.compile(r"\bq[a-z]+")


class Reader(Sender):
    """Asks for what others were told that it is stored; it is to be found as soon as they were.

    Args:
        number: As of a :class:`Sender`, and so ``seed``, ``port`` and ``stop``.
        others: Whose documents it asks for.
        passages: Whether the store finds passages.
    """

    def __init__(
        self,
        number: int,
        seed: int,
        port: int,
        stop: threading.Event,
        others: list[Checked],
        *,
        passages: bool,
    ) -> None:
        super().__init__(number, seed, port, stop)
        self._others = others
        self._passages = passages

    def step(self) -> None:
        """Ask for one document, or some: by key, by text, or for their passages."""
        wanted = self._wanted(self.chance.choice((1, 1, 2, 5)))
        if not wanted:
            time.sleep(0.02)
            return
        choice = self.chance.random()
        try:
            if choice < 0.3:
                self._by_key(*next(iter(wanted.items())))
            elif choice < 0.5 and self._passages:
                self._by_passages(wanted)
            else:
                self._by_text(wanted)
        except Lost:
            time.sleep(0.05)
        except Refused as refused:
            self.ledger.faults.append(f"{list(wanted)} were acknowledged, and then: {refused}")

    def _wanted(self, count: int) -> dict[str, Held]:
        """Return some documents that are stored, the latest more often than others."""
        ledger = self.chance.choice(self._others).ledger
        stored = [key for key, told in list(ledger.checked.items()) if told != "skipped"]
        recent = stored[-10:] if self.chance.random() < 0.7 else stored
        chosen = self.chance.sample(recent, min(count, len(recent)))
        held = {key: ledger.states.get(key) for key in chosen}
        return {key: one for key, one in held.items() if one is not None}

    def _by_key(self, key: str, held: Held) -> None:
        told = json.loads(self.ask("GET", f"/v1/documents/{quote(key, safe='')}?with_text=1"))
        if told["text"] != held.text:
            self.ledger.faults.append(f"{key} is {told}, not {held}")

    def _by_text(self, wanted: dict[str, Held]) -> None:
        # No limit: what is far down in the order of ingest is found, too.
        asked: dict[str, Any] = {"radius": self.chance.choice((0, 3))}
        if len(wanted) == 1 and self.chance.random() < 0.5:
            ((_, held),) = wanted.items()
            asked["text"] = held.text
        else:
            asked["samples"] = [{"text": held.text} for held in wanted.values()]
        told = json.loads(self.ask("POST", "/v1/query", json.dumps(asked).encode(), JSON))
        for key, one in zip(wanted, told["samples"], strict=True):
            found = [match["key"] for match in one["matches"]]
            # What comes after the first generation gets its fingerprint at once.
            if key not in found and _NO_GENERATION not in str(told["stale"]):
                self.ledger.faults.append(
                    f"{key} is stored and not among the {len(found)} that are found by its text "
                    f"(stale: {told['stale']}): {found}"
                )

    def _by_passages(self, wanted: dict[str, Held]) -> None:
        papers = [{"text": held.text} for held in wanted.values()]
        told = json.loads(
            self.ask("POST", "/v1/check", json.dumps({"papers": papers}).encode(), JSON)
        )
        for (key, held), paper in zip(wanted.items(), told["papers"], strict=True):
            spans = [(copy["start"], copy["end"]) for copy in paper["copies"]]
            missed = [
                word[0]
                for word in _WORD.finditer(held.text)
                if not any(start <= word.start() and word.end() <= end for start, end in spans)
            ]
            if missed:
                self.ledger.faults.append(
                    f"{key} is stored, and a check finds no copy of {missed} in {held.text!r}"
                )


class Copier(Sender):
    """Makes copies of a store over HTTP while it is written; each is a sound store.

    Args:
        number: As of a :class:`Sender`, and so ``seed``, ``port`` and ``stop``.
        folder: Where to.
        others: Whose documents a copy is to have.
        check: Raises where a copy is no sound store; returns its keys.
    """

    def __init__(
        self,
        number: int,
        seed: int,
        port: int,
        stop: threading.Event,
        folder: Path,
        others: list[Checked],
        check: Callable[[Path], set[str]],
    ) -> None:
        super().__init__(number, seed, port, stop)
        self._folder, self._others, self._check = folder, others, check
        self.copies = 0

    def step(self) -> None:
        """Make a copy, and look at it."""
        wanted = {
            key
            for other in self._others
            for key, told in list(other.ledger.checked.items())
            if told != "skipped"
        }
        try:
            data = self.ask("POST", "/v1/backup")
        except Lost:
            time.sleep(0.1)
            return
        path = self._folder / f"copy-{self.copies}.db"
        path.write_bytes(data)
        missing = wanted - self._check(path)
        if missing:
            self.ledger.faults.append(f"{path.name} lacks what was told before: {sorted(missing)}")
        self.copies += 1
        for one in self._folder.glob(f"{path.name}*"):
            one.unlink()
        self._stop.wait(0.5)
