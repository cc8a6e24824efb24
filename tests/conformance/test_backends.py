"""The same commands on SQLite and on PostgreSQL print the same, byte for byte."""

from __future__ import annotations

import json
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

TEXT = (
    "The iron bridge at the mouth of the river stays shut for eleven weeks while engineers replace "
    "its bearing. Ferries take those who walk from the market stairs to the old customs house."
)
HAN = "江口的铁桥关闭十一个星期，工程师更换轴承。步行的人从市场的台阶乘渡船到旧海关。"
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
        "pack",
        "query sample.txt --explain",
        "report -o out --force --format simtool",
        "fsck",
        "stats",
    ]
    answers = compare(places, commands, monkeypatch)
    assert all(answer.split("\n")[1] == "0" for answer in answers), answers


def test_documents_of_the_web(
    places: dict[str, tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [
        {
            "key": f"copy/{n}",
            "text": TEXT + (f" Notice {n}." if n % 3 else ""),
            "seen_at": 1_000 + n,
        }
        for n in range(30)
    ]
    records += [{"key": f"han/{n}", "text": HAN * (n + 1), "collection": "han"} for n in range(3)]
    records += [{"key": "bad"}, {"key": "empty", "text": ""}]
    lines = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    for folder, _ in places.values():
        (folder / "pages.jsonl").write_text(lines, "utf-8")
        (folder / "more.jsonl").write_text(
            "".join(
                json.dumps({"key": f"more/{n}", "text": f"{TEXT} Notice {n} of another day."})
                + "\n"
                for n in range(20)
            )
        )
        (folder / "sample.jsonl").write_text(
            json.dumps({"key": "sample", "text": TEXT + " Notice 4."}) + "\n"
        )
    commands = [
        "init --scheme web",
        "init --scheme web",
        "ingest pages.jsonl",
        "ingest pages.jsonl",
        "rejects",
        "ingest more.jsonl --on-duplicate skip",
        "duplicates",
        "list",
        "show copy/1",
        "show nobody",
        "query sample.jsonl --format jsonl --verify",
        "query sample.jsonl -k 12 --limit 3 --plan scan",
        "query sample.jsonl --collection han",
        "report --format csv",
        "compare copy/1 copy/2",
        "passages build",
        "passages status",
        "check --help",
        "clusters keep",
        "clusters show copy/1",
        "clusters",
        "remove copy/0 copy/3",
        "clusters keep",
        "clusters",
        "export --unique out",
        "vocabulary show --limit 20",
        "vocabulary refresh",
        "pack",
        "query sample.jsonl --format jsonl",
        "compact",
        "query sample.jsonl --format jsonl",
        "expire --not-seen-since 1970-01-02 --dry-run",
        "runs",
        "seen copy/1 copy/3 more/1",
        "stats --format json",
        "stats",
        "fsck",
        "ingest pages.jsonl --strict",
    ]
    answers = compare(places, commands, monkeypatch)
    assert sum(answer.split("\n")[1] == "0" for answer in answers) > 25, [
        answer[:300] for answer in answers if answer.split("\n")[1] != "0"
    ]
