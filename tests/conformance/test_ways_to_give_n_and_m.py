"""Ways to give N and M, beside those of mission/test_course.py, write the agreed results."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import oracle
import pytest
from conftest import Course
from forked import nursery

from simstore import Files, Store
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


def function_of_python(folder: Path, n: int, m: int) -> bytes:
    return b"".join(render_simtool(simtool.run(folder, n, m)))


def letters_of_ingest(folder: Path, n: int, m: int) -> bytes:
    return written(folder, ["ingest", "article.txt", "-N", f"{n}", "-M", f"{m}"])


def table_cut_to_n_rows_of_m_characters(folder: Path, n: int, m: int) -> bytes:
    rows = (folder / "hashvalue.txt").read_bytes().split()[:n]
    (folder / "hashvalue.txt").write_bytes(b"".join(row[:m] + b"\n" for row in rows))
    return letters_of_ingest(folder, n, m)


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


WAYS: list[Callable[[Path, int, int], bytes]] = [
    function_of_python, letters_of_ingest, table_cut_to_n_rows_of_m_characters,
    store_named_by_the_environment, launcher_of_a_checkout, choice_in_python,
    choice_for_the_folder_in_python,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_to_give_n_and_m_writes_the_agreed_bytes(
    real_course: Course, tmp_path: Path, way: Callable[[Path, int, int], bytes]
) -> None:
    write(real_course, tmp_path)
    assert way(tmp_path, N, M) == (real_course.folder / f"result-{N}-{M}.txt").read_bytes()
