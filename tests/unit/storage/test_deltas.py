"""Changes of the vocabulary: summed for readers, merged when many have gathered."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from simstore.errors import CorruptStore
from simstore.fingerprint.packed_terms import packed
from simstore.storage import codecs, deltas, vocabularies
from simstore.storage.engine import Connection
from simstore.store import Store

SCHEME = 1


def named(changes: dict[bytes, tuple[int, int]]) -> bytes:
    counts = np.array(list(changes.values()), np.int64).reshape(-1, 2)
    return codecs.pack_named_delta(*packed(list(changes)), counts[:, 0], counts[:, 1])


def held(connection: Connection) -> dict[bytes, tuple[int, int]]:
    """Return all counts that are not zero, wherever they lie."""
    rows = vocabularies.most_frequent(connection, SCHEME, None)
    return {term: (documents, total) for term, _, documents, total in rows}


def delta_count(connection: Connection) -> int:
    found: int = connection.exec_driver_sql("SELECT count(*) FROM vocabulary_delta").scalar_one()
    return found


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Callable[[Connection], None]], None]:
    def run(work: Callable[[Connection], None]) -> None:
        with (
            Store.open(tmp_path / "s.db", create=True) as store,
            store._opened.write() as connection,
        ):
            work(connection)

    return run


Write = Callable[[Callable[[Connection], None]], None]


@pytest.mark.parametrize("seed", range(2))
def test_sum_is_the_same_however_much_of_it_is_merged(write: Write, seed: int) -> None:
    chance = random.Random(seed)
    documents: Counter[bytes] = Counter()
    totals: Counter[bytes] = Counter()

    def work(connection: Connection) -> None:
        for _ in range(40):
            terms = chance.sample([b"%d" % n for n in range(30)], chance.randrange(1, 12))
            changes = {term: (1, chance.randrange(1, 5)) for term in terms}
            for term, (one, many) in changes.items():
                documents[term] += one
                totals[term] += many
            known = vocabularies.feature_ids(connection, SCHEME, terms)
            if len(known) == len(terms) and chance.random() < 0.5:
                # As stores of before wrote them.
                counts = np.array([changes[term] for term in known], np.int64)
                ids = np.array(list(known.values()), np.int64)
                deltas.add_numbered(connection, SCHEME, ids, counts[:, 0], counts[:, 1])
            else:
                deltas.add_packed(connection, SCHEME, named(changes))
            if chance.random() < 0.3:
                deltas.merge(connection, SCHEME)
            expected = {term: (documents[term], totals[term]) for term in documents}
            assert held(connection) == expected
            pending = vocabularies.pending_documents(connection, SCHEME)
            asked = [*documents, b"nowhere"]
            found = vocabularies.document_counts(connection, SCHEME, asked, pending)
            assert found.tolist() == [documents[term] for term in asked]
            assert vocabularies.known_term_count(connection, SCHEME) == len(documents)

    write(work)


@pytest.mark.parametrize("together", [1, 50])
def test_small_changes_are_made_one_by_the_64(write: Write, together: int) -> None:
    chance = random.Random(together)
    expected: Counter[bytes] = Counter()

    def work(connection: Connection) -> None:
        most = 0
        for _ in range(1_000 // together):
            for _ in range(together):
                terms = chance.sample([b"%d" % n for n in range(500)], 20)
                expected.update(terms)
                deltas.add_packed(connection, SCHEME, named(dict.fromkeys(terms, (1, 2))))
            deltas.merge_many(connection, SCHEME, together)
            most = max(most, delta_count(connection))
        assert most < 64 + together + 1_000 // 64
        assert held(connection) == {term: (n, 2 * n) for term, n in expected.items()}
        assert max(map(len, raw(connection))) > 64

    write(work)


def raw(connection: Connection) -> list[bytes]:
    return list(connection.exec_driver_sql("SELECT delta FROM vocabulary_delta").scalars())


def test_a_damaged_change_is_told_when_many_become_one(write: Write) -> None:
    def work(connection: Connection) -> None:
        for number in range(deltas.TOGETHER - 1):
            deltas.add_packed(connection, SCHEME, named({b"%d" % number: (1, 2)}))
        deltas.add_packed(connection, SCHEME, named({b"last": (1, 2)})[:-1])
        with pytest.raises(CorruptStore, match="delta of the vocabulary is damaged"):
            deltas.merge_many(connection, SCHEME, deltas.TOGETHER)
        assert delta_count(connection) == deltas.TOGETHER

    write(work)
