"""Clusters that are kept: their names, their rule, what is waiting, what fsck says of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from stores import SIMTOOL, create, raw, rows

from simstore.errors import DocumentNotFound, InvalidParameter, NotFound, ReadOnlyStore
from simstore.fingerprint.minhash import BandLayout
from simstore.model import Document
from simstore.services.channels.pack_sketches import pack
from simstore.services.clusters import build, repair, stored_clusters
from simstore.services.duplicates.edges import EdgeSearch
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


def test_names_stay_as_documents_come(store: Store) -> None:
    add(store, dated("a", A, 10), dated("other", OTHER, 11))
    assert kept(store) == {1: ["a"], 2: ["other"]}
    add(store, dated("b", B, 12), dated("other again", OTHER, 13), dated("c", C, 14))
    assert kept(store) == {1: ["a", "b"], 2: ["other", "other again"], 3: ["c"]}
    assert merges(store) == []


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


def test_first_member_that_becomes_canonical_inherits_the_name(store: Store) -> None:
    add(store, dated("b", B, 1), dated("a", A, 2), dated("c", C, 3), dated("a again", A, 4))
    assert kept(store) == {1: ["b", "a", "c", "a again"]}
    store.remove("b")
    assert kept(store) == {1: ["a", "a again"], 2: ["c"]}
    store.remove("c")
    assert kept(store) == {1: ["a", "a again"]}
    assert merges(store) == [(2, None)]


def test_edited_canonical_document_keeps_the_name(store: Store) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2), dated("other", OTHER, 3))
    assert kept(store) == {1: ["a", "b"], 2: ["other"]}
    add(store, dated("a", A + " and more", 1), dated("other", OTHER[:-20] + "and less", 3))
    assert kept(store) == {1: ["a", "b"], 2: ["other"]}
    # Rewritten, it leaves the cluster to its first member.
    add(store, dated("a", " ".join(made_up(3)), 1))
    assert kept(store) == {1: ["b"], 2: ["other"], 3: ["a"]}


def test_name_merges_where_the_edited_document_went(store: Store) -> None:
    add(store, dated("a", A, 1), dated("other", OTHER, 3))
    assert kept(store) == {1: ["a"], 2: ["other"]}
    add(store, dated("other", B, 3))
    assert kept(store) == {1: ["a", "other"]}
    assert merges(store) == [(2, 1)]


def test_earlier_date_of_a_document_moves_it(store: Store) -> None:
    add(store, dated("a", A, 5), dated("b", B, 6), dated("c", C, 7))
    assert kept(store) == {1: ["a", "b"], 2: ["c"]}
    add(store, dated("b", B, 4))
    assert kept(store) == {1: ["b", "a", "c"]}
    assert merges(store) == [(2, 1)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("first", [["a", "b"], ["c"]]),
        ("longest", [["b", "a", "c"]]),
        ("prefer:^b$", [["b", "a", "c"]]),
        ("prefer:nothing", [["a", "b"], ["c"]]),
    ],
)
def test_policy_says_what_is_canonical(
    tmp_path: Path, policy: str, expected: list[list[str]]
) -> None:
    with create(tmp_path) as store:
        summary = store.clusters.build(min_resemblance=0.6, policy=policy)
        assert (summary.policy, summary.min_resemblance) == (policy, 0.6)
        for document in (Document("a", A), Document("b", B + " with a longer end")):
            add(store, document)
            store.clusters.build()
        add(store, Document("c", C))
        store.clusters.build()
        found = [[m.key for m in one.members] for one in store.clusters.list(1)]
        assert sorted(found) == sorted(expected)
        assert store.maintenance.fsck() == []


def test_another_rule_is_refused_and_a_rebuild_takes_it(store: Store) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2), dated("c", C, 3))
    assert kept(store) == {1: ["a", "b"], 2: ["c"]}
    store.clusters.build(min_resemblance=0.6, policy="first")
    for other in ({"min_resemblance": 0.5}, {"policy": "longest"}, {"policy": "prefer:x"}):
        with pytest.raises(
            InvalidParameter, match=r"0\.6, policy first.*rebuild=True.*clusters\.once"
        ):
            store.clusters.build(**other)
    summary = store.clusters.build(min_resemblance=0.3, rebuild=True)
    assert (summary.made_anew, summary.cluster_count, summary.text_count) == (True, 1, 3)
    assert named(store) == {1: ["a", "b", "c"]}
    assert merges(store) == [(2, 1)]
    assert store.clusters.build(policy="prefer:c", rebuild=True).min_resemblance == 0.3
    # The name goes with the document that was canonical, to where it went.
    assert named(store) == {1: ["c", "a", "b"]}
    store.clusters.build(min_resemblance=0.9, rebuild=True)
    assert named(store) == {1: ["c"], 3: ["a"], 4: ["b"]}


def test_a_kept_expression_that_is_not_supported_any_more_is_refused_until_a_rebuild(
    tmp_path: Path,
) -> None:
    with create(tmp_path) as store:
        add(store, dated("a", A, 1), dated("b", B, 2))
        store.clusters.build(policy="prefer:b")
        assert named(store) == {1: ["b", "a"]}
    with raw(tmp_path) as connection:
        connection.execute("UPDATE clustering SET preferred = ?", ("(?=b)b",))
    with Store.open(tmp_path / "s.db") as store:
        add(store, dated("c", C, 3))
        with pytest.raises(
            InvalidParameter, match=r"look-around.*`store\.clusters\.build\(rebuild=True"
        ):
            store.clusters.build()
        store.clusters.build(policy="prefer:b", rebuild=True)
        assert [one[0] for one in named(store).values()] == ["b"]


@pytest.mark.parametrize(
    "options",
    [
        {"min_resemblance": 0.0},
        {"min_resemblance": 1.01},
        {"policy": "newest"},
        {"policy": "prefer:"},
        {"policy": "prefer:("},
        {"policy": "prefer"},
    ],
)
def test_parameters_out_of_range_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with create(tmp_path) as store:
        with pytest.raises(InvalidParameter):
            store.clusters.build(**options)
        assert store.clusters.status() is None


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


def test_place_of_a_document(store: Store) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2), dated("a again", A, 3))
    store.clusters.build()
    (cluster,) = store.clusters.list()
    assert store.clusters.members(cluster.cluster_id) == cluster
    for member in cluster.members:
        place = store.clusters.of(member.key)
        assert place is not None
        assert (place.cluster_id, place.canonical_key, place.member) == (1, "a", member)
        assert place.is_canonical == (member.key == "a")
    assert [member.basis for member in cluster.members] == ["same", "text", "same"]
    assert store.clusters.members(99) is None


def test_dropped_clusters_are_gone_and_their_names_stay_theirs(store: Store) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2))
    kept(store)
    assert store.clusters.drop()
    assert not store.clusters.drop()
    assert store.clusters.status() is None
    summary = store.clusters.build(min_resemblance=0.9)
    assert (summary.made_anew, named(store)) == (True, {2: ["a"], 3: ["b"]})


def test_other_bands_or_another_scheme_make_clusters_anew(store: Store) -> None:
    add(store, dated("a", A, 1), dated("b", B, 2), dated("other", OTHER, 3))
    before = kept(store)
    assert pack(store._opened, "minhash")
    assert not store.clusters.build().made_anew
    assert pack(store._opened, "minhash", BandLayout(32, 4))
    summary = store.clusters.status()
    assert summary is not None
    assert not summary.is_current
    assert store.clusters.build().made_anew
    assert named(store) == before
    store.maintenance.reindex(channels=["minhash"])
    summary = store.clusters.build()
    assert (summary.made_anew, summary.radius) == (True, None)
    assert named(store) == before


def test_clusters_of_the_first_rule_are_read_by_it_and_made_anew(
    store: Store, tmp_path: Path
) -> None:
    # b is like both a and c, which are not like each other, and more like c.
    nearer = " ".join(changed(made_up(1), range(10)))
    add(store, dated("a", A, 10), dated("c", C, 11), dated("b", nearer, 12))
    assert kept(store) == {1: ["a"], 2: ["c", "b"]}
    # As a store is whose clusters were kept before members joined what they resemble most.
    with raw(tmp_path) as connection:
        connection.execute("UPDATE clustering SET join_rule = 1")
    status = store.clusters.status(largest=True)
    assert status is not None
    assert (status.is_current, status.largest_count) == (False, 2)
    assert named(store) == {1: ["a", "b"], 2: ["c"]}
    place = store.clusters.of("b")
    assert place is not None
    assert place.canonical_key == "a"
    assert not list(store.maintenance.fsck())
    assert store.clusters.build().made_anew
    assert named(store) == {1: ["a"], 2: ["c", "b"]}
    assert merges(store) == []


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
    made = build.write_from_scratch
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
    made = build.write_from_scratch

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


def test_what_is_removed_together_may_be_dealt_with_apart(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, *(dated(f"{n}", A + f" {n}", n) for n in range(12)))
    add(store, dated("b", B, 20), dated("c", C, 21))
    kept(store)
    monkeypatch.setattr(stored_clusters, "BATCH_TEXTS", 1)
    store.remove(*(f"{n}" for n in range(10)))
    kept(store)
    # Each is looked at with the others' documents gone already.
    assert list(named(store).values()) == [["10", "11", "b"], ["c"]]
    assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_copies_of_what_is_kept_are_compared_with_canonical_texts_only(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, *(dated(f"{n}", f"{A} {n}", n) for n in range(40)))
    kept(store)
    looked: list[tuple[int, int]] = []
    plain = EdgeSearch.edges_of

    def counted(self: EdgeSearch, texts: Any, among: Any = None) -> Any:
        found = plain(self, texts, among)
        looked.append((len(texts), sum(map(len, found))))
        return found

    monkeypatch.setattr(repair.EdgeSearch, "edges_of", counted)
    add(store, *(dated(f"late {n}", f"{A} late {n}", 100 + n) for n in range(20)))
    kept(store)
    # One look for all, an edge each: not one to every text of the cluster.
    assert looked == [(20, 20)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM cluster_spoke", "canonical texts are without a name"),
        ("UPDATE cluster_spoke SET resemblance = 0.99", "has other edges"),
        ("UPDATE cluster_text SET first_seen = 0 WHERE text_id = 2", "not in its place"),
        ("DELETE FROM cluster_text WHERE text_id = 4", "in no cluster and not waiting"),
        ("UPDATE cluster SET centre_id = 2 WHERE cluster_id = 1", "a name of their own"),
        ("UPDATE cluster SET ended_at = 1", "have ended and not ended"),
        ("UPDATE cluster_text SET digest = x'00' WHERE text_id = 4", "has no document"),
        ("INSERT INTO cluster_spoke VALUES (4, 2, 0.7)", "edges lead to members"),
        ("INSERT INTO cluster_spoke VALUES (3, 4, 0.7)", "edges lead to later texts"),
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


def test_store_without_anything_to_verify_by_keeps_none(tmp_path: Path) -> None:
    with (
        create(tmp_path, text=False, channels=["simhash"]) as store,
        pytest.raises(NotFound, match="text=False"),
    ):
        store.clusters.build()
