"""A thread that asks a server which is killed, by requests that may be lost."""

from __future__ import annotations

import http.client
import random
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Mapping

from .load_ledger import Ledger

# How long a request is sent again until the campaign calls it a fault that it is not served.
PATIENCE_SECONDS = 90.0
JSON = {"Content-Type": "application/json"}
# Each is a word of its own for every scheme: some see letters of ASCII only.
WORDS = [f"q{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(600)]
WORDS += ["Maß", "ночь", "面包", "\U0001f35e"]


class Lost(Exception):
    """A request was not answered, or by an error after which it may be done or not."""


class Refused(Exception):
    """A request was refused for good: nothing of it is done."""


def text_of(chance: random.Random, earlier: list[str] | None = None) -> str:
    """Return a text of its own, or one of the earlier with a word changed."""
    if earlier and chance.random() < 0.5:
        words = chance.choice(earlier).split()
        words[chance.randrange(len(words))] = "another"
        return " ".join(words)
    return " ".join(chance.choices(WORDS, k=chance.randint(20, 90)))


class Sender(ABC):
    """A thread that asks a server until it is told to stop.

    Args:
        number: Its number among those of the round.
        seed: Of the round.
        port: Where the server is.
        stop: Set when nothing new is to be begun.

    Attributes:
        ledger: What it was told.
        crashed: What it died of.
    """

    def __init__(self, number: int, seed: int, port: int, stop: threading.Event) -> None:
        self.name = f"{type(self).__name__.lower()} {number}"
        self.ledger = Ledger(self.name)
        self.chance = random.Random(f"{seed} {number}")
        self.port = port
        self.crashed: BaseException | None = None
        self.requests = 0
        self._stop = stop
        self._numbers = iter(range(1 << 30))
        self._connection: http.client.HTTPConnection | None = None
        self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait until what was begun has ended."""
        self._thread.join(PATIENCE_SECONDS + 60)
        if self._thread.is_alive():
            frame = sys._current_frames().get(self._thread.ident or 0)
            places = [f"{one.name}:{one.lineno}" for one in traceback.extract_stack(frame)]
            self.ledger.faults.append(f"{self.name}: hangs in {' '.join(places)}")
        if self.crashed is not None:
            self.ledger.faults.append(f"{self.name}: {self.crashed!r}")

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                self.step()
                self.requests += 1
                if self.chance.random() < 0.3:
                    time.sleep(self.chance.uniform(0, 0.02))
        except BaseException as error:
            self.crashed = error
        finally:
            self.close()

    def close(self) -> None:
        """Close what is open."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @abstractmethod
    def step(self) -> None:
        """Ask once."""

    def key(self) -> str:
        """Return a key that was not sent yet."""
        return f"{self.name}/{next(self._numbers)}"

    def documents(self) -> dict[str, str]:
        """Return texts by key: some are new, some of them change, or stay."""
        chosen: dict[str, str] = {}
        known = self.ledger.keys()
        for _ in range(self.chance.choice((1, 1, 1, 4, 25))):
            if known and self.chance.random() < 0.35:
                key = self.chance.choice(known)
                state = self.ledger.states[key]
                assert state is not None
                chosen[key] = state.text if self.chance.random() < 0.3 else text_of(self.chance)
            else:
                chosen[self.key()] = text_of(self.chance)
        return chosen

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> bytes:
        """Ask once; return the body of the reply.

        Raises:
            Lost: It may be done or not.
            Refused: It is not done.
        """
        if self._connection is None or self.chance.random() < 0.1:
            self.close()
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            self._connection.request(method, path, body, dict(headers))
            reply = self._connection.getresponse()
            data = reply.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Lost(repr(error)) from error
        if reply.status in (200, 201):
            return data
        self.close()
        told = f"{reply.status} {data[:300]!r}"
        if reply.status in (408, 429) or reply.status >= 500:
            raise Lost(told)
        raise Refused(told)

    def ask_until_answered(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[bytes, int]:
        """Ask again and again until there is an answer; return it, and the number of attempts."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        for attempt in range(1, 1 << 20):
            try:
                return self.ask(method, path, body, headers), attempt
            except Lost as lost:
                if time.monotonic() > deadline:
                    raise AssertionError(f"not served for {PATIENCE_SECONDS} s: {lost}") from lost
                time.sleep(self.chance.uniform(0.01, 0.2))
        raise AssertionError
