"""What can be ingested and queried with: files, folders, patterns, standard input; odd bytes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from forked import Nursery

from simstore import Store

from . import corpora
from .shells import SAMPLE, Shell

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    corpora.article_file(tmp_path / "sample.txt", SAMPLE)
    made = Shell(nursery, tmp_path)
    made("init")
    return made


def keys(shell: Shell) -> list[str]:
    return shell.lines("list", "--format", "keys")


def test_empty_standard_input_is_no_article(shell: Shell) -> None:
    for data in (b"", b" \n\f \n\f", b"\n\n"):
        assert "0 added" in shell("ingest", "--as", "articles", "-", stdin=data).text
        assert shell("query", "--as", "articles", "--format", "jsonl", "-", stdin=data).out == b""


def test_a_record_without_text_is_told_with_the_option_that_names_it(shell: Shell) -> None:
    (shell.folder / "crawl.jsonl").write_text('{"id": "x", "story": "some words"}\n')
    told = "no text: none of the fields text, content, body; there are id, story "
    remedy = "(--text-field names the text)"
    assert told + remedy in shell("ingest", "crawl.jsonl", code=5).errors
    assert told + remedy in shell("query", "crawl.jsonl", code=5).errors
    for output_format in ("csv", "jsonl"):
        assert told + remedy in shell("rejects", "--format", output_format).text
    assert told + remedy in shell("ingest", "--strict", "crawl.jsonl", code=5).errors
    with Store.open(shell.folder / "simstore.db") as store:
        (rejected,) = store.rejects.list()
    assert rejected.rejection.reason == f"{told}(text_field names the text)"


def test_broken_link_and_unreadable_folder_are_no_tracebacks(shell: Shell) -> None:
    (shell.folder / "link.txt").symlink_to("nowhere.txt")
    (shell.folder / "good.txt").write_bytes(b"good")
    done = shell._nursery.simstore(shell.folder, "ingest", "link.txt", "good.txt")
    assert done.code in (3, 5)
    assert "Traceback" not in done.errors
    assert "link.txt" in done.errors


ODD = [
    b"caf\xe9 \xff",
    b"red \x1b[31m bell \x07",
    "ünï \u202e right-to-left".encode(),
    b"tab\tkey",
    "one-byte \x9b31m".encode(),
]


@pytest.mark.slow
def test_odd_keys_are_shown_escaped_and_come_back_byte_for_byte(shell: Shell) -> None:
    data = b"".join(key + b"\nthe text of %d\n\f" % n for n, key in enumerate(ODD))
    shell("ingest", "--as", "articles", "-", stdin=data)
    assert shell("list", "--format", "keys").out == b"\n".join(ODD) + b"\n"
    outputs = [
        shell("list"),
        shell("list", "--format", "jsonl"),
        shell("query", "-", "--as", "articles", stdin=data),
        shell("query", "-", "--as", "articles", "--format", "jsonl", stdin=data),
        shell("query", "--explain", "-", "--as", "articles", stdin=data),
        shell("ingest", "-vv", "--as", "articles", "-", stdin=data),
        *(shell("show", os.fsdecode(key)) for key in ODD),
        *(shell("show", "--format", "json", os.fsdecode(key)) for key in ODD),
        shell("show", "none \x1b[31m", code=3),
    ]
    for done in outputs:
        assert not CONTROL.search(done.text)
        assert not CONTROL.search(done.errors)
    assert not any("\u202e" in done.text for done in (outputs[0], outputs[2]))
    assert "caf\\xe9 \\xff" in outputs[0].text
    # Byte for byte: the report, and removal by the key.
    shell("query", "-k", "0", "-", "--as", "articles", stdin=data)
    assert shell("report", "-o", "-").out.startswith(ODD[0] + b"\n0:" + ODD[0] + b" ")
    for key in ODD:
        assert shell("remove", os.fsdecode(key)).text == "1 removed\n"
    assert keys(shell) == []


@pytest.mark.slow
def test_odd_file_names_are_shown_escaped(shell: Shell) -> None:
    name = os.fsdecode(b"caf\xe9 \x1b[31m.txt")
    (shell.folder / name).write_bytes(b"some text")
    shell("ingest", name)
    outputs = [
        shell("list"), shell("ingest", "-vv", name), shell("query", "--explain", name),
        shell("report", "--list"), shell("ingest", f"{name}.not-there", code=3),
        shell("backup", f"{name}.db"), shell("backup", f"{name}.db", code=4),
        shell("stats", "--db", f"{name}.none", code=3), shell("stats", "--db", name, code=6),
        shell("report", "-o", f"{name}.result"), shell("init", "--db", f"{name}.new.db"),
        shell("init", "--db", f"{name}.new.db", code=4),
        shell("stats", "--db", f"{name}.new.db"), shell("report", "-o", f"none/{name}", code=6),
        shell("backup", f"none/{name}", code=6),
    ]  # fmt: skip
    for number, done in enumerate(outputs):
        assert not CONTROL.search(done.text + done.errors), number
    assert shell.lines("list", "--format", "jsonl")


def test_texts_of_any_bytes_come_back_byte_for_byte(shell: Shell) -> None:
    body = bytes(range(256)).replace(b"\f", b"") * 3
    data = b"key\n" + body
    # No encoding makes a text of them all.
    assert "not UTF-8" in shell("ingest", "--as", "articles", "-", stdin=data, code=5).errors
    shell("ingest", "--as", "articles", "--encoding", "keep", "-", stdin=data)
    assert shell("show", "key", "--text").out == body
    assert shell("fsck").text == "sound\n"
