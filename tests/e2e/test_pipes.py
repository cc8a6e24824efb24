"""Pipes, devices and empty sources: each is read once, refused, or told."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from archives import zipped
from forked import Nursery

from .shells import PAGES, Shell

REPOSITORY = Path(__file__).resolve().parents[2]
LINES = "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in PAGES).encode()
ROWS = b"id,text\n" + b"".join(f'{key},"{text}"\n'.encode() for key, text in PAGES)
KEYS = [key for key, _ in PAGES]

# A text of a pipe is known by its digest.
TEXT_KEY = f"-@{hashlib.blake2b(PAGES[0][1].encode(), digest_size=16).hexdigest()[:16]}"


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    made = Shell(nursery, tmp_path)
    made("init")
    return made


@contextmanager
def piped(folder: Path, *contents: bytes, name: str = "pipe") -> Iterator[list[str]]:
    """Yield named pipes into which contents are written once each."""
    paths = [folder / (f"{name}{number}" if number else name) for number in range(len(contents))]

    def write(path: Path, data: bytes) -> None:
        # The reader may give up before the end.
        with path.open("wb", buffering=0) as file:
            try:
                file.write(data)
            except BrokenPipeError:
                return

    threads = []
    for path, data in zip(paths, contents, strict=True):
        os.mkfifo(path)
        threads.append(threading.Thread(target=write, args=(path, data), daemon=True))
        threads[-1].start()
    yield [path.name for path in paths]
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packed", "words", "expected"),
    [
        (gzip.compress(LINES), (), KEYS),
        (ROWS, ("--as", "csv"), KEYS),
        (PAGES[0][1].encode(), (), ["-"]),
        (zipped({"a.jsonl": LINES}), (), KEYS),
    ],
    ids=["json-lines", "csv", "text", "zip"],
)
def test_pipe_is_read_once_and_keyed_as_standard_input(
    shell: Shell, packed: bytes, words: tuple[str, ...], expected: list[str]
) -> None:
    with piped(shell.folder, packed) as (name,):
        done = shell("ingest", *words, name)
    assert done.text.startswith(f"{len(expected)} added")
    stored = expected if expected != ["-"] else [TEXT_KEY]
    assert shell.lines("list", "--format", "keys") == stored
    with piped(shell.folder, packed, name="asked") as (name,):
        answer = shell("query", *words, name, "-k", "0", "--format", "jsonl")
    assert [json.loads(line)["sample"] for line in answer.text.splitlines()] == expected
    with piped(shell.folder, packed, name="checked") as (name,):
        assert shell("passages", "build")
        papers = shell("check", *words, name, "--include-self", "--format", "jsonl")
    assert f'"key": "{stored[0]}"' in papers.text.replace('":"', '": "')


def test_ending_of_a_named_pipe_tells_its_format(shell: Shell) -> None:
    with piped(shell.folder, ROWS, name="rows.csv") as (name,):
        shell("ingest", name)
    assert shell.lines("list", "--format", "keys") == KEYS


def test_second_pipe_has_a_name_of_its_own(shell: Shell) -> None:
    with piped(shell.folder, b"river and stone", b"lamp and bridge") as names:
        assert shell("ingest", *names).text.startswith("2 added")
    first, second = shell.lines("list", "--format", "keys")
    assert first.startswith("-@")
    assert second.startswith("-2@")


def test_system_names_of_standard_input_mean_it(shell: Shell) -> None:
    for name in ("/dev/stdin", "/dev/fd/0"):
        assert "4 added" in shell("ingest", "--db", f"{name[-1]}.db", name, stdin=LINES).text
        again = shell("ingest", "-", name, stdin=LINES, code=2)
        assert "only once" in again.errors


def test_empty_source_and_null_device_are_told_and_other_devices_refused(shell: Shell) -> None:
    shell("ingest", "-", stdin=LINES)
    shell("passages", "build")
    for command in ("ingest", "query", "check"):
        for name in ("/dev/null", "-"):
            done = shell(command, name, stdin=b"")
            assert f"{name}: passed over, it is empty" in done.text + done.errors
        done = shell(command, "/dev/zero", code=5)
        assert done.errors == "Error: /dev/zero: it is a device, not a file\n"
    assert shell.lines("list", "--format", "keys") == KEYS


def test_socket_is_refused(shell: Shell) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.relpath(shell.folder / "s", os.getcwd()))
        done = shell("ingest", "s", code=5)
    assert done.errors == "Error: s: it is a socket, not a file\n"


@pytest.mark.slow
def test_pipe_in_a_folder_is_passed_over(shell: Shell) -> None:
    folder = shell.folder / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text(PAGES[0][1])
    os.mkfifo(folder / "b.txt")
    done = shell("ingest", "texts")
    assert "texts/b.txt: passed over, it is a pipe" in done.text + done.errors
    assert shell.lines("list", "--format", "keys") == ["texts/a.txt"]
    assert shell("ingest", "texts/*.txt").text.startswith("0 added, 0 updated, 1 unchanged")


GROUPS = b"key\tgroup\nharbour\ta\nharbour-2\ta\nbread\tb\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "data", "expected"),
    [
        (("seen", "--format", "keys", "--keys-from"), b"harbour\nbread\n", "harbour\nbread"),
        (("remove", "--keys-from"), b"bread\n", "1 removed"),
        (("evaluate", "--clusters"), GROUPS, "3 documents, 1 labelled pair"),
        (("compare", "bread.txt"), PAGES[2][1].encode(), "resemblance"),
        (("init", "--db", "n.db", "--stopwords"), b"the of\n", "made n.db: scheme web/1"),
        (
            ("init", "--db", "n.db", "--scheme", "simtool", "-N", "2", "-M", "4", "--hash-table"),
            b"0101\n1100\n",
            "made n.db: scheme simtool/1",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_pipe_can_be_given_wherever_a_file_is_read(
    shell: Shell, words: tuple[str, ...], data: bytes, expected: str
) -> None:
    shell("ingest", "-", stdin=LINES)
    (shell.folder / "bread.txt").write_text(PAGES[2][1])
    with piped(shell.folder, data) as (name,):
        done = shell(*words, name)
    assert expected in done.text + done.errors


@pytest.mark.slow
def test_file_that_holds_nothing_is_told(shell: Shell) -> None:
    shell("ingest", "-", stdin=LINES)
    for number, (words, code, told) in enumerate(
        (
            (("seen", "--keys-from"), 0, "no key in it"),
            (("evaluate", "--pairs"), 3, "no label in it"),
            (("init", "--db", "n.db", "--stopwords"), 2, "no word in it"),
        )
    ):
        with piped(shell.folder, b"", name=f"empty-{number}") as (name,):
            assert f"{name}: {told}" in shell(*words, name, code=code).errors
        assert f"/dev/null: {told}" in shell(*words, "/dev/null", code=code).errors
