"""What leaves a store, and what it has seen: ``remove``, ``expire`` and ``seen``."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest
from forked import Nursery

from .shells import Shell

TEXT = "The harbour was quiet at dawn and the first boats came in with the tide and the wind."
DAYS = [
    {"url": "a", "text": TEXT, "day": "2026-05-01", "to": ["b", "x"]},
    {"url": "b", "text": TEXT, "day": "2026-05-03T10:00:00Z"},
    {"url": "c", "text": "Mix flour, water and salt; let the dough rest.", "day": 1_780_000_000},
    {"url": "d", "text": "nothing of this kind", "day": "some day"},
]


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    """A store of a crawl whose records say when they were seen."""
    (tmp_path / "day.jsonl").write_text("".join(json.dumps(one) + "\n" for one in DAYS))
    made = Shell(nursery, tmp_path)
    done = made("ingest", "day.jsonl", "--seen-field", "day", "--links-field", "to", code=5)
    assert done.text.startswith("3 added, 0 updated, 0 unchanged, 1 exact duplicate, 1 rejected")
    return made


def test_seen_tells_what_became_of_keys_and_exits_with_3_for_unknown_ones(shell: Shell) -> None:
    rows = shell("seen", "a", "none", code=7).text.splitlines()
    assert rows[1].split() == ["a", "stored", *["2026-05-01", "00:00:00", "UTC"] * 2]
    assert rows[2].split() == ["none", "unknown"]
    shell("seen", "a", "b", "c")
    (shell.folder / "keys").write_bytes(b"a\r\n\nno\xffne\n")
    for words, options in (
        (["--keys-from", "keys"], {}),
        (["-"], {"stdin": (shell.folder / "keys").read_bytes()}),
    ):
        done = shell("seen", *words, "--format", "jsonl", code=7, **options)
        known, unknown = map(json.loads, done.text.splitlines())
        assert (known["key"], known["state"], known["first_seen"]) == ("a", "stored", 1_777_593_600)
        assert unknown == {"key": "no\\xffne", "key_base64": "bm//bmU=", "state": "unknown"}
        assert shell("seen", *words, "--format", "keys", code=7, **options).out == b"a\n"


def test_seen_reads_a_file_as_ingest_does(shell: Shell) -> None:
    page = f"<!doctype html><html><head><title>P</title></head><body><p>{TEXT}</p></body></html>"
    (shell.folder / "page.html").write_text(page)
    shell("ingest", "page.html")
    (shell.folder / "page.html").rename(shell.folder / "other.html")
    assert "page.html" in shell("seen", "--file", "other.html", "--format", "keys").text
    assert shell("seen", "--file", "other.html", "--as", "text", code=7).text == "not seen\n"
    records = [{"id": "same", "text": TEXT}, {"id": "new", "text": "not stored"}]
    (shell.folder / "two.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    rows = shell("seen", "--file", "two.jsonl", code=7).text.splitlines()[1:]
    assert [row.split()[:2] for row in rows][:2] == [["a", "stored"], ["b", "stored"]]
    assert rows[-1].split() == ["new", "unknown"]
    (shell.folder / "two.jsonl").write_text('{"id": "x"}\n')
    assert "there are id" in shell("seen", "--file", "two.jsonl", code=5).errors


@pytest.mark.slow
def test_wrong_use_is_one_line(shell: Shell) -> None:
    for words, code, expected in (
        (["expire"], 2, "Missing option '--not-seen-since'"),
        (["expire", "--not-seen-since", "3 months"], 2, "'3 months' is neither a date nor"),
        (["remove"], 2, "--keys-from"),
        (["remove", "--keys-from", "none.txt"], 3, "none.txt"),
        (["seen", "a", "--digest", "00" * 16], 2, "look for keys"),
        (["seen", "--digest", "00"], 2, "32 hexadecimal digits"),
        (["seen", "--file", "."], 2, "is a folder: name one file"),
        (["ingest", "day.jsonl", "--seen-field", ""], 2, "--seen-field: name a field"),
        (["duplicates", "--of", "never"], 3, "never"),
        (["export", "--unique", "--duplicates"], 2, "--unique or --duplicates"),
    ):
        done = shell(*words, code=code)
        assert expected in done.error_lines[-1]
        assert done.error_lines[-1].startswith("Error: ")
        assert done.text == ""


@pytest.mark.slow
def test_show_tells_the_story_and_the_original(shell: Shell) -> None:
    lines = shell("show", "a").text.splitlines()
    assert lines[0].split() == ["document", "id", "1"]
    told = [line.split(maxsplit=2) for line in lines[-5:]]
    assert [" ".join(words[:2]) for words in told] == [
        "duplicate of", "first seen", "links to", "like it", "original b:",
    ]  # fmt: skip
    assert lines[-3].endswith("  b")
    assert lines[-2].endswith("b: same text, first seen 2026-05-03 10:00:00 UTC")
    # A link decides before times of a crawl.
    assert lines[-1].endswith("b: another links to it")
    linked = json.loads(shell("show", "a", "--format", "json", "--original", "linked").text)
    assert (linked["key"], linked["story"]["original"]) == ("a", "b")
    assert linked["story"]["reason"] == "another links to it"
    refused = shell("show", "a", "--original", "newest", code=2)
    assert "choose first-seen, linked, prefer:REGEX" in refused.errors


@pytest.mark.slow
def test_duplicates_gives_the_bytes_of_keys_that_are_not_utf_8(shell: Shell) -> None:
    for name in (b"one\xff.txt", b"two\xff.txt"):
        (shell.folder / os.fsdecode(name)).write_text("a text of its own, in two files of one kind")
    shell("ingest", os.fsdecode(b"one\xff.txt"))
    shell("ingest", os.fsdecode(b"two\xff.txt"), "--on-duplicate", "skip")
    (found,) = map(json.loads, shell("duplicates", "--format", "jsonl").text.splitlines())
    assert base64.b64decode(found["key_base64"]).endswith(b"two\xff.txt")
    assert base64.b64decode(found["original_base64"]).endswith(b"one\xff.txt")
    assert (found["key"], found["original"]) == ("two\\xff.txt", "one\\xff.txt")


def test_a_journal_of_the_store_is_no_place_to_write(shell: Shell) -> None:
    for target in ("simstore.db-wal", "simstore.db-shm"):
        for words in (("export", "-o"), ("export", "--known-keys")):
            done = shell(*words, target, code=2)
            assert "belongs to the store" in done.error_lines[-1]
            assert not (shell.folder / target).exists()


def test_a_byte_order_mark_is_no_part_of_a_key(shell: Shell) -> None:
    (shell.folder / "keys.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    assert shell("seen", "--keys-from", "keys.txt", "--format", "keys").text == "a\nb\n"
