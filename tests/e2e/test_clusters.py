"""``simstore clusters`` as a command: texts of every kind, a few hundred documents, formats."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
import texts
from forked import Nursery

from .shells import Shell
from .test_wrong_use import assert_refused

KINDS = {
    f"{pair.language} {pair.name} {side}": getattr(pair, side)
    for pair in texts.pairs()
    for side in ("a", "b")
} | {f"odd {name}": text for name, text in texts.ODD.items() if name != "binary"}


def write(path: Path, documents: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for key, text in documents.items():
            file.write(json.dumps({"key": key, "text": text}, ensure_ascii=False) + "\n")


def shell_with(nursery: Nursery, folder: Path, documents: dict[str, str]) -> Shell:
    write(folder / "documents.jsonl", documents)
    shell = Shell(nursery, folder)
    shell("ingest", "documents.jsonl")
    return shell


@pytest.fixture
def kinds(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with a store of all pairs of texts and of odd ones."""
    return shell_with(nursery, tmp_path, KINDS)


def groups(shell: Shell, *words: str) -> dict[str, list[str]]:
    """Return the keys of each cluster of the moment, by its canonical document."""
    found: dict[str, list[str]] = {}
    head = ""
    text = shell("clusters", "--once", "--format", "csv", *words).text
    for row in csv.DictReader(io.StringIO(text)):
        head = row["key"] if row["role"] == "canonical" else head
        found.setdefault(head, []).append(row["key"])
        assert int(row["cluster_id"]) == len(found)
    return found


def test_table_jsonl_and_messages(nursery: Nursery, tmp_path: Path) -> None:
    article = texts.LIGHTHOUSE
    documents = {"a": article, "b": article.replace("seven", "nine"), "c": article, "d": "short"}
    shell = shell_with(nursery, tmp_path, documents)
    done = shell("clusters", "--once")
    assert [line.rstrip().split(None, 5) for line in done.text.splitlines()] == [
        ["cluster_id", "key", "role", "distance", "resemblance", "reason"],
        ["1", "a", "canonical", "0", "1.000", "canonical: first seen"],
        ["b", "member", "3", "0.992", "resemblance", "0.992 >= 0.65"],
        ["c", "member", "0", "1.000", "same", "text"],
    ]
    assert done.error_lines == [
        "4 documents: 3 are in 1 cluster of 2 or more",
        "a member reaches a resemblance of 0.65 or a likeness of 0.58 with a cosine of 0.68",
        "1 is too short to judge: they join only where one wholly contains the other",
    ]
    rows = shell.json_lines("clusters", "--min-likeness", "0.5", "--format", "jsonl")
    assert re.fullmatch(r"likeness 0\.\d+ >= 0\.5 with a cosine >= 0\.68", rows[1]["reason"])
    assert len(groups(shell, "--min-size", "1")) == 2
    assert groups(shell, "--collection", "none") == {}


def test_wrong_use_is_refused(kinds: Shell) -> None:
    for words, named in (
        (["-k", "65"], "65"),
        (["-k", "3", "--exact-join"], "exact join"),
        (["--once", "--policy", "prefer:("], "regular expression"),
        (["--once", "--rebuild"], "--once"),
        (["--status", "--drop"], "--status"),
        (["--merges", "--min-resemblance", "0.5"], "--min-resemblance"),
        (["surplus"], "surplus"),
    ):
        assert_refused(kinds("clusters", *words, code=2), 2, named)
