"""Rooms stay below their ceilings, and no ceiling rises without a reason."""

from __future__ import annotations

import shutil

import pytest

from .conftest import ROOT, Repository

FILE = "tools/ceilings.toml"
DECISIONS = "docs/explanation/decisions.md"
FINE = ["ceilings: no room is above its ceiling"]


def ceilings(total: int = 30, cli: int = 10, text: int = 20, temporary: str = "") -> str:
    code = f'[code]\n"simstore" = {total}\n"simstore/cli" = {cli}\n"simstore/text" = {text}\n'
    return f'{code}[files]\n"simstore" = 2\n[words]\n"docs" = 100\n[temporary]\n{temporary}\n'


@pytest.fixture
def full(repository: Repository) -> Repository:
    """A repository whose rooms are at their ceilings."""
    repository.write("simstore/cli/a.py", "x = 1\n" * 10)
    repository.write("simstore/text/a.py", "x = 1\n" * 20)
    repository.write(FILE, ceilings())
    repository.write(DECISIONS, "# Decisions\n")
    repository.start = repository.commit("tools: begin")
    return repository


def places(lines: list[str]) -> list[str]:
    """The places that are refused for a raise."""
    return [line.split(":")[0] for line in lines if "ceiling raised in" in line]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_room_of_this_repository_is_above_its_ceiling() -> None:
    Repository(ROOT).passes("ceilings.py")


def test_a_room_of_50_lines_more_than_its_ceiling_is_named(full: Repository) -> None:
    assert full.passes("ceilings.py") == FINE
    full.write("simstore/cli/a.py", "x = 1\n" * 60)
    assert full.fails("ceilings.py") == [
        "simstore/cli: 60 code lines, ceiling 10: remove 50, or move a ceiling from another room "
        "of the same tree"
    ]


@pytest.mark.parametrize(
    ("name", "text", "excess"),
    [
        ("simstore/text/b.py", "", "simstore: 3 Python files, ceiling 2"),
        ("simstore/new/a.py", "x = 1\n", "simstore/new: 1 code lines, ceiling 0"),
        ("top.py", "x = 1\n", "top.py: 1 code lines, ceiling 0"),
        ("extra/deep/a.py", "x = 1\n", "extra/deep: 1 code lines, ceiling 0"),
        ("simstore/page.js", "a()\n\nb()\n", "simstore: 2 lines, ceiling 0"),
        (".ci/run", "a\n\nb\n", ".ci: 2 lines, ceiling 0"),
        ("tests/contract/cases.toml", "a = 1\n", "tests: 1 lines, ceiling 0"),
        ("docs/a.md", "a word " * 50, "docs: 102 words, ceiling 100"),
        ("README.md", "one two three\n", "README.md: 3 words, ceiling 0"),
        ("simstore/a.css", "x" * 101, "simstore: 1 lines of more than 100 characters, ceiling 0"),
        ("simstore/text/a.py", "# Of it\n" * 2, "simstore/text: 2 language hits, ceiling 0"),
    ],
)
def test_code_does_not_flee(full: Repository, name: str, text: str, excess: str) -> None:
    full.write(name, text)
    assert any(line.startswith(f"{excess}: ") for line in full.fails("ceilings.py"))


def test_comments_docstrings_and_recorded_data_are_free(full: Repository) -> None:
    full.write("simstore/cli/a.py", '"""Do.\n\nMore.\n"""\n\n# Why.\n' + "x = (\n1)\n" * 5)
    for name in ("tests/data/golden/a.json", "benchmarks/results/a.json", "docs/images/a.png"):
        full.write(name, "{\n}\n")
    full.write("CHANGELOG.md", "many words\n" * 100)
    assert full.passes("ceilings.py") == FINE


def test_hits_of_a_room_above_its_ceiling_are_listed(full: Repository) -> None:
    full.write("simstore/cli/a.py", "x = 1\n\n# Of what is told\n")
    full.write("simstore/cli/b.js", "x" * 120)
    assert {
        "simstore/cli/a.py:3: begins with Of",
        "simstore/cli/a.py:3: told",
        "simstore/cli/b.js:1: 120 characters",
    } <= set(full.fails("ceilings.py"))


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_raised_ceiling_is_refused(full: Repository, is_committed: bool) -> None:
    full.write(FILE, ceilings(total=35, cli=15))
    if is_committed:
        full.commit("cli: grow")
        full.commit("docs: go on")
    assert places(full.fails("ceilings.py")) == ["simstore", "simstore/cli"]


@pytest.mark.parametrize(
    "line",
    [
        "Ceiling raised: `simstore/cli` by 5 code lines.",
        "Ceiling raised: `simstore/client` by 5; deleted: a module.",
        "No ceiling raised: `simstore/cli`; deleted: nothing.",
    ],
)
def test_another_decision_explains_no_raise(full: Repository, line: str) -> None:
    full.write(FILE, ceilings(total=35, cli=15))
    full.write(DECISIONS, f"# Decisions\n\n{line}\n")
    full.commit("cli: grow")
    assert "simstore/cli" in places(full.fails("ceilings.py"))


def test_a_decision_explains_one_raise(full: Repository) -> None:
    full.write(FILE, ceilings(total=35, cli=15))
    full.write(DECISIONS, "Ceiling raised: `simstore/cli`; deleted: `simstore/wire.py`.\n")
    full.commit("cli: grow")
    assert full.passes("ceilings.py") == FINE
    full.write(FILE, ceilings(total=40, cli=20))
    again = full.commit("cli: grow again")
    assert all(f"raised in {again} " in line for line in full.fails("ceilings.py"))


def test_a_move_between_rooms_passes(full: Repository) -> None:
    full.write("simstore/cli/a.py", "x = 1\n" * 15)
    full.write("simstore/text/a.py", "x = 1\n" * 15)
    full.write(FILE, ceilings(cli=15, text=15))
    full.commit("cli: take code from text")
    assert full.passes("ceilings.py") == FINE


def test_rooms_have_no_more_together_than_their_tree(full: Repository) -> None:
    full.write(FILE, ceilings(cli=15))
    [line] = full.fails("ceilings.py")
    assert line.startswith("simstore: its rooms may have 35 code lines together, the tree 30")


def test_a_file_that_was_away_is_compared_with_the_last_one(full: Repository) -> None:
    (full.folder / FILE).unlink()
    full.commit("tools: remove ceilings")
    full.write(FILE, ceilings(total=99))
    full.commit("tools: add ceilings")
    assert places(full.fails("ceilings.py")) == ["simstore"]


def test_a_room_that_is_rebuilt_has_a_temporary_ceiling(full: Repository) -> None:
    entry = '"simstore/index" = { issue = 43, code = 5, files = 1 }'
    full.write("simstore/index/a.py", "x = 1\n" * 5)
    full.write(FILE, ceilings(temporary=entry))
    full.commit("index: begin next to the old one")
    assert full.passes("ceilings.py") == FINE
    full.write(FILE, ceilings(temporary=entry.replace("code = 5", "code = 6")))
    assert places(full.fails("ceilings.py")) == ["simstore/index"]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('"simstore/index" = { code = 5 }', "simstore/index: its temporary ceiling names no issue"),
        ('"simstore/cli" = { issue = 43, code = 50 }', "simstore/cli: it has a temporary ceiling"),
    ],
)
def test_a_temporary_ceiling_is_refused(full: Repository, entry: str, fault: str) -> None:
    full.write(FILE, ceilings(temporary=entry))
    assert any(line.startswith(fault) for line in full.fails("ceilings.py"))


def test_lower_takes_ceilings_down_and_never_up(full: Repository) -> None:
    full.write("simstore/cli/a.py", "x = 1\n" * 4)
    full.write("simstore/text/a.py", "x = 1\n" * 90)
    full.write("simstore/new/a.py", "x = 1\n")
    full.passes("ceilings.py", "--lower")
    text = (full.folder / FILE).read_text(encoding="utf-8")
    assert '"simstore" = 24\n"simstore/cli" = 4\n"simstore/text" = 20\n' in text
    assert '"docs" = 2\n' in text
    assert "new" not in text


def test_lower_without_a_file_writes_the_present_counts(full: Repository) -> None:
    (full.folder / FILE).unlink()
    full.passes("ceilings.py", "--lower")
    assert full.passes("ceilings.py") == FINE
    full.write("simstore/text/a.py", "x = 1\n" * 21)
    assert full.fails("ceilings.py")[0].startswith("simstore/text: 21 code lines, ceiling 20")


def test_a_folder_without_history_is_checked_by_counts_alone(full: Repository) -> None:
    shutil.rmtree(full.folder / ".git")
    lines = full.passes("ceilings.py")
    assert lines[0] == "ceilings: history skipped: this folder is not a git checkout"


def test_the_history_of_a_shallow_clone_is_skipped(full: Repository) -> None:
    full.commit("tools: go on")
    full.git("clone", "-q", "--depth", "1", full.folder.as_uri(), "clone")
    clone = Repository(full.folder / "clone", full.start)
    assert clone.passes("ceilings.py")[0].endswith("is not in the history of this clone")
