"""Clusters that are kept: their names, their rule, what is waiting, what fsck says of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from stores import SIMTOOL, create, raw, rows

from simstore.errors import DocumentNotFound, InvalidParameter, NotFound, ReadOnlyStore
from simstore.model import Document
from simstore.services.clusters import stored_clusters
from simstore.store import Store

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lnrst"]
DAY = 86_400


def made_up(seed: int, count: int = 60) -> list[str]:
    return random.Random(f"text {seed}").choices(WORDS, k=count)


def changed(words: list[str], places: range) -> list[str]:
    return [f"x{place}" if place in places else word for place, word in enumerate(words)]


# a and c are like b, and not like each other.
A = " ".join(made_up(1))
B = " ".join(changed(made_up(1), range(8)))
C = " ".join(changed(made_up(1), range(16)))
OTHER = " ".join(made_up(2))


def dated(key: str, text: str, day: int) -> Document:
    return Document(key, text, published_at=day * DAY)


def named(store: Store, min_size: int = 1) -> dict[int, list[str]]:
    """Return the keys of each cluster by its name."""
    return {c.cluster_id: [m.key for m in c.members] for c in store.clusters.list(min_size)}


def merges(store: Store) -> list[tuple[int, int | None]]:
    return [(one.cluster_id, one.merged_into) for one in store.clusters.merges()]


def kept(store: Store) -> dict[int, list[str]]:
    built = store.clusters.build()
    several = [one for one in store.clusters.list(1) if len(one) > 1]
    assert built.cluster_count == len(store.clusters) == len(several)
    return named(store)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """A store that keeps clusters at a resemblance of 0.6, and holds nothing."""
    with create(tmp_path) as made:
        made.clusters.build(min_resemblance=0.6)
        yield made


def add(store: Store, *documents: Document) -> None:
    store.add_many(documents, threads=1)


def test_new_canonical_document_takes_the_first_name_and_the_others_merge(store: Store) -> None:
    add(store, dated("c", C, 10), dated("a", A, 11))
    assert kept(store) == {1: ["c"], 2: ["a"]}
    add(store, dated("b", B, 9))
    assert kept(store) == {1: ["b", "c", "a"]}
    assert merges(store) == [(2, 1)]
    # The star falls apart again: what was merged is not taken up, names are not given twice.
    store.remove("b")
    assert kept(store) == {1: ["c"], 3: ["a"]}
    assert merges(store) == [(2, 1)]


def test_store_without_kept_clusters_notes_nothing(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add("a", A)
        assert store.clusters.status() is None
        assert store.clusters.of("a") is None
        assert store.clusters.members(1) is None
        with pytest.raises(NotFound, match="keeps no clusters"):
            list(store.clusters.list())
        with pytest.raises(InvalidParameter):
            list(store.clusters.list(0))
    assert rows(tmp_path, "SELECT * FROM cluster_change") == []


def test_what_waits_is_told_and_left_out(store: Store, tmp_path: Path) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2), dated("a again", A, 3))
    kept(store)
    add(store, dated("other", OTHER, 4), dated("b again", B, 5))
    store.remove("a")
    summary = store.clusters.status(largest=True)
    assert summary is not None
    assert (summary.waiting_count, summary.is_current, summary.largest_count) == (3, True, 3)
    # Copies are of a text that is known; the document that stood for it has gone.
    assert named(store) == {1: ["a again", "b", "b again"]}
    assert store.clusters.of("other") is None
    with pytest.raises(DocumentNotFound):
        store.clusters.of("a")
    with Store.open(tmp_path / "s.db", read_only=True) as reader:
        with pytest.raises(ReadOnlyStore):
            reader.clusters.build()
        assert named(reader) == {1: ["a again", "b", "b again"]}
    assert kept(store) == {1: ["b", "a again", "b again"], 2: ["other"]}


def test_dropped_clusters_are_gone_and_their_names_stay_theirs(store: Store) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2))
    kept(store)
    assert store.clusters.drop()
    assert not store.clusters.drop()
    assert store.clusters.status() is None
    summary = store.clusters.build(min_resemblance=0.9)
    assert (summary.made_anew, named(store)) == (True, {2: ["a"], 3: ["b"]})


def test_new_generation_of_a_corpus_dependent_scheme_makes_clusters_anew(tmp_path: Path) -> None:
    with create(tmp_path, SIMTOOL) as store:
        store.add_many([("a", A), ("b", B)], threads=1)
        store.clusters.build(min_resemblance=0.5)
        before = named(store)
        assert not store.clusters.build().made_anew
        store.add("other", OTHER, refresh=False)
        assert not store.clusters.build().made_anew
        store.vocabulary.refresh()
        assert store.clusters.build().made_anew
        assert {name: named(store)[name] for name in before} == before
        assert store.maintenance.fsck() == []


def test_clusters_that_were_begun_and_not_finished_are_made_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2), dated("c", C, 3))
    before = kept(store)

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stored_clusters, "write_from_scratch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.clusters.build(rebuild=True, min_resemblance=0.7)
    assert named(store) == before
    summary = store.clusters.status()
    assert summary is not None
    assert not summary.is_current
    summary = store.clusters.build()
    assert (summary.made_anew, summary.is_current, summary.min_resemblance) == (True, True, 0.7)
    assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_who_began_last_to_make_clusters_finishes(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2))
    made = stored_clusters.write_from_scratch
    others: list[int] = []

    def overtaken(*arguments: Any) -> Any:
        finish = made(*arguments)
        if not others:
            # Another process begins later, finishes, and a document comes and is dealt with.
            others.append(1)
            with Store.open(tmp_path / "s.db") as other:
                other.clusters.build(rebuild=True, min_resemblance=0.5)
                other.add("c", C)
                other.clusters.build()
        return finish

    monkeypatch.setattr(stored_clusters, "write_from_scratch", overtaken)
    summary = store.clusters.build(rebuild=True, min_resemblance=0.7)
    assert summary.min_resemblance == 0.5
    assert sorted(key for keys in named(store).values() for key in keys) == ["a", "b", "c"]
    assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_documents_that_come_while_clusters_are_made_are_not_lost(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, dated("a", A, 1), dated("c", C, 3))
    made = stored_clusters.write_from_scratch

    def meanwhile(*arguments: Any) -> Any:
        finish = made(*arguments)
        with Store.open(tmp_path / "s.db") as other:
            other.add_many([dated("b", B, 2)], threads=1)
            other.remove("a")
        return finish

    monkeypatch.setattr(stored_clusters, "write_from_scratch", meanwhile)
    store.clusters.build(rebuild=True)
    assert [sorted(keys) for keys in named(store).values()] == [["b", "c"]]
    assert store.maintenance.fsck() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM cluster_spoke", "canonical texts are without a name"),
        ("UPDATE cluster_spoke SET resemblance = 0.99", "has other edges"),
        ("DELETE FROM cluster_text WHERE text_id = 4", "in no cluster and not waiting"),
        ("UPDATE cluster SET centre_id = 2 WHERE cluster_id = 1", "a name of their own"),
        ("INSERT INTO cluster_spoke VALUES (4, 2, 0.7)", "edges lead to members"),
    ],
)
def test_fsck_finds_damage(store: Store, tmp_path: Path, statement: str, told: str) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2), dated("other", OTHER, 3), dated("c", C, 4))
    kept(store)
    assert store.maintenance.fsck() == []
    store.close()
    with raw(tmp_path) as connection:
        connection.execute(statement)
    with Store.open(tmp_path / "s.db") as damaged:
        findings = [one for one in damaged.maintenance.fsck() if one.invariant == "clusters"]
        assert any(told in one.detail for one in findings), findings
        assert {one.remedy for one in findings} == {"`store.clusters.build(rebuild=True)`"}
        damaged.clusters.build(rebuild=True)
        assert damaged.maintenance.fsck() == []
