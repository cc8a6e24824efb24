"""A worker runs methods, and can be ended; its end costs nothing but what it was doing."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from simstore import compiled, version
from simstore.errors import InvalidParameter
from simstore.workers.process import OTHER_VERSION, Limits, Worker, WorkerEnded, WorkerPool

from .worker_tasks import counting, failing

LIMITS = Limits(processor_seconds=20, memory_bytes=2 << 30, piece_seconds=60)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(line_count=2)
    made.begin(counting, 3)
    yield made
    made.end()


def test_it_runs_methods_of_what_it_has_opened(worker: Worker) -> None:
    assert worker.call("add", 4) == 7
    assert worker.call("add", 1) == 8
    with pytest.raises(InvalidParameter, match="113 is refused"):
        worker.call("add", 113)
    assert worker.call("add", 1, line=1) == 9


def test_lines_are_answered_at_the_same_time(worker: Worker) -> None:
    worker.wait_until_ready()
    found: list[str] = []
    waiting = threading.Thread(target=lambda: found.append(worker.call("wait", line=0)))
    waiting.start()
    assert worker.call("release", line=1) is None
    waiting.join(60)
    assert found == ["released"]


def test_an_error_with_something_in_it_that_is_no_value_comes_as_text(worker: Worker) -> None:
    with pytest.raises(RuntimeError, match="OddError: odd"):
        worker.call("raise_odd")
    with pytest.raises(RuntimeError, match="pickle"):
        worker.call("no_value")
    assert worker.call("add", 1) == 4


def test_what_cannot_be_opened_is_the_error_of_the_first_call() -> None:
    worker = Worker()
    worker.begin(failing, 1)
    with pytest.raises(InvalidParameter, match="it cannot begin"):
        worker.call("add", 1)
    assert worker.wait() == 0
    worker.end()


def test_one_that_dies_says_how(worker: Worker) -> None:
    with pytest.raises(WorkerEnded, match="signal 9") as told:
        worker.call("add", 99)
    assert told.value.status == -signal.SIGKILL
    with pytest.raises(WorkerEnded):
        worker.call("add", 1)


def test_one_that_is_ended_gives_no_answer_to_who_waits(worker: Worker) -> None:
    worker.wait_until_ready()
    threading.Thread(target=worker.end).start()
    with pytest.raises(WorkerEnded):
        worker.call("wait")


def test_who_waits_may_give_up(worker: Worker) -> None:
    def give_up() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        worker.call("wait", on_wait=give_up)


def test_closing_lets_it_close_what_it_has_opened(tmp_path: Path) -> None:
    worker = Worker()
    worker.begin(counting, 1, tmp_path / "closed")
    assert worker.call("add", 1) == 2
    worker.close(60)
    assert (tmp_path / "closed").read_text() == "2"
    assert worker.wait() == 0


def test_closing_ends_one_that_does_not_end() -> None:
    worker = Worker()
    worker.begin(counting, 1)
    worker.wait_until_ready()
    found: list[object] = []

    def wait() -> None:
        try:
            worker.call("wait")
        except WorkerEnded as error:
            found.append(error.status)

    waiting = threading.Thread(target=wait)
    waiting.start()
    worker.close(0)
    waiting.join(60)
    assert found == [-signal.SIGKILL]
    assert worker.wait() == -signal.SIGKILL


def test_a_stream_is_bytes_within_limits(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    with path.open("rb") as file:
        found = list(worker.stream("pieces", 2, limits=LIMITS, descriptor=file.fileno()))
    assert found == [b"abc", b"abc"]
    with pytest.raises(RuntimeError, match="KeyError"):
        list(worker.stream("broken", limits=LIMITS))
    assert worker.call("add", 1) == 4


def test_a_stream_that_gives_nothing_in_time_ends_its_worker(worker: Worker) -> None:
    for limits in (
        Limits(processor_seconds=20, memory_bytes=2 << 30, piece_seconds=0.05),
        Limits(processor_seconds=20, memory_bytes=2 << 30, piece_seconds=60, seconds=0.05),
    ):
        late = Worker()
        late.begin(counting, 1)
        with pytest.raises(WorkerEnded) as told:
            list(late.stream("hang", limits=limits))
        assert told.value.status is None
        assert late.wait() == -signal.SIGKILL


def test_signals_are_for_the_process_that_started_it(worker: Worker) -> None:
    worker.wait_until_ready()
    os.kill(worker.pid, signal.SIGTERM)
    os.kill(worker.pid, signal.SIGINT)
    assert worker.call("add", 1) == 4
    assert worker.call("session") == worker.pid != os.getsid(0)


def test_it_has_no_open_file_of_its_parent(worker: Worker, tmp_path: Path) -> None:
    with (tmp_path / "open").open("wb") as file:
        os.set_inheritable(file.fileno(), True)
        other = Worker()
        other.begin(counting, 1)
        assert str(tmp_path / "open") not in other.call("open_files")
        other.end()


def test_it_has_the_settings_for_compiled_functions() -> None:
    settings = compiled.settings()
    compiled.disable()
    worker = Worker()
    worker.begin(counting, 1)
    compiled.set_up(settings)
    assert worker.call("threshold") is None
    worker.end()


def test_it_ends_with_the_process_that_started_it_also_if_that_is_killed() -> None:
    program = (
        "import os\n"
        "from simstore.workers.process import Worker\n"
        "from tests.unit.workers.worker_tasks import counting\n"
        "worker = Worker()\n"
        "worker.begin(counting, 1)\n"
        "worker.wait_until_ready()\n"
        "print(worker.pid, flush=True)\n"
        "worker.call('wait')\n"
    )
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE
    ) as killed:
        assert killed.stdout is not None
        descriptor = os.pidfd_open(int(killed.stdout.readline()))
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert not poll.poll(0)
        killed.kill()
    assert poll.poll(60_000)
    os.close(descriptor)


def test_one_of_another_version_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "__version__", "99.1")
    worker = Worker()
    worker.begin(counting, 1)
    with pytest.raises(WorkerEnded) as told:
        worker.wait_until_ready()
    assert told.value.status == OTHER_VERSION


def test_a_pool_uses_its_workers_again_and_replaces_those_that_did_not_answer() -> None:
    pool = WorkerPool(counting, 1, most_idle=1, most_uses=3)
    pids = []
    for _ in range(4):
        with pool.worker() as worker:
            worker.call("add", 1)
            pids.append(worker.pid)
    assert pids[0] == pids[1] == pids[2] != pids[3]
    # An error is an answer, too.
    with pytest.raises(InvalidParameter), pool.worker() as worker:
        worker.call("add", 113)
    with pytest.raises(WorkerEnded), pool.worker() as left:
        for _ in left.stream("hang", limits=replace(LIMITS, piece_seconds=0.05)):
            pass
    assert (worker.pid, left.pid) == (pids[3], pids[3])
    assert left.wait() == -signal.SIGKILL
    with pool.worker() as first, pool.worker() as second:
        assert len({first.pid, second.pid, pids[3]}) == 3
    # One of them waits.
    assert {first.wait(), second._process.poll()} == {-signal.SIGKILL, None}
    os.kill(second.pid, signal.SIGKILL)
    with pool.worker() as another:
        assert another.pid != second.pid
    pool.end()
    assert another.wait() == -signal.SIGKILL
