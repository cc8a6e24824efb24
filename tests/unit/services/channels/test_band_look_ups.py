"""What a writer that looks for duplicates looks up: what it knows already is not asked again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simstore import SchemeChoice
from simstore.errors import CorruptStore, InvalidParameter
from simstore.fingerprint.minhash import band_values
from simstore.model import Document
from simstore.services.channels import pack_sketches, sketch_search
from simstore.services.duplicates.measure import Measure
from simstore.services.features.prepare import prepare
from simstore.services.ingest import one_document, options
from simstore.services.open_store import band_cache, caches
from simstore.storage import duplicates
from simstore.storage.dialects.sqlite import TypedRows
from simstore.storage.fingerprints import fingerprints
from simstore.storage.sketches import SketchTables
from simstore.store import Store

STORED, ADDED = 1_000, 8


def text(number: int) -> str:
    chance = random.Random(number)
    return " ".join(f"word{chance.randrange(4_000)}" for _ in range(80))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many pages each look-up asks for."""
    counts: list[int] = []
    pages = SketchTables.pages

    def counting(
        tables: SketchTables, connection: Any, layout_id: int, numbers: Sequence[int]
    ) -> Mapping[int, bytes]:
        counts.append(len(numbers))
        return pages(tables, connection, layout_id, numbers)

    monkeypatch.setattr(SketchTables, "pages", counting)
    return counts


def test_a_writer_soon_knows_which_pages_it_would_read_in_vain(
    tmp_path: Path, asked: list[int]
) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        store.maintenance.pack()
    with Store.open(tmp_path / "s.db") as store:
        for number in range(STORED, STORED + ADDED):
            assert store.add(f"{number}", text(number), on_duplicate="flag") == "added"
        assert len(asked) == ADDED
        # A page a band that originals are looked for by.
        assert asked[0] > 15
        # After these, looking pages up has taken as long as reading all of them: 16 a band.
        assert max(asked[3:]) < asked[0] / 2
        assert store.add("copy", f"{text(7)} more", on_duplicate="flag") == "flagged"


def test_what_stands_in_one_page_alone_is_told_by_its_values(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        store.maintenance.pack()
        for turn in range(20):
            words = text(turn).split()
            # From near copies to texts of which a few bands, or none, agree.
            words[: 3 * turn] = text(STORED + turn).split()[: 3 * turn]
            outcome = store.add(f"edit {turn}", " ".join(words), on_duplicate="flag")
            assert outcome == ("flagged" if turn <= 2 else "added"), turn


def test_what_a_duplicate_is_found_by_is_looked_up_once(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        pack_sketches.pack_tail(store._opened, "minhash")
        seen: list[str] = []
        with store._opened.write() as connection:
            driver: Any = connection.driver
        store.add("first", f"{text(3)} more", on_duplicate="flag")
        for number in (5, 6, 7):
            driver.set_trace_callback(seen.append)
            outcome = store.add(f"copy {number}", f"{text(number)} more", on_duplicate="flag")
            driver.set_trace_callback(None)
            assert outcome == "flagged"
            tables = Counter(
                table
                for statement in seen
                for table in ("band_page", "fingerprint_64")
                if f"FROM {table} WHERE" in statement and "page >= " not in statement
            )
            # Where the fingerprint finds it first, the sketch is looked up later, once.
            assert tables == {"band_page": 1, "fingerprint_64": 1}
            seen.clear()


def test_what_was_found_is_forgotten_with_a_transaction_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise RuntimeError

    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(20)])
        with monkeypatch.context() as patched:
            patched.setattr(one_document, "_decide", failing)
            with pytest.raises(RuntimeError):
                store.add("copy", f"{text(5)} more", on_duplicate="flag")
        store.remove(["5"])
        assert store.add("copy", f"{text(5)} more", on_duplicate="flag") == "added"
        assert store.add("again", f"{text(5)} more", on_duplicate="flag") == "flagged"


def test_options_of_an_add_are_checked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Any] = []
    check = options.check_fields
    monkeypatch.setattr(options, "check_fields", lambda one: (checked.append(one), check(one)))
    options.options_of_one.cache_clear()
    with Store.create(tmp_path / "s.db") as store:
        for number in range(5):
            store.add(f"{number}", text(number), on_duplicate="flag")
        assert len(checked) == 1
        with pytest.raises(InvalidParameter, match="min_resemblance"):
            store.add("x", text(1), on_duplicate="flag", min_resemblance=2.0)
        assert store.add("y", f"{text(1)} more", on_duplicate="skip") == "skipped"
        assert len(checked) == 3


def test_of_what_shares_check_bits_by_chance_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    flagged_among = duplicates.flagged_among

    def counting(connection: Any, document_ids: Sequence[int]) -> set[int]:
        asked.extend(document_ids)
        return flagged_among(connection, document_ids)

    monkeypatch.setattr(duplicates, "flagged_among", counting)
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        pack_sketches.pack_tail(store._opened, "minhash")
        assert store.add("copy", f"{text(9)} more", on_duplicate="flag") == "flagged"
        asked.clear()
        new = [(f"{n}", text(n)) for n in range(STORED, STORED + 60)]
        given = [*new, ("other", f"{text(9)} and more")]
        assert store.add_many(given, on_duplicate="flag").flagged == 1
        # The copies of one text alone: the 60 others share a page and check bits with hundreds.
        assert set(asked) == {10, STORED + 1}


def test_bands_of_a_text_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counting(sketches: Any, layout: Any) -> Any:
        made.append(len(sketches))
        return band_values(sketches, layout)

    monkeypatch.setattr(band_cache, "band_values", counting)
    monkeypatch.setattr(sketch_search, "band_values", counting)
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        pack_sketches.pack_tail(store._opened, "minhash")
        store.add("first", text(STORED), on_duplicate="flag")
        made.clear()
        for number in range(STORED + 1, STORED + 6):
            # To be looked up, and to be found by those that come next.
            assert store.add(f"{number}", text(number), on_duplicate="flag") == "added"
            assert made == [1]
            made.clear()
        assert store.add("copy", f"{text(STORED + 3)} more", on_duplicate="flag") == "flagged"


def test_rows_of_a_crowded_segment_are_not_looked_at_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[object] = []
    look = TypedRows.__call__

    def counting(rows: TypedRows, cursor: Any, row: Any) -> Any:
        looked_at.append(row)
        return look(rows, cursor, row)

    crowd = 900
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([("first", text(1))])
        with store._opened.database.read() as connection:
            state = store._opened.state(connection)
        batch = prepare([Document("new", text(2))], state)
        assert batch.words is not None
        # They share the segment of the lowest bits with the text, and no other.
        others = np.random.default_rng(1).integers(0, 1 << 48, crowd, np.uint64) << np.uint64(16)
        words = (others | batch.words[0, 0] & np.uint64(0xFFFF)).reshape(-1, 1)
        with store._opened.write() as connection:
            fingerprints.add(connection, 64, 1, words)
        store.add("second", text(3), on_duplicate="flag")
        monkeypatch.setattr(TypedRows, "__call__", counting)
        assert store.add("new", text(2), on_duplicate="flag") == "added"
        assert 0 < len(looked_at) < crowd / 10
        assert store.add("copy", f"{text(2)} more", on_duplicate="flag") == "flagged"
        with store._opened.write() as connection:
            connection.driver.execute(
                "UPDATE fingerprint_64 SET value = 'damaged' "
                "WHERE value = (SELECT min(value) FROM fingerprint_64)"
            )
        with pytest.raises(CorruptStore, match="value holds"):
            store.add("again", text(2), on_duplicate="flag")


def test_what_a_duplicate_is_told_by_is_found_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    measure_of = Measure.of

    def counting(state: Any, channels: Sequence[str] = (), **keywords: Any) -> Measure:
        asked.append(tuple(channels))
        return measure_of(state, channels, **keywords)

    monkeypatch.setattr(Measure, "of", counting)
    path = tmp_path / "s.db"
    with Store.create(path) as store:
        store.add_many([(f"{n}", text(n)) for n in range(20)])
        asked.clear()
        assert store.add("new", text(20), on_duplicate="flag") == "added"
        assert asked == [()]
        with Store.open(path) as other:
            other.maintenance.reindex(SchemeChoice("web", bits=128))
        # Texts are prepared again by what another process has made of the store meanwhile.
        assert store.add("copy", f"{text(20)} more", on_duplicate="flag") == "flagged"
        assert store.add("newer", text(21), on_duplicate="flag") == "added"
        assert not store.maintenance.fsck()


@pytest.mark.parametrize("resident", [False, True])
def test_a_warm_store_looks_up_what_is_there_alone(
    tmp_path: Path, asked: list[int], resident: bool
) -> None:
    path = tmp_path / "s.db"
    with Store.create(path) as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        pack_sketches.pack_tail(store._opened, "minhash")
    with Store.open(path, resident=resident) as store:
        store.maintenance.warm()
        for number in range(STORED, STORED + 20):
            assert store.add(f"{number}", text(number), on_duplicate="flag") == "added"
        # By chance a band in fifty is taken for one that is there.
        assert sum(asked) <= (0 if resident else 20)
        assert store.add("copy", f"{text(7)} more", on_duplicate="flag") == "flagged"
        assert store.add("own", f"{text(STORED + 3)} more", on_duplicate="flag") == "flagged"
        # By sketches alone: the pages are asked for, or are in memory.
        other = store.add("other", f"{text(8)} more", on_duplicate="flag", channels=["minhash"])
        assert other == "flagged"
        assert bool(sum(asked) > 15) is not resident


def test_a_writer_that_looks_much_up_soon_reads_no_page_of_fingerprints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "_TAIL_EACH", STORED // 20)
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        store.maintenance.pack()
    seen: list[str] = []
    with Store.open(tmp_path / "s.db") as store, Store.open(tmp_path / "s.db") as other:
        with store._opened.write() as connection:
            driver: Any = connection.driver
        for number in range(STORED, STORED + 25):
            seen.clear()
            driver.set_trace_callback(seen.append)
            assert store.add(f"{number}", text(number), on_duplicate="flag") == "added"
            driver.set_trace_callback(None)
            reads = sum("records FROM fingerprint_page" in statement for statement in seen)
            # One a text, of the pages that it needs; at last all, a statement a part; then none.
            expected = {True: 1, False: 0}[number <= STORED + 20]
            assert reads == expected or (number == STORED + 21 and reads > 1), number
        other.add("theirs", text(STORED + 30))
        for number in (7, STORED + 3, STORED + 30):
            outcome = store.add(f"copy {number}", f"{text(number)} more", on_duplicate="flag")
            assert outcome == "flagged", number
        assert other.remove("7")
        other.maintenance.pack()
        # What has gone is found in vain.
        assert store.add("again", f"{text(7)} more or less", on_duplicate="flag") == "flagged"
        assert store.add("anew", f"{text(8)} more", on_duplicate="flag") == "flagged"
        assert not store.maintenance.fsck()


def test_more_than_memory_is_stated_for_is_read_from_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "_MOST_KEPT", STORED + 5)
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        store.maintenance.pack()
        for number in range(STORED, STORED + 10):
            assert store.add(f"{number}", text(number), on_duplicate="flag") == "added"
            # One look-up counts as 256 fingerprints.
            assert (store._opened.resident is not None) == (STORED + 4 <= number < STORED + 5)
