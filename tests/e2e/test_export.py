"""``simstore export`` as a command: its parts, its filter, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import Nursery

from simstore import KnownFilter
from simstore.known_filter import member_hash

from . import corpora
from .shells import PAGES, Shell
from .test_wrong_use import assert_refused


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with a store of four pages, one a copy, and one nearly the same."""
    corpora.article_file(tmp_path / "article.txt", PAGES)
    made = Shell(nursery, tmp_path)
    made("ingest", "article.txt")
    return made


def keys(path: Path) -> list[str]:
    return [json.loads(line)["key"] for line in path.read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_a_filter_for_a_crawler(shell: Shell) -> None:
    done = shell("export", "--known-keys", "known.filter", "--false-positive-rate", "0.0001")
    assert done.out == b""
    assert done.error_lines == ["known.filter: 4 keys", "known.filter: 3 digests"]
    known = KnownFilter.load(shell.folder / "known.filter")
    assert all(known.knows_key(key) for key, _ in PAGES)
    text = shell("show", "bread", "--text").out
    # Without a store.
    (shell.folder / "simstore.db").unlink()
    assert shell.lines("seen", "--known-keys", "known.filter", "harbour", "bread") == [
        "key      state", "harbour  known", "bread    known",
    ]  # fmt: skip
    (shell.folder / "keys").write_bytes(b"harbour\nnever\xff\n")
    found = shell.json_lines(
        "seen", "--known-keys", "known.filter", "--keys-from", "keys", "--format", "jsonl", code=7
    )
    assert found == [
        {"key": "harbour", "known": True},
        {"key": "never\\xff", "key_base64": "bmV2ZXL/", "known": False},
    ]
    keys_known = shell(
        "seen", "--known-keys", "known.filter", "copy", "x", "--format", "keys", code=7
    )
    assert keys_known.out == b"copy\n"
    (shell.folder / "page.txt").write_text("no such text")
    assert shell.lines("seen", "--known-keys", "known.filter", "--file", "page.txt", code=7) == [
        "unknown"
    ]
    digest = member_hash(text).hex()
    assert shell.lines("seen", "--known-keys", "known.filter", "--digest", digest) == ["known"]
    shell("seen", "--known-keys", "none.filter", "a", code=3)
    shell("seen", "--known-keys", "page.txt", "a", code=5)


@pytest.mark.slow
def test_mistakes_are_refused_in_a_line(shell: Shell) -> None:
    before = {path.name for path in shell.folder.iterdir()}
    for words, code, said in (
        (["--unique", "--known-keys", "f"], 2, "--unique: not with --known-keys"),
        (["--capacity", "9", "--of", "keys"], 2, "--capacity, --of: only with --known-keys"),
        (["--known-keys", "f", "--of", "urls"], 2, "choose keys, digests"),
        (["--known-keys", "f", "--capacity", "1"], 2, "the store knows 4 keys"),
        (["--known-keys", "none/f"], 6, "cannot be written"),
        (["--log", "y"], 2, "give --unique"),
        (["--unique", "-o", "x", "--log", "./x"], 2, "one file"),
        (["--unique", "-o", "x", "--log", "article.txt"], 4, "--force"),
        (["--force", "-o", "simstore.db"], 2, "belongs to the store"),
        (["--force", "--known-keys", "simstore.db"], 2, "belongs to the store"),
        (["--force", "--unique", "--log", "simstore.db"], 2, "belongs to the store"),
    ):
        assert_refused(shell("export", *words, code=code), code, said)
        journals = {"simstore.db-wal", "simstore.db-shm"}
        assert {path.name for path in shell.folder.iterdir()} - before <= journals


def test_a_device_is_written_to_as_it_is(shell: Shell) -> None:
    done = shell("export", "-o", "/dev/null")
    assert done.error_lines == ["/dev/null: 4 documents"]
