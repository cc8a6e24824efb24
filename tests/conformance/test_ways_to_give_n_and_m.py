"""Every way to give N and M writes the agreed results of the course, byte for byte."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import oracle
import pytest
from conftest import Course
from forked import nursery
from served import serve

from simstore import Files, Store
from simstore.client import Client
from simstore.reports.formats import render_simtool
from simstore.services import simtool
from simstore.services.maintenance.scheme_choice import SchemeChoice, choice_for_folder

pytestmark = pytest.mark.conformance

REPOSITORY = Path(__file__).resolve().parents[2]
N, M = 1000, 16
"""``result-N-M.txt`` is among the course's files; test_course_data.py has the other two."""
ANSWER = (["query", "sample.txt"], ["report"])


def write(course: Course, folder: Path) -> None:
    for name in ("article", "sample", "stopwords", "hashvalue"):
        (folder / f"{name}.txt").write_bytes(getattr(course, name))


def run(folder: Path, *commands: list[str]) -> None:
    for command in commands:
        done = nursery().simstore(folder, *command)
        assert done.code == 0, (command, done.errors)


def written(folder: Path, *commands: list[str]) -> bytes:
    run(folder, *commands, *ANSWER)
    return (folder / "result.txt").read_bytes()


def arguments_of_simtool(folder: Path, n: int, m: int) -> bytes:
    assert nursery().run("simtool", folder, words=[str(n), str(m)]).code == 0
    return (folder / "result.txt").read_bytes()


def function_of_python(folder: Path, n: int, m: int) -> bytes:
    return b"".join(render_simtool(simtool.run(folder, n, m)))


def letters_of_ingest(folder: Path, n: int, m: int) -> bytes:
    return written(folder, ["ingest", "article.txt", "-N", f"{n}", "-M", f"{m}"])


def words_of_ingest(folder: Path, n: int, m: int) -> bytes:
    return written(folder, ["ingest", f"--features={n}", f"--bits={m}", "article.txt"])


def init_then_ingest(folder: Path, n: int, m: int) -> bytes:
    return written(folder, ["init", "-N", f"{n}", "-M", f"{m}"], ["ingest", "article.txt"])


def files_named_from_elsewhere(folder: Path, n: int, m: int) -> bytes:
    away = folder / "away"
    away.mkdir()
    files = ["--hash-table", "../hashvalue.txt", "--stopwords", "../stopwords.txt"]
    run(
        away,
        ["init", "--scheme", "simtool", *files, "-N", f"{n}", "-M", f"{m}"],
        ["ingest", "../article.txt"],
        ["query", "../sample.txt"],
        ["report", "-o", "elsewhere.txt"],
    )
    return (away / "elsewhere.txt").read_bytes()


def table_cut_to_n_rows_of_m_characters(folder: Path, n: int, m: int) -> bytes:
    rows = (folder / "hashvalue.txt").read_bytes().split()[:n]
    (folder / "hashvalue.txt").write_bytes(b"".join(row[:m] + b"\n" for row in rows))
    return letters_of_ingest(folder, n, m)


def reindex_of_another_n_and_m(folder: Path, n: int, m: int) -> bytes:
    run(folder, ["ingest", "article.txt", "-N", "20", "-M", "3"])
    return written(folder, ["reindex", "--scheme", "simtool", "-N", f"{n}", "-M", f"{m}"])


def store_named_by_the_environment(folder: Path, n: int, m: int) -> bytes:
    environment = {**os.environ, "SIMSTORE_DB": str(folder / "named.db")}
    for command in (["init", "-N", f"{n}", "-M", f"{m}"], ["ingest", "article.txt"], *ANSWER):
        done = nursery().simstore(folder, *command, environment=environment)
        assert done.code == 0, (command, done.errors)
    assert not (folder / "simstore.db").exists()
    return (folder / "result.txt").read_bytes()


def launcher_of_a_checkout(folder: Path, n: int, m: int) -> bytes:
    launcher = REPOSITORY / "cli.py"
    if not launcher.exists():
        pytest.skip("only a checkout or a source archive has cli.py")
    given = ["-N", str(n), "-M", str(m)]
    for command in (["ingest", "article.txt", *given], *ANSWER):
        subprocess.run(
            [sys.executable, str(launcher), *command],
            cwd=folder,
            capture_output=True,
            check=True,
        )
    return (folder / "result.txt").read_bytes()


def choice_in_python(folder: Path, n: int, m: int) -> bytes:
    table, stopwords = str(folder / "hashvalue.txt"), str(folder / "stopwords.txt")
    choice = SchemeChoice("simtool", bits=m, features=n, hash_table=table, stopwords=stopwords)
    with Store.create(folder / "python.db", scheme=choice) as store:
        store.ingest([str(folder / "article.txt")])
        return b"".join(
            render_simtool(store.query_many(Files(str(folder / "sample.txt")), record=True).samples)
        )


def choice_for_the_folder_in_python(folder: Path, n: int, m: int) -> bytes:
    chosen = choice_for_folder(folder, SchemeChoice(features=n, bits=m))
    with Store.create(folder / "python.db", scheme=chosen.choice) as store:
        pages = oracle.pages((folder / "article.txt").read_bytes())
        store.add_many((page_id.decode(), body.decode()) for page_id, body in pages)
        run = store.query_many(Files(str(folder / "sample.txt")), record=True)
        return b"".join(render_simtool(store.report(run.run_id).samples))


def server_that_is_asked_by_commands_and_from_python(folder: Path, n: int, m: int) -> bytes:
    run(folder, ["init", "--db", "served.db", "-N", f"{n}", "-M", f"{m}"])
    with serve(folder / "served.db", create=False) as served, Client(served.url) as store:
        run(folder, ["ingest", "--server", served.url, "article.txt"])
        # A server makes the next generation beside its other work, and says so until then.
        asked = store.query_many(Files(str(folder / "sample.txt")))
        while asked.stale is not None:
            time.sleep(0.1)
            asked = store.query_many(Files(str(folder / "sample.txt")))
        of_command = ["query", "--server", served.url, "sample.txt", "--format", "simtool"]
        done = nursery().simstore(folder, *of_command)
    assert (done.code, done.errors) == (0, "")
    assert done.out == b"".join(render_simtool(asked.samples))
    return done.out


WAYS: list[Callable[[Path, int, int], bytes]] = [
    arguments_of_simtool,
    function_of_python,
    letters_of_ingest,
    words_of_ingest,
    init_then_ingest,
    files_named_from_elsewhere,
    table_cut_to_n_rows_of_m_characters,
    reindex_of_another_n_and_m,
    store_named_by_the_environment,
    launcher_of_a_checkout,
    choice_in_python,
    choice_for_the_folder_in_python,
    server_that_is_asked_by_commands_and_from_python,
]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_to_give_n_and_m_writes_the_agreed_bytes(
    real_course: Course, tmp_path: Path, way: Callable[[Path, int, int], bytes]
) -> None:
    write(real_course, tmp_path)
    assert way(tmp_path, N, M) == (real_course.folder / f"result-{N}-{M}.txt").read_bytes()


@pytest.mark.parametrize(
    ("commands", "n", "m"),
    [
        ([["ingest", "article.txt"]], 1000, 64),
        ([["ingest", "article.txt", "-M", "16"]], 1000, 16),
        ([["init", "-N", "40"], ["ingest", "article.txt"]], 40, 64),
    ],
    ids=["neither", "M alone", "N alone, by init"],
)
def test_defaults_are_1000_features_and_64_bits(
    real_course: Course, tmp_path: Path, commands: list[list[str]], n: int, m: int
) -> None:
    pages = real_course.article.split(b"\f")[:150]
    course = replace(real_course, article=b"\f".join(pages) + b"\f")
    write(course, tmp_path)
    result, _ = oracle.simtool(
        course.article, course.sample, course.stopwords, course.hashvalue, n, m
    )
    assert written(tmp_path, *commands) == result
