"""fsck finds each kind of damage, names it, and changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stores import SIMTOOL, TEXTS, WEB, create, filled, raw, rows

from simstore.errors import CorruptStore
from simstore.model import Finding
from simstore.services.evaluate.evaluate import Labels
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.sources.labels import LabelledPair
from simstore.storage import codecs, deltas
from simstore.store import Store

IDF = SchemeChoice("web", weights="tf-idf")
WIDE = SchemeChoice("web", bits=128)
SCHEMES = {"simtool": SIMTOOL, "web": WEB, "idf": IDF, "wide": WIDE}
ONE = np.array([1], np.int64)


def after(folder: Path, *statements: str | tuple[str, Any]) -> list[Finding]:
    """Change the file behind the store's back and return the findings of fsck."""
    with raw(folder) as connection:
        for statement in statements:
            text, *parameters = (statement,) if isinstance(statement, str) else statement
            assert connection.execute(text, parameters).rowcount != 0, text
    with Store.open(folder / "s.db") as store:
        found = store.maintenance.fsck()
        assert store.maintenance.fsck() == found
    for one in found:
        assert one.detail
        assert one.remedy
        assert "\n" not in one.detail
    return found


def merge(store: Store) -> None:
    """Give each term of the vocabulary its row."""
    with store._opened.write() as connection:
        deltas.merge(connection, store._opened.state(connection).scheme_id)


@pytest.mark.parametrize(
    ("scheme", "options"),
    [
        ("simtool", {}),
        ("simtool", {"text": False}),
        ("idf", {"policy": "frozen"}),
        ("idf", {"text": False}),
        ("web", {}),
        ("web", {"text": False, "vocabulary": False}),
    ],
)
def test_sound_store_has_no_findings(tmp_path: Path, scheme: str, options: dict[str, Any]) -> None:
    with create(tmp_path, SCHEMES[scheme], **options) as store:
        assert store.maintenance.fsck() == []
        store.add_many(TEXTS.items(), threads=1)
        assert store.maintenance.fsck() == []
        store.remove("bread", "empty")
        store.add("stone", "river")
        assert store.maintenance.fsck() == []
        store.remove(*(one.key for one in store))
        assert store.maintenance.fsck() == []


VALUE = "(SELECT value FROM document_fingerprint_64 WHERE document_id = {})"
OF_THREE = "WHERE value = " + VALUE.format(3)
FEATURES = "UPDATE document_features SET features = {} WHERE document_id = 3"
# Scheme, changes, the kind of the findings (all of them, or with a star one at least), and part
# of what one of them says.
DAMAGE: dict[str, tuple[str, list[str | tuple[str, Any]], str, str]] = {
    "text that cannot be unpacked": (
        "web", [("UPDATE document_text SET text = ? WHERE document_id = 3", b"\x28\xb5\x2f\xfd")],
        "text*", "bread",
    ),
    "text of no bytes": (
        "simtool", [("UPDATE document_text SET text = ? WHERE document_id = 3", b"")],
        "text*", "bread",
    ),
    "missing text": (
        "web", ["DELETE FROM document_text WHERE document_id = 3"], "text*", "bread",
    ),
    "another text": (
        "web",
        [
            (
                "UPDATE document_text SET text = ? WHERE document_id = 3",
                codecs.compress(b"another text about rivers and bridges"),
            )
        ],
        "digest*", "",
    ),
    "another digest": (
        "web", [("UPDATE document SET digest = ? WHERE document_id = 3", b"\x01" * 16)],
        "digest", "",
    ),
    "another size": (
        "web", ["UPDATE document SET byte_count = 7 WHERE document_id = 3"], "size", "",
    ),
    "fingerprint of another document": (
        "web",
        [
            f"UPDATE document_fingerprint_64 SET value = {VALUE.format(7)} WHERE document_id = 3",
        ],
        "fingerprint*", "document 3",
    ),
    "fingerprint by ranks of another document": (
        "simtool",
        [
            f"UPDATE document_fingerprint_64 SET value = {VALUE.format(7)} WHERE document_id = 3",
        ],
        "fingerprint*", "document 3",
    ),
    "another fingerprint": (
        "web", [f"UPDATE fingerprint_64 SET value = 12345 {OF_THREE}"], "segments*", "",
    ),
    "another long fingerprint": (
        "wide",
        [
            (
                "UPDATE fingerprint_128 SET value = ? WHERE value = "
                "(SELECT value FROM document_fingerprint_128 WHERE document_id = 3)",
                (12345).to_bytes(16, "big"),
            )
        ],
        "fingerprint*", "",
    ),
    "another segment": (
        "web", [f"UPDATE fingerprint_64 SET s0 = s0 + 1 {OF_THREE}"], "segments", "",
    ),
    "missing segment": (
        "simtool", [f"UPDATE fingerprint_64 SET s0 = NULL {OF_THREE}"], "segments", "",
    ),
    "segment beyond the bits": (
        "simtool", ["UPDATE fingerprint_64 SET s3 = 0"], "segments", "",
    ),
    "link of no document": (
        "web",
        [
            "INSERT INTO document_fingerprint_64 (generation_id, document_id, value) SELECT "
            "generation_id, 999, value FROM document_fingerprint_64 WHERE document_id = 3",
        ],
        "fingerprint", "gone",
    ),
    "fingerprint of no document": (
        "web",
        [
            "INSERT INTO fingerprint_64 SELECT generation_id, value + 1, s0, s1, s2, s3 "
            "FROM fingerprint_64 ORDER BY value LIMIT 1",
        ],
        "fingerprint*", "without a document",
    ),
    "document of no fingerprint": (
        "web",
        [
            f"DELETE FROM fingerprint_64 {OF_THREE}",
            "DELETE FROM document_fingerprint_64 WHERE document_id = 3",
        ],
        "fingerprint", "",
    ),
    "link to no fingerprint": (
        "simtool", [f"DELETE FROM fingerprint_64 {OF_THREE}"], "fingerprint*", "",
    ),
    "wrong document count of a term": (
        "web",
        ["UPDATE feature SET document_count = 9 WHERE term = CAST('boats' AS BLOB)"],
        "vocabulary*", "",
    ),
    "wrong total count of a term": (
        "simtool",
        ["UPDATE feature SET total_count = 9 WHERE term = CAST('boats' AS BLOB)"],
        "vocabulary*", "",
    ),
    "missing term": (
        "web", ["DELETE FROM feature WHERE term = CAST('boats' AS BLOB)"], "vocabulary*", "",
    ),
    "missing changes of the vocabulary": (
        "unmerged", ["DELETE FROM vocabulary_delta"], "vocabulary", "",
    ),
    "changes of the vocabulary with a wrong count": (
        "unmerged",
        [
            (
                "INSERT INTO vocabulary_delta VALUES (9, 1, ?)",
                codecs.pack_named_delta(b"nowhere", np.array([0, 7]), ONE, ONE),
            )
        ],
        "vocabulary", "nowhere",
    ),
    "changes of the vocabulary that are cut off": (
        "unmerged",
        [
            (
                "UPDATE vocabulary_delta SET delta = ?",
                codecs.pack_named_delta(b"a", np.arange(2), ONE, ONE)[:-3],
            )
        ],
        "vocabulary", "",
    ),
    "changes of the vocabulary that are nonsense": (
        "unmerged",
        [("UPDATE vocabulary_delta SET delta = ?", b"\x01" + codecs.compress(b"abc"))],
        "vocabulary", "",
    ),
    "changes of an unknown feature": (
        "unmerged",
        [
            (
                "UPDATE vocabulary_delta SET delta = ?",
                codecs.pack_delta(np.array([10_000_000], np.int64), ONE, ONE),
            )
        ],
        "vocabulary", "",
    ),
    "feature counts that cannot be unpacked": (
        "simtool", [(FEATURES.format("?"), b"\x00")], "features*", "",
    ),
    "feature counts of nothing": (
        "simtool", [(FEATURES.format("?"), codecs.compress(b""))], "features*", "",
    ),
    "missing feature counts": (
        "simtool", ["DELETE FROM document_features WHERE document_id = 3"], "features*", "",
    ),
    "feature counts of another text": (
        "simtool",
        [FEATURES.format("(SELECT features FROM document_features WHERE document_id = 7)")],
        "features*", "",
    ),
    "wrong count of a rank": (
        "simtool",
        ["UPDATE generation_rank SET total_count = total_count + 100 WHERE rank = 4"],
        "ranks*", "",
    ),
    "missing rank": ("simtool", ["DELETE FROM generation_rank WHERE rank = 4"], "ranks*", ""),
    "ranks in another order": (
        "simtool",
        [
            "UPDATE generation_rank SET rank = 100 WHERE rank = 0",
            "UPDATE generation_rank SET rank = 0 WHERE rank = 1",
            "UPDATE generation_rank SET rank = 1 WHERE rank = 100",
        ],
        "ranks*", "",
    ),
    "other known answers": ("web", ["UPDATE scheme SET known_answers = '[]'"], "scheme", ""),
    "unknown version": ("web", ["UPDATE scheme SET version = 9"], "scheme", ""),
    "other bits": ("web", ["UPDATE scheme SET bits = 63"], "scheme", ""),
    "missing parameters": ("web", ["UPDATE scheme SET parameters = '{}'"], "scheme", ""),
    "damaged hash table": ("simtool", ["UPDATE scheme SET hash_table = x'00'"], "scheme", ""),
    "other parameters": (
        "simtool", ["""UPDATE scheme SET parameters = '{"features": 4}'"""], "scheme", "",
    ),
    "generation of the future": (
        "simtool",
        ["UPDATE generation SET basis = (SELECT changes + 1 FROM store)"],
        "generation*", "and the store counts",
    ),
    "two current generations": (
        "simtool",
        [
            "INSERT INTO generation (scheme_id, status, basis, created_at) "
            "SELECT scheme_id, 'standing', basis, created_at FROM generation",
        ],
        "generation*", "",
    ),
    "missing document frequencies": (
        "idf", ["DELETE FROM generation_frequency"], "frequencies", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found(tmp_path: Path, name: str) -> None:
    scheme, statements, kind, part = DAMAGE[name]
    with filled(tmp_path, SCHEMES.get(scheme, WEB)) as store:
        if scheme != "unmerged":
            merge(store)
    found = after(tmp_path, *statements)
    kinds = {one.invariant for one in found}
    assert kind.removesuffix("*") in kinds
    assert kind.endswith("*") or len(kinds) == 1
    assert any(part in one.detail for one in found)


def test_changed_fingerprint_is_found_without_texts(tmp_path: Path) -> None:
    filled(tmp_path, WEB, text=False).close()
    found = after(
        tmp_path,
        f"UPDATE document_fingerprint_64 SET value = {VALUE.format(7)} WHERE document_id = 1",
    )
    assert any("document 1" in one.detail for one in found)


@pytest.mark.sqlite("a server holds to references; SQLite, by its file, need not")
def test_reference_to_nothing_is_found(tmp_path: Path) -> None:
    filled(tmp_path).close()
    found = after(tmp_path, "UPDATE document SET run_id = 999 WHERE document_id = 3")
    assert {one.invariant for one in found} == {"file"}


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


@pytest.mark.parametrize("scheme", ["simtool", "web", "idf"])
def test_reindex_repairs_what_can_be_derived(tmp_path: Path, scheme: str) -> None:
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


def test_corrupt_document_frequencies_are_found_and_repaired(tmp_path: Path) -> None:
    filled(tmp_path, IDF).close()
    numbers, counts = codecs.unpack_features(
        rows(tmp_path, "SELECT frequencies FROM generation_frequency")[0][0]
    )
    for blob in (codecs.pack_features(numbers, counts + 1), b"rubbish" * 9):
        found = after(tmp_path, ("UPDATE generation_frequency SET frequencies = ?", blob))
        assert [(one.invariant, one.remedy) for one in found][:1] == [
            ("frequencies", "run `store.vocabulary.refresh(force=True)`")
        ]
    with Store.open(tmp_path / "s.db") as store:
        with pytest.raises(CorruptStore, match="document frequencies"):
            store.query("boats")
        store.vocabulary.refresh(force=True)
        assert store.maintenance.fsck() == []


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
