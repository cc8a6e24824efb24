from __future__ import annotations

from pathlib import Path

import pytest
from stores import SIMTOOL, TEXTS, WEB, create, filled, rows

from simstore.errors import Conflict, ReindexInProgress
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

WIDE = SchemeChoice("web", bits=128)
CHOICES = {
    "simtool": SIMTOOL,
    "wide simtool": SchemeChoice("simtool", bits=100, features=3),
    "web": WEB,
    "wide web": WIDE,
    "idf": SchemeChoice("web", weights="log-tf-idf"),
    "shingles": SchemeChoice("web", units="characters", shingle=4, feature_hash="md5"),
}


class Interrupted(Exception):
    """Stands for a process that ends in the middle."""


def interrupt(_done: int, _total: int) -> None:
    raise Interrupted


def fingerprints(store: Store) -> dict[str, tuple[str | None, int]]:
    """Return the fingerprint and the length of each document, as its scheme has them."""
    return {one.key: (one.fingerprint, one.token_count) for one in store}


def terms(store: Store) -> list[tuple[object, ...]]:
    return [
        (one.rank, one.term, one.document_count, one.total_count)
        for one in store.vocabulary.terms()
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("simtool", "web"),
        ("simtool", "idf"),
        ("web", "wide simtool"),
        ("web", "shingles"),
        ("idf", "simtool"),
        ("idf", "wide web"),
    ],
)
def test_reindexed_store_is_that_of_the_new_scheme_from_the_start(
    tmp_path: Path, before: str, after: str
) -> None:
    (tmp_path / "new").mkdir()
    with (
        filled(tmp_path, CHOICES[before]) as store,
        create(tmp_path / "new", CHOICES[after]) as new,
    ):
        new.add_many(TEXTS.items(), threads=1)
        label = store.maintenance.reindex(CHOICES[after])
        assert label == new.stats().scheme
        assert store.maintenance.scheme() == new.maintenance.scheme()
        assert fingerprints(store) == fingerprints(new)
        assert terms(store) == terms(new)
        assert store.maintenance.fsck() == []
        for text in TEXTS.values():
            assert store.query(text) == new.query(text)
    for table in ("scheme", "generation"):
        statement = f"SELECT status FROM {table}"
        assert rows(tmp_path, statement) == [("standing",)]


@pytest.mark.parametrize("scheme", [SIMTOOL, WEB])
def test_reindex_by_the_same_scheme_changes_nothing(tmp_path: Path, scheme: SchemeChoice) -> None:
    with filled(tmp_path, scheme) as store:
        before = (fingerprints(store), terms(store), store.maintenance.scheme())
        store.maintenance.reindex()
        assert (fingerprints(store), terms(store), store.maintenance.scheme()) == before
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize("new", ["simtool", "wide web"])
def test_interrupted_reindex_is_gone_on_with(tmp_path: Path, new: str) -> None:
    with filled(tmp_path) as store:
        before = fingerprints(store)
        with pytest.raises(Interrupted):
            store.maintenance.reindex(CHOICES[new], on_progress=interrupt)
        assert fingerprints(store) == before
        assert [m.key for m in store.query(TEXTS["bread"])] == ["bread"]
    with Store.open(tmp_path / "s.db") as store:
        store.maintenance.reindex(resume=True)
        assert store.maintenance.fsck() == []
        for key, text in TEXTS.items():
            # An empty text is like nothing, but for the course's rule.
            is_found = bool(text) or new == "simtool"
            assert (key in [m.key for m in store.query(text, radius=0)]) == is_found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("new", "again"), [("simtool", "simtool"), ("wide simtool", "idf"), ("idf", "wide web")]
)
def test_reindex_given_up_leaves_nothing_behind(tmp_path: Path, new: str, again: str) -> None:
    with filled(tmp_path) as store:
        before = (fingerprints(store), terms(store))
        with pytest.raises(Interrupted):
            store.maintenance.reindex(CHOICES[new], on_progress=interrupt)
        store.maintenance.abort_reindex()
        assert (fingerprints(store), terms(store)) == before
        assert store.maintenance.fsck() == []
        store.add("later", "river stone")
        store.maintenance.reindex(CHOICES[again])
        assert store.maintenance.fsck() == []
        assert len(store) == len(TEXTS) + 1


def test_same_reindex_again_goes_on_where_it_was(tmp_path: Path) -> None:
    new = "wide simtool"
    with filled(tmp_path) as store:
        with pytest.raises(Interrupted):
            store.maintenance.reindex(CHOICES[new], on_progress=interrupt)
        assert store.maintenance.reindex(CHOICES[new]) == store.stats().scheme
        assert store.maintenance.fsck() == []


def test_same_scheme_with_other_channels_is_another_reindex(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        with pytest.raises(Interrupted):
            store.maintenance.reindex(WIDE, channels=["simhash"], on_progress=interrupt)
        with pytest.raises(ReindexInProgress):
            store.maintenance.reindex(WIDE, channels=["minhash"])


def test_store_takes_no_documents_while_a_reindex_is_under_way(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        with pytest.raises(Interrupted):
            store.maintenance.reindex(WIDE, on_progress=interrupt)
        with pytest.raises(ReindexInProgress, match="resume=True"):
            store.add("new", "text")
        with pytest.raises(ReindexInProgress):
            store.remove("bread")
        with pytest.raises(ReindexInProgress):
            store.maintenance.reindex(SIMTOOL)
        assert "new" not in store
        assert "bread" in store
        store.maintenance.reindex(resume=True)
        assert store.add("new", "text") == "added"


def test_nothing_to_resume_or_give_up_is_a_conflict(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        with pytest.raises(Conflict, match="no reindex"):
            store.maintenance.reindex(resume=True)
        with pytest.raises(Conflict, match="no reindex"):
            store.maintenance.abort_reindex()


@pytest.mark.parametrize(("old", "new"), [("simtool", "simtool"), ("simtool", "web")])
def test_refresh_is_refused_while_a_reindex_is_under_way_and_harms_nothing(
    tmp_path: Path, old: str, new: str
) -> None:
    with filled(tmp_path, CHOICES[old]) as store:
        with pytest.raises(Interrupted):
            store.maintenance.reindex(CHOICES["wide " + new], on_progress=interrupt)
        with pytest.raises(ReindexInProgress):
            store.vocabulary.refresh(force=True)
        assert store.maintenance.reindex(resume=True) == store.stats().scheme
        assert store.maintenance.fsck() == []
