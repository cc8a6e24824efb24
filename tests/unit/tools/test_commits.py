"""Subjects of new commits are short and name an area, and none is a merge."""

from __future__ import annotations

import pytest

from .conftest import Repository


def test_short_subjects_pass(repository: Repository) -> None:
    repository.commit("tools: " + "x" * 65)
    repository.commit("query: print | once")
    assert repository.passes("commits.py") == ["commits: 2 checked"]


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("tools: " + "x" * 66, "has a subject of 73 characters (at most 72)"),
        ("Let readers see more", "begins with Let: write `area: imperative`"),
        ("Say more", "begins with Say: write `area: imperative`"),
        ("Tell of more", "begins with Tell: write `area: imperative`"),
    ],
)
def test_a_subject_is_refused(repository: Repository, subject: str, message: str) -> None:
    wrong = repository.commit(subject)
    repository.commit("tools: go on")
    assert repository.fails("commits.py") == [f"{wrong} {message}"]


def test_a_merge_is_refused(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("tools: add on the side")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "tools: add the side", "side")
    [line] = repository.fails("commits.py")
    assert line.endswith(" is a merge: rebase instead")


def test_a_history_without_the_first_commit_is_skipped(repository: Repository) -> None:
    repository.commit("Tell of a wish")
    repository.start = "1" * 40
    reason = "commit 11111111 is not in the history of this clone"
    assert repository.passes("commits.py") == [f"commits: skipped: {reason}"]
