"""``simstore evaluate`` as a command: labels, formats, files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import Nursery

from .shells import Shell
from .test_wrong_use import assert_refused

LINES = (
    "The ferry left the northern pier at noon with forty sheep on board.",
    "Two children waved from the sea wall until it was out of sight.",
    "Later the wind turned and the captain thought of going back.",
    "The baker had sold all rye loaves before the school bell rang.",
    "A letter from the council lay unopened beside the scales.",
    "In the evening the square was empty but for a dog and a cart.",
)
BODY = " ".join(LINES)
DOCUMENTS = {
    "one": BODY,
    "one again": BODY,
    "one edited": BODY.replace("forty sheep", "eleven goats"),
    "other": "Fold the paper in half, then in half again, and cut along the crease; keep the rest.",
    "another": "The orchestra tuned for an hour while the technicians looked for a broken cable.",
}
GROUPS = {"one": "a", "one again": "a", "one edited": "a", "other": "b", "another": "c"}


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with a store and labels of its documents."""
    with (tmp_path / "documents.jsonl").open("w") as file:
        for key, text in DOCUMENTS.items():
            file.write(json.dumps({"id": key, "text": text, "group": GROUPS[key]}) + "\n")
    groups = "".join(f"{key}\t{group}\n" for key, group in GROUPS.items())
    (tmp_path / "groups.tsv").write_text("key\tgroup\n" + groups)
    (tmp_path / "pairs.tsv").write_text("one\tone again\none\tone edited\none again\tone edited\n")
    made = Shell(nursery, tmp_path)
    made("ingest", "documents.jsonl")
    return made


def recommended(shell: Shell, *words: str) -> list[str]:
    """Return the words of the command that an evaluation recommends."""
    (line,) = [line for line in shell("evaluate", *words).error_lines if " by these labels" in line]
    assert "--rebuild where" not in line
    return line.split("`")[1].split()[1:]


def test_recommended_command_runs_as_it_stands_and_is_no_worse_than_the_default(
    shell: Shell,
) -> None:
    # The default finds all of these: no other threshold is recommended.
    assert recommended(shell, "--clusters", "groups.tsv") == ["clusters"]
    shell("clusters", "--min-resemblance", "0.9")
    words = recommended(shell, "--clusters", "groups.tsv")
    assert words == ["clusters", "--min-resemblance", "0.5", "--rebuild"]
    shell(*words)
    assert recommended(shell, "--clusters", "groups.tsv") == ["clusters"]
    # Only what is the same counts: the default joins more.
    (shell.folder / "same.tsv").write_text("one\tone again\t1\none\tone edited\t0\n")
    stricter = recommended(shell, "--pairs", "same.tsv")
    assert stricter != ["clusters"]
    shell(*stricter)


def test_labels_in_another_form_or_of_other_keys_are_named(shell: Shell) -> None:
    for name, words in (
        ("--pairs", "write two keys with a tab between them"),
        ("--clusters", "write key and group with a tab between them"),
    ):
        (shell.folder / "labels.csv").write_text("one,other,1\n")
        assert words in shell("evaluate", name, "labels.csv", code=5).errors
    said = shell("evaluate", "--pairs", "groups.tsv", code=3).errors
    assert "the labels name a, b, c, ..., which it does not hold; it holds one, one again" in said
    assert "--pairs" in shell("evaluate", "--clusters", "pairs.tsv", code=5).errors


@pytest.mark.slow
def test_wrong_use_is_refused(shell: Shell) -> None:
    (shell.folder / "broken.tsv").write_text("one\ta\ntwo\n")
    for words, code, named in (
        ([], 2, "--pairs"),
        (["--pairs", "pairs.tsv", "--exact"], 2, "--exact"),
        (["--pairs", "none.tsv"], 3, "none.tsv"),
        (["--pairs", "pairs.tsv", "--radius", "0-65"], 2, "65"),
        (["--clusters", "broken.tsv"], 5, "broken.tsv"),
        (["--clusters-field", "topic"], 3, "fields"),
    ):
        assert_refused(shell("evaluate", *words, code=code), code, named)
