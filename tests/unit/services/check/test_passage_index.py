from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from heard import heard
from stores import numbered_text, raw

from simstore.errors import CorruptStore, InvalidParameter
from simstore.index.passages import PASSAGES
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage import passages
from simstore.store import Store

__all__ = ["heard"]
_RUNS = "index_run WHERE kind = 'passages'"
_FIRST = (
    f"(SELECT min(page) FROM index_page WHERE page / {1 << 40} IN (SELECT run_id FROM {_RUNS}))"
)
HAN = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也"
    "能下过子说产种面而方后多定行学法所民得经"
)


def english(count: int, seed: int) -> str:
    """Sentences of words as long as those of English text, 4.7 letters on average."""
    drawn = random.Random(seed)
    words = ["".join(drawn.choices("etaoinshrdlu", k=drawn.choice((2, 3, 3, 4, 5, 6, 7, 8))))
             for _ in range(count)]  # fmt: skip
    return ". ".join(
        " ".join(words[start : start + 18]).capitalize() for start in range(0, count, 18)
    )


def chinese(count: int, seed: int) -> str:
    """Sentences of 24 Han characters."""
    drawn = random.Random(seed)
    return "。".join("".join(drawn.choices(HAN, k=24)) for _ in range(count // 25))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "tail_texts", "fingerprints", "sentences", "share"),
    [
        (english, 64, False, False, 0.8),
        (chinese, 1, True, False, 1.3),
        (chinese, 64, False, True, 1.3),
    ],
)
def test_an_index_takes_no_more_than_one_and_a_half_times_the_text(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[int, int], str],
    tail_texts: int,
    fingerprints: bool,
    sentences: bool,
    share: float,
) -> None:
    monkeypatch.setattr(passages, "TAIL_TEXTS", tail_texts)
    with Store.create(tmp_path / "s.db", synchronous="normal") as store:
        store.add_many((f"k{n}", make(2_000, n)) for n in range(80))
        store.maintenance.compact()
        before = store.stats()
        status = store.passages.build(fingerprints=fingerprints, sentences=sentences)
        assert status.document_count == 80
        store.maintenance.compact()
        after = store.stats(sizes=True)
        assert after.passage_bytes is not None
        assert 0 < after.passage_bytes <= share * before.text_bytes
        # The file's own figures, pages of the tables that are half full among them.
        assert after.file_bytes - before.file_bytes <= 1.5 * before.text_bytes


@pytest.mark.slow
def test_texts_that_are_gone_are_left_out_by_the_next_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "TAIL_TEXTS", 1)
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        for number in range(PASSAGES.most_runs):
            store.add("same key", numbered_text(number))
        status = store.passages.status()
        assert status is not None
        assert status.run_count == PASSAGES.most_runs
        assert status.stale_count > 5 * status.anchor_count
        store.add("same key", numbered_text(99))
        status = store.passages.status()
        assert status is not None
        assert (status.run_count, status.stale_count) == (1, 0)
        store.remove("same key")
        store.maintenance.compact()
        status = store.passages.status()
        assert status is not None
        assert (status.run_count, status.stored_bytes) == (0, 0)


@pytest.mark.parametrize("options", [{"window": 13}, {"cut": "window", "window": 30}])
def test_windows_have_about_their_size(tmp_path: Path, options: dict[str, object]) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add("one", chinese(500, 1))
        status = store.passages.build(**options)  # type: ignore[arg-type]
        assert (status.cut, status.window) == ("window", options["window"])
        with store._opened.database.read() as connection:
            (spans,) = passages.spans_of(connection, [1]).values()
        assert (np.diff(spans, axis=1)[:-1] <= status.window).all()  # type: ignore[operator]


@pytest.mark.slow
def test_a_store_without_texts_is_indexed_from_its_beginning_or_not_at_all(
    tmp_path: Path,
) -> None:
    with Store.create(tmp_path / "s.db", text=False) as store:
        store.passages.build()
        store.add("one", numbered_text(1))
        status = store.passages.status()
        assert status is not None
        assert (status.document_count, status.complete) == (1, True)
        assert store.maintenance.fsck() == []
    with Store.create(tmp_path / "t.db", text=False) as store:
        store.add("one", numbered_text(1))
        with pytest.raises(InvalidParameter, match="keeps no texts"):
            store.passages.build()


def test_an_index_outlives_a_reindex(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("one", numbered_text(1))
        before = store.passages.status()
        store.maintenance.reindex(SchemeChoice("web", bits=128))
        assert store.passages.status() == before
        store.add("two", numbered_text(2))
        assert store.maintenance.fsck() == []


def test_an_index_of_another_installation_is_refused(tmp_path: Path) -> None:
    from simstore.errors import SchemeMismatch

    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
    with raw(tmp_path) as connection:
        ((recipe,),) = connection.execute("SELECT recipe FROM passage_index").fetchall()
        other = json.dumps(json.loads(recipe) | {"known_answer": "other"})
        connection.execute("UPDATE passage_index SET recipe = ?", (other,))
    with Store.open(tmp_path / "s.db") as store, pytest.raises(SchemeMismatch, match="passages"):
        store.add("one", numbered_text(1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM passage_entry WHERE document_id = 3", "1 document has none"),
        ("UPDATE passage_entry SET passage_count = 9 WHERE document_id = 3", "passages, not 9"),
        ("UPDATE passage_entry SET spans = x'03'", "damaged"),
        ("UPDATE passage_entry SET postings = x'0303' WHERE postings IS NOT NULL", "damaged"),
        (f"DELETE FROM index_page WHERE page = {_FIRST}", "postings, not"),
        (f"UPDATE index_page SET entries = substr(entries, 2) WHERE page = {_FIRST}", "damaged"),
        (f"UPDATE index_page SET page = page + {9 << 40} WHERE page = {_FIRST}", "postings, not"),
        (
            "INSERT INTO index_run SELECT run_id + 9, kind, owner, page_bits, widths, row_bytes, "
            f"entry_count, last_source, filter_words, checksum FROM {_RUNS}",
            "0 entries, ",
        ),
        ("UPDATE index_run SET entry_count = entry_count + 3 WHERE kind = 'passages'", " counted"),
        ("UPDATE index_run SET widths = x'01' WHERE kind = 'passages'", "is damaged"),
        (
            "INSERT INTO passage_index (status, recipe, created_at) "
            "SELECT status, recipe, created_at FROM passage_index",
            "there are 2 passage indexes, not one",
        ),
        (
            "UPDATE passage_entry SET spans = (SELECT spans FROM passage_entry WHERE entry_id = 2),"
            "passage_count = (SELECT passage_count FROM passage_entry WHERE entry_id = 2) "
            "WHERE entry_id = 30",
            "its passages are not those of its text",
        ),
        (
            "UPDATE index_page SET entries = CAST(x'010203' || substr(entries, 4) AS BLOB) "
            f"WHERE page = {_FIRST}",
            "its postings are not those of its text",
        ),
    ],
)
def test_each_kind_of_damage_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, problem: str
) -> None:
    monkeypatch.setattr(passages, "TAIL_TEXTS", 16)
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        for number in range(40):
            store.add(f"k{number}", numbered_text(number) + f". And {number} more.")
        status = store.passages.status()
        assert status is not None
        assert status.run_count
        assert status.unpacked_count
        assert store.maintenance.fsck() == []
    with raw(tmp_path) as connection:
        assert connection.execute(statement).rowcount > 0
    with Store.open(tmp_path / "s.db") as store:
        # Rows that are of no run are told beside it.
        found = [one for one in store.maintenance.fsck() if one.invariant != "pages"]
        assert {one.invariant for one in found} == {"passages"}
        assert any(problem in one.detail for one in found), found
        assert all("passages.build(" in one.remedy for one in found)
        store.maintenance.compact(drop_passages=True)
        store.passages.build()
        assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_compaction_of_an_index_whose_runs_are_gone_is_a_named_error(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("one", numbered_text(1))
        store.maintenance.compact()
    with raw(tmp_path) as connection:
        connection.execute("DELETE FROM index_run WHERE kind = 'passages'")
    with Store.open(tmp_path / "s.db") as store:
        with pytest.raises(CorruptStore, match="postings of the passage index gone"):
            store.maintenance.compact()
        assert store.maintenance.fsck()
        store.maintenance.compact(drop_passages=True)
        store.passages.build()
        assert store.maintenance.fsck() == []
