"""What a server has acknowledged is stored, though it is killed under load."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from served import REPOSITORY, children, serve

from simstore.store import Store

from .processes import until
from .service.asked import refused

pytestmark = pytest.mark.slow

WORDS = [f"word{number}" for number in range(400)]
SENDERS = 6
# Replies after which the server is killed, in all: some groups are committed by then, and some
# requests are under way.
REPLIES_BEFORE = 60


@dataclass
class Sent:
    """What one sender has sent, and what it was told.

    Attributes:
        texts: Text of each key, its last in the order of the requests.
        told: Outcome of each key, as it was acknowledged.
        unsure: Keys of requests that were not answered.
    """

    texts: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)


def text_of(source: random.Random, earlier: list[str]) -> str:
    """Return a text of its own, or one of the earlier with a word changed."""
    if earlier and source.random() < 0.4:
        words = source.choice(earlier).split()
        words[source.randrange(len(words))] = "another"
        return " ".join(words)
    return " ".join(source.choices(WORDS, k=60))


def send(port: int, number: int, mode: str, sent: Sent, answered: threading.Semaphore) -> None:
    """Send batches until the server is gone."""
    source = random.Random(number)
    batch = 0
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        while True:
            documents = []
            for place in range(source.choice((1, 1, 5))):
                key = f"sender {number} batch {batch} place {place}"
                text = text_of(source, list(sent.texts.values())[-40:])
                sent.texts[key] = text
                sent.unsure.add(key)
                documents.append({"key": key, "text": text})
            body = json.dumps({"documents": documents}).encode()
            headers = {"Content-Type": "application/json"}
            try:
                connection.request("POST", f"/v1/documents?on_duplicate={mode}", body, headers)
                response = connection.getresponse()
                reply = response.read()
            except (OSError, http.client.HTTPException):
                return
            if response.status != 200:
                return
            for told in json.loads(reply)["documents"]:
                sent.told[told["key"]] = told["outcome"]
                sent.unsure.discard(told["key"])
            answered.release()
            batch += 1


@pytest.mark.parametrize("mode", ["flag", "skip"])
def test_what_was_acknowledged_is_stored_after_a_kill(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "s.db"
    answered = threading.Semaphore(0)
    all_sent = [Sent() for _ in range(SENDERS)]
    with serve(path) as server:
        threads = [
            threading.Thread(target=send, args=(server.port, number, mode, sent, answered))
            for number, sent in enumerate(all_sent)
        ]
        for thread in threads:
            thread.start()
        for _ in range(REPLIES_BEFORE):
            assert answered.acquire(timeout=60)
        server.process.kill()
        server.process.wait(60)
        for thread in threads:
            thread.join(60)
    with Store.open(path) as store:
        assert store.maintenance.fsck() == []
        stored = {one.key: one.text for one in store.list(with_text=True)}
        duplicates = {one.key: one.state for one in store.duplicates.list()}
        runs = store.runs.ingest()
        for sent in all_sent:
            assert sent.told
            for key, outcome in sent.told.items():
                assert is_as_told(key, outcome, stored, duplicates), (key, outcome)
                if key in stored:
                    assert stored[key] == sent.texts[key]
            # Nothing else is there than what was sent, and all of a request or nothing.
            whole: dict[str, set[bool]] = {}
            for key in sent.unsure:
                held = key in stored or key in duplicates
                whole.setdefault(key.rpartition(" place ")[0], set()).add(held)
            assert all(len(one) == 1 for one in whole.values())
        assert set(stored) | set(duplicates) <= {key for sent in all_sent for key in sent.texts}
        assert {run.state for run in runs} == {"running"}
        assert runs[0].added + runs[0].flagged == len(stored)


def test_killed_processes_come_back_and_what_they_acknowledged_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    answered = threading.Semaphore(0)
    all_sent = [Sent() for _ in range(SENDERS)]
    with serve(path) as server, httpx.Client(base_url=server.url, timeout=60) as ask:
        threads = [
            threading.Thread(target=send, args=(server.port, number, "flag", sent, answered))
            for number, sent in enumerate(all_sent)
        ]
        for thread in threads:
            thread.start()
        for _ in range(REPLIES_BEFORE):
            assert answered.acquire(timeout=60)
        # The writer steps back for who answers queries.
        reader, writer = sorted(
            children(server.process.pid), key=partial(os.getpriority, os.PRIO_PROCESS)
        )
        os.kill(writer, signal.SIGKILL)
        # Each sender ends at its first refusal.
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        key, text = next(iter(all_sent[0].texts.items()))
        until(lambda: ask.get("/readyz").status_code == 200, "the writer to be back")
        assert added(ask, "late") == "added"
        (found,) = ask.post("/v1/query", json={"text": text}).json()["samples"]
        assert key in {one["key"] for one in found["matches"]}
        os.kill(reader, signal.SIGKILL)
        until(lambda: ask.get("/readyz").status_code == 503, "it to say that nobody answers")
        asked = refused(ask.post("/v1/query", json={"text": text}), 503, "Unavailable")
        assert asked["retry_after"] > 0
        # Who writes is not held up.
        assert added(ask, "later") == "added"
        until(lambda: ask.get("/readyz").status_code == 200, "the reader to be back")
        (again,) = ask.post("/v1/query", json={"text": text}).json()["samples"]
        assert again["matches"] == found["matches"]
        told = ask.get("/metrics").text
        for process in ("reader", "writer"):
            assert f'simstore_process_restarts_total{{process="{process}"}} 1\n' in told
            assert any(f"the {process}'s process has ended (-9)" in one for one in server.lines)
        assert server.stop() == 0
        assert not any("Traceback" in one for one in server.lines)
    with Store.open(path) as store:
        assert store.maintenance.fsck() == []
        stored = {one.key for one in store.list()}
        assert stored >= {key for sent in all_sent for key in sent.told} | {"late", "later"}


def test_a_request_that_its_process_dies_of_is_told_and_asked_of_no_other(tmp_path: Path) -> None:
    with (
        serve(tmp_path / "s.db", "--request-seconds", "60") as server,
        httpx.Client(base_url=server.url, timeout=60) as ask,
        ThreadPoolExecutor(2) as others,
    ):
        assert added(ask, "a") == "added"
        reader, writer = sorted(
            children(server.process.pid), key=partial(os.getpriority, os.PRIO_PROCESS)
        )
        for process in (reader, writer):
            os.kill(process, signal.SIGSTOP)
        asked = others.submit(ask.post, "/v1/query", json={"text": "a lamp"})
        sent = others.submit(ask.post, "/v1/documents", json={"key": "b", "text": "a lamp"})
        until(lambda: in_flight(ask) == 3, "both to wait")
        for process in (reader, writer):
            os.kill(process, signal.SIGKILL)
        for one in (asked, sent):
            reply = one.result(60)
            assert "may be done or not" in refused(reply, 503, "Unavailable")["detail"]
            assert int(reply.headers["retry-after"]) >= 1
        until(lambda: ask.get("/readyz").status_code == 200, "both to be back")
        assert added(ask, "c") == "added"
        # What is started again ends with the server, however that ends.
        started = children(server.process.pid)
        server.process.kill()
        server.process.wait(60)
        until(lambda: not any(map(lives, started)), "all of them to end")


def test_what_is_started_again_does_not_run_the_launcher_anew(tmp_path: Path) -> None:
    Store.create(tmp_path / "s.db").close()
    launcher = tmp_path / "launcher.py"
    words = ["simstore", "serve", "--db", str(tmp_path / "s.db"), "--port", "0"]
    launcher.write_text(f"import sys\nfrom simstore.cli import main\nsys.argv = {words}\nmain()\n")
    process = subprocess.Popen(
        [sys.executable, str(launcher)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert process.stderr is not None
    try:
        url = process.stderr.readline().partition(" at ")[2].partition(";")[0]
        with httpx.Client(base_url=url, timeout=60) as ask:
            for one in children(process.pid):
                os.kill(one, signal.SIGKILL)
            until(lambda: ask.get("/readyz").status_code == 503, "it to say so")
            until(lambda: ask.get("/readyz").status_code == 200, "both to be back")
            assert added(ask, "a") == "added"
        assert [children(one) for one in children(process.pid)] == [[]] * 2
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.stderr.close()
        process.wait()


def added(ask: httpx.Client, key: str) -> str:
    reply = ask.post("/v1/documents", json={"key": key, "text": f"{key} and a lamp"})
    assert reply.status_code == 200, reply.text
    outcome: str = reply.json()["documents"][0]["outcome"]
    return outcome


def in_flight(ask: httpx.Client) -> float:
    told = ask.get("/metrics").text
    return float(told.split("\nsimstore_http_requests_in_flight ")[-1].split()[0])


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def is_as_told(key: str, outcome: str, stored: dict[str, Any], duplicates: dict[str, str]) -> bool:
    """Return whether the store says of a key what its sender was told."""
    if outcome == "skipped":
        return key not in stored and duplicates.get(key) == "skipped"
    if outcome == "flagged":
        return key in stored and duplicates.get(key) == "flagged"
    return outcome == "added" and key in stored and key not in duplicates
