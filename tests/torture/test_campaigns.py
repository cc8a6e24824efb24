"""The frame that runs campaigns: seeds, faults, the sandbox, and wrong words."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from . import campaign, sandbox
from .campaign import CAMPAIGNS, Campaign, Outcome, Place, run

ROOT = Path(__file__).resolve().parents[2]


class Thirds(Campaign):
    """Finds a fault in each third round."""

    title, unit = "thirds", "cases"
    slice_rounds, full_cases = 3, 3

    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        (folder / "file").write_text("x")
        if seed % 3 == 0:
            raise AssertionError(f"seed {seed} can be divided by three")
        return {"cases": 2}


@pytest.fixture
def thirds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "load", lambda _: Thirds)


def torture(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.torture", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("thirds")
def test_round_with_a_fault_is_kept_with_its_seed_and_the_next_one_runs(tmp_path: Path) -> None:
    outcome = run(
        "thirds", Place(tmp_path, False), seed=4, goes_on=lambda outcome: outcome.rounds < 4
    )
    assert (outcome.rounds, outcome.counts) == (4, {"cases": 6})
    [(seed, story)] = outcome.faults
    assert seed == 6
    assert "seed 6 can be divided by three" in story
    assert [path.name for path in tmp_path.iterdir()] == ["thirds-6"]


@pytest.mark.usefixtures("thirds")
def test_campaign_that_finds_ten_faults_in_a_row_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Thirds, seed: int, folder: Path) -> dict[str, int]:
        raise AssertionError("the server is gone")

    monkeypatch.setattr(Thirds, "round", broken)
    outcome = run("thirds", Place(tmp_path, False), seed=1, goes_on=lambda _: True)
    assert [seed for seed, _ in outcome.faults] == list(range(1, 11))


@pytest.mark.usefixtures("thirds")
def test_campaign_ends_when_it_is_told_to(tmp_path: Path) -> None:
    def goes_on(outcome: Outcome) -> bool:
        return outcome.counts["cases"] < 3

    assert run("thirds", Place(tmp_path, False), seed=1, goes_on=goes_on).rounds == 2


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign_says_what_it_does_and_counts(name: str) -> None:
    kind = campaign.load(name)
    assert kind.title
    assert kind.unit
    assert kind.slice_rounds > 0
    assert kind.full_cases >= kind.slice_rounds


def test_one_way_to_say_how_long_is_asked_for() -> None:
    done = torture("--slice", "--full")
    assert done.returncode == 2
    assert "one of --seconds, --cases, --slice and --full" in done.stderr


def test_scratch_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    done = torture("--slice", "--scratch", str(tmp_path))
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_sandbox_lets_nothing_be_written_elsewhere_and_has_no_network(tmp_path: Path) -> None:
    if reason := sandbox.cannot_seal():
        pytest.skip(reason)
    folder, other = tmp_path / "scratch", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    code = f"""
import os, socket
open("{folder}/in", "w").close()
for path in ("{other}/out", "/out", "/etc/out", "{ROOT}/out"):
    try:
        open(path, "w")
    except OSError:
        continue
    raise SystemExit(f"wrote {{path}}")
with socket.create_server(("127.0.0.1", 0)):
    pass
try:
    # Reserved for documentation (RFC 5737): no packet leaves where there is no route.
    socket.create_connection(("192.0.2.1", 9), 1)
except OSError as error:
    assert error.errno == 101, error
"""
    assert sandbox.run_inside([sys.executable, "-c", code], folder) == 0
    assert (folder / "in").exists()
    assert not list(other.iterdir())
    assert os.environ.get(sandbox.INSIDE) is None


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_run_that_is_killed_leaves_no_process_behind(tmp_path: Path, number: int) -> None:
    if reason := sandbox.cannot_seal():
        pytest.skip(reason)
    folder, made = tmp_path / "scratch", tmp_path / "scratch" / "made"
    folder.mkdir()
    # A process of a session of its own holds the lock, and so does whatever it leaves behind.
    code = f"""
import fcntl, os, time
if os.fork() == 0:
    os.setsid()
    file = open({str(folder / "lock")!r}, "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    os.mkfifo({str(made)!r})
    time.sleep(600)
time.sleep(600)
"""
    outer = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}]
from pathlib import Path
from tests.torture import sandbox
sandbox.run_inside([sys.executable, "-c", {code!r}], Path({str(folder)!r}))
"""
    running = subprocess.Popen([sys.executable, "-c", outer])
    try:
        while not made.exists():
            assert running.poll() is None
            time.sleep(0.05)
        with (folder / "lock").open() as file:
            with pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            running.send_signal(number)
            running.wait()
            # It comes when the last one that holds it has ended.
            fcntl.flock(file, fcntl.LOCK_EX)
    finally:
        running.kill()
        running.wait()


def test_exit_code_of_what_runs_in_a_sandbox_is_told(tmp_path: Path) -> None:
    if reason := sandbox.cannot_seal():
        pytest.skip(reason)
    assert sandbox.run_inside([sys.executable, "-c", "raise SystemExit(7)"], tmp_path) == 7
