"""What the course tool's tests share: copies of its files, cuts of them, a store of its scheme."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import oracle
from conftest import Course

import simstore
from simstore import Files
from simstore.reports.formats import render_simtool
from simstore.services.ingest.ingest import IngestOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

PARTS = 7


def with_line_ends(course: Course, line_end: str) -> Course:
    """Return the files as they are (``lf``), or with every line end as CRLF (``crlf``)."""
    if line_end == "lf":
        return course
    return replace(
        course,
        article=crlf(course.article),
        sample=crlf(course.sample),
        stopwords=crlf(course.stopwords),
        hashvalue=crlf(course.hashvalue),
    )


def crlf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def without_repeated_ids(course: Course) -> Course:
    """Return the files without the pages whose id an earlier page of ``article.txt`` has."""
    seen: set[bytes] = set()
    kept = []
    for chunk in course.article.split(b"\f"):
        ids = [page_id for page_id, _ in oracle.pages(chunk)]
        if ids and ids[0] in seen:
            continue
        seen.update(ids)
        kept.append(chunk)
    return replace(course, article=b"\f".join(kept))


def first_pages(course: Course, count: int) -> Course:
    """Return the files with the first pages of ``article.txt`` only."""
    return replace(course, article=b"\f".join(course.article.split(b"\f")[:count]) + b"\f")


def write(course: Course, folder: Path) -> Path:
    """Write the four files into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "article.txt").write_bytes(course.article)
    (folder / "sample.txt").write_bytes(course.sample)
    (folder / "stopwords.txt").write_bytes(course.stopwords)
    (folder / "hashvalue.txt").write_bytes(course.hashvalue)
    return folder


def write_parts(course: Course, folder: Path, *, seed: int = 7) -> list[str]:
    """Cut ``article.txt`` into files of uneven size between its pages; return their names."""
    chunks = course.article.split(b"\f")
    cuts = sorted(random.Random(seed).sample(range(1, len(chunks)), PARTS - 1))
    names = []
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(chunks)], strict=True)):
        path = folder / f"article-{number}.txt"
        path.write_bytes(b"\f".join(chunks[start:end]))
        names.append(str(path))
    return names


def expected(course: Course, features: int, bits: int) -> tuple[bytes, bytes]:
    """Return ``result.txt`` and what is printed, as the oracle says."""
    return oracle.simtool(
        course.article, course.sample, course.stopwords, course.hashvalue, features, bits
    )


def run_simtool(folder: Path, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """Run the course tool in a process of its own, in a folder."""
    package = Path(simstore.__file__).resolve().parent.parent
    return subprocess.run(
        [sys.executable, "-m", "simstore.cli.simtool", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        check=False,
    )


def create_store(folder: Path, features: int, bits: int) -> Store:
    """Make a store of the scheme ``simtool`` with the files of a folder."""
    choice = SchemeChoice(
        "simtool",
        bits=bits,
        features=features,
        hash_table=str(folder / "hashvalue.txt"),
        stopwords=str(folder / "stopwords.txt"),
    )
    return Store.create(folder / "course.db", scheme=choice, synchronous="normal")


def answer(store: Store, folder: Path) -> bytes:
    """Return ``result.txt`` for the folder's ``sample.txt``, as the recorded run gives it."""
    run = store.query_many(Files(str(folder / "sample.txt")), record=True)
    assert run.rejections == ()
    assert run.stale is None
    assert store.report(run.run_id).samples == tuple(
        replace(sample, explanation=None) for sample in run.samples
    )
    return b"".join(render_simtool(run.samples))


def in_one_batch(folder: Path, course: Course, features: int, bits: int) -> bytes:
    with create_store(folder, features, bits) as store:
        store.ingest([str(folder / "article.txt")])
        return answer(store, folder)


def in_parts(folder: Path, course: Course, features: int, bits: int) -> bytes:
    with create_store(folder, features, bits) as store:
        store.ingest(write_parts(course, folder))
        return answer(store, folder)


def in_sessions(
    folder: Path, course: Course, features: int, bits: int, *, refresh: bool = True
) -> bytes:
    create_store(folder, features, bits).close()
    names = write_parts(course, folder)
    for name in names:
        with Store.open(folder / "course.db", synchronous="normal") as store:
            store.ingest([name], options=IngestOptions(refresh=refresh or name == names[-1]))
    with Store.open(folder / "course.db") as store:
        return answer(store, folder)


def in_sessions_refreshed_at_the_end(
    folder: Path, course: Course, features: int, bits: int
) -> bytes:
    return in_sessions(folder, course, features, bits, refresh=False)


WAYS = {
    "one batch": in_one_batch,
    "seven files": in_parts,
    "seven sessions": in_sessions,
    "seven sessions, refreshed at the end": in_sessions_refreshed_at_the_end,
}
