"""fsck finds each kind of damage, names it, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stores import SIMTOOL, TEXTS, WEB, create, filled, raw, rows

from simstore.errors import CorruptStore
from simstore.model import Finding
from simstore.services.evaluate.labels import Labels
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.sources.labels import LabelledPair
from simstore.storage import codecs, deltas
from simstore.store import Store

Damage = Callable[[Any], object]
IDF = SchemeChoice("web", weights="tf-idf")
SCHEMES = {"simtool": SIMTOOL, "web": WEB, "idf": IDF}


def after(folder: Path, *statements: str | tuple[str, tuple[Any, ...]]) -> list[Finding]:
    """Change the file behind the store's back and return what fsck finds."""
    with raw(folder) as connection:
        for statement in statements:
            text, parameters = statement if isinstance(statement, tuple) else (statement, ())
            assert connection.execute(text, parameters).rowcount != 0, text
    with Store.open(folder / "s.db") as store:
        found = store.maintenance.fsck()
        assert store.maintenance.fsck() == found
    return found


def merge(store: Store) -> None:
    """Give each term of the vocabulary its row."""
    with store._opened.write() as connection:
        deltas.merge(connection, store._opened.state(connection).scheme_id)


def kinds(found: list[Finding]) -> set[str]:
    for one in found:
        assert one.detail
        assert one.remedy
        assert "\n" not in one.detail
    return {one.invariant for one in found}


@pytest.mark.parametrize(
    ("scheme", "options"),
    [
        ("simtool", {}),
        ("simtool", {"text": False}),
        ("simtool", {"policy": "frozen"}),
        ("idf", {}),
        ("idf", {"text": False}),
        ("idf", {"policy": "frozen"}),
        ("web", {}),
        ("web", {"text": False}),
        ("web", {"vocabulary": False}),
        ("web", {"text": False, "vocabulary": False}),
    ],
)
def test_sound_store_has_no_findings(tmp_path: Path, scheme: str, options: dict[str, Any]) -> None:
    with filled(tmp_path, SCHEMES[scheme], **options) as store:
        assert store.maintenance.fsck() == []
        store.remove("bread", "empty")
        store.add("stone", "river")
        assert store.maintenance.fsck() == []
        store.remove(*(one.key for one in store))
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_empty_store_is_sound(tmp_path: Path, scheme: str) -> None:
    with create(tmp_path, SCHEMES[scheme]) as store:
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("blob", [b"", b"\x00", b"\x28\xb5\x2f\xfd", b"rubbish" * 9])
def test_corrupt_text_is_found(tmp_path: Path, scheme: str, blob: bytes) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    found = after(tmp_path, ("UPDATE document_text SET text = ? WHERE document_id = 3", (blob,)))
    assert "text" in kinds(found)
    assert any("bread" in one.detail for one in found)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_missing_text_is_found(tmp_path: Path, scheme: str) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    found = after(tmp_path, "DELETE FROM document_text WHERE document_id = 3")
    assert "text" in kinds(found)
    assert any("bread" in one.detail for one in found)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_changed_text_is_found(tmp_path: Path, scheme: str) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    other = codecs.compress(b"another text about rivers and bridges")
    found = after(tmp_path, ("UPDATE document_text SET text = ? WHERE document_id = 3", (other,)))
    assert "digest" in kinds(found)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_changed_digest_is_found(tmp_path: Path, scheme: str) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    found = after(
        tmp_path, ("UPDATE document SET digest = ? WHERE document_id = 3", (b"\x01" * 16,))
    )
    assert kinds(found) == {"digest"}
    assert len(found) == 1


def test_changed_size_is_found(tmp_path: Path) -> None:
    filled(tmp_path).close()
    found = after(tmp_path, "UPDATE document SET byte_count = 7 WHERE document_id = 3")
    assert kinds(found) == {"size"}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_changed_fingerprint_is_found(tmp_path: Path, scheme: str) -> None:
    """A document is linked to another's fingerprint, which is there with all its segments."""
    filled(tmp_path, SCHEMES[scheme]).close()
    found = after(
        tmp_path,
        "UPDATE document_fingerprint_64 SET value = "
        "(SELECT value FROM document_fingerprint_64 WHERE document_id = 7) WHERE document_id = 3",
    )
    assert "fingerprint" in kinds(found)
    assert any("document 3" in one.detail for one in found)


def test_changed_fingerprint_is_found_where_no_text_is_kept(tmp_path: Path) -> None:
    filled(tmp_path, WEB, text=False).close()
    found = after(
        tmp_path,
        "UPDATE document_fingerprint_64 SET value = "
        "(SELECT value FROM document_fingerprint_64 WHERE document_id = 7) WHERE document_id = 1",
    )
    assert any("document 1" in one.detail for one in found)


@pytest.mark.parametrize("bits", [64, 128])
def test_changed_fingerprint_value_is_found(tmp_path: Path, bits: int) -> None:
    choice = type(WEB)("web", bits=bits)
    filled(tmp_path, choice).close()
    family = "64" if bits == 64 else "128"
    value = 12345 if bits == 64 else (12345).to_bytes(16, "big")
    table = f"fingerprint_{family}"
    found = after(
        tmp_path,
        (
            f"UPDATE {table} SET value = ? WHERE value = "
            f"(SELECT value FROM document_{table} WHERE document_id = 3)",
            (value,),
        ),
    )
    assert {"segments", "fingerprint"} <= kinds(found)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("value", ["s0 + 1", "NULL"])
def test_changed_segment_is_found(tmp_path: Path, scheme: str, value: str) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    found = after(
        tmp_path,
        f"UPDATE fingerprint_64 SET s0 = {value} WHERE value = "
        "(SELECT value FROM document_fingerprint_64 WHERE document_id = 3)",
    )
    assert kinds(found) == {"segments"}


def test_segment_beyond_the_bits_is_found(tmp_path: Path) -> None:
    filled(tmp_path, SIMTOOL).close()
    found = after(tmp_path, "UPDATE fingerprint_64 SET s3 = 0")
    assert kinds(found) == {"segments"}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_stray_link_is_found(tmp_path: Path, scheme: str) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    found = after(
        tmp_path,
        "INSERT INTO document_fingerprint_64 (generation_id, document_id, value) "
        "SELECT generation_id, 999, value FROM document_fingerprint_64 WHERE document_id = 3",
    )
    assert kinds(found) == {"fingerprint"}
    assert "gone" in found[0].detail


@pytest.mark.parametrize("scheme", SCHEMES)
def test_fingerprint_without_a_document_is_found(tmp_path: Path, scheme: str) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    found = after(
        tmp_path,
        "INSERT INTO fingerprint_64 SELECT generation_id, value + 1, s0, s1, s2, s3 "
        "FROM fingerprint_64 ORDER BY value LIMIT 1",
    )
    assert "fingerprint" in kinds(found)
    assert any("without a document" in one.detail for one in found)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_document_without_a_fingerprint_is_found(tmp_path: Path, scheme: str) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    ((value,),) = rows(tmp_path, "SELECT value FROM document_fingerprint_64 WHERE document_id = 7")
    found = after(
        tmp_path,
        ("DELETE FROM document_fingerprint_64 WHERE value = ?", (value,)),
        ("DELETE FROM fingerprint_64 WHERE value = ?", (value,)),
    )
    assert kinds(found) == {"fingerprint"}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_link_to_no_fingerprint_is_found(tmp_path: Path, scheme: str) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    found = after(
        tmp_path,
        "DELETE FROM fingerprint_64 WHERE value = "
        "(SELECT value FROM document_fingerprint_64 WHERE document_id = 3)",
    )
    assert "fingerprint" in kinds(found)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("column", ["document_count", "total_count"])
def test_wrong_vocabulary_count_is_found(tmp_path: Path, scheme: str, column: str) -> None:
    with filled(tmp_path, SCHEMES[scheme]) as store:
        merge(store)
    found = after(
        tmp_path,
        f"UPDATE feature SET {column} = {column} + 1 WHERE term = CAST('boats' AS BLOB)",
    )
    assert "vocabulary" in kinds(found)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_missing_term_of_the_vocabulary_is_found(tmp_path: Path, scheme: str) -> None:
    with filled(tmp_path, SCHEMES[scheme]) as store:
        merge(store)
    found = after(tmp_path, "DELETE FROM feature WHERE term = CAST('boats' AS BLOB)")
    assert {"vocabulary", "features"} & kinds(found)


def test_lost_vocabulary_delta_is_found(tmp_path: Path) -> None:
    filled(tmp_path).close()
    found = after(tmp_path, "DELETE FROM vocabulary_delta")
    assert kinds(found) == {"vocabulary"}


@pytest.mark.slow
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("counts", [(1, 0), (0, 1), (-1, -1)])
@pytest.mark.parametrize("term", [b"boats", b"nowhere"])
def test_vocabulary_delta_of_wrong_counts_is_found(
    tmp_path: Path, term: bytes, counts: tuple[int, int], merged: bool
) -> None:
    with filled(tmp_path) as store:
        if merged:
            store.maintenance.compact()
    documents, total = (np.array([one], np.int64) for one in counts)
    blob = codecs.pack_named_delta(term, np.array([0, len(term)]), documents, total)
    found = after(tmp_path, ("INSERT INTO vocabulary_delta VALUES (9, 1, ?)", (blob,)))
    assert kinds(found) == {"vocabulary"}
    assert all(term.decode() in one.detail for one in found)


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\x00",
        b"\x01",
        b"\x01" + codecs.compress(b"abc"),
        b"\x01" + codecs.compress((2).to_bytes(8, "little") + bytes(24)),
        codecs.pack_named_delta(b"a", np.arange(2), *np.ones((2, 1), np.int64))[:-3],
        codecs.compress(b"abc"),
    ],
)
def test_damaged_vocabulary_delta_is_found(tmp_path: Path, blob: bytes) -> None:
    filled(tmp_path).close()
    found = after(tmp_path, ("UPDATE vocabulary_delta SET delta = ?", (blob,)))
    assert kinds(found) == {"vocabulary"}


def test_vocabulary_delta_of_an_unknown_feature_is_found(tmp_path: Path) -> None:
    filled(tmp_path).close()
    one = np.array([1], np.int64)
    blob = codecs.pack_delta(np.array([10_000_000], np.int64), one, one)
    found = after(tmp_path, ("UPDATE vocabulary_delta SET delta = ?", (blob,)))
    assert kinds(found) == {"vocabulary"}


@pytest.mark.parametrize("blob", [b"", b"\x00", codecs.compress(b"abc"), codecs.compress(b"")])
@pytest.mark.parametrize("text", [True, False])
def test_damaged_feature_counts_are_found(tmp_path: Path, blob: bytes, text: bool) -> None:
    filled(tmp_path, SIMTOOL, text=text).close()
    found = after(
        tmp_path, ("UPDATE document_features SET features = ? WHERE document_id = 3", (blob,))
    )
    assert kinds(found)


def test_missing_feature_counts_are_found(tmp_path: Path) -> None:
    filled(tmp_path, SIMTOOL).close()
    found = after(tmp_path, "DELETE FROM document_features WHERE document_id = 3")
    assert "features" in kinds(found)


def test_feature_counts_of_another_text_are_found(tmp_path: Path) -> None:
    filled(tmp_path, SIMTOOL).close()
    found = after(
        tmp_path,
        "UPDATE document_features SET features = (SELECT features FROM document_features "
        "WHERE document_id = 7) WHERE document_id = 3",
    )
    assert "features" in kinds(found)


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE generation_rank SET total_count = total_count + 100 WHERE rank = 4"],
        ["DELETE FROM generation_rank WHERE rank = 4"],
        [
            "UPDATE generation_rank SET rank = 100 WHERE rank = 0",
            "UPDATE generation_rank SET rank = 0 WHERE rank = 1",
            "UPDATE generation_rank SET rank = 1 WHERE rank = 100",
        ],
        ["UPDATE generation_rank SET feature_id = feature_id + 1000 WHERE rank = 0"],
    ],
)
def test_wrong_ranks_are_found(tmp_path: Path, statements: list[str]) -> None:
    filled(tmp_path, SIMTOOL).close()
    assert "ranks" in kinds(after(tmp_path, *statements))


@pytest.mark.parametrize(
    ("scheme", "change"),
    [
        ("web", "known_answers = '[]'"),
        ("web", "version = 9"),
        ("web", "name = 'other'"),
        ("web", "bits = 63"),
        ("web", """parameters = '{"weights": "tf", "tie": "zero"}'"""),
        ("web", "parameters = '{}'"),
        ("web", """parameters = '{"weights": 5, "tie": "zero"}'"""),
        ("simtool", "hash_table = x'00'"),
        ("simtool", "hash_table = NULL"),
        ("simtool", "stopwords = x''"),
        ("simtool", "parameters = '{}'"),
        ("simtool", """parameters = '{"features": "many"}'"""),
        ("simtool", """parameters = '{"features": 4}'"""),
    ],
)
def test_damaged_scheme_is_found(tmp_path: Path, scheme: str, change: str) -> None:
    filled(tmp_path, SCHEMES[scheme]).close()
    found = after(tmp_path, f"UPDATE scheme SET {change}")
    assert kinds(found) == {"scheme"}


@pytest.mark.parametrize("scheme", [WEB, SIMTOOL])
def test_generation_of_changes_that_the_store_has_not_counted_is_found(
    tmp_path: Path, scheme: SchemeChoice
) -> None:
    with filled(tmp_path, scheme) as store:
        store.vocabulary.refresh(force=True) if scheme is SIMTOOL else None
    found = after(tmp_path, "UPDATE generation SET basis = (SELECT changes + 1 FROM store)")
    assert any("and the store counts" in one.detail for one in found), found


def test_second_standing_generation_is_found(tmp_path: Path) -> None:
    filled(tmp_path, SIMTOOL).close()
    found = after(
        tmp_path,
        "INSERT INTO generation (scheme_id, status, basis, created_at) "
        "SELECT scheme_id, 'standing', basis, created_at FROM generation",
    )
    assert found


@pytest.mark.sqlite("a server holds to references; SQLite, by its file, need not")
def test_reference_to_nothing_is_found(tmp_path: Path) -> None:
    filled(tmp_path).close()
    found = after(tmp_path, "UPDATE document SET run_id = 999 WHERE document_id = 3")
    assert kinds(found) == {"file"}


@pytest.mark.sqlite("damages pages of the file")
@pytest.mark.parametrize("where", [0.25, 0.5, 0.75])
def test_damaged_page_of_the_file_is_found_or_reported_as_corrupt(
    tmp_path: Path, where: float
) -> None:
    with create(tmp_path) as store:
        store.add_many([(f"k{n}", f"text {n} " * 50) for n in range(100)], threads=1)
        store.maintenance.compact()
    ((size,),) = rows(tmp_path, "PRAGMA page_size")
    path = tmp_path / "s.db"
    data = bytearray(path.read_bytes())
    start = int(len(data) / size * where) * size
    data[start : start + size] = b"\xa5" * size
    path.write_bytes(data)
    try:
        with Store.open(path) as store:
            said = [f"{one.invariant}: {one.detail}" for one in store.maintenance.fsck()]
    except CorruptStore as error:
        said = [f"file: {error}"]
    assert said
    assert all(one.startswith("file: ") for one in said)


def test_at_most_twenty_of_a_kind_are_shown(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add_many([(f"k{n}", f"text {n}") for n in range(30)], threads=1)
    found = after(tmp_path, "UPDATE document SET byte_count = 1000")
    assert len(found) == 21
    assert found[-1].detail == "... and more"


def test_fsck_shows_its_progress(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    with filled(tmp_path) as store:
        store.maintenance.fsck(lambda done, total: heard.append((done, total)))
    assert heard[-1] == (len(TEXTS), len(TEXTS))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_reindex_or_refresh_mends_what_can_be_made_anew(tmp_path: Path, scheme: str) -> None:
    with filled(tmp_path, SCHEMES[scheme]) as store:
        merge(store)
    found = after(
        tmp_path,
        "UPDATE fingerprint_64 SET s0 = s0 + 1",
        "UPDATE feature SET total_count = total_count + 5",
    )
    assert found
    with Store.open(tmp_path / "s.db") as store:
        store.maintenance.reindex()
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize("blob", [b"", b"rubbish" * 9])
def test_corrupt_document_frequencies_are_found_and_mended(tmp_path: Path, blob: bytes) -> None:
    filled(tmp_path, IDF).close()
    found = after(tmp_path, ("UPDATE generation_frequency SET frequencies = ?", (blob,)))
    assert [(one.invariant, one.remedy) for one in found] == [
        ("frequencies", "run `store.vocabulary.refresh(force=True)`")
    ]
    with Store.open(tmp_path / "s.db") as store:
        with pytest.raises(CorruptStore, match="document frequencies"):
            store.query("boats")
        store.vocabulary.refresh(force=True)
        assert store.maintenance.fsck() == []


def test_missing_document_frequencies_are_found(tmp_path: Path) -> None:
    filled(tmp_path, IDF).close()
    assert kinds(after(tmp_path, "DELETE FROM generation_frequency")) == {"frequencies"}


def test_document_frequencies_of_another_corpus_are_found(tmp_path: Path) -> None:
    filled(tmp_path, IDF).close()
    numbers, counts = codecs.unpack_features(
        rows(tmp_path, "SELECT frequencies FROM generation_frequency")[0][0]
    )
    packed = codecs.pack_features(numbers, counts + 1)
    found = after(tmp_path, ("UPDATE generation_frequency SET frequencies = ?", (packed,)))
    assert "frequencies" in kinds(found)


def test_missing_text_is_one_clear_error_in_every_command_that_reads_it(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with raw(tmp_path) as connection:
        connection.execute("DELETE FROM document_text WHERE document_id = 3")
    with Store.open(tmp_path / "s.db") as store:
        for ask in (
            store.maintenance.reindex,
            store.evaluate.exact_pairs,
            lambda: store.compare("bread", "café"),
            lambda: store.evaluate.run(Labels(pairs=[LabelledPair("bread", "café")])),
        ):
            with pytest.raises(CorruptStore, match="text of document 3 is missing"):
                ask()
