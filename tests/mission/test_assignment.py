"""The assignment: ``simtool N M``, with files so small that the results are worked out by hand."""

from __future__ import annotations

from importlib.metadata import metadata
from typing import Any

import oracle_mission as oracle
import pytest

from .commands import Folder, Store

# Pages of one word have the row of the word as their fingerprint. From red to the others it is 0,
# 1, 2, 3 and 4 bits.
TABLE = ("11111", "01111", "00111", "00011", "00001")
ARTICLE = (
    "A-1\nRED red; red.\n\fB 22\nhill... the hill, Red2hill\n\fC\nlamp\n\fC-3\nlamp-lamp of\n\f"
    "D\nsea\nsea\n\fE\ntide\n\fF\nred, and RED!\n\f"
)
SAMPLE = "\nSample-1\nred\n\fSample-2\nzebra zebra\n\fSample-3\nHILL\n"
# Counts: red 6, hill 3, lamp 3, sea 2, tide 1. B has three of hill and one of red.
FIRST = "Sample-1\n0:A-1 F \n1:B 22 \n2:C C-3 \n3:D \n"
SECOND = "Sample-2\n1:E \n2:D \n3:C C-3 \n"
RESULT = f"{FIRST}{SECOND}Sample-3\n0:B 22 \n1:A-1 C C-3 F \n2:D \n3:E \n"
N, M = 5, 5


@pytest.fixture
def course(folder: Folder) -> Folder:
    """A folder with the four files."""
    folder.write("stopwords.txt", "a\nAND\tof\n\nthe the\v zebra\r\n")
    folder.write("hashvalue.txt", "".join(f"{row}110\n" for row in (*TABLE, "10101")))
    folder.write("article.txt", ARTICLE)
    folder.write("sample.txt", SAMPLE)
    return folder


def ingested(course: Folder, **options: Any) -> Store:
    store = Store(course, "simstore.db")
    store.ingest("article.txt", **options)
    return store


def result(course: Folder, *words: object) -> str:
    course.simtool(*words)
    return course.read("result.txt").decode()


def test_result_in_the_files_order_and_first_block(course: Folder) -> None:
    assert course.simtool(N, M).text == FIRST
    assert course.read("result.txt").decode() == RESULT
    assert all(line[:7] == "Sample-" or line.endswith(" ") for line in RESULT.splitlines())
    for words in ([], [N], [N, M, 1], ["five", M]):
        assert course.simtool(*words, code=2).out == b""


@pytest.mark.parametrize("name", ["stopwords", "hashvalue", "article", "sample"])
def test_four_files_are_read_in_the_current_directory(course: Folder, name: str) -> None:
    (course.path / f"{name}.txt").unlink()
    done = course.simtool(N, M, code=3)
    assert f"{name}.txt" in done.errors
    assert not (course.path / "result.txt").exists()


def test_store_has_the_pages_words_and_ranks(course: Folder) -> None:
    store = ingested(course, features=3, bits=M)
    fingerprints = store.fingerprints()
    assert list(fingerprints) == ["A-1", "B 22", "C", "C-3", "D", "E", "F"]
    # Equal counts: hill before lamp. Only three have a rank; the others count for nothing.
    words = [("red", 6, 3, 0), ("hill", 3, 1, 1), ("lamp", 3, 2, 2)]
    assert store.vocabulary() == [*words, ("sea", 2, 1, None), ("tide", 1, 1, None)]
    assert fingerprints["D"] == 0


def test_similar_is_a_distance_of_three_or_less(course: Folder) -> None:
    found = ingested(course, features=N, bits=M).query_files("sample.txt", channels="simhash")
    near = [("A-1", 0), ("F", 0), ("B 22", 1), ("C", 2), ("C-3", 2), ("D", 3)]
    assert found["Sample-1"].near == near
    assert oracle.distance(int(TABLE[0], 2), int(TABLE[4], 2)) == 4
    # The assignment's own two.
    store = course.given(0b00110, bits=5)
    assert store.near(0b10101, digits=2, radius=3) == [(0b00110, 3)]
    assert store.near(0b10101, digits=2, radius=2) == []


def test_signs_of_sums_are_the_fingerprint(course: Folder) -> None:
    # The sums of the figure, doubled and one more: all sums of one page are odd or all are even.
    sums = [2 * number + 1 for number in (13, 108, -22, -5, -32, 55)]
    counts = [128, 64, 32, 16, 8, 4, 2, 1]
    # A bit is 1 where the count is added: the bits of (sum + 255) / 2.
    rows = ["".join(str((one + 255) // 2 >> 7 - n & 1) for one in sums) for n in range(8)]
    for bit, one in enumerate(sums):
        signed = [n if row[bit] == "1" else -n for n, row in zip(counts, rows, strict=True)]
        assert sum(signed) == one
    course.write("hashvalue.txt", "".join(f"{row}\n" for row in rows))
    page = " ".join(f"h{word} " * n for word, n in zip("abcdefgh", counts, strict=True))
    # The second page has two words once: where their bits differ, the sum is 0.
    course.write("article.txt", f"figure\n{page}\n\ftie\nha hb\n")
    first, second = int(rows[0], 2), int(rows[1], 2)
    assert first != second
    found = ingested(course, features=8, bits=6).fingerprints()
    assert found == {"figure": 0b110001, "tie": first & second}


def test_only_the_first_rows_and_columns_of_the_table_count(course: Folder) -> None:
    assert result(course, N, M) == RESULT
    course.write("hashvalue.txt", "".join(f"{row}\n" for row in TABLE))
    assert result(course, N, M) == RESULT
    # Two more columns of ones: a sample without features is two bits farther from each page.
    course.write("hashvalue.txt", "".join(f"{row}11\n" for row in TABLE))
    assert result(course, N, M + 2) == RESULT.replace(SECOND, "Sample-2\n3:E \n")


@pytest.mark.parametrize(("features", "bits", "place"), [(7, 8, "line 7"), (5, 9, "line 1")])
def test_n_and_m_beyond_the_table(course: Folder, features: int, bits: int, place: str) -> None:
    course.simtool(6, 8)
    assert f"hashvalue.txt, {place}" in course.simtool(features, bits, code=2).errors
    # No result of an earlier run is left to be taken for this one's.
    assert not (course.path / "result.txt").exists()
    for words in ([0, 8], [5, 0], [5, 129]):
        course.simtool(*words, code=2)


def test_stop_words_between_any_white_space_and_crlf(course: Folder) -> None:
    for name in ("stopwords.txt", "hashvalue.txt", "article.txt", "sample.txt"):
        course.write(name, course.read(name).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert result(course, N, M) == RESULT
    course.write("stopwords.txt", "A and\tof\x0bthe\x0cZEBRA")
    assert result(course, N, M) == RESULT
    # Without red, hill is the first feature, lamp, sea and tide follow, and A and F have none.
    course.write("stopwords.txt", "a and of the zebra RED")
    assert course.simtool(N, M).text == "Sample-1\n0:A-1 F \n2:E \n3:D \n"


def test_few_look_ups_among_many(many: Store, crowd: list[str]) -> None:
    values = many.fingerprints()
    for number in (0, len(crowd) - 1):
        answer = many.query_text(crowd[number], channels="simhash")
        assert answer.near == [(f"{number:04}", 0)]
        assert oracle.near(values.values(), answer.fingerprint, 3) == [(answer.fingerprint, 0)]
        assert answer.probes == 4
        assert answer.candidates < len(crowd) / 50


def test_page_is_looked_up_and_stored_or_not(folder: Folder, texts: Any) -> None:
    store = folder.texts({"old": texts["ferry"]})
    fetched = [{"id": "mirror", "text": texts["ferry"]}, {"id": "new", "text": texts["bread"]}]
    assert store.add(*fetched, on_duplicate="skip") == {"added": 1, "skipped": 1}
    assert list(store.fingerprints()) == ["old", "new"]
    mirror, new, never = store.rows("seen", "mirror", "new", "never", code=7)
    assert (mirror.state, mirror.original) == ("skipped", "old")
    assert (new.state, never.state) == ("stored", "unknown")


def test_pages_crawled_again_give_the_bytes_of_one_run(course: Folder) -> None:
    pages = ARTICLE.split("\f")
    # The second time the pages of the first are there again.
    for count, options in ((4, {"features": N, "bits": M}), (len(pages), {"from_start": True})):
        course.write("article.txt", "\f".join(pages[:count]))
        store = ingested(course, **options)
    store.run("query", "sample.txt")
    store.run("report")
    assert course.read("result.txt").decode() == RESULT


def test_repeated_id_is_two_pages_or_an_update(course: Folder) -> None:
    course.write("article.txt", f"{ARTICLE}A-1\ntide tide\n")
    # tide is as frequent as hill and lamp now, and sea the fifth.
    assert result(course, N, M).startswith("Sample-1\n0:A-1 F \n1:B 22 \n2:C C-3 \n3:E A-1 \n")
    store = Store(course, "simstore.db")
    assert store.ingest("article.txt", features=N, bits=M) == {"added": 7, "updated": 1}
    # The text of the later page, at the place of the earlier.
    assert store.documents()[0].key == "A-1"
    assert store.run("show", "A-1", text=True).text == "tide tide\n"


def test_it_runs_on_posix_systems(course: Folder) -> None:
    assert course.simtool("--version").text.startswith("simtool")
    systems = [c for c in metadata("simstore").get_all("Classifier") or [] if "Operating" in c]
    assert systems == ["Operating System :: POSIX"]
