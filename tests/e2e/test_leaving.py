"""What leaves a store, and what it has seen: ``remove``, ``expire`` and ``seen``."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest
from forked import Finished, Nursery

TEXT = "The harbour was quiet at dawn and the first boats came in with the tide and the wind."
DAYS = [
    {"url": "a", "text": TEXT, "day": "2026-05-01", "to": ["b", "x"]},
    {"url": "b", "text": TEXT, "day": "2026-05-03T10:00:00Z"},
    {"url": "c", "text": "Mix flour, water and salt; let the dough rest.", "day": 1_780_000_000},
    {"url": "d", "text": "nothing of this kind", "day": "some day"},
]


class Shell:
    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self._nursery = nursery
        self.folder = folder

    def __call__(self, *words: str, code: int = 0, **options: object) -> Finished:
        done = self._nursery.simstore(self.folder, *words, **options)
        assert done.code == code, (done.code, done.errors)
        assert "Traceback" not in done.errors
        return done


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    """A store of a crawl whose records say when they were seen."""
    (tmp_path / "day.jsonl").write_text("".join(json.dumps(one) + "\n" for one in DAYS))
    made = Shell(nursery, tmp_path)
    done = made("ingest", "day.jsonl", "--seen-field", "day", "--links-field", "to", code=5)
    assert done.text.startswith("3 added, 0 updated, 0 unchanged, 1 exact duplicate, 1 rejected")
    return made


def test_date_of_the_crawl_is_the_time_of_sight(shell: Shell) -> None:
    facts = json.loads(shell("show", "b", "--format", "json").text)
    assert facts["first_seen"] == facts["last_seen"] == 1_777_802_400
    assert facts["metadata"] == {}
    (kept,) = shell("rejects", "list").text.splitlines()[1:]
    assert "the field day: 'some day' is no time" in kept


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


@pytest.mark.slow
def test_seen_finds_a_text_by_itself_and_by_its_digest(shell: Shell) -> None:
    (shell.folder / "page.txt").write_text(TEXT)
    (shell.folder / "other.txt").write_text(TEXT + ".")
    digest = json.loads(shell("show", "a", "--format", "json").text)["digest"]
    for words in (["--file", "page.txt"], ["--digest", digest]):
        assert shell("seen", *words, "--format", "keys").text == "a\nb\n"
    assert shell("seen", "--file", "other.txt", "--format", "keys", code=7).text == ""
    for words in (["--file", "other.txt"], ["--text", "never"], ["--digest", "00" * 16]):
        assert shell("seen", *words, code=7).text == "not seen\n"
        assert shell("seen", *words, "--format", "json", code=7).text == "[]\n"


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
def test_expire_says_what_would_go_and_then_removes_it(shell: Shell) -> None:
    words = ("expire", "--not-seen-since", "2026-05-02")
    last = "; last seen before 2026-05-02 00:00:00 UTC\n"
    assert shell(*words, "--dry-run").text == f"1 would be removed{last}"
    assert shell(*words).text == f"1 removed{last}"
    assert shell(*words).text == f"0 removed{last}"
    assert shell("list", "--format", "keys").text == "b\nc\n"
    refused = shell("expire", "--older-than", "1d", code=2)
    assert refused.error_lines == ["Error: 2 of 2 documents would be removed; give --yes to do it"]
    done = shell("expire", "--older-than", "1d", "--yes")
    assert done.text.startswith("2 removed; last seen before 20")
    shell("fsck")


@pytest.mark.slow
def test_remove_takes_keys_from_a_file_and_goes_on_where_some_are_missing(shell: Shell) -> None:
    (shell.folder / "keys").write_text("b\nnone\na\n")
    refused = shell("remove", "--keys-from", "keys", code=3)
    assert "'none'" in refused.errors
    assert shell("remove", "--keys-from", "keys", "--ignore-missing", "c").text == "3 removed\n"
    shell("fsck")


@pytest.mark.slow
def test_removal_and_expiry_tell_of_what_was_skipped_because_of_what_leaves(shell: Shell) -> None:
    for number, words in enumerate(
        (["remove", "a", "b"], ["expire", "--older-than", "0m", "--yes"])
    ):
        record = {"url": f"copy-{number}", "text": TEXT, "day": "2126-01-01"}
        if number:
            record["text"] = DAYS[2]["text"]
        (shell.folder / "late.jsonl").write_text(json.dumps(record) + "\n")
        shell("ingest", "late.jsonl", "--seen-field", "day", "--on-duplicate", "skip")
        assert "1 key was skipped as duplicates" in shell(*words).errors
        assert shell("seen", f"copy-{number}").text.split()[5 + 3] == "orphaned"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["expire"], 2, "give one of --not-seen-since and --older-than"),
        (["expire", "--older-than", "1d", "--not-seen-since", "2026"], 2, "give one of"),
        (["expire", "--older-than", "3 months"], 2, "'3 months' is neither a date nor a duration"),
        (
            ["expire", "--not-seen-since", "may"],
            2,
            "neither a date nor a duration: write 2026-05-01",
        ),
        (["expire", "--older-than", "1d", "--batch", "0"], 2, "--batch"),
        (["expire", "--older-than", "1d", "--db", "none.db"], 3, "no store at none.db"),
        (["remove"], 2, "--keys-from"),
        (["remove", "--keys-from", "none.txt"], 3, "none.txt"),
        (["remove", "--keys-from", "."], 5, "."),
        (["seen"], 2, "--keys-from"),
        (["seen", "a", "--digest", "00" * 16], 2, "look for keys"),
        (["seen", "--digest", "00"], 2, "32 hexadecimal digits"),
        (["seen", "--file", "none.txt"], 3, "none.txt"),
        (["seen", "--file", "."], 2, "is a folder: name one file"),
        (["ingest", "day.jsonl", "--seen-field", ""], 2, "--seen-field: name a field"),
        (["ingest", "day.jsonl", "--published-field", ""], 2, "--published-field: name a field"),
        (["ingest", "day.jsonl", "--links-field", ""], 2, "--links-field: name a field"),
        (["ingest", "day.jsonl", "--key-field", ""], 2, "--key-field: name a field"),
        (["ingest", "day.jsonl", "--text-field", ""], 2, "--text-field: name a field"),
        (["duplicates", "--of", "never"], 3, "never"),
        (["export", "--unique", "--duplicates"], 2, "--unique or --duplicates"),
        (["seen", "a", "--db", "none.db"], 3, "no store at none.db"),
    ],
)
def test_wrong_use_is_one_line(shell: Shell, words: list[str], code: int, expected: str) -> None:
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
        "duplicate of", "first seen", "links to", "like it", "original a:",
    ]  # fmt: skip
    assert lines[-3].endswith("  b")
    assert lines[-2].endswith("b: same text, first seen 2026-05-03 10:00:00 UTC")
    assert lines[-1].endswith(
        "a: first seen 2026-05-01 00:00:00 UTC by the date of the crawl, 2.4 d before others can "
        "have been there"
    )
    linked = json.loads(shell("show", "a", "--format", "json", "--original", "linked").text)
    assert (linked["key"], linked["story"]["original"]) == ("a", "b")
    assert linked["story"]["reason"] == "another links to it"
    refused = shell("show", "a", "--original", "newest", code=2)
    assert "choose first-seen, linked, prefer:REGEX" in refused.errors


@pytest.mark.slow
def test_show_of_a_skipped_key_says_of_what_it_is_a_duplicate(shell: Shell) -> None:
    (shell.folder / "late.jsonl").write_text(json.dumps({"key": "late", "text": TEXT}) + "\n")
    shell("ingest", "late.jsonl", "--on-duplicate", "skip")
    lines = shell("show", "late").text.splitlines()
    assert lines[0].split() == ["key", "late"]
    assert "skipped as a duplicate of a" in lines[3]
    assert json.loads(shell("show", "late", "--format", "json").text)["story"]["state"] == "skipped"
    shell("show", "late", "--text", code=3)
    shell("show", "never", code=3)


@pytest.mark.slow
def test_duplicates_of_a_key_are_none_where_nothing_duplicates_it(shell: Shell) -> None:
    assert shell("duplicates", "--of", "a", "--format", "keys").text == ""
    (shell.folder / "late.jsonl").write_text(json.dumps({"key": "late", "text": TEXT}) + "\n")
    shell("ingest", "late.jsonl", "--on-duplicate", "skip")
    shell("remove", "a")
    # It has gone, but is what an orphan was skipped because of.
    assert shell("duplicates", "--of", "a", "--format", "keys").text == "late\n"


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


@pytest.mark.parametrize("journal", ["-wal", "-shm"])
@pytest.mark.parametrize("words", [("export", "-o"), ("export", "--known-keys")])
def test_a_journal_of_the_store_is_no_place_to_write(
    shell: Shell, words: tuple[str, ...], journal: str
) -> None:
    target = f"simstore.db{journal}"
    assert not (shell.folder / target).exists()
    done = shell(*words, target, code=2)
    assert "belongs to the store" in done.error_lines[-1]
    assert not (shell.folder / target).exists()


@pytest.mark.parametrize("place", [".", "..", "/"])
def test_a_folder_in_place_of_the_store_is_told(shell: Shell, place: str) -> None:
    done = shell("--db", place, "report", code=6)
    assert "Traceback" not in done.errors
    assert done.error_lines[-1].startswith("Error: ")


def test_a_byte_order_mark_is_no_part_of_a_key(shell: Shell) -> None:
    (shell.folder / "keys.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    assert shell("seen", "--keys-from", "keys.txt", "--format", "keys").text == "a\nb\n"
