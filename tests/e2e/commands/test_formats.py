"""``--format`` on every command: the same spellings, and one meaning each."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from forked import Nursery

from e2e import corpora
from e2e.shells import PAGES, SAMPLE, Shell
from simstore.cli import main
from simstore.cli.options import FORMATS

# They print no result: a script for a shell; and a service, which says where it listens.
WITHOUT_A_RESULT = {"completion", "serve"}

# Of each command, words that give a result in a folder as `_filled` makes it, and its exit code.
COMMANDS: dict[str, tuple[list[str], int]] = {
    "ingest": (["more.jsonl"], 5),
    "query": (["sample.txt"], 0),
    "check": (["paper.txt"], 0),
    "dedup": (["keyed.jsonl", "-o", "unique.jsonl"], 0),
    "filter": (["keyed.jsonl", "-o", "new.jsonl"], 0),
    "decontaminate": (["keyed.jsonl", "--against", "items.jsonl", "-o", "clean.jsonl"], 0),
    "passages build": ([], 0),
    "passages status": ([], 0),
    "report": (["-o", "-"], 0),
    "compare": (["harbour", "harbour-2"], 0),
    "fingerprints add": (["--db", "fp.db", "hashes.txt"], 0),
    "fingerprints near": (["00ff3a0c12345678", "--db", "fp.db"], 0),
    "fingerprints pairs": (["--db", "fp.db"], 0),
    "fingerprints remove": (["--db", "fp.db", "hashes.txt"], 0),
    "clusters": ([], 0),
    "duplicates": ([], 0),
    "export": ([], 0),
    "evaluate": (["--pairs", "pairs.tsv"], 0),
    "spark dedup": ([], 0),
    "spark load": ([], 0),
    "list": ([], 0),
    "show": (["harbour"], 0),
    "seen": (["harbour", "nowhere"], 7),
    "stats": ([], 0),
    "runs": ([], 0),
    "rejects": ([], 0),
    "vocabulary policy": (["frozen"], 0),
    "vocabulary refresh": ([], 0),
    "vocabulary show": (["--limit", "3"], 0),
    "vocabulary status": ([], 0),
    "init": (["--db", "new.db"], 0),
    "remove": (["bread"], 0),
    "expire": (["--not-seen-since", "1d", "--yes"], 0),
    "backup": (["--force", "copy.db"], 0),
    "restore": (["simstore.db", "--db", "restored.db"], 0),
    "compact": ([], 0),
    "reindex": ([], 0),
    "upgrade": ([], 0),
    "fsck": ([], 0),
    "token add": (["crawler", "--expires", "never"], 0),
    "token list": ([], 0),
    "token revoke": (["page"], 0),
}  # fmt: skip
# They need Java, or what Spark wrote; that they have the option is tested.
ONLY_BY_THEIR_OPTION = {"spark dedup", "spark load"}
RUN = [name for name in COMMANDS if name not in ONLY_BY_THEIR_OPTION]


def _leaves(
    command: click.Command, name: str = "simstore", parent: click.Context | None = None
) -> Iterator[tuple[str, click.Command]]:
    # With its settings: the first context decides how the help option is called.
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    if not isinstance(command, click.Group):
        yield context.command_path.removeprefix("simstore "), command
        return
    for below in command.list_commands(context):
        found = command.get_command(context, below)
        assert found is not None
        yield from _leaves(found, below, context)


@pytest.fixture(scope="module")
def filled(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with stores that have something of each kind."""
    folder = tmp_path_factory.mktemp("filled")
    shell = Shell(nursery, folder)
    corpora.article_file(folder / "article.txt", PAGES)
    corpora.article_file(folder / "sample.txt", SAMPLE)
    (folder / "paper.txt").write_text(f"{PAGES[0][1]} And more of it.", encoding="utf-8")
    (folder / "more.jsonl").write_text('{"key": "m", "text": "海港在黎明时很安静。"}\n{"key": 1\n')
    (folder / "keyed.jsonl").write_text('{"key": "m", "text": "海港在黎明时很安静。"}\n')
    (folder / "items.jsonl").write_text('{"text": "海港在黎明时"}\n')
    (folder / "pairs.tsv").write_text("harbour\tharbour-2\t1\nharbour\tbread\t0\n")
    (folder / "hashes.txt").write_text("00ff3a0c12345678\n00ff3a0c12345679\n")
    (folder / "bad.jsonl").write_text("{\n")
    shell("ingest", "--passages", "--on-duplicate", "flag", "article.txt")
    shell("ingest", "bad.jsonl", code=5)
    shell("query", "sample.txt", "--format", "simtool")
    shell("token", "add", "page", "--expires", "never")
    shell("init", "--fingerprints-only", "--db", "fp.db")
    shell("fingerprints", "add", "--db", "fp.db", "hashes.txt")
    return folder


def test_every_command_has_the_same_formats() -> None:
    found = dict(_leaves(main))
    assert set(found) - WITHOUT_A_RESULT == set(COMMANDS)
    for name in COMMANDS:
        options = [one for one in found[name].params if "--format" in one.opts]
        assert options, f"{name} has no --format"
        assert isinstance(options[0].type, click.Choice)
        assert set(FORMATS) <= set(options[0].type.choices), name


@pytest.mark.slow
@pytest.mark.parametrize("output_format", ["json", "jsonl", "csv"])
def test_every_result_is_whole_in_its_format_and_messages_are_elsewhere(
    filled: Path, nursery: Nursery, tmp_path: Path, output_format: str
) -> None:
    shell = Shell(nursery, tmp_path / "folder")
    for name in RUN:
        # With its times, by which a rejected record's source is known to be as it was.
        shutil.copytree(filled, shell.folder)
        words, code = COMMANDS[name]
        text = shell(*name.split(), *words, "--format", output_format, code=code).text
        assert is_whole(text, output_format), (name, text)
        shutil.rmtree(shell.folder)


def is_whole(text: str, output_format: str) -> bool:
    if output_format == "json":
        return isinstance(json.loads(text), dict | list)
    if output_format == "jsonl":
        return all(isinstance(json.loads(line), dict) for line in text.splitlines())
    header, *rows = csv.reader(io.StringIO(text))
    return all(" " not in field for field in header) and {*map(len, rows)} <= {len(header)}


def test_query_and_report_offer_each_format_that_renders_results() -> None:
    from simstore.reports.formats import RENDERERS

    for name in ("query", "report"):
        context = click.Context(main)
        found = main.get_command(context, name)
        assert found is not None
        (option,) = [one for one in found.params if one.name == "output_format"]
        assert isinstance(option.type, click.Choice)
        assert set(RENDERERS) <= set(option.type.choices), name
