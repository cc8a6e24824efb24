"""A client against servers that are killed, stopped, busy, or none at all."""

from __future__ import annotations

import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from served import serve

from simstore import Store
from simstore.client import Client
from simstore.errors import (
    BadReply,
    Overloaded,
    RateLimited,
    ServerUnreachable,
    SimstoreError,
    TimedOut,
    TooLarge,
)

pytestmark = pytest.mark.sqlite
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_each_document_is_added_once_while_the_server_is_restarted(
    tmp_path: Path, number: signal.Signals
) -> None:
    place = tmp_path / "s.db"
    enough = threading.Event()
    restarted = threading.Event()
    with ExitStack() as stack:
        first = stack.enter_context(serve(place))
        client = stack.enter_context(Client(first.url, patience=60))
        pool = stack.enter_context(ThreadPoolExecutor(3))
        stack.callback(restarted.set)

        def add(worker: int) -> list[str]:
            outcomes: list[str] = []
            after = 0
            while after < 40:
                key = f"{worker}/{len(outcomes)}"
                outcomes.append(client.add(key, f"the text of {key}"))
                after += restarted.is_set()
                if len(outcomes) == 30:
                    enough.set()
            return outcomes

        workers = [pool.submit(add, worker) for worker in range(3)]
        assert enough.wait(60)
        code = first.stop(number)
        assert code == (0 if number == signal.SIGTERM else -number)
        stack.enter_context(serve(place, "--port", str(first.port)))
        restarted.set()
        outcomes = [worker.result() for worker in workers]
    # A document whose reply was lost is unchanged when it is sent again: one a worker.
    told = Counter(outcome for each in outcomes for outcome in each)
    assert told.keys() <= {"added", "unchanged"}
    assert told["unchanged"] <= 3
    with Store.open(place) as store:
        keys = {f"{worker}/{n}" for worker, told in enumerate(outcomes) for n in range(len(told))}
        assert {one.key for one in store.list()} == keys
        assert len(store) == len(keys)
        assert {one.revision for one in store.list()} == {1}
        assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_who_asks_too_often_comes_back_when_told(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        token = store.tokens.add("crawler", "write", None)
    with serve(tmp_path / "s.db", "--rate", "20") as served:
        with Client(served.url, token=token, patience=0) as hasty, pytest.raises(RateLimited) as at:
            list(map(hasty.seen, map(str, range(200))))
        assert at.value.retry_after is not None
        with Client(served.url, token=token, patience=60) as client:
            pauses = counted_pauses(client)
            assert {client.add(f"page {n}", f"text {n}") for n in range(40)} == {"added"}
            assert pauses


@pytest.mark.slow
def test_a_full_queue_is_tried_again(tmp_path: Path) -> None:
    def add(client: Client, worker: int) -> int:
        given = [(f"{worker}/{n}", f"text {n} of {worker} " * 100) for n in range(160)]
        return client.add_many(given, batch_documents=40).added

    with serve(tmp_path / "s.db", "--queue-documents", "45") as served:
        with (
            Client(served.url, patience=0) as hasty,
            ThreadPoolExecutor(6) as pool,
            pytest.raises(Overloaded, match="try again"),
        ):
            list(pool.map(lambda worker: add(hasty, worker), range(6)))
        with Client(served.url) as client, ThreadPoolExecutor(6) as pool:
            pauses = counted_pauses(client)
            assert sum(pool.map(lambda worker: add(client, 10 + worker), range(6))) == 960
            assert pauses


def test_what_is_too_much_for_a_request_is_sent_in_parts(tmp_path: Path) -> None:
    given = [(f"page {n}", f"{n} " * 200) for n in range(100)]
    limits = ("--batch-documents", "16", "--body-bytes", "20000")
    with serve(tmp_path / "s.db", *limits) as served, Client(served.url) as client:
        assert client.add_many(given).added == 100
        assert len(client.query_many(given)) == 100
        with pytest.raises(TooLarge):
            client.add("long", "x" * 30_000)
        assert len(client) == 100


def test_no_server_is_told_at_once(tmp_path: Path) -> None:
    with serve(tmp_path / "s.db") as served:
        served.stop()
        with Client(served.url, patience=60) as client:
            pauses = counted_pauses(client)
            with pytest.raises(ServerUnreachable, match="simstore serve"):
                client.stats()
            assert pauses == []


def test_a_path_before_those_of_the_server_is_kept(tmp_path: Path) -> None:
    with serve(tmp_path / "s.db") as served, Client(served.url + "/other/") as client:  # noqa: SIM117
        with pytest.raises(SimstoreError, match="/other/v1/stats"):
            client.stats()


@contextmanager
def answering(*replies: bytes) -> Iterator[str]:
    """Yield the address of a listener that sends such replies, one a connection, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []

        def answer() -> None:
            for reply in replies:
                connection, _ = listener.accept()
                held.append(connection)
                if reply:
                    connection.recv(65_536)
                    connection.sendall(reply)
                    connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            # What waits for a request that never came gets one.
            while thread.is_alive():
                with socket.create_connection(listener.getsockname()):
                    thread.join(0.05)
            for connection in held:
                connection.close()


def test_what_is_no_server_of_ours_is_told() -> None:
    for reply in (
        JSON + b"Content-Length: 5\r\n\r\nhello",
        JSON + b"Content-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    ):
        with answering(reply) as url, Client(url) as client, pytest.raises(BadReply, match=url):
            client.stats()


def test_a_connection_that_breaks_is_tried_again() -> None:
    good = JSON + b'Content-Length: 30\r\n\r\n{"scheme": "web/1","bits": 64}'
    gateway = b"HTTP/1.1 502 Bad Gateway\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
    broken = JSON + b"Content-Length: 100\r\n\r\n{"
    with answering(b"HTTP", gateway, broken, good) as url, Client(url) as client:
        pauses = counted_pauses(client)
        assert client.maintenance.scheme().bits == 64
        assert len(pauses) == 3


def test_a_list_that_breaks_off_is_not_taken_for_whole() -> None:
    page = b'{"merges": [{"cluster_id": 1, "merged_into": null, "ended_at": 1}], "next": "cMQ"}'
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(page)
    # The second page ends before its length is reached.
    replies = head + page, head + page[:40]
    with answering(*replies) as url, Client(url, patience=0) as client:
        found = client.clusters.merges()
        assert next(found).cluster_id == 1
        with pytest.raises(ServerUnreachable):
            next(found)


def test_a_server_that_does_not_answer_is_given_up() -> None:
    with answering(b"") as url, Client(url, timeout=0.2) as client:  # noqa: SIM117
        with pytest.raises(TimedOut, match=r"0\.2 s"):
            client.stats()


def counted_pauses(client: Client) -> list[float]:
    """Note the pauses of a client, which stay as they are."""
    pauses: list[float] = []
    sleep = client._retries.sleep

    def note(seconds: float) -> None:
        pauses.append(seconds)
        sleep(seconds)

    client._retries.sleep = note
    return pauses
