"""Senders of documents to a server that is killed: each a thread with keys of its own."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any

from .load_sender import JSON, PATIENCE_SECONDS, Lost, Sender, text_of

_LINES = {"Content-Type": "application/x-ndjson"}


class Repeating(Sender):
    """Sends each request until it is answered, and some once more later."""

    def __init__(self, number: int, seed: int, port: int, stop: threading.Event) -> None:
        super().__init__(number, seed, port, stop)
        self._before: list[dict[str, str]] = []

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
        data, attempts = self.ask_until_answered("POST", "/v1/documents", _body(texts), JSON)
        self.ledger.added(self.name, texts, _outcomes(data), again=attempts > 1)
        self._before = [*self._before[-20:], texts]

    def _twice_at_once(self) -> None:
        """Send one request by two connections at the same time: one finds the other's documents."""
        texts = self.documents()
        body = _body(texts)
        second = _Once(self.port, body, JSON)
        second.start()
        data, attempts = self.ask_until_answered("POST", "/v1/documents", body, JSON)
        second.join(PATIENCE_SECONDS)
        told = [_outcomes(data)]
        if second.told is not None:
            told.append(_outcomes(second.told))
        # An attempt that was not answered may have been the one that did it.
        is_unsure = attempts > 1 or second.told is None
        same = dict.fromkeys(texts, "unchanged")
        fresh = [one for one in told if one != same]
        if len(fresh) > 1:
            self.ledger.faults.append(f"{self.name}: done twice, told {told}")
        self.ledger.added(self.name, texts, (fresh or told)[0], again=is_unsure)

    def _remove(self, known: list[str]) -> None:
        keys = self.chance.sample(known, min(len(known), 3))
        body = json.dumps({"keys": keys, "missing_ok": True}).encode()
        data, attempts = self.ask_until_answered("POST", "/v1/remove", body, JSON)
        told = json.loads(data)["removed"]
        if attempts > 1 and not told:
            # An attempt whose answer was lost removed them.
            told = len(keys)
        self.ledger.removed(f"{self.name} removes {keys}", keys, told)

    def _again(self) -> None:
        texts = self.chance.choice(self._before)
        held = {key: state.text for key in texts if (state := self.ledger.states.get(key))}
        if held != texts:
            return
        data, _ = self.ask_until_answered("POST", "/v1/documents", _body(texts), JSON)
        self.ledger.added(f"{self.name} again", texts, _outcomes(data))


class _Once(threading.Thread):
    """Sends one request; ``told`` is the reply, None where there was none."""

    def __init__(self, port: int, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(daemon=True)
        self._given = port, body, dict(headers)
        self.told: bytes | None = None

    def run(self) -> None:
        port, body, headers = self._given
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=40)
        with suppress(OSError, http.client.HTTPException), closing(connection):
            connection.request("POST", "/v1/documents", body, headers)
            reply = connection.getresponse()
            data = reply.read()
            if reply.status == 200:
                self.told = data


class Careless(Sender):
    """Sends each request once, and now and then goes away in its midst."""

    def step(self) -> None:
        """Add or remove once."""
        known = self.ledger.keys()
        if known and self.chance.random() < 0.2:
            keys = self.chance.sample(known, min(len(known), 2))
            body = json.dumps({"keys": keys, "missing_ok": True}).encode()
            try:
                told = json.loads(self.ask("POST", "/v1/remove", body, JSON))
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
            told = self.ask("POST", "/v1/documents", body, JSON)
        except Lost as lost:
            self.ledger.lost(f"{self.name}: {lost}", self.ledger.after(texts))
            time.sleep(0.02)
        else:
            self.ledger.added(self.name, texts, _outcomes(told))

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
        try:
            data = self.ask("POST", path, _body(texts), JSON)
        except Lost as lost:
            what = f"{self.name} {mode}: {lost}"
            self.ledger.lost(what, self.ledger.after(texts), checked=True)
            time.sleep(0.02)
        else:
            self.ledger.added_if_new(texts, _outcomes(data))


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
                told = self._client.remove(*keys, missing_ok=True)
                # The client may have sent it again after a removal whose answer was lost.
                self.ledger.removed(f"{self.name} removes {keys}", keys, max(told, len(keys)))
            elif choice < 0.6:
                texts = dict([next(iter(self.documents().items()))])
                after = self.ledger.after(texts)
                ((key, text),) = texts.items()
                outcome = self._client.add(key, text)
                self.ledger.added(self.name, texts, {key: outcome}, again=True)
            else:
                texts = self.documents()
                after = self.ledger.after(texts)
                expected = self.ledger.expected(texts)
                given = [{"key": key, "text": text} for key, text in texts.items()]
                done = self._client.add_many(given)
                for outcome in ("added", "updated"):
                    wanted = sum(one == outcome for one in expected.values())
                    # What is sent again is unchanged.
                    if getattr(done, outcome) not in (0, wanted):
                        self.ledger.faults.append(f"{self.name}: {done}, and {expected} expected")
                self.ledger.added(self.name, texts, expected)
        except SimstoreError as error:
            self.ledger.lost(f"{self.name}: {error!r}", after)
            # It waits for all that passes; a request that takes too long is given up.
            if not isinstance(error, TimedOut):
                self.ledger.faults.append(f"{self.name} gave up: {error!r}")


def _body(texts: Mapping[str, str]) -> bytes:
    return json.dumps(
        {"documents": [{"key": key, "text": text} for key, text in texts.items()]}
    ).encode()


def _outcomes(data: bytes) -> dict[str, str]:
    """Return the outcome of each document that a reply reports."""
    return {one["key"]: one["outcome"] for one in json.loads(data)["documents"]}
