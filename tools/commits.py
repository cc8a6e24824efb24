"""Check the subjects of the commits after LAST_UNCHECKED_COMMIT.

Usage: python tools/commits.py [--repository FOLDER] [--since REVISION]

A subject has at most 72 characters and does not begin with Let, Say or Tell; no commit is a merge.
Exits with 1 if a commit breaks a rule; with 0 and the reason if the history is not here (a shallow
clone, a source archive).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Commits up to this one were made before there were rules.
LAST_UNCHECKED_COMMIT = "66ad9c885de3eda808d02142e4baedd20edfb535"
LONGEST_SUBJECT = 72
WISHES = {"Let", "Say", "Tell"}


class NoHistory(Exception):
    """The commits to check are not in this folder."""


def git(repository: Path, *arguments: str) -> str:
    """Return the output of git; raises ``subprocess.CalledProcessError`` if it fails."""
    # CI may run as another user than the owner of the checkout.
    command = ["git", "-C", str(repository), "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def log(repository: Path, since: str, *arguments: str) -> list[str]:
    """Return a line of ``git log`` for each commit after a revision, the oldest first.

    Raises:
        NoHistory: The folder is no checkout of its own, or the revision is not in its history.
    """
    if not (repository / ".git").exists():
        raise NoHistory("this folder is not a git checkout")
    try:
        git(repository, "merge-base", "--is-ancestor", since, "HEAD")
    except subprocess.CalledProcessError:
        raise NoHistory(f"commit {since[:8]} is not in the history of this clone") from None
    return git(repository, "log", "--reverse", f"{since}..HEAD", *arguments).splitlines()


def faults(commits: list[str]) -> Iterator[str]:
    """Yield a line for each rule that a commit breaks; commits are "hash|parents|subject"."""
    for commit in commits:
        name, parents, subject = commit.split("|", 2)
        if " " in parents:
            yield f"{name} is a merge: rebase instead"
        if len(subject) > LONGEST_SUBJECT:
            yield f"{name} has a subject of {len(subject)} characters (at most {LONGEST_SUBJECT})"
        if subject.split(" ")[0] in WISHES:
            yield f"{name} begins with {subject.split(' ')[0]}: write `area: imperative`"


def main() -> int:
    """Print the faults and return the exit code."""
    parser = argparse.ArgumentParser(description="Check the subjects of new commits.")
    parser.add_argument("--repository", type=Path, default=Path(__file__).parents[1])
    parser.add_argument(
        "--since", default=LAST_UNCHECKED_COMMIT, help="the last commit not checked"
    )
    options = parser.parse_args()
    try:
        commits = log(options.repository, options.since, "--format=%h|%p|%s")
    except NoHistory as error:
        print(f"commits: skipped: {error}")
        return 0
    found = list(faults(commits))
    print("\n".join(found) or f"commits: {len(commits)} checked")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
