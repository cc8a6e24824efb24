"""A server whose disk loses power: what it has answered is there, and of no request a part."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from e2e import corpora
from forked import PATIENCE_SECONDS, Child, Nursery

from simstore import Document, Store
from simstore.model import OnDuplicate

from .disk import files_of
from .power_steps import STORE, documents
from .record import Event, append_mark

_SERVING = re.compile(r"serving .* at http://127\.0\.0\.1:(\d+)")
_KEY = re.compile(rb'"key":\s*"([^"]+)"')
_LOG_PAGES = (None, 8, 40)
_MODES: tuple[OnDuplicate, ...] = ("keep", "flag")


@dataclass(frozen=True)
class Request:
    """One request of a sender, which sends the next when it is answered.

    Attributes:
        name: The sender's name for it.
        pages: Documents to add.
        gone: Keys of documents to remove, in place of that; the same sender added them before.
        lines: Send them as lines, each of which is stored alone.
    """

    name: str
    pages: Sequence[tuple[str, str]] = ()
    gone: Sequence[str] = ()
    lines: bool = False


@dataclass
class Senders:
    """What senders send to a server.

    Attributes:
        all: The requests of each.
        mode: What the server does with duplicates; all of them are stored.
    """

    all: list[list[Request]]
    mode: OnDuplicate = "keep"

    @classmethod
    def by_chance(cls, chance: random.Random) -> Senders:
        """Return senders of some requests each."""
        return cls(
            [_requests(chance, number) for number in range(chance.randint(1, 4))],
            chance.choice(_MODES),
        )

    @property
    def final(self) -> dict[str, str | None]:
        """What the store holds in the end."""
        found: dict[str, str | None] = {}
        for request in self.requests:
            found.update(request.pages)
            for key in request.gone:
                del found[key]
        return found

    @property
    def requests(self) -> list[Request]:
        """All requests, those of a sender in their order."""
        return [request for requests in self.all for request in requests]


@dataclass
class Known:
    """What the senders knew when power was lost.

    Attributes:
        sent: Names of requests that were under way, or answered.
        answered: Names of requests that were answered.
        told: Keys of documents that were answered.
    """

    sent: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    def hear(self, event: Event) -> None:
        """Note what an event of the log tells the senders."""
        if event.kind == "told":
            self.told.update(key.decode() for key in _KEY.findall(event.data))
        elif event.kind == "mark":
            what, _, name = event.text.partition(" ")
            (self.sent if what == "sent" else self.answered).add(name)


def _requests(chance: random.Random, sender: int) -> list[Request]:
    pages = corpora.pages(chance.randrange(10_000), 40, prefix=f"sender{sender}", repeats=False)
    found: list[Request] = []
    kept: list[str] = []
    while pages and len(found) < 12:
        name = f"{sender}-{len(found)}"
        if len(kept) > 3 and chance.random() < 0.2:
            gone = [kept.pop(chance.randrange(len(kept))) for _ in range(chance.randint(1, 3))]
            found.append(Request(name, gone=gone))
        else:
            count = chance.choice((1, 1, 3, 6))
            found.append(Request(name, pages[:count], lines=chance.random() < 0.2))
            kept += [key for key, _ in pages[:count]]
            pages = pages[count:]
    return found


def serve(
    nursery: Nursery,
    folder: Path,
    log: Path,
    library: Path,
    senders: Senders,
    chance: random.Random,
) -> None:
    """Record a server while senders send, and stop it.

    Args:
        nursery: Starts the server.
        folder: Where its store is.
        log: Where it is recorded.
        library: The library that records.
        senders: What is sent.
        chance: Chooses options.
    """
    words = ["serve", "--db", STORE, "--port", "0"]
    if chance.random() < 0.3:
        words.append("--no-writer-process")
    child = nursery.start(
        "recorded",
        folder,
        work="simstore",
        arguments={"words": words},
        library=str(library),
        folder_recorded=os.path.realpath(folder),
        log=str(log),
        batch=chance.choice((None, 5)),
        log_pages=chance.choice(_LOG_PAGES),
    )
    try:
        port = _port(child)
        failed: list[BaseException] = []

        def send(requests: list[Request]) -> None:
            try:
                _send(port, requests, senders.mode, log)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=send, args=(one,)) for one in senders.all]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
    finally:
        child.signal(signal.SIGTERM)
        done = child.wait()
    assert done.code == 0, done


def _port(child: Child) -> int:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := _SERVING.search(child.error_text())) is None:
        assert time.monotonic() < deadline, child.error_text()
        time.sleep(0.02)
    return int(found[1])


def _send(port: int, requests: Sequence[Request], mode: str, log: Path) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        for request in requests:
            path, kind = f"/v1/documents?on_duplicate={mode}", "application/json"
            given = [{"key": key, "text": text} for key, text in request.pages]
            body = json.dumps({"documents": given})
            if request.gone:
                path, body = "/v1/remove", json.dumps({"keys": request.gone})
            elif request.lines:
                kind = "application/x-ndjson"
                body = "".join(json.dumps(one) + "\n" for one in given)
            append_mark(log, f"sent {request.name}")
            connection.request("POST", path, body.encode(), {"Content-Type": kind})
            response = connection.getresponse()
            reply = response.read()
            assert response.status == 200, (request, reply)
            append_mark(log, f"answered {request.name}")


def check_left(folder: Path, senders: Senders, known: Known) -> None:
    """Check what a loss of power left of the store of a server.

    Raises:
        AssertionError: Something that was answered is lost, or a part of a request is there.
    """
    found = documents(folder / STORE)
    with closing(sqlite3.connect(folder / STORE)) as connection:
        told = connection.execute("PRAGMA integrity_check").fetchall()
        assert told == [("ok",)], told
    texts: dict[str, str] = {}
    # Of each key: whether it must be there, must not, or either.
    must: dict[str, bool | None] = {}
    for request in senders.requests:
        texts.update(request.pages)
        keys = request.gone or [key for key, _ in request.pages]
        is_sent, is_answered = request.name in known.sent, request.name in known.answered
        if request.lines:
            for key in keys:
                sure = is_answered or key in known.told
                must[key] = True if sure else None if is_sent else False
            continue
        if is_answered or not (is_sent or request.gone):
            must.update(dict.fromkeys(keys, is_answered and not request.gone))
        elif is_sent:
            there = {key in found for key in keys}
            assert len(there) == 1, f"request {request.name} was done in part"
            lost = known.told.intersection(dict(request.pages)).difference(found)
            assert not lost, f"{sorted(lost)} of {request.name} were answered, and are gone"
            must.update(dict.fromkeys(keys))
    for key, wanted in must.items():
        if wanted is not None:
            assert (key in found) == wanted, f"{key} is {'gone' if wanted else 'there'}"
    for key, text in found.items():
        assert text == texts[key], f"{key} has another text"


def go_on(folder: Path, senders: Senders) -> None:
    """Send again what was sent, and check what is there then.

    Raises:
        AssertionError: It is not what there would be if nothing had happened.
    """
    with Store.open(folder / STORE) as store:
        for request in senders.requests:
            if request.gone:
                store.remove(*request.gone, missing_ok=True)
            else:
                store.add_many(
                    [Document(key, text) for key, text in request.pages], on_duplicate=senders.mode
                )
        findings = store.maintenance.fsck()
        assert findings == [], findings
    found = documents(folder / STORE)
    assert found == senders.final, f"{len(found)} documents and not {len(senders.final)}"
    assert files_of(folder) == [STORE]
