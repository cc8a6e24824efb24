"""The service under load: check and insert, queries meanwhile, memory, and a peer with Redis.

Usage: python benchmarks/service.py [--quick] [--documents N] [--seconds S] [--soak S] [--work F]

A real server process serves a copy of a store of N documents of 3.5 kB; another process sends the
requests. Both share the processors. The store and the requests are made once and kept in F.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from results import Report, figure, parser
from service_load import Asked, Found
from service_peer import rate_of, redis_program, redis_server
from service_set import PEER_BATCHES, TOGETHER, ServiceSet, Sizes, bodies_of, made

from simstore import Store
from simstore.model import SampleResult
from simstore.wire import decoded, from_wire

BENCHMARKS = Path(__file__).resolve().parent
REPOSITORY = BENCHMARKS.parent
DOCUMENTS = 1_000_000
SECONDS = 300
SOAK_SECONDS = 600
QUERY_SECONDS = 30
WARM_SECONDS = 5
# More than a server of two cores takes; what is left over is not sent.
_MOST_BATCHES_A_SECOND = 50
_QUERIES_A_SECOND = 50
_SOAK_BATCHES_A_SECOND = 10
_SOAK_QUERIES_A_SECOND = 100
_SAMPLE_SECONDS = 5
_CHECKED = 200
# Of the requests that it gets, those before its rate is measured.
_PEER_FILL = 400
_SERVING = re.compile(r"serving .* at (http://\S+?)(?:;|$)")


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    url: str
    pid: int


@contextmanager
def serving(place: Path) -> Iterator[Server]:
    """Serve a store in a process of its own; end it as an operator does."""
    command = [sys.executable, str(REPOSITORY / "cli.py"), "serve", "--db", str(place)]
    process = subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    url = ""
    for line in process.stderr:
        if found := _SERVING.search(line):
            url = found[1]
            break
    drain = threading.Thread(target=process.stderr.read, daemon=True)
    drain.start()
    try:
        if not url:
            raise RuntimeError("the server did not start")
        yield Server(url, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        if process.wait(120):
            raise RuntimeError(f"the server ended with {process.returncode}")


def load(asked: Asked) -> Found:
    """Send requests from a process of its own."""
    command = [sys.executable, str(BENCHMARKS / "service_load.py")]
    given = json.dumps(asdict(asked)).encode()
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True)
    return Found(**json.loads(done.stdout))


def check_answers(server: Server, place: Path, given: ServiceSet) -> None:
    """Raise where the server's answers are not those of the store."""
    with Store.open(place, read_only=True) as store:
        originals = given.originals.read_text().splitlines()
        bodies = islice(bodies_of(given.queries), _CHECKED)
        for body, original in zip(bodies, originals, strict=False):
            request = urllib.request.Request(  # noqa: S310 - our own server
                f"{server.url}/v1/query", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request) as reply:  # noqa: S310
                (told,) = decoded(reply.read())["samples"]
            expected = tuple(store.query(json.loads(body)["text"]))
            if from_wire(SampleResult, told).matches != expected:
                raise SystemExit(f"wrong matches of a text: {told}")
            if original and original not in {one.key for one in expected}:
                raise SystemExit(f"{original!r} is not found by an edit of it")


def under_load(
    report: Report, server: Server, given: ServiceSet, seconds: float, *, skip: int
) -> Found:
    """Check and insert as fast as it goes, with queries at a rate; return what came back."""
    found = _loaded(server, given, seconds, skip=skip)
    if found.outcomes.get("updated") or found.near_flagged < 0.99 * found.near:
        raise SystemExit(f"{found.near_flagged} of {found.near} near-duplicates: {found.outcomes}")
    documents = found.batches * TOGETHER
    table = report.table(
        f"Check and insert into {given.sizes.stored:,} documents for {seconds:g} s",
        ("what", "value"),
        note=(
            f"Eight connections send {TOGETHER} documents a request, `on_duplicate=flag`, each as "
            "soon as its last one is answered, which is when it is durable (`synchronous=full`). "
            f"Meanwhile {_QUERIES_A_SECOND} queries of one text a second; their latency counts "
            "from the moment at which each was due."
        ),
    )
    table.add("documents", f"{documents:,}")
    table.add("documents a second", figure(documents / found.write_seconds))
    table.add("near-duplicates planted", f"{found.near:,}")
    table.add("of them flagged", f"{found.near_flagged:,}")
    for name, values in (("request", found.batch_ms), ("query", found.query_ms)):
        table.add(f"{name}, median, ms", figure(percentile(values, 50)))
        table.add(f"{name}, p99, ms", figure(percentile(values, 99)))
        table.add(f"{name}, longest, ms", figure(max(values)))
    table.add("samples that are edits, and found theirs", share(found.known_found, found.known))
    table.add("replies 429 and 503", f"{found.refused:,}")
    table.add("cores that the sender took", figure(found.cpu_seconds / found.seconds))
    return found


def _loaded(server: Server, given: ServiceSet, seconds: float, *, skip: int) -> Found:
    return load(
        Asked(
            server.url,
            seconds,
            str(given.batches),
            skip,
            queries=str(given.queries),
            originals=str(given.originals),
            queries_a_second=_QUERIES_A_SECOND,
        )
    )


def queries_alone(report: Report, server: Server, given: ServiceSet, seconds: float) -> float:
    """Query as fast as it goes; return queries a second."""
    table = report.table(
        "Queries of one text, and nothing else",
        ("connections", "queries/s", "median, ms", "p99, ms", "cores of the sender"),
    )
    rates = []
    for readers in (1, 8, 32):
        found = load(
            Asked(
                server.url,
                seconds,
                queries=str(given.queries),
                originals=str(given.originals),
                readers=readers,
            )
        )
        rate = len(found.query_ms) / found.seconds
        rates.append(rate)
        latencies = (percentile(found.query_ms, 50), percentile(found.query_ms, 99))
        cores = found.cpu_seconds / found.seconds
        table.add(readers, figure(rate), *map(figure, latencies), figure(cores))
    return max(rates)


def soak(
    report: Report, server: Server, given: ServiceSet, seconds: float, *, skip: int
) -> tuple[float, int]:
    """Load the server at a rate and watch its memory.

    Returns:
        Resident memory in the last tenth of the time by that in the second, and requests of
        documents.
    """
    samples: list[tuple[float, float]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(min(_SAMPLE_SECONDS, seconds / 20)):
            samples.append(memory_of(server.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        found = load(
            Asked(
                server.url,
                seconds,
                str(given.batches),
                skip,
                writes_a_second=_SOAK_BATCHES_A_SECOND,
                queries=str(given.queries),
                originals=str(given.originals),
                queries_a_second=_SOAK_QUERIES_A_SECOND,
            )
        )
    finally:
        done.set()
        watcher.join()
    table = report.table(
        f"Memory over {seconds:g} s",
        ("part of the time", "resident, MB", "of it anonymous, MB"),
        note=(
            f"{found.batches * TOGETHER:,} documents came meanwhile, {_SOAK_BATCHES_A_SECOND} "
            f"requests of {TOGETHER} a second, and {_SOAK_QUERIES_A_SECOND} queries a second. The "
            "store grows, and its index in memory with it."
        ),
    )
    tenths = np.array_split(np.array(samples), 10)
    for number in (1, 9):
        resident, anonymous = tenths[number].mean(axis=0) / 1e6
        table.add(f"{number * 10} to {number * 10 + 10} %", figure(resident), figure(anonymous))
    report.values["soak"] = samples
    return float(tenths[-1].mean(axis=0)[0] / tenths[1].mean(axis=0)[0]), found.batches


def beside_redis(report: Report, given: ServiceSet, scratch: Path, ours: float) -> float | None:
    """Return how many times the peer's rate ours is; None where there is no Redis server."""
    program = redis_program()
    if program is None:
        print("NOT MEASURED: no redis-server is installed", file=sys.stderr)
        return None
    bodies = list(islice(bodies_of(given.batches), PEER_BATCHES))
    filling, timed = [*bodies_of(given.kept), *bodies[:_PEER_FILL]], bodies[_PEER_FILL:]
    table = report.table(
        "The same check and insert with datasketch's MinHashLSH in Redis",
        ("processes", "documents/s", "near-duplicates planted", "of them found", "simstore, times"),
        note=(
            "A real Redis server on the same machine, which writes nothing to disk and keeps no "
            "texts; the index has far fewer documents than the store, and no service is before it. "
            "128 permutations, word triples, threshold 0.8, insertions in a pipeline a request."
        ),
    )
    best = 0.0
    for workers in (1, 2):
        with redis_server(program, scratch) as port:
            rate_of(port, filling, 2)
            rate, near, found = rate_of(port, timed, workers)
        if found < 0.9 * near:
            raise SystemExit(f"the peer found {found} of {near} near-duplicates")
        best = max(best, rate)
        table.add(workers, figure(rate), near, found, figure(ours / rate))
    return ours / best


def check_all_there(place: Path, expected: int) -> None:
    """Raise where a document that was acknowledged is not in the store."""
    with Store.open(place, read_only=True) as store:
        if len(store) != expected:
            raise SystemExit(f"{len(store):,} documents, {expected:,} were acknowledged")


def memory_of(pid: int) -> tuple[float, float]:
    """Return resident and anonymous bytes of a process and its children, the writer's among them.

    Pages that they share are counted in each.
    """
    found = np.zeros(2)
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    children = [number for one in lists for number in one.read_text(encoding="ascii").split()]
    for number in (pid, *children):
        status = Path(f"/proc/{number}/status").read_text(encoding="ascii")
        held = dict(line.split(":", 1) for line in status.splitlines())
        found += [1024.0 * int(held[name].split()[0]) for name in ("VmRSS", "RssAnon")]
    resident, anonymous = found.tolist()
    return resident, anonymous


def percentile(values: list[float], share: float) -> float:
    return float(np.percentile(values, share))


def share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--documents", type=int, default=DOCUMENTS)
    arguments.add_argument("--seconds", type=float, default=SECONDS, help="of check and insert")
    arguments.add_argument("--soak", type=float, default=SOAK_SECONDS, help="seconds of the soak")
    arguments.add_argument("--work", type=Path, default=REPOSITORY / ".benchmarks")
    given = arguments.parse_args()
    if given.quick:
        given.documents, given.seconds, given.soak = 20_000, 10.0, 10.0
    report = Report(
        "service",
        "The service under load",
        "A server (one process each that listens, answers queries, and writes) with a store of "
        "real size, on a file system with real `fsync`; another process sends texts of some 3.5 kB "
        "(600 invented words by Zipf's law), a tenth of them edits of stored ones. Sender, server "
        "and peer share the cores. The server's answers are "
        f"compared with the store's own ({_CHECKED} samples) before anything is timed.",
    )
    batches = int(given.seconds + WARM_SECONDS) * _MOST_BATCHES_A_SECOND
    batches += int(given.soak * _SOAK_BATCHES_A_SECOND) + 1
    sizes = Sizes(given.documents, max(batches, PEER_BATCHES), 5_000)
    kept = made(given.work / f"service-{given.documents}", sizes)
    measured(report, kept, given)
    report.finish(given.results)


def measured(report: Report, kept: ServiceSet, given: Any) -> None:
    with tempfile.TemporaryDirectory(dir=given.folder or given.work) as name:
        place = Path(name) / "store.db"
        shutil.copy(kept.store, place)
        with serving(place) as server:
            check_answers(server, place, kept)
            # Not timed: kernels are loaded, and compiled where they never were.
            sent = _loaded(server, kept, WARM_SECONDS, skip=0).batches
            found = under_load(report, server, kept, given.seconds, skip=sent)
            sent += found.batches
            rate = queries_alone(report, server, kept, QUERY_SECONDS if not given.quick else 3)
            grown, soaked = soak(report, server, kept, given.soak, skip=sent)
            sent += soaked
        check_all_there(place, kept.sizes.stored + sent * TOGETHER)
        ours = found.batches * TOGETHER / found.write_seconds
        times = beside_redis(report, kept, Path(name), ours)
    report.values["documents_a_second"] = ours
    note = "not in this run" if given.quick else ""
    p99 = percentile(found.query_ms, 99)
    size = f"{DOCUMENTS:,} documents"

    def target(what: str, asked: float, reached: float | None, **how: Any) -> None:
        report.target(what, asked, None if given.quick else reached, note=note, **how)

    target(f"service, check and insert into {size}", 1_500, ours, unit=" documents/s")
    target("service, p99 of a query meanwhile", 50, p99, at_most=True, unit=" ms")
    target("service, queries of one text", 1_000, rate, unit=" queries/s")
    target("service, memory at the end of the soak", 1.05, grown, at_most=True)
    if times is None:
        note = "redis-server is not installed"
    target("service, check and insert vs datasketch with Redis", 10, times)


if __name__ == "__main__":
    main()
