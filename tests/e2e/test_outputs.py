"""Files that commands write: what they replace, and what they never do."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import Finished, Nursery

from simstore import Store
from simstore.outputs import draft_beside, write_file, written

# Nobody, where tests run as root.
NOBODY = 65_534
TEXT = "The ferrymen of the river keep their boats dry in autumn, and sing at the oars."


@pytest.fixture(scope="module")
def made_folder(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("outputs")
    (made / "river.txt").write_text(TEXT)
    (made / "again.txt").write_text(TEXT)
    for words in (["ingest", "--passages", "river.txt", "again.txt"], ["query", "-q", "river.txt"]):
        done = nursery.simstore(made, *words)
        assert done.code == 0, done.errors
    return made


@pytest.fixture
def folder(made_folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(made_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


COMMANDS = {
    "backup": ["backup", "{}"],
    "export": ["export", "-o", "{}"],
    "filter": ["export", "--known-keys", "{}"],
    "log": ["export", "--unique", "-o", "/dev/null", "--log", "{}"],
    "check": ["check", "river.txt", "--format", "jsonl", "-o", "{}"],
    "report": ["report", "--format", "jsonl", "-o", "{}"],
}


class Shell:
    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self._nursery, self._folder = nursery, folder

    def __call__(self, name: str, target: str | Path, *more: str) -> Finished:
        words = [word.format(target) for word in COMMANDS[name]]
        return self._nursery.simstore(self._folder, *words, *more)


@pytest.fixture
def shell(nursery: Nursery, folder: Path) -> Shell:
    return Shell(nursery, folder)


@pytest.mark.parametrize("name", COMMANDS)
def test_file_that_is_there_is_replaced_with_force_alone(
    shell: Shell, folder: Path, name: str
) -> None:
    assert shell(name, "out").code == 0
    data = (folder / "out").read_bytes()
    assert data
    (folder / "out").write_bytes(b"precious")
    done = shell(name, "out")
    assert (done.code, done.error_lines[-1]) == (
        4,
        "Error: out exists already; name another file, or replace it with --force",
    )
    assert (folder / "out").read_bytes() == b"precious"
    if name == "backup":
        # It replaces stores alone.
        assert shell(name, "out", "--force").code == 4
        assert (folder / "out").read_bytes() == b"precious"
        (folder / "out").write_bytes(data)
    # What a link leads to is replaced, and the link stays.
    (folder / "deeper").mkdir()
    (folder / "out").rename(folder / "deeper" / "file")
    (folder / "out").symlink_to("deeper/file")
    assert shell(name, "out").code == 4
    assert shell(name, "out", "--force").code == 0
    assert (folder / "out").is_symlink()
    assert len((folder / "deeper" / "file").read_bytes()) == len(data)
    assert os.listdir(folder / "deeper") == ["file"]


@pytest.fixture
def odd_things(folder: Path) -> Iterator[dict[str, str]]:
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as one:
        here = os.getcwd()
        os.chdir(folder)
        one.bind("socket")
        os.chdir(here)
        things = {"folder": "folder", "socket": "socket"}
        try:
            os.mknod(folder / "disk", 0o600 | stat.S_IFBLK, os.makedev(240, 255))
        except PermissionError:
            pass
        else:
            things["disk"] = "device"
        yield things


@pytest.mark.slow
def test_what_is_no_file_is_refused(shell: Shell, folder: Path, odd_things: dict[str, str]) -> None:
    for thing, kind in odd_things.items():
        (folder / f"link-{thing}").symlink_to(thing)
        before = os.lstat(folder / thing)
        for name in COMMANDS:
            for target, *force in ((thing,), (f"link-{thing}", "--force")):
                done = shell(name, target, *force)
                said = f"{target} cannot be written: it is a {kind}, not a file; name another"
                assert (done.code, done.error_lines[-1]) == (6, f"Error: {said}")
        assert os.path.samestat(os.lstat(folder / thing), before)


def test_backup_is_never_written_to_a_pipe_or_a_device(shell: Shell, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "null").symlink_to("/dev/null")
    for target, kind in (("pipe", "pipe"), ("null", "device")):
        before = os.stat(folder / target)
        done = shell("backup", target, "--force")
        assert (done.code, f"it is a {kind}" in done.errors) == (6, True), done
        assert os.path.samestat(os.stat(folder / target), before)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "backup"])
def test_standard_output_is_written_to_whatever_it_is(
    nursery: Nursery, shell: Shell, folder: Path, name: str
) -> None:
    assert shell(name, "out").code == 0
    expected = (folder / "out").read_bytes()
    (folder / "into").touch()
    words = [word.format("-") for word in COMMANDS[name]]
    done = nursery.run("simstore_into", folder, words=words, output=str(folder / "into"))
    assert done.code == 0, done.errors
    assert (folder / "into").read_bytes().endswith(expected)
    assert shell(name, "/dev/stdout").out.endswith(expected)


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600)])
def test_files_get_the_permissions_that_the_umask_leaves(
    nursery: Nursery, tmp_path: Path, mask: int, expected: int
) -> None:
    (tmp_path / "river.txt").write_text(TEXT)
    for words in (
        ["init", "--db", "init.db"],
        ["ingest", "--db", "ingest.db", "river.txt"],
        ["backup", "--db", "ingest.db", "backup.db"],
        ["compact", "--db", "backup.db"],
        ["export", "--db", "ingest.db", "-o", "all.jsonl"],
    ):
        done = nursery.run("simstore_with_umask", tmp_path, words=words, mask=mask)
        assert done.code == 0, done.errors
    for name in ("init.db", "ingest.db", "backup.db", "all.jsonl"):
        assert permissions(tmp_path / name) == expected, name


def test_copies_of_a_private_store_are_private_and_a_replaced_file_keeps_its_permissions(
    nursery: Nursery, folder: Path
) -> None:
    store = folder / "simstore.db"
    store.chmod(0o600)
    for words in (["backup", "backup.db"], ["compact"]):
        done = nursery.run("simstore_with_umask", folder, words=words, mask=0o022)
        assert done.code == 0, done.errors
    for name in ("simstore.db", "backup.db"):
        assert permissions(folder / name) == 0o600, name
    (folder / "backup.db").chmod(0o640)
    assert nursery.simstore(folder, "backup", "--force", "backup.db").code == 0
    assert permissions(folder / "backup.db") == 0o640


def test_draft_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    with written(tmp_path / "file") as stream:
        stream.write(b"secret")
        (draft,) = tmp_path.iterdir()
        assert permissions(draft) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    Store.create(tmp_path / "one.db").close()
    seen = []

    def look(*_: int) -> None:
        seen.extend(permissions(path) for path in tmp_path.glob(".other.db.*"))

    with Store.open(tmp_path / "one.db") as store:
        store.maintenance.backup(tmp_path / "other.db", on_progress=look)
    assert set(seen) == {0o600}


def test_draft_of_a_dead_process_is_deleted(tmp_path: Path) -> None:
    mine = draft_beside(tmp_path / "file").name
    own, elsewhere = f"-{os.getpid()}-", mine.split(".")[2][:8]
    dead, living = mine.replace(own, "-4194305-"), mine.replace(own, f"-{os.getppid()}-")
    # Drafts of another file, of another PID namespace, and of another program.
    others = [dead.replace("file", "file2"), dead.replace(elsewhere, "0" * 8), ".file.4194305.new"]
    for name in (dead, living, *others):
        (tmp_path / name).write_bytes(b"left")
    write_file(tmp_path / "file", b"new", replace=False)
    assert {path.name for path in tmp_path.iterdir()} == {"file", living, *others}


WRITING = {
    **COMMANDS,
    "init": ["init", "--db", "{}"],
    "first": ["ingest", "river.txt", "--db", "{}"],
}
UNREACHABLE = {
    "long name": "a" * 300,
    "long path": "a/" * 3_000 + "x",
    "long folder": "a" * 300 + "/x",
    "loop": "loop/x",
    "file": "river.txt/x",
}


def assert_told(done: Finished) -> None:
    assert done.code in (2, 4, 6), (done.code, done.errors)
    assert "Traceback" not in done.errors
    assert [line for line in done.error_lines if line.startswith("Error: ")], done.errors


@pytest.mark.slow
@pytest.mark.parametrize("place", UNREACHABLE)
def test_place_that_cannot_be_reached_is_told(nursery: Nursery, folder: Path, place: str) -> None:
    (folder / "loop").symlink_to("loop")
    for words in WRITING.values():
        given = [word.replace("{}", UNREACHABLE[place]) for word in words]
        assert_told(nursery.simstore(folder, *given))


@pytest.mark.slow
def test_place_in_a_folder_that_nobody_may_look_into_is_told(
    nursery: Nursery, folder: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    made = Path(tempfile.mkdtemp())
    try:
        made.chmod(0o755)
        work = Path(shutil.copytree(folder, made / "work"))
        for path in (work, *work.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        (work / "closed").mkdir(0o700)
        for words in WRITING.values():
            given = [word.replace("{}", "closed/x") for word in words]
            assert_told(nursery.simstore(work, *given, user=NOBODY))
    finally:
        shutil.rmtree(made)


def test_options_that_would_have_no_effect_are_refused(nursery: Nursery, tmp_path: Path) -> None:
    done = nursery.simstore(tmp_path, "export", "--min-resemblance", "0.5", "-o", "a.jsonl")
    assert (done.code, "only with --unique" in done.errors) == (2, True)
    line = b'{"id": "own", "text": "words of a record"}\n'
    done = nursery.simstore(tmp_path, "ingest", "-", "--key", "other", stdin=line)
    assert (done.code, "keys of their own" in done.errors) == (2, True)
