"""The program itself: its help, its version, completion, what it says where."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from e2e import corpora
from e2e.processes import launch
from e2e.shells import PAGES, SAMPLE, Shell
from simstore import __version__

COMMANDS = [
    "ingest", "query", "check", "passages", "report", "init", "compare", "clusters", "evaluate",
    "fingerprints", "list",
    "show", "remove", "duplicates", "orphans", "expire", "seen", "export", "import", "spark",
    "stats", "vocabulary",
    "reindex",
    "runs", "rejects", "token", "serve", "backup", "copy", "pack",
    "unpack", "compact", "upgrade", "fsck", "completion",
]  # fmt: skip


def test_a_day_with_the_launcher_in_new_interpreters(tmp_path: Path) -> None:
    corpora.article_file(tmp_path / "article.txt", PAGES)
    corpora.article_file(tmp_path / "sample.txt", SAMPLE)
    ingested = launch(tmp_path, "ingest", "article.txt")
    assert ingested.code == 0
    assert ingested.text == ("4 added, 0 updated, 0 unchanged, 1 exact duplicates, 0 rejected\n")
    assert len(ingested.error_lines) == 1
    assert "made simstore.db: scheme web/2, M = 64" in ingested.errors
    asked = launch(tmp_path, "query", "--format", "simtool", "sample.txt")
    assert (asked.code, asked.errors) == (0, "")
    reported = launch(tmp_path, "report")
    assert reported.code == 0
    assert (tmp_path / "result.txt").read_bytes() == asked.out
    listed = launch(tmp_path, "list", "--format", "keys")
    assert listed.text.split() == [key for key, _ in PAGES]
    assert launch(tmp_path, "fsck").text == "sound\n"


def test_help_lists_every_command_and_each_has_help_with_an_example_or_a_purpose(
    empty: Shell,
) -> None:
    overview = empty("--help")
    assert overview.errors == ""
    section = overview.text.split("Commands:")[1].split("Examples:")[0]
    listed = [line.split()[0] for line in section.splitlines() if line[2:3].strip()]
    assert [name for name in listed if name not in COMMANDS] == []
    assert set(COMMANDS) <= set(listed)
    for name in listed:
        helped = empty(name, "--help")
        assert helped.errors == ""
        assert helped.text.startswith(f"Usage: simstore {name}")
    assert not (empty.folder / "simstore.db").exists()


def test_version_is_the_packages(empty: Shell) -> None:
    assert empty("--version").text == f"simstore, version {__version__}\n"


def test_no_command_shows_the_help(empty: Shell) -> None:
    done = empty(code=2)
    assert "Usage: simstore" in done.text + done.errors


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_script_names_the_program_and_completes_commands(
    empty: Shell, shell_name: str
) -> None:
    script = empty("completion", shell_name)
    assert "_SIMSTORE_COMPLETE" in script.text
    assert script.errors == ""
    environment = os.environ | {
        "_SIMSTORE_COMPLETE": f"{shell_name}_complete",
        "COMP_WORDS": "simstore ing" if shell_name != "fish" else "simstore",
        "COMP_CWORD": "1" if shell_name != "fish" else "ing",
    }
    completed = empty(environment=environment)
    assert "ingest" in completed.text
    assert "init" not in completed.text


def test_messages_are_json_lines_where_asked_for(shell: Shell) -> None:
    commands = [
        (["query", "--log-json", "--explain", "sample.txt"], 0),
        (["--log-json", "-v", "ingest", "article.txt"], 0),
        (["ingest", "--log-json", "none-such.txt"], 3),
        (["show", "--log-json", "none-such"], 3),
    ]
    for words, code in commands:
        done = shell(*words, code=code)
        assert done.error_lines
        for line in done.error_lines:
            record = json.loads(line)
            assert {"time", "level", "message"} <= set(record)


def test_quiet_says_only_results_and_errors_and_verbose_says_more(empty: Shell) -> None:
    done = empty("-q", "ingest", "article.txt")
    assert (done.text.count("\n"), done.errors) == (1, "")
    assert empty("show", "-q", "none-such", code=3).error_lines
    loud = empty("ingest", "-v", "article.txt")
    assert len(loud.error_lines) > len(empty("ingest", "article.txt").error_lines)
