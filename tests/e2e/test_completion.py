"""Completion in real shells: commands, options and files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forked import PATIENCE_SECONDS

from .processes import REPOSITORY

# What each shell runs: it reads the script as a user's start-up file does, then completes a line.
BASH = """
eval "$(simstore completion bash)"
compopt() { printf '%s\\n' "$@"; }
COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p simstore | sed 's/.*-F \\([^ ]*\\).*/\\1/') simstore
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { complete_function=$1 }
eval "$(simstore completion zsh)"
compadd() { print -l -- $completions }
_describe() { print -l -- ${completions_with_descriptions%%:*} }
_path_files() { print -- "$1" }
words=(${(z)1}) CURRENT=$#words
[[ $1 == *' ' ]] && { words+=('') CURRENT=$#words }
$complete_function
"""
FISH = """
simstore completion fish | source
complete -C "$argv[1]"
"""
SHELLS = {"bash": [BASH, "bash"], "zsh": [ZSH, "zsh"], "fish": [FISH]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file, and the program under its own name."""
    tmp_path = tmp_path_factory.mktemp("completed")
    (tmp_path / "bad.jsonl").write_text("{\n")
    program = tmp_path / "bin" / "simstore"
    program.parent.mkdir()
    words = json.dumps([sys.executable, str(REPOSITORY / "cli.py")])[1:-1].replace(",", "")
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return tmp_path


def completed(shell: str, folder: Path, line: str) -> list[str]:
    """Return what a shell completes a line by."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    environment = {name: value for name, value in os.environ.items() if name != "SIMSTORE_DB"}
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
    environment["LC_ALL"] = "C.UTF-8"
    environment["HOME"] = str(folder)
    script, *name = SHELLS[shell]
    done = subprocess.run(
        [shell, "-c", script, *name, line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr
    # fish shows descriptions behind a tab.
    return [word.split("\t")[0] for word in done.stdout.splitlines() if word]


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("simstore ing", {"ingest"}),
        ("simstore passages b", {"build"}),
        ("simstore query --min-res", {"--min-resemblance"}),
        ("simstore list --format js", {"json", "jsonl"}),
        ("simstore show p", set()),
    ],
)
def test_words_are_completed(shell: str, folder: Path, line: str, words: set[str]) -> None:
    assert set(completed(shell, folder, line)) == words


@pytest.mark.slow
@pytest.mark.parametrize("line", ["ingest ba", "list --db ba"])
@pytest.mark.parametrize("shell", SHELLS)
def test_files_are_completed(shell: str, folder: Path, line: str) -> None:
    asked = {"bash": ["-o", "default"], "zsh": ["-f"], "fish": ["bad.jsonl"]}
    assert completed(shell, folder, f"simstore {line}")[: len(asked[shell])] == asked[shell]
