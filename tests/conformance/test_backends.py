"""The same commands on SQLite and on PostgreSQL print the same, byte for byte."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Course
from postgres_servers import PostgresServer

from simstore.cli import main

pytestmark = pytest.mark.postgres

# What differs: seconds, bytes on disk, moments.
VARYING = (
    (re.compile(r"\d+(\.\d+)? (ms|s|us|µs)\b"), "TIME"),
    # Whether two ingests began in one second.
    (
        re.compile(r"ingest as others; ingested before them|ingest, TIME before others[a-z ]*"),
        "ORDER",
    ),
    (re.compile(r"\"(seconds|file_bytes|file_bytes_per_document)\": [\d.e-]+"), r'"\1": N'),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|\+00:00)?"), "MOMENT"),
    (re.compile(r"\b\d+:\d\d:\d\d  "), "TIME  "),
    (re.compile(r"(?m)^.*(bytes|on disk|B a document|[kMG]i?B).*$"), "BYTES"),
    (re.compile(r"(?m) +\d+\.\d\d *$"), " TIME"),
    # A column is as wide as its longest time.
    (re.compile(r" {2,}"), "  "),
    (re.compile(r"\"([a-z_]*)\": 1[78]\d{8}\b"), r'"\1": MOMENT'),
)


@pytest.fixture
def places(
    postgres_server: PostgresServer, tmp_path: Path
) -> Iterator[dict[str, tuple[Path, str]]]:
    """A folder and a store for each backend."""
    made = {}
    for name in ("sqlite", "postgresql"):
        folder = tmp_path / name
        folder.mkdir()
        url = str(folder / "store.db")
        if name == "postgresql":
            url = postgres_server.url(postgres_server.make_database())
        made[name] = (folder, url)
    yield made
    postgres_server.drop_databases()


def told(folder: Path, url: str, commands: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run commands in a folder; return what each told and wrote, without what varies."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SIMSTORE_DB", url)
    answers = []
    for command in commands:
        result = CliRunner().invoke(main, command.split())
        written = folder / "out"
        answer = f"{command}\n{result.exit_code}\n{result.stdout}\n{result.stderr}\n"
        if written.exists():
            answer += written.read_text("utf-8")
            written.unlink()
        answer = answer.replace(url.replace("postgres:@", "postgres:***@"), "STORE")
        for pattern, instead in VARYING:
            answer = pattern.sub(instead, answer)
        answers.append(answer)
    return answers


def compare(
    places: dict[str, tuple[Path, str]], commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    one, other = (told(*places[name], commands, monkeypatch) for name in ("sqlite", "postgresql"))
    for expected, found in zip(one, other, strict=True):
        assert found == expected
    return one


def test_course_tool_by_the_store(
    places: dict[str, tuple[Path, str]],
    bundled_course: Course,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for folder, _ in places.values():
        for file in bundled_course.folder.glob("*.txt"):
            shutil.copy(file, folder)
    commands = [
        "init --scheme simtool --features 200 --bits 64 --hash-table hashvalue.txt "
        "--stopwords stopwords.txt",
        "ingest article.txt",
        "ingest article.txt",
        "query sample.txt",
        "report -o out",
        "report --format jsonl",
        "vocabulary show --limit 50",
        "vocabulary status",
        "compact",
        "query sample.txt --explain",
        "report -o out --force --format simtool",
        "fsck",
        "stats",
    ]
    answers = compare(places, commands, monkeypatch)
    assert all(answer.split("\n")[1] == "0" for answer in answers), answers
