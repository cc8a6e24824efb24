"""Senders and readers of a server that is killed: each a thread with keys of its own."""

from __future__ import annotations

import http.client
import json
import random
import signal
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from forked import nursery

from .load_ledger import Ledger

# How long a request is sent again until the campaign calls it a fault that it is not served.
PATIENCE_SECONDS = 90.0
_WORDS = [f"word{number}" for number in range(600)] + ["Maß", "ночь", "面包", "\U0001f35e"]
_JSON = {"Content-Type": "application/json"}
_LINES = {"Content-Type": "application/x-ndjson"}


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
    return " ".join(chance.choices(_WORDS, k=chance.randint(20, 90)))


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
            self.ledger.faults.append(f"{self.name}: hangs")
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


class Named(Sender):
    """Sends requests that have names, each until it is answered, and some once more later."""

    def __init__(self, number: int, seed: int, port: int, stop: threading.Event) -> None:
        super().__init__(number, seed, port, stop)
        self._before: list[tuple[str, str, bytes | None, dict[str, str], Any]] = []

    def step(self) -> None:
        """Add, change or remove, or send again what was answered before."""
        choice = self.chance.random()
        if self._before and choice < 0.2:
            self._again()
        elif choice < 0.3:
            self._twice_at_once()
        elif choice < 0.45 and (known := self.ledger.keys()):
            self._remove(known)
        else:
            self._add()

    def _add(self) -> None:
        texts = self.documents()
        headers = _JSON | {
            "Idempotency-Key": f"{self.name}-{next(self._numbers)}".replace(" ", "-")
        }
        told = self._told("POST", "/v1/documents", _body(texts), headers)
        outcomes = {one["key"]: one["outcome"] for one in told["documents"]}
        self.ledger.added(f"{headers['Idempotency-Key']}", texts, outcomes)

    def _twice_at_once(self) -> None:
        """Send one request by two connections at the same time."""
        texts = self.documents()
        name = f"{self.name}-{next(self._numbers)}".replace(" ", "-")
        headers = _JSON | {"Idempotency-Key": name}
        body = _body(texts)
        second = _Once(self.port, body, headers)
        second.start()
        data, attempts = self.ask_until_answered("POST", "/v1/documents", body, headers)
        second.join(PATIENCE_SECONDS)
        told = json.loads(data)
        outcomes = {one["key"]: one["outcome"] for one in told["documents"]}
        self.ledger.added(name, texts, outcomes)
        if second.told is not None:
            if second.told | {"replayed": True} != told | {"replayed": True}:
                self.ledger.faults.append(f"{name}: told {told} and {second.told} at once")
            fresh = [told["replayed"], second.told["replayed"]].count(False)
            # An attempt that was not answered may have been the one that did it.
            if fresh > 1 or (attempts == 1 and not fresh):
                self.ledger.faults.append(f"{name}: done {fresh} times, told {told}")

    def _remove(self, known: list[str]) -> None:
        name = f"{self.name}-{next(self._numbers)}".replace(" ", "-")
        headers = {"Idempotency-Key": name}
        if self.chance.random() < 0.5:
            keys = [self.chance.choice(known)]
            method, path, body = "DELETE", f"/v1/documents/{quote(keys[0], safe='')}", None
        else:
            keys = self.chance.sample(known, min(len(known), 3))
            method, path = "POST", "/v1/remove"
            body, headers = json.dumps({"keys": keys}).encode(), headers | _JSON
        told = self._told(method, path, body, headers)
        self.ledger.removed(name, keys, told["removed"])

    def _told(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Any:
        data, attempts = self.ask_until_answered(method, path, body, headers)
        told = json.loads(data)
        if told["replayed"] and attempts == 1:
            self.ledger.faults.append(f"{headers}: sent once, and told that it was sent before")
        self._before = [*self._before[-20:], (method, path, body, headers, told)]
        return told

    def _again(self) -> None:
        method, path, body, headers, told = self.chance.choice(self._before)
        name = headers["Idempotency-Key"]
        if body and self.chance.random() < 0.3:
            # The name of another request.
            with suppress(Lost):
                try:
                    self.ask(method, path, body + b" ", headers)
                    self.ledger.faults.append(f"{name} was taken for another request")
                except Refused as refused:
                    if not str(refused).startswith("409"):
                        self.ledger.faults.append(f"{name}: {refused}")
            return
        again = json.loads(self.ask_until_answered(method, path, body, headers)[0])
        if again != told | {"replayed": True}:
            self.ledger.faults.append(f"{name}: told {told}, and then {again}")


class _Once(threading.Thread):
    """Sends one request; ``told`` is the reply, None where there was none."""

    def __init__(self, port: int, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(daemon=True)
        self._given = port, body, dict(headers)
        self.told: Any = None

    def run(self) -> None:
        port, body, headers = self._given
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=40)
        with suppress(OSError, http.client.HTTPException), closing(connection):
            connection.request("POST", "/v1/documents", body, headers)
            reply = connection.getresponse()
            data = reply.read()
            if reply.status == 200:
                self.told = json.loads(data)


class Careless(Sender):
    """Sends each request once, and now and then goes away in its midst."""

    def step(self) -> None:
        """Add or remove once."""
        known = self.ledger.keys()
        if known and self.chance.random() < 0.2:
            keys = self.chance.sample(known, min(len(known), 2))
            body = json.dumps({"keys": keys, "missing_ok": True}).encode()
            try:
                told = json.loads(self.ask("POST", "/v1/remove", body, _JSON))
            except Lost as lost:
                self.ledger.lost(f"removal of {keys}: {lost}", dict.fromkeys(keys))
            else:
                self.ledger.removed(f"removal of {keys}", keys, told["removed"])
            return
        texts = self.documents()
        body = _body(texts)
        if self.chance.random() < 0.25:
            self._leave(body)
            self.ledger.lost(f"{self.name} went away", self.ledger.after(texts))
            return
        try:
            told = json.loads(self.ask("POST", "/v1/documents", body, _JSON))
        except Lost as lost:
            self.ledger.lost(f"{self.name}: {lost}", self.ledger.after(texts))
            time.sleep(0.02)
        else:
            outcomes = {one["key"]: one["outcome"] for one in told["documents"]}
            self.ledger.added(self.name, texts, outcomes)

    def _leave(self, body: bytes) -> None:
        head = (
            f"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        sent = head + body
        if self.chance.random() < 0.5:
            sent = sent[: self.chance.randrange(len(sent))]
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 10) as some:
            some.sendall(sent)
            time.sleep(self.chance.choice((0.0, 0.005, 0.05)))


class Checked(Sender):
    """Has each document looked for first; keeps or skips those that are duplicates."""

    def step(self) -> None:
        """Add some new documents."""
        mode = self.chance.choice(("flag", "skip"))
        earlier = [held.text for held in self.ledger.states.values() if held][-30:]
        texts = {
            self.key(): text_of(self.chance, earlier) for _ in range(self.chance.choice((1, 5)))
        }
        path = f"/v1/documents?on_duplicate={mode}"
        headers = dict(_JSON)
        try:
            if self.chance.random() < 0.5:
                name = f"{self.name}-{next(self._numbers)}".replace(" ", "-")
                headers["Idempotency-Key"] = name
                data, _ = self.ask_until_answered("POST", path, _body(texts), headers)
            else:
                data = self.ask("POST", path, _body(texts), headers)
        except Lost as lost:
            what = f"{self.name} {mode}: {lost}"
            self.ledger.lost(what, self.ledger.after(texts), checked=True)
            time.sleep(0.02)
        else:
            told = json.loads(data)["documents"]
            self.ledger.added_if_new(texts, {one["key"]: one["outcome"] for one in told})


class Lines(Sender):
    """Sends documents as lines, and reads the lines of the reply as far as they come."""

    def step(self) -> None:
        """Send some lines; each is answered, or not."""
        texts = {self.key(): text_of(self.chance) for _ in range(self.chance.choice((3, 30, 300)))}
        known = self.ledger.keys()
        for key in self.chance.sample(known, min(len(known), 3)):
            texts[key] = text_of(self.chance)
        lines = [json.dumps({"key": key, "text": text}) for key, text in texts.items()]
        body = ("\n".join(lines) + "\n").encode()
        left = dict(texts)
        why = "the reply ended"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            with closing(connection):
                connection.request("POST", "/v1/documents", body, _LINES)
                reply = connection.getresponse()
                stop_after = self.chance.randrange(len(lines)) if self.chance.random() < 0.1 else -1
                while line := reply.readline():
                    if not line.endswith(b"\n"):
                        break
                    self._take(json.loads(line), left)
                    if len(texts) - len(left) == stop_after:
                        why = "it went away"
                        break
        except (OSError, http.client.HTTPException) as error:
            why = repr(error)
        for key, text in left.items():
            self.ledger.lost(f"a line of {self.name}: {why}", self.ledger.after({key: text}))
        if left:
            time.sleep(0.2)

    def _take(self, told: Any, left: dict[str, str]) -> None:
        if "outcome" in told:
            text = {told["key"]: left.pop(told["key"])}
            self.ledger.added(f"a line of {self.name}", text, {told["key"]: told["outcome"]})
        elif "error" in told and told["error"]["status"] < 500:
            self.ledger.faults.append(f"{self.name}: a line is refused: {told}")


class ByClient(Sender):
    """Uses ``simstore.Client``, which sends again by itself what was not served."""

    def __init__(self, number: int, seed: int, port: int, stop: threading.Event) -> None:
        super().__init__(number, seed, port, stop)
        from simstore.client import Client

        self._client = Client(f"http://127.0.0.1:{port}", timeout=60, patience=PATIENCE_SECONDS)

    def close(self) -> None:
        """Close the client, too."""
        super().close()
        self._client.close()

    def step(self) -> None:
        """Add some, add one, or remove one."""
        from simstore.errors import SimstoreError, TimedOut

        choice = self.chance.random()
        known = self.ledger.keys()
        try:
            if known and choice < 0.2:
                keys = [self.chance.choice(known)]
                after: Any = dict.fromkeys(keys)
                self.ledger.removed(f"{self.name} removes {keys}", keys, self._client.remove(*keys))
            elif choice < 0.6:
                texts = dict([next(iter(self.documents().items()))])
                after = self.ledger.after(texts)
                ((key, text),) = texts.items()
                self.ledger.added(self.name, texts, {key: self._client.add(key, text)})
            else:
                texts = self.documents()
                after = self.ledger.after(texts)
                expected = self.ledger.expected(texts)
                given = [{"key": key, "text": text} for key, text in texts.items()]
                done = self._client.add_many(given)
                for outcome in ("added", "updated", "unchanged"):
                    wanted = sum(one == outcome for one in expected.values())
                    if getattr(done, outcome) != wanted:
                        self.ledger.faults.append(f"{self.name}: {done}, and {expected} expected")
                self.ledger.added(self.name, texts, expected)
        except SimstoreError as error:
            self.ledger.lost(f"{self.name}: {error!r}", after)
            # It waits for all that passes; a request that takes too long is given up.
            if not isinstance(error, TimedOut):
                self.ledger.faults.append(f"{self.name} gave up: {error!r}")


class Reader(Sender):
    """Asks for what others were told that it is stored; it is to be found as soon as they were.

    Args:
        number: As of a :class:`Sender`, and so ``seed``, ``port`` and ``stop``.
        others: Whose documents it asks for.
        waits: A document is found by its text after the next generation: it is asked for by key.
    """

    def __init__(
        self,
        number: int,
        seed: int,
        port: int,
        stop: threading.Event,
        others: list[Checked],
        *,
        waits: bool,
    ) -> None:
        super().__init__(number, seed, port, stop)
        self._others = others
        self._waits = waits

    def step(self) -> None:
        """Ask for one document, by its key or by its text."""
        ledger = self.chance.choice(self._others).ledger
        stored = [key for key, told in list(ledger.checked.items()) if told != "skipped"]
        if not stored:
            time.sleep(0.02)
            return
        key = self.chance.choice(stored[-10:])
        held = ledger.states.get(key)
        if held is None:
            return
        try:
            if self._waits or self.chance.random() < 0.5:
                told = json.loads(
                    self.ask("GET", f"/v1/documents/{quote(key, safe='')}?with_text=1")
                )
                if told["text"] != held.text:
                    self.ledger.faults.append(f"{key} is {told}, not {held}")
            else:
                asked: dict[str, Any] = {"text": held.text}
                if self.chance.random() < 0.5:
                    asked = {"samples": [{"key": "", "text": held.text}]}
                body = json.dumps(asked | {"radius": 3, "limit": 1000}).encode()
                told = json.loads(self.ask("POST", "/v1/query", body, _JSON))
                found = [one["key"] for one in told["samples"][0]["matches"]]
                if key not in found and not told.get("stale"):
                    self.ledger.faults.append(f"{key} is stored and not found by its text: {found}")
        except Lost:
            time.sleep(0.05)
        except Refused as refused:
            self.ledger.faults.append(f"{key} was acknowledged, and then: {refused}")


class Beside(Sender):
    """Command lines that write and tidy up the store that is served; some of them are killed.

    Args:
        number: As of a :class:`Sender`, and so ``seed``, ``port`` and ``stop``.
        folder: Where they run.
        url: The store.
        may_fail: The database is disturbed: a command may say so and fail.
    """

    _UPKEEP = (("pack",), ("compact",), ("fsck",), ("stats",), ("vocabulary", "refresh"))

    def __init__(
        self,
        number: int,
        seed: int,
        port: int,
        stop: threading.Event,
        folder: Path,
        url: str,
        *,
        may_fail: bool,
    ) -> None:
        super().__init__(number, seed, port, stop)
        self._folder, self._url, self._may_fail = folder, url, may_fail
        self.kills = 0

    def step(self) -> None:
        """Run a command, to its end or not."""
        texts: dict[str, str] = {}
        if self.chance.random() < 0.5:
            texts = {self.key(): text_of(self.chance) for _ in range(self.chance.choice((5, 200)))}
            lines = [json.dumps({"key": key, "text": text}) for key, text in texts.items()]
            given = ("\n".join(lines) + "\n").encode()
            words = ["ingest", "--db", self._url, "--as", "jsonl", "-"]
        else:
            given = b""
            words = [*self.chance.choice(self._UPKEEP), "--db", self._url]
        child = nursery().start("simstore", self._folder, stdin=given, words=words)
        killed = self.chance.random() < 0.3
        if killed:
            time.sleep(self.chance.uniform(0, 0.4))
            child.signal(signal.SIGKILL)
            self.kills += 1
        done = child.wait()
        if "Traceback" in done.errors:
            self.ledger.faults.append(f"{self.name}: {words}: {done.errors[-1500:]}")
        if done.code == 0:
            if texts:
                self.ledger.added(f"{words}", texts, dict.fromkeys(texts, "added"))
        else:
            for key, text in texts.items():
                self.ledger.lost(f"{words}: {done.code}", self.ledger.after({key: text}))
            # A scheme whose fingerprints depend on nothing has no vocabulary to refresh.
            if not killed and not self._may_fail and words[0] != "vocabulary":
                self.ledger.faults.append(
                    f"{self.name}: {words}: {done.code}: {done.errors[-600:]}"
                )
        self._stop.wait(self.chance.uniform(0.1, 0.6))


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


def _body(texts: Mapping[str, str]) -> bytes:
    return json.dumps(
        {"documents": [{"key": key, "text": text} for key, text in texts.items()]}
    ).encode()
