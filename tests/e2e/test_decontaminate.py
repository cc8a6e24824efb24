"""``simstore decontaminate``: rows, report and log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import Nursery

ITEM = (
    "A train leaves the harbour at nine and reaches the lighthouse at noon; how many minutes does "
    "it take if it waits for a quarter of an hour at the mill?"
)
SHORT = "Who wrote the old clock tale?"
TALE = "A train leaves the harbour at nine and reaches the town."
CLEAN = "Mix flour, water and salt; let the dough rest for a night; bake it hot and long and dark."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    items = [{"id": 1, "question": ITEM}, {"id": 2, "question": SHORT}, {"id": 3, "question": "A"}]
    (tmp_path / "tests" / "sums.jsonl").write_text("".join(f"{json.dumps(o)}\n" for o in items))
    rows = [
        b'{"id":"a", "text": "%s"}\n' % CLEAN.encode(),
        b'{"id":"b" ,"text": "Of %s. Yes.", "n": 2.50}\r\n' % ITEM[8:100].encode(),
        b'{"text": "Tell me: %s", "id":"c"}\n' % SHORT.encode(),
        b'{"id":"e", "text": "%s"}' % TALE.encode(),
    ]
    (tmp_path / "train.jsonl").write_bytes(b"".join(rows))
    return tmp_path


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_rows_are_marked_by_the_items_of_a_folder(nursery: Nursery, folder: Path) -> None:
    done = nursery.simstore(
        folder, "decontaminate", "train.jsonl", "--against", "tests", "--item-field", "question",
        "-o", "marked.jsonl", "--mark", "--words", "8", "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.errors
    (report,) = json.loads(done.text)
    assert (report["benchmark"], report["hit"], report["rows"]) == ("sums", 2, 3)
    assert [one["row"] for one in report["examples"]] == ["b", "c"]
    marks = [json.loads(line)["contaminated_by"] for line in lines(folder / "marked.jsonl")]
    assert marks == [None, "sums#1", "sums#2", "sums#1"]
    assert b'"n": 2.50' in lines(folder / "marked.jsonl")[1]


def test_rows_that_resemble_an_item_are_dropped(nursery: Nursery, folder: Path) -> None:
    words = ITEM.split()
    words[9::10] = ["xyz"] * len(words[9::10])
    (folder / "near.jsonl").write_text(json.dumps({"id": "n", "text": " ".join(words)}) + "\n")
    common = ["--against", "tests", "--item-field", "question", "--words", "20", "--force"]
    for least, kept in (("0.4", 0), ("0.95", 1)):
        done = nursery.simstore(
            folder, "decontaminate", "near.jsonl", *common, "-o", "out.jsonl",
            "--min-resemblance", least,
        )  # fmt: skip
        assert f"1 row: {kept} kept" in done.errors, done.errors


def test_phrases_that_many_rows_have_are_told_apart(nursery: Nursery, folder: Path) -> None:
    phrase = "All rights of this work are reserved by the harbour press of the old town."
    made = [{"id": n, "text": f"{phrase} Of {n} boats {n * n} came."} for n in range(40)]
    (folder / "many.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in made))
    items = [{"id": 1, "text": f"{phrase} What is the capital of the land beyond the sea?"}]
    (folder / "b.jsonl").write_text(json.dumps(items[0]) + "\n")
    done = nursery.simstore(
        folder, "decontaminate", "many.jsonl", "--against", "b.jsonl", "-o", "out.jsonl",
        "--words", "8", "--min-resemblance", "0.9", "--format", "json",
    )  # fmt: skip
    (report,) = json.loads(done.text)
    assert (report["hit"], report["everywhere"]) == (0, 1)
    assert (folder / "out.jsonl").read_bytes() == (folder / "many.jsonl").read_bytes()


def test_items_without_a_text_are_refused_with_the_option(nursery: Nursery, folder: Path) -> None:
    done = nursery.simstore(
        folder, "decontaminate", "train.jsonl", "--against", "tests", "-o", "out.jsonl"
    )
    assert done.code == 2
    assert "(--item-field names the text)" in done.errors
    assert "--text-field" not in done.errors
    assert not (folder / "out.jsonl").exists()


@pytest.mark.parametrize("output", ["first.jsonl", "tests/first.jsonl", "tests"])
def test_a_benchmark_is_not_written_over(nursery: Nursery, folder: Path, output: str) -> None:
    (folder / "first.jsonl").write_text('{"id": 1, "text": "Which grain is sown in autumn?"}\n')
    (folder / "tests" / "first.jsonl").write_bytes((folder / "first.jsonl").read_bytes())
    done = nursery.simstore(
        folder, "decontaminate", "train.jsonl", "--against", "tests", "--against", "first.jsonl",
        "--item-field", "question", "-o", output, "--force",
    )  # fmt: skip
    assert done.code == 2
    assert f"{output} is a benchmark of --against; name another file" in done.errors


def test_a_benchmark_without_items_is_named_and_the_others_are_looked_for(
    nursery: Nursery, folder: Path
) -> None:
    (folder / "none.jsonl").write_text("")
    (folder / "nothing.csv").write_text("id,question\n")
    words = ["decontaminate", "train.jsonl", "-o", "clean.jsonl", "--item-field", "question"]
    empty = ["--against", "none.jsonl", "--against", "nothing.csv"]
    done = nursery.simstore(folder, *words, *empty)
    assert done.code == 2
    assert "there is no item of a benchmark: none.jsonl, nothing.csv has none" in done.errors
    assert not (folder / "clean.jsonl").exists()
    done = nursery.simstore(folder, *words, *empty, "--against", "tests")
    assert done.code == 0, done.errors
    assert "none.jsonl, nothing.csv: no item of a benchmark, passed over" in done.errors
    assert "4 rows: 2 kept" in done.errors
