"""Every number that a command takes, far out of its range: a line, never a traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from simstore.cli import main
from simstore.store import Store

from .shells import PAGES

NUMBERS = (
    "0", "-1", "1", "2147483648", "9223372036854775807", "9223372036854775808",
    "18446744073709551616", "1" + "0" * 30, "-9223372036854775809", "0.000001", "1e-300", "1e300",
    "nan", "inf", "-inf",
)  # fmt: skip
# What each command needs beside the number.
WORDS = {
    "ingest": ["more.jsonl"],
    "query": ["more.jsonl"],
    "check": ["more.jsonl"],
    "compare": ["key:p1", "key:p2"],
    "expire": ["--dry-run"],
    "export": ["--known-keys", "-o", "known.filter"],
    "fingerprints near": ["00ff"],
    "fingerprints pairs": [],
    "init": ["--db", "new.db"],
    "rejects show": [],
    "report": ["-o", "-"],
    "runs": [],
    "backup": ["copy.db"],
    "copy": ["simstore.db", "copy.db"],
    "show": ["p1"],
    "remove": ["p1", "--dry-run"],
    "seen": ["p1"],
    "evaluate": ["--exact"],
    "clusters": ["--once"],
    "token add": ["name"],
}
# They serve, or start a Java machine.
LEFT_OUT = ("serve", "spark", "completion")
CODES = (0, 1, 2, 3, 4, 5, 6, 7)


def commands(group: click.Group, name: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        full = f"{name} {word}".strip()
        if isinstance(command, click.Group):
            yield from commands(command, full)
        elif not full.startswith(LEFT_OUT):
            yield full, command


def is_number(parameter: click.Parameter) -> bool:
    kinds = (click.types.IntParamType, click.types.FloatParamType)
    if isinstance(parameter, click.Option) and (parameter.count or parameter.is_flag):
        return False
    return isinstance(parameter.type, kinds) or parameter.name in ("older_than", "since", "bands")


CASES = [
    (name, parameter)
    for name, command in commands(main)
    for parameter in command.params
    if is_number(parameter)
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("template")
    with Store.create(folder / "simstore.db") as store:
        store.add_many(PAGES)
        store.query("river")
        store.clusters.build()
    lines = "".join(json.dumps({"id": f"m{key}", "text": text}) + "\n" for key, text in PAGES)
    (folder / "more.jsonl").write_text(lines)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameter"), CASES, ids=[f"{name} {one.name}" for name, one in CASES]
)
def test_no_number_ends_in_a_traceback(
    template: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    parameter: click.Parameter,
) -> None:
    folder = tmp_path / "folder"
    for number in NUMBERS:
        shutil.copytree(template, folder)
        monkeypatch.chdir(folder)
        given = (
            [f"{parameter.opts[0]}={number}"]
            if parameter.opts[0].startswith("--")
            else (
                [parameter.opts[0], number] if parameter.opts[0].startswith("-") else ["--", number]
            )
        )
        words = [*name.split(), *WORDS.get(name, []), *given]
        # What nothing expects shows as itself.
        done = CliRunner().invoke(main, words, catch_exceptions=False)
        assert done.exit_code in CODES, (words, done.output)
        assert "Traceback" not in done.output
        shutil.rmtree(folder)
