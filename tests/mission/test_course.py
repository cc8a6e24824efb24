"""The course tool and the store's way to the same bytes, against the oracle in plain loops."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import oracle
import pytest
from conftest import BUNDLED_COURSE, Course

from .commands import Folder, Store, served

RECIPES = [(300, 16), (300, 128), (299, 64), (50, 17), (40, 3), (7, 100), (2, 65), (1, 1)]

# Pages at the edge of the format; ids differ, so that a store has as many pages as the tool.
EDGES = (BUNDLED_COURSE / "edges.txt").read_bytes() + (
    b"\fno blank\n%s river\n\flong word\n%s river\n\flong word again\n%s\n"
    % (b"ab-" * 40_000, b"Q" * 20_000, b"q" * 20_000)
)
# Whole files.
ENDS = (
    b"\n\r\n \t\n\v\none\nriver stone\n\f\n\n  two\nstone\n\f",
    b"\f\f \n\f\none\nriver\n\f\r\n\f\t\ftwo\nriver\n\f\f", b"one\nriver\n\ftwo\nstone",
    b"one\nriver\n\ftwo\nstone\n\f \r\n\t\n", b"one", b" \n\f\r\n\f", b"",
)  # fmt: skip


def crlf(course: Course) -> Course:
    """Return the files with every line end as CRLF."""
    names = ("article", "sample", "stopwords", "hashvalue")
    files = {name: getattr(course, name).replace(b"\r\n", b"\n") for name in names}
    return replace(course, **{name: data.replace(b"\n", b"\r\n") for name, data in files.items()})


def without_repeated_ids(course: Course) -> Course:
    """Return the files without the pages whose id an earlier page of ``article.txt`` has."""
    seen: set[bytes] = set()
    chunks = []
    for chunk in course.article.split(b"\f"):
        ids = [page_id for page_id, _ in oracle.pages(chunk)]
        if not ids or ids[0] not in seen:
            chunks.append(chunk)
        seen.update(ids)
    return replace(course, article=b"\f".join(chunks))


def write(course: Course, folder: Folder) -> Course:
    for name in ("article", "sample", "stopwords", "hashvalue"):
        folder.write(f"{name}.txt", getattr(course, name))
    return course


def expected(course: Course, features: int, bits: int) -> tuple[bytes, bytes]:
    """Return ``result.txt`` and the printed block, by the oracle."""
    files = (course.article, course.sample, course.stopwords, course.hashvalue)
    return oracle.simtool(*files, features, bits)


def answered(folder: Folder, **options: str) -> bytes:
    """Query and report; return ``result.txt``."""
    folder.run("query", "sample.txt", **options)
    folder.run("report", **options)
    return folder.read("result.txt")


def batches(course: Course, folder: Folder, seed: int) -> list[str]:
    """Cut ``article.txt`` between its pages into files of uneven size; return their names."""
    chance = random.Random(seed)
    chunks = course.article.split(b"\f")
    cuts = sorted(chance.sample(range(1, len(chunks)), chance.randint(1, 8)))
    parts = zip([0, *cuts], [*cuts, len(chunks)], strict=True)
    texts = (b"\f".join(chunks[start:end]) for start, end in parts)
    return [folder.write(f"part-{seed}-{n}.txt", text) for n, text in enumerate(texts)]


@pytest.mark.parametrize("recipe", RECIPES)
def test_simtool_equals_the_oracle(bundled_course: Course, folder: Folder, recipe: Any) -> None:
    result, printed = expected(bundled_course, *recipe)
    for course in (bundled_course, crlf(bundled_course)):
        write(course, folder)
        done = folder.simtool(*recipe)
        assert folder.read("result.txt") == result
        assert (done.out, done.err) == (printed, b"")


@pytest.mark.parametrize("name", ["stopwords", "hashvalue", "article", "sample"])
def test_byte_order_mark_is_skipped_and_reported(
    bundled_course: Course, folder: Folder, name: str
) -> None:
    course = without_repeated_ids(bundled_course)
    result, printed = expected(course, 30, 12)
    # The mark hides the first stop word, the first id, or the first row of the table.
    write(replace(course, **{name: b"\xef\xbb\xbf" + getattr(course, name)}), folder)
    tool = folder.simtool(30, 12)
    assert (folder.read("result.txt"), tool.out) == (result, printed)
    assert tool.error_lines == [f"{name}.txt: skipped the byte order mark (UTF-8 BOM) at its start"]
    added = folder.run("ingest", "article.txt", features=30, bits=12)
    assert folder.run("ingest", "article.txt").text.startswith("0 added, 0 updated, ")
    found = folder.run("query", "sample.txt", format="simtool")
    assert found.out == result
    lines = [*added.error_lines, *found.error_lines]
    assert [line for line in lines if "BOM" in line] == tool.error_lines
    assert folder.run("ingest", "article.txt", "--from-start", "--quiet").errors == ""


def both_equal_the_oracle(course: Course, folder: Folder, features: int, bits: int) -> None:
    result, printed = expected(write(course, folder), features, bits)
    assert folder.simtool(features, bits).out == printed
    assert folder.read("result.txt") == result
    folder.run("ingest", "article.txt", features=features, bits=bits)
    assert folder.run("query", "sample.txt", format="simtool").out == result


def test_more_features_than_words(bundled_course: Course, folder: Folder) -> None:
    chance = random.Random(11)
    table = "".join(f"{chance.getrandbits(128):0128b}\n" for _ in range(2_000)).encode()
    course = replace(without_repeated_ids(bundled_course), hashvalue=table)
    both_equal_the_oracle(course, folder, 2_000, 100)


@pytest.mark.parametrize("article", [EDGES, *ENDS], ids=range(1 + len(ENDS)))
def test_edges_of_pages_and_files(bundled_course: Course, folder: Folder, article: bytes) -> None:
    course = replace(bundled_course, article=article, sample=article)
    both_equal_the_oracle(course, folder, 30, 12)


def refreshed_at_the_end(course: Course, folder: Folder) -> bytes:
    *earlier, last = batches(course, folder, seed=3)
    folder.run("init", **RECIPE)
    for name in earlier:
        folder.run("ingest", name, read_as="articles", no_refresh=True)
    folder.run("ingest", last, read_as="articles")
    return answered(folder)


def from_elsewhere(course: Course, folder: Folder) -> bytes:
    (folder.path / "away").mkdir()
    away = Folder(folder.path / "away")
    files = {"hash_table": "../hashvalue.txt", "stopwords": "../stopwords.txt"}
    away.run("init", scheme="simtool", **files, **RECIPE)
    for name in batches(course, folder, seed=1):
        away.run("ingest", f"../{name}", read_as="articles")
    away.run("query", "../sample.txt")
    away.run("report", output="elsewhere.txt")
    return away.read("elsewhere.txt")


def by_reindex(course: Course, folder: Folder) -> bytes:
    folder.run("ingest", "article.txt", scheme="web")
    folder.run("reindex", scheme="simtool", **RECIPE)
    return answered(folder)


def by_a_server(course: Course, folder: Folder) -> bytes:
    folder.run("ingest", "article.txt", **RECIPE)
    with served(Store(folder, "simstore.db")) as url:
        return folder.run("query", "sample.txt", server=url, format="simtool").out


RECIPE = {"features": 120, "bits": 100}
WAYS = [refreshed_at_the_end, from_elsewhere, by_reindex, by_a_server]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_store_equals_simtool(bundled_course: Course, folder: Folder, way: Any) -> None:
    course = without_repeated_ids(bundled_course)
    write(crlf(course) if WAYS.index(way) % 2 else course, folder)
    assert way(course, folder) == expected(course, 120, 100)[0]


@pytest.mark.parametrize(
    ("maker", "options", "recipe"),
    [
        ("ingest", {}, (1000, 64)),
        ("init", {"bits": 16}, (1000, 16)),
        ("ingest", {"features": 40}, (40, 64)),
        ("init", {"features": 7, "bits": 3, "hash_table": "hashvalue.txt"}, (7, 3)),
    ],
)
def test_defaults_of_n_and_m(
    bundled_course: Course, folder: Folder, maker: str, options: Any, recipe: tuple[int, int]
) -> None:
    # The bundled table has 300 rows, too few for the default of N.
    course = replace(without_repeated_ids(bundled_course), hashvalue=bundled_course.hashvalue * 4)
    write(course, folder)
    folder.run(maker, *["article.txt"] * (maker == "ingest"), **options)
    folder.run("ingest", "article.txt")
    assert answered(folder) == expected(course, *recipe)[0]


@pytest.mark.conformance
@pytest.mark.parametrize("recipe", [(1000, 16), (1000, 32), (10000, 64)])
def test_results_of_the_course(real_course: Course, folder: Folder, recipe: Any) -> None:
    features, bits = recipe
    # Several programs agree on these.
    result = (real_course.folder / f"result-{features}-{bits}.txt").read_bytes()
    second = result.index(oracle.pages(real_course.sample)[1][0] + b"\n")
    for course in (real_course, crlf(real_course)):
        write(course, folder)
        assert folder.simtool(features, bits).out == result[:second]
        assert folder.read("result.txt") == result
    names = batches(real_course, folder, seed=bits) if bits != 32 else ["article.txt"]
    folder.run("ingest", *names, read_as="articles", features=features, bits=bits)
    assert answered(folder) == result
    if bits == 16:
        folder.run("fsck")
