"""The program itself: its help, its version, completion, what it says where."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import click
import pytest

from e2e.shells import Shell
from simstore import __version__
from simstore.cli import main


def _contexts(
    command: click.Command, name: str = "simstore", parent: click.Context | None = None
) -> Iterator[click.Context]:
    """Yield a context of a command and of all below it, of a terminal of 80 columns."""
    settings = {**command.context_settings, "terminal_width": 80}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _contexts(found, below, context)


def test_help_fits_80_columns_gives_an_example_and_has_short_sections() -> None:
    for context in _contexts(main):
        helped = context.get_help()
        assert [line for line in helped.splitlines() if len(line) > 80] == []
        if isinstance(context.command, click.Group):
            # A list of commands whose lines are whole.
            listed = helped.partition("Usage:")[2].splitlines()[1:]
            assert [line for line in listed if line.endswith("...")] == []
        else:
            assert "Example" in helped, context.command_path
        sections = Counter(
            getattr(parameter, "section", "")
            for parameter in context.command.params
            if isinstance(parameter, click.Option)
        )
        assert max(sections.values(), default=0) <= 14, context.command_path


@pytest.mark.slow
def test_help_lists_every_command_under_a_heading(empty: Shell) -> None:
    overview = empty("--help")
    assert overview.errors == ""
    headings = ["Ingest and find:", "Decide:", "Look:", "Keep:", "Serve:"]
    assert [line for line in overview.text.splitlines() if line in headings] == headings
    for name in main.list_commands(click.Context(main)):
        assert f"\n  {name} " in overview.text
        helped = empty(name, "--help")
        assert helped.errors == ""
        assert helped.text.startswith(f"Usage: simstore {name}")
        assert empty("help", name).text == helped.text
    assert not (empty.folder / "simstore.db").exists()


def test_another_word_for_a_command_is_told_of(empty: Shell) -> None:
    for words, hint in (
        (["find", "x.txt"], "`query`"),
        (["qurey"], "`query`"),
        (["sample.txt"], "it is a file"),
        (["xyzzy"], "`simstore help` lists them"),
        (["passages", "create"], "`build`"),
        (["help", "query", "x"], "no commands below it"),
    ):
        done = empty(*words, code=2)
        assert done.text == ""
        assert hint in done.error_lines[-1]


def test_help_is_a_command_too(empty: Shell) -> None:
    assert empty("--version").text == f"simstore, version {__version__}\n"
    assert empty("help").text == empty("--help").text
    assert empty("help", "passages", "build").text == empty("passages", "build", "-h").text


def test_no_word_at_all_says_how_to_start(empty: Shell) -> None:
    done = empty()
    assert done.errors == ""
    assert done.text.count("\n") <= 8
    assert all(word in done.text for word in ("ingest", "query", "report", "simstore help"))
    assert "Missing command" in empty("--db", "x.db", code=2).errors


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
