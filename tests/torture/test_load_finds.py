"""The campaign with load sees servers that lose what they acknowledged, or find it no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import forked
import pytest
from forked import Nursery

from .load import ServedRound

pytestmark = pytest.mark.torture

ROOT = Path(__file__).resolve().parents[2]
# Modules that each process imports at its start, each with a fault.
LOST_COMMIT = """
import sys, threading
sys.path[:0] = [{root!r}]
from contextlib import contextmanager
from simstore.services.ingest.writer import Writer
from simstore.storage.engine import Database

write, commit, of_server, commits = Database.write, Writer._commit, threading.local(), []

class Undone(Exception):
    pass

@contextmanager
def write_or_not(self):
    try:
        with write(self) as connection:
            yield connection
            if getattr(of_server, "loses", False):
                raise Undone
    except Undone:
        pass

def commit_or_not(self, group):
    commits.append(group)
    of_server.loses = len(commits) % 5 == 0
    try:
        return commit(self, group)
    finally:
        of_server.loses = False

Database.write, Writer._commit = write_or_not, commit_or_not
"""
OLD_TABLES = """
import sys
sys.path[:0] = [{root!r}]
from simstore.services.open_store.resident_index import ResidentTables
ResidentTables.serves = lambda self, row: self.generation_id == row.generation_id
"""
BLIND_CHECK = """
import sys
sys.path[:0] = [{root!r}]
from dataclasses import replace
from simstore import Store

check = Store.check_many

def check_blindly(self, *arguments, **options):
    return (replace(one, copies=()) for one in check(self, *arguments, **options))

Store.check_many = check_blindly
"""
# Of a store that is a file, has passages, and finds a whole text by its fingerprint alone.
SEED = 31


@pytest.fixture
def planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[None]:
    """Let every process of the round have a fault, forked or started."""
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(request.param.format(root=str(ROOT)))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    nursery = Nursery()
    monkeypatch.setattr(forked, "_shared", nursery)
    yield
    nursery.close()


def short_round(tmp_path: Path) -> None:
    folder = tmp_path / "round"
    folder.mkdir()
    ServedRound(SEED, folder, str(folder / "s.db"), None, harms=1, steps=25).run()


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (LOST_COMMIT, "acknowledged as (revision|absent)|found again|and is absent"),
        (OLD_TABLES, "not among the .* found by its text"),
        (BLIND_CHECK, "a check finds no copy"),
    ],
    ids=["commit", "tables", "check"],
    indirect=["planted"],
)
@pytest.mark.usefixtures("planted")
def test_a_planted_fault_is_found(tmp_path: Path, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        short_round(tmp_path)


def test_a_server_without_a_fault_passes(tmp_path: Path) -> None:
    short_round(tmp_path)
