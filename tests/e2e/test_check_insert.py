"""Check and insert by several processes at once, and on the command line."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from forked import Child, Nursery

from simstore import Store

from .states import assert_sound

FAMILIES = 400
COPIES = 8
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lnrst"]


def copy_of(family: int, number: int) -> str:
    """Return one of a family of texts that differ in a word each: any two are alike by 0.9."""
    words = random.Random(f"family {family}").choices(WORDS, k=90)
    words[11 * number] = f"x{number}"
    return " ".join(words)


def family_file(path: Path, records: list[tuple[int, int]]) -> Path:
    lines = (
        json.dumps(
            {
                "key": f"{family}/{number}",
                "text": copy_of(family, number),
                "published": f"2026-03-{number + 1:02}",
            }
        )
        for family, number in records
    )
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def assert_families(path: Path, mode: str, families: int, copies: int) -> None:
    """Each family has one original, and each other of its copies points at it."""
    assert_sound(path)
    with Store.open(path) as store:
        held = {one.key for one in store}
        found = {one.key: one for one in store.duplicates.list()}
    originals = held - found.keys()
    assert Counter(key.split("/")[0] for key in originals) == {str(n): 1 for n in range(families)}
    assert len(found) == families * (copies - 1)
    assert held == originals | (found.keys() if mode == "flag" else set())
    for key, one in found.items():
        assert one.state == ("flagged" if mode == "flag" else "skipped")
        assert one.original in originals
        assert one.original.split("/")[0] == key.split("/")[0]
        assert 0.8 <= one.resemblance < 1
        assert one.basis == "text"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["skip"])
def test_families_inserted_by_eight_processes_at_once_have_one_original_each(
    nursery: Nursery, tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "store.db"
    Store.create(path).close()
    children: list[Child] = []
    for number in range(COPIES):
        records = [(family, (number + family) % COPIES) for family in range(FAMILIES)]
        random.Random(number).shuffle(records)
        source = family_file(tmp_path / f"crawl-{number}.jsonl", records)
        children.append(
            nursery.start(
                "ingest",
                tmp_path,
                place=str(path),
                names=[str(source)],
                batch_documents=25,
                on_duplicate=mode,
            )
        )
    for child in children:
        done = child.wait()
        assert (done.code, done.errors) == (0, "")
    assert_families(path, mode, FAMILIES, COPIES)


def outcome(path: Path) -> list[tuple[object, ...]]:
    """Return the documents in order and the duplicates, without runs and times."""
    with Store.open(path) as store:
        documents = [(one.key, one.text) for one in store.list(with_text=True)]
        found = [
            (one.key, one.digest, one.state, one.original, one.distance, one.resemblance)
            for one in store.duplicates.list()
        ]
    return [*documents, *found]


def test_wrong_options_are_refused_before_anything_is_stored(
    nursery: Nursery, tmp_path: Path
) -> None:
    source = family_file(tmp_path / "crawl.jsonl", [(0, 0)])
    for words, message in (
        (["--min-resemblance", "0.5"], "give --on-duplicate flag or skip too"),
        (["--on-duplicate", "skip", "--min-resemblance", "0"], "above 0 and at most 1"),
        (["--radius", "3"], "give --on-duplicate flag or skip too"),
        (["--on-duplicate", "skip", "--radius", "17", "-M", "16"], "from 0 to 16"),
    ):
        done = nursery.simstore(tmp_path, "ingest", *words, source.name)
        assert done.code == 2
        assert message in done.errors
        assert not (tmp_path / "simstore.db").exists()


def test_a_store_that_keeps_nothing_to_verify_by_refuses_to_check(
    nursery: Nursery, tmp_path: Path
) -> None:
    source = family_file(tmp_path / "crawl.jsonl", [(0, 0)])
    init = nursery.simstore(tmp_path, "init", "--no-text", "--channels", "simhash")
    assert init.code == 0
    done = nursery.simstore(tmp_path, "ingest", "--on-duplicate", "skip", source.name)
    assert done.code == 3
    assert done.error_lines[-1].startswith("Error: this store keeps neither texts nor sketches")
    assert nursery.simstore(tmp_path, "duplicates", "--state", "lost").code == 2
