"""How the service begins and ends: what it acknowledged is stored, whatever happens."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from forked import Finished, Nursery
from served import PATIENCE_SECONDS, Served, children, serve

from simstore import Store

from .processes import until
from .service.asked import TEXT, refused
from .test_serve_limits import connection, locked, received, told


class Sender(threading.Thread):
    """Sends documents, one request after the other, until the server takes no more."""

    def __init__(
        self, served: Served, name: str, text_of: Callable[[str], str] = lambda key: f"{TEXT} {key}"
    ) -> None:
        super().__init__(daemon=True)
        self.served, self.prefix, self.text_of = served, name, text_of
        self.acknowledged: list[str] = []
        self.refused: list[httpx.Response] = []

    def run(self) -> None:
        with httpx.Client(base_url=self.served.url, timeout=PATIENCE_SECONDS) as ask:
            for number in range(1_000_000):
                keys = [f"{self.prefix}-{number}-{n}" for n in range(5)]
                body = {"documents": [{"key": key, "text": self.text_of(key)} for key in keys]}
                try:
                    reply = ask.post("/v1/documents", json=body)
                except httpx.TransportError:
                    return
                if reply.status_code != 200:
                    self.refused.append(reply)
                    return
                self.acknowledged += [one["key"] for one in reply.json()["documents"]]


def stored(place: Path) -> set[str]:
    with Store.open(place) as store:
        assert store.maintenance.fsck() == []
        return {one.key for one in store}


@pytest.mark.slow
def test_what_was_acknowledged_before_the_end_is_stored(tmp_path: Path) -> None:
    with serve(tmp_path / "s.db", fresh=True) as served:
        senders = [Sender(served, name) for name in "abc"]
        for sender in senders:
            sender.start()
        until(lambda: all(len(one.acknowledged) > 20 for one in senders), "some to be stored")
        assert served.stop(signal.SIGINT) == 0
        for sender in senders:
            sender.join(PATIENCE_SECONDS)
            assert not sender.is_alive()
            for reply in sender.refused:
                refused(reply, 503, "Stopping")
                assert "retry-after" in reply.headers
        assert served.lines[-1].endswith("Z INFO stopped; what was acknowledged is stored")
    # The log is in the file, and nobody needs another beside it.
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]
    acknowledged = {key for sender in senders for key in sender.acknowledged}
    assert acknowledged <= stored(tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:
        assert [run.state for run in store.runs.ingest()] == ["finished"]


@pytest.mark.slow
def test_who_balances_load_is_told_before_the_end(tmp_path: Path) -> None:
    with (
        serve(tmp_path / "s.db", "--notice-seconds", "2") as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask,
    ):
        assert ask.get("/readyz").status_code == 200
        served.process.send_signal(signal.SIGTERM)
        until(lambda: ask.get("/readyz").status_code == 503, "the server to say so")
        refused(ask.get("/readyz"), 503, "Unavailable")
        assert ask.get("/healthz").status_code == 200
        # What is there can still be asked for; nothing new comes in.
        assert ask.post("/v1/query", json={"text": TEXT}).status_code == 200
        for reply in (
            ask.post("/v1/documents", json={"key": "a", "text": TEXT}),
            ask.delete("/v1/documents/a"),
        ):
            refused(reply, 503, "Stopping")
            assert int(reply.headers["retry-after"]) >= 1
        assert served.process.wait(PATIENCE_SECONDS) == 0


def test_lines_end_in_order_when_the_server_stops(tmp_path: Path) -> None:
    with serve(tmp_path / "s.db") as served, connection(served) as made:
        made.sendall(
            b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
            b"Content-Type: application/x-ndjson\r\n\r\n"
        )
        for key in "abc":
            line = json.dumps({"key": key, "text": f"{TEXT} {key}"}).encode() + b"\n"
            made.sendall(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        reply = b""
        while reply.count(b'"outcome":"added"') < 3:
            reply += made.recv(65_536)
        assert served.stop() == 0
        reply += received(made)
    ends = [json.loads(line) for line in reply.splitlines() if line.startswith(b"{")][-2:]
    # From this line on, nothing was taken.
    assert (ends[0]["error"]["title"], ends[0]["line"]) == ("Stopping", 4)
    assert ends[1]["counts"]["added"] == 3
    assert stored(tmp_path / "s.db") == {"a", "b", "c"}


def test_idle_connections_do_not_hold_the_end(tmp_path: Path) -> None:
    with serve(tmp_path / "s.db") as served, connection(served):
        assert served.stop() == 0


def test_the_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with serve(tmp_path / "s.db") as served, locked(tmp_path / "s.db"):
        sender = Sender(served, "a")
        sender.start()
        until(lambda: depth(served) > 0, "a document to wait")
        served.process.send_signal(signal.SIGTERM)
        until(lambda: any("no new requests" in line for line in served.lines), "the first signal")
        assert served.stop(signal.SIGINT) == 128 + signal.SIGINT
        sender.join(PATIENCE_SECONDS)
        assert sender.acknowledged == []
    assert stored(tmp_path / "s.db") == set()


def end(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def depth(served: Served) -> int:
    with httpx.Client(base_url=served.url) as ask:
        told = ask.get("/metrics").text
    return int(told.split("\nsimstore_write_queue_documents ")[-1].split()[0])


@pytest.mark.slow
def test_the_end_does_not_wait_for_ever(tmp_path: Path) -> None:
    with serve(tmp_path / "s.db", "--drain-seconds", "1") as served, locked(tmp_path / "s.db"):
        sender = Sender(served, "a")
        sender.start()
        until(lambda: depth(served) > 0, "a document to wait")
        served.process.send_signal(signal.SIGTERM)
        served.process.wait(PATIENCE_SECONDS)
        sender.join(PATIENCE_SECONDS)
        assert sender.acknowledged == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/query", {"text": TEXT}), ("/v1/documents", {"key": "a", "text": TEXT})],
)
def test_the_end_does_not_wait_for_a_process_that_hangs(
    tmp_path: Path, path: str, body: dict[str, str]
) -> None:
    with serve(tmp_path / "s.db", "--drain-seconds", "1") as served, ExitStack() as ending:
        hung = children(served.process.pid)
        for process in hung:
            os.kill(process, signal.SIGSTOP)
            # Where the test fails, it is ended too.
            ending.callback(end, process)

        def ask() -> None:
            with (
                suppress(httpx.TransportError),
                httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as client,
            ):
                replies.append(client.post(path, json=body))

        replies: list[httpx.Response] = []
        sender = threading.Thread(target=ask, daemon=True)
        sender.start()
        with httpx.Client(base_url=served.url) as client:
            until(lambda: told(client, "simstore_http_requests_in_flight") == 2, "it to be taken")
        assert served.stop() == 0
        sender.join(PATIENCE_SECONDS)
        refused(replies[0], 503, "Stopping")
        assert not any("Traceback" in line for line in served.lines)


@pytest.mark.slow
def test_the_end_does_not_wait_for_what_nobody_waits_for(tmp_path: Path) -> None:
    """A file is read by a process that never ends, in a thread that waits for it."""
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
    with serve(tmp_path / "s.db", "--drain-seconds", "1") as served:

        def check() -> None:
            with (
                suppress(httpx.TransportError),
                httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask,
            ):
                replies.append(ask.post("/v1/check", files={"file": ("a.txt", TEXT.encode())}))

        replies: list[httpx.Response] = []
        others = set(children(served.process.pid))
        sender = threading.Thread(target=check, daemon=True)
        sender.start()
        (child,) = until(lambda: set(children(served.process.pid)) - others, "the file to be read")
        os.kill(child, signal.SIGSTOP)
        try:
            assert served.stop() == 0
            # It is as it was: whoever waits for it would have ended it first.
            os.kill(child, 0)
        finally:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        sender.join(PATIENCE_SECONDS)
        refused(replies[0], 503, "Stopping")


# Beginning


def assert_not_started(done: Finished, code: int, *words: str) -> None:
    """One line of the log with these words; of a word that is wrong what click shows."""
    assert (done.code, done.out) == (code, b""), done.errors
    line = done.error_lines[-1]
    assert line.startswith("Error: ") or re.match(r"\d{4}-\S+Z ERROR ", line), done.errors
    assert len(done.error_lines) == (1 if " ERROR " in line else 4), done.errors
    for word in words:
        assert word in line


@pytest.mark.slow
def test_wrong_places_and_addresses_are_refused(tmp_path: Path, nursery: Nursery) -> None:
    store = tmp_path / "s.db"
    Store.create(store).close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words, code, told in (
            (["--db", str(tmp_path / "none.db")], 3, "no store at"),
            (["--db", str(store), "--port", str(port)], 2, "cannot be listened on"),
            (["--db", str(store), "--host", "192.0.2.1"], 2, "the store has no token"),
            (["--db", str(store), "--port", "70000"], 2, "70000"),
            (["--db", str(store), "--body-bytes", "0"], 2, "body-bytes"),
            (["--db", str(store), "--request-seconds", "nan"], 2, "request"),
        ):
            assert_not_started(nursery.simstore(tmp_path, "serve", *words), code, told)
        with Store.open(store) as opened:
            opened.tokens.add("somebody")
        for host in ("no.such.host.invalid", "192.0.2.1", ""):
            words = ["--db", str(store), "--host", host]
            assert_not_started(nursery.simstore(tmp_path, "serve", *words), 2, "--host")
