"""A copy that is sent is nobody's: it has no name, and goes with who reads it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from simstore.errors import DiskFull, Stopping
from simstore.outputs import draft_beside
from simstore.server.routes import backup
from simstore.server.service import Service
from simstore.server.settings import ServerSettings
from simstore.store import Store


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Store.create(tmp_path / "s.db", synchronous="normal") as store:
        store.add("a", "The ferry leaves at noon.")
    made = Service(tmp_path / "s.db", ServerSettings())
    made.open()
    yield made
    made.close()


def others(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("s.db"))


def test_copy_has_no_name_and_is_closed_with_its_object(service: Service, tmp_path: Path) -> None:
    copy = backup._copied(service)
    assert others(tmp_path) == []
    data = os.pread(copy.descriptor, copy.size + 1, 0)
    assert len(data) == copy.size
    assert hashlib.sha256(data).digest() == copy.digest
    descriptor = copy.descriptor
    del copy
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_server_that_starts_deletes_what_a_killed_one_left_of_a_copy(tmp_path: Path) -> None:
    Store.create(tmp_path / "s.db").close()
    ended = subprocess.Popen(["true"])
    ended.wait()
    own = draft_beside(tmp_path / "s.db").name
    draft, alive = (own.replace(str(os.getpid()), str(n)) for n in (ended.pid, os.getppid()))
    for name in (draft, f"{draft}-journal", alive, ".s.db.sent"):
        (tmp_path / name).write_bytes(b"left by a server that was killed, or by others")
    made = Service(tmp_path / "s.db", ServerSettings())
    made.open()
    made.close()
    assert others(tmp_path) == sorted([alive, ".s.db.sent"])


@pytest.mark.slow
def test_server_that_stops_does_not_finish_its_copy(service: Service, tmp_path: Path) -> None:
    service.stopping.set()
    with pytest.raises(Stopping):
        backup._copied(service)
    assert others(tmp_path) == []


@pytest.mark.slow
def test_copy_without_room_leaves_nothing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise DiskFull("s.db")

    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(backup, "_digest", fail)
    with pytest.raises(DiskFull):
        backup._copied(service)
    assert others(tmp_path) == []
    assert len(os.listdir("/proc/self/fd")) == len(before)
