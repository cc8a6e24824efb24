"""The assignment: ``simtool N M``, with files so small that the results are worked out by hand."""

from __future__ import annotations

import sys
from importlib.metadata import metadata

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
RESULT = (
    "Sample-1\n0:A-1 F \n1:B 22 \n2:C C-3 \n3:D \n"
    "Sample-2\n1:E \n2:D \n3:C C-3 \n"
    "Sample-3\n0:B 22 \n1:A-1 C C-3 F \n2:D \n3:E \n"
)
FIRST = "Sample-1\n0:A-1 F \n1:B 22 \n2:C C-3 \n3:D \n"
N, M = 5, 5


@pytest.fixture
def course(folder: Folder) -> Folder:
    """A folder with the four files."""
    folder.write("stopwords.txt", "a\nAND\tof\n\nthe the\v zebra\r\n")
    folder.write("hashvalue.txt", "".join(row + "110\n" for row in (*TABLE, "10101")))
    folder.write("article.txt", ARTICLE)
    folder.write("sample.txt", SAMPLE)
    return folder


def ingested(course: Folder, **options: object) -> Store:
    store = Store(course, "simstore.db")
    store.ingest("article.txt", **options)
    return store


def test_n_and_m_are_given_and_the_first_block_alone_is_printed(course: Folder) -> None:
    assert course.simtool(N, M).text == FIRST
    assert course.read("result.txt").decode() == RESULT
    for words in ([], [N], [N, M, 1], ["five", M]):
        assert course.simtool(*words, code=2).out == b""


def test_result_has_a_line_a_distance_in_the_order_of_the_files(course: Folder) -> None:
    course.simtool(N, M)
    result = course.read("result.txt")
    assert result.decode() == RESULT
    assert b"\r" not in result
    for line in result.splitlines():
        assert line.startswith(b"Sample-") or line.endswith(b" "), line


@pytest.mark.parametrize("name", ["stopwords", "hashvalue", "article", "sample"])
def test_four_files_are_read_in_the_current_directory(course: Folder, name: str) -> None:
    (course.path / f"{name}.txt").unlink()
    done = course.simtool(N, M, code=3)
    assert f"{name}.txt" in done.errors
    assert done.out == b""
    assert not (course.path / "result.txt").exists()


def test_a_store_has_the_pages_words_and_ranks_of_the_assignment(course: Folder) -> None:
    store = ingested(course, features=3, bits=M)
    assert store.keys() == ["A-1", "B 22", "C", "C-3", "D", "E", "F"]
    # Equal counts: hill before lamp. Only three have a rank.
    assert store.vocabulary() == [
        ("red", 6, 3, 0),
        ("hill", 3, 1, 1),
        ("lamp", 3, 2, 2),
        ("sea", 2, 1, None),
        ("tide", 1, 1, None),
    ]
    # Words without a rank count for nothing.
    assert store.fingerprints()["D"] == 0


def test_similar_is_a_distance_of_three_or_less(course: Folder) -> None:
    found = ingested(course, features=N, bits=M).query_files("sample.txt", channels="simhash")
    # Counted by hand; E is 4 bits off.
    assert found["Sample-1"].near == [
        ("A-1", 0),
        ("F", 0),
        ("B 22", 1),
        ("C", 2),
        ("C-3", 2),
        ("D", 3),
    ]
    assert oracle.distance(0b11111, 0b00001) == 4


def test_two_fingerprints_of_the_assignment_differ_in_three_places(folder: Folder) -> None:
    store = folder.given(0b00110, bits=5)
    assert store.near(0b10101, bits=5, radius=3) == [(0b00110, 3, [])]
    assert store.near(0b10101, bits=5, radius=2) == []


def test_sums_are_those_of_signed_counts_and_their_signs_the_fingerprint(course: Folder) -> None:
    # The sums of the assignment's figure, doubled and one more: all sums of one page are odd or all
    # are even. Counts of 1, 2, 4 ... 128 with chosen signs make each odd number to 255.
    figure = (13, 108, -22, -5, -32, 55)
    sums = [2 * number + 1 for number in figure]
    words = ["ha", "hb", "hc", "hd", "he", "hf", "hg", "hh"]
    counts = {word: 128 >> rank for rank, word in enumerate(words)}
    rows = []
    for rank in range(8):
        # A bit is 1 where the count is added: (sum + 255) / 2 in binary.
        rows.append("".join(str((number + 255) // 2 >> 7 - rank & 1) for number in sums))
    for bit, number in enumerate(sums):
        signed = [
            counts[w] * (1 if row[bit] == "1" else -1) for w, row in zip(words, rows, strict=True)
        ]
        assert sum(signed) == number
    course.write("hashvalue.txt", "".join(row + "\n" for row in rows))
    page = " ".join(f"{word} " * count for word, count in counts.items())
    # The second page has two words once: where their bits differ, the sum is 0.
    course.write("article.txt", f"figure\n{page}\n\ftie\nha hb\n")
    store = ingested(course, features=8, bits=6)
    both = int(rows[0], 2) & int(rows[1], 2)
    assert int(rows[0], 2) != int(rows[1], 2)
    assert store.fingerprints() == {"figure": 0b110001, "tie": both}


def test_only_the_first_rows_and_columns_of_the_table_count(course: Folder) -> None:
    course.simtool(N, M)
    whole = course.read("result.txt")
    course.write("hashvalue.txt", "".join(row + "\n" for row in TABLE))
    course.simtool(N, M)
    assert course.read("result.txt") == whole
    # Two columns more: red 11111|11, hill 01111|11 ... do not change the distances.
    course.write("hashvalue.txt", "".join(row + "11\n" for row in TABLE))
    course.simtool(N, M + 2)
    # A sample without features is two bits farther from each page with one.
    assert course.read("result.txt").decode() == RESULT.replace(
        "Sample-2\n1:E \n2:D \n3:C C-3 \n", "Sample-2\n3:E \n"
    )


@pytest.mark.parametrize(("features", "bits", "place"), [(7, 8, "line 7"), (5, 9, "line 1")])
def test_n_and_m_beyond_the_table_are_refused(
    course: Folder, features: int, bits: int, place: str
) -> None:
    course.simtool(6, 8)
    done = course.simtool(features, bits, code=2)
    assert f"hashvalue.txt, {place}" in done.errors
    # No result of an earlier run is left to be taken for this one's.
    assert not (course.path / "result.txt").exists()
    for words in ([0, 8], [5, 0], [5, 129]):
        course.simtool(*words, code=2)


def test_stop_words_stand_between_any_white_space_and_crlf_changes_nothing(course: Folder) -> None:
    course.simtool(N, M)
    assert course.read("result.txt").decode() == RESULT
    for name in ("stopwords.txt", "hashvalue.txt", "article.txt", "sample.txt"):
        course.write(name, course.read(name).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert course.simtool(N, M).text == FIRST
    assert course.read("result.txt").decode() == RESULT
    course.write("stopwords.txt", "A and\tof\x0bthe\x0cZEBRA")
    course.simtool(N, M)
    assert course.read("result.txt").decode() == RESULT
    # Without red, hill is the first feature, lamp, sea and tide follow, and A and F have none.
    course.write("stopwords.txt", "a and of the zebra RED")
    assert course.simtool(N, M).text == "Sample-1\n0:A-1 F \n2:E \n3:D \n"


def test_near_pages_are_found_by_few_look_ups_among_many(many: Store, crowd: list[str]) -> None:
    for number in (0, 999, len(crowd) - 1):
        answer = many.query_text(crowd[number], channels="simhash")
        values = many.fingerprints().values() if number == 0 else [answer.fingerprint]
        assert len(oracle.near(values, answer.fingerprint, 3)) == 1
        assert answer.near == [(f"{number:04}", 0)]
        assert answer.probes == 4
        assert answer.candidates < len(crowd) / 50


def test_a_crawler_learns_whether_a_page_is_there_and_stores_it_or_not(folder: Folder) -> None:
    old = "The iron bridge at the mouth of the river stays shut for eleven weeks this winter."
    new = "A bakery in the lane opens an hour earlier from Monday on; the first loaves are rye."
    store = folder.store({"id": "old", "text": old})
    fetched = [{"id": "mirror", "text": old}, {"id": "new", "text": new}]
    assert store.add(*fetched, on_duplicate="skip") == {"added": 1, "skipped": 1}
    assert store.keys() == ["old", "new"]
    assert store.states("mirror", "new", "never", code=7) == {
        "mirror": ("skipped", "old"),
        "new": ("stored", None),
        "never": ("unknown", None),
    }


def test_pages_crawled_again_and_again_give_the_bytes_of_one_run(course: Folder) -> None:
    pages = ARTICLE.split("\f")
    for number, count in enumerate((1, 4, len(pages))):
        # Each time the pages before are there again.
        course.write("article.txt", "\f".join(pages[:count]))
        store = ingested(course, **({"features": N, "bits": M} if number == 0 else {}))
    assert store.ingest("article.txt", from_start=True) == {"unchanged": 7}
    store.run("query", "sample.txt")
    store.run("report")
    assert course.read("result.txt").decode() == RESULT


def test_two_pages_with_one_id_are_two_for_the_tool_and_an_update_for_a_store(
    course: Folder,
) -> None:
    course.write("article.txt", ARTICLE + "A-1\ntide tide\n")
    course.simtool(N, M)
    # tide is as frequent as hill and lamp now: red 6, hill 3, lamp 3, tide 3, sea 2.
    assert course.read("result.txt").decode().splitlines()[1:5] == [
        "0:A-1 F ",
        "1:B 22 ",
        "2:C C-3 ",
        "3:E A-1 ",
    ]
    store = Store(course, "simstore.db")
    assert store.ingest("article.txt", features=N, bits=M) == {"added": 7, "updated": 1}
    # The text of the later page, at the place of the earlier.
    assert store.keys()[0] == "A-1"
    assert store.run("show", "A-1", text=True).text == "tide tide\n"


def test_it_runs_on_posix_systems_as_its_package_says(course: Folder) -> None:
    assert course.simtool("--version").text.startswith("simtool")
    assert sys.platform != "win32"
    systems = [c for c in metadata("simstore").get_all("Classifier") or [] if "Operating" in c]
    assert systems == ["Operating System :: POSIX"]
