"""Check and insert within one batch, where one document decides of the next."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from stores import create

from simstore.errors import InvalidParameter, NotFound
from simstore.fingerprint.sketching import Sketching
from simstore.model import Document, Duplicate, IngestSummary
from simstore.search.set_pool import SetPool
from simstore.services.channels import pack_fingerprints
from simstore.services.duplicates import edges
from simstore.services.duplicates.edge_candidates import EdgeCandidates
from simstore.services.features.prepare import prepare
from simstore.services.ingest.check_insert import check_and_store
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.services.open_store import caches
from simstore.storage import runs
from simstore.store import Store

# Of so few bits that each fingerprint is within three of each: the texts alone decide.
THREE_BITS = SchemeChoice("web", bits=3)
WORDS = [f"word{number}" for number in range(60)]
modes = pytest.mark.parametrize("mode", ["flag", "skip"])


def chain(number: int) -> str:
    """Return a text that is like its neighbours in the chain, and not like the next but one."""
    return " ".join([f"other{place}" for place in range(5 * number)] + WORDS[5 * number :])


A, B, C = chain(0), chain(1), chain(2)
UNLIKE = "a text of its own, with nothing that any of the others has, and long enough to tell"


def add(store: Store, *documents: tuple[str, str], mode: str, **options: Any) -> IngestSummary:
    return store.add_many(
        documents,
        threads=1,
        on_duplicate=mode,
        min_resemblance=0.75,
        **options,  # type: ignore[arg-type]
    )


def told(store: Store) -> dict[str, tuple[str, str]]:
    return {one.key: (one.state, one.original) for one in store.duplicates.list()}


def state_of(mode: str) -> str:
    return "flagged" if mode == "flag" else "skipped"


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with create(tmp_path, THREE_BITS) as made:
        yield made
        assert made.maintenance.fsck() == []


@modes
def test_duplicates_do_not_chain(store: Store, mode: str) -> None:
    summary = add(store, ("a", A), ("b", B), ("c", C), mode=mode)
    assert (summary.added, summary.flagged + summary.skipped) == (2, 1)
    assert told(store) == {"b": (state_of(mode), "a")}
    # Like b and c: c is the original among them.
    add(store, ("d", chain(1) + " end"), ("e", chain(2) + " end"), mode=mode)
    assert told(store) == {
        "b": (state_of(mode), "a"), "d": (state_of(mode), "a"), "e": (state_of(mode), "c"),
    }  # fmt: skip


def test_what_is_flagged_becomes_an_original_once_its_original_changes(store: Store) -> None:
    add(store, ("a", A), mode="keep")
    summary = add(store, ("b", B), ("a", UNLIKE), ("c", C), mode="flag")
    assert (summary.updated, summary.flagged, summary.orphaned) == (1, 2, 0)
    assert summary.unflagged == 1
    assert told(store) == {"c": ("flagged", "b")}


def test_what_was_flagged_before_becomes_one_too(store: Store) -> None:
    add(store, ("a", A), ("b", B), mode="flag")
    add(store, ("a", UNLIKE), ("c", C), mode="flag")
    assert told(store) == {"c": ("flagged", "b")}


def test_what_is_skipped_becomes_an_orphan_once_its_original_changes(store: Store) -> None:
    add(store, ("a", A), mode="keep")
    summary = add(store, ("b", B), ("a", UNLIKE), ("c", C), mode="skip")
    assert (summary.added, summary.updated, summary.skipped, summary.orphaned) == (1, 1, 1, 1)
    assert told(store) == {"b": ("orphaned", "a")}
    assert [one.key for one in store] == ["a", "c"]


def test_an_orphan_that_comes_again_in_the_same_batch_is_looked_at_anew(store: Store) -> None:
    add(store, ("a", A), ("b", B), mode="skip")
    summary = add(store, ("a", UNLIKE), ("b", B), mode="skip")
    assert (summary.added, summary.updated, summary.orphaned) == (1, 1, 0)
    assert told(store) == {}


def test_an_orphan_that_comes_again_after_a_cut_of_the_batch_is_not_counted(store: Store) -> None:
    add(store, ("a", A), ("b", B), mode="skip")
    summary = add(store, ("a", UNLIKE), ("a", UNLIKE + " end"), ("b", B), mode="skip")
    assert (summary.added, summary.updated, summary.orphaned) == (1, 2, 0)
    assert told(store) == {}


def test_a_key_that_stays_skipped_is_not_looked_at_again(store: Store) -> None:
    add(store, ("a", A), ("b", B), mode="skip")
    (before,) = store.duplicates.list()
    found: list[Duplicate] = []
    summary = add(store, ("b", B), mode="skip", observer=Observer(on_found=found.append))
    assert summary.skipped == 1
    assert [one.key for one in found] == ["b"]
    (after,) = store.duplicates.list()
    assert (after.run_id, after.first_seen) == (before.run_id, before.first_seen)
    assert after.last_seen >= before.last_seen


@modes
def test_the_earliest_original_is_by_order_of_ingest_not_by_time_of_its_text(
    store: Store, mode: str
) -> None:
    add(store, ("first", UNLIKE), ("second", B), mode="keep")
    add(store, ("first", UNLIKE + " " + A), ("second", UNLIKE), mode="keep")
    add(store, ("third", B), mode="keep")
    add(store, ("first", A), ("fourth", B + " end"), mode=mode)
    stored = {one.key for one in store}
    # What "first" says now, "third" said before it; but "first" is the page that was there first.
    assert told(store)["fourth"] == (state_of(mode), "first")
    assert told(store)["third"] == (state_of(mode), "first")
    assert ("third" in stored) == (mode == "flag")
    assert {store.duplicates.story(key).original for key in ("first", "third")} == {"first"}


def test_an_updated_document_keeps_its_place_among_the_originals(store: Store) -> None:
    add(store, ("first", UNLIKE), ("second", C), mode="keep")
    # chain(1) is like both A, which the first gets, and C.
    add(store, ("first", A), ("third", B), mode="flag")
    assert told(store) == {"third": ("flagged", "first")}


def test_a_page_that_changes_a_little_is_no_duplicate_of_its_own_copies(store: Store) -> None:
    add(store, ("a", A), ("copy", A), mode="flag")
    summary = add(store, ("a", A + " end"), mode="flag")
    assert (summary.updated, summary.flagged) == (1, 0)
    assert told(store) == {}


def test_a_stored_page_whose_new_text_duplicates_another_leaves(store: Store) -> None:
    add(store, ("a", A), ("b", UNLIKE), ("of b", UNLIKE + " end"), mode="skip")
    summary = add(store, ("b", B), mode="skip")
    assert (summary.skipped, summary.orphaned) == (1, 1)
    assert told(store) == {"b": ("skipped", "a"), "of b": ("orphaned", "b")}
    assert [one.key for one in store] == ["a"]
    assert store.vocabulary.terms(1)[0].document_count == 1


def test_keeping_clears_what_is_known_of_a_key(store: Store) -> None:
    add(store, ("a", A), ("b", B), ("c", B), mode="skip")
    add(store, ("b", B), mode="keep")
    assert told(store) == {"c": ("skipped", "a")}
    assert [one.key for one in store] == ["a", "b"]


def test_metadata_alone_change_nothing(store: Store) -> None:
    add(store, ("a", A), ("b", B), mode="flag")
    summary = store.add_many(
        [{"key": key, "text": text, "title": "new"} for key, text in (("a", A), ("b", B))],
        on_duplicate="flag",
    )
    assert summary.updated == 2
    assert told(store) == {"b": ("flagged", "a")}


def test_duplicates_of_one_document_and_in_one_state(store: Store) -> None:
    add(store, ("a", A), ("b", B), ("u", UNLIKE), ("v", UNLIKE), mode="skip")
    assert [one.key for one in store.duplicates.list(original="u")] == ["v"]
    assert [store.duplicates.of("v")] == list(store.duplicates.list(original="u"))
    assert store.duplicates.of("u") is None
    assert store.duplicates.of("no such key") is None
    (of_u,) = store.duplicates.list(original="u")
    assert (of_u.basis, of_u.resemblance, of_u.distance) == ("same", 1.0, 0)
    assert not list(store.duplicates.list(state="flagged"))
    with pytest.raises(InvalidParameter, match="state 'lost'"):
        list(store.duplicates.list(state="lost"))


def test_a_transaction_that_fails_leaves_no_trace_in_what_is_looked_at(store: Store) -> None:
    add(store, ("a", A), mode="skip")
    opened = store._opened

    def interrupted() -> None:
        with opened.write() as connection:
            snapshot = opened.snapshot(connection)
            batch = prepare([Document("lost", UNLIKE)], snapshot)
            run_id = runs.begin_run(connection, [], 0, "test")
            check_and_store(
                snapshot, batch, DuplicateRule("skip"),
                run_id=run_id, seen_at=0, source_ids={},
            )  # fmt: skip
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        interrupted()
    assert add(store, ("b", UNLIKE), mode="skip").added == 1
    assert add(store, ("c", UNLIKE), mode="skip").skipped == 1


@pytest.mark.slow
def test_a_long_run_that_looks_documents_up_packs_its_tail_under_way(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack_fingerprints, "LONG_TAIL", 20)
    unpacked: list[int] = []
    observer = Observer(on_progress=lambda _: unpacked.append(store.stats().unpacked_sketches))
    documents = [
        (str(n), f"{UNLIKE} {n} " + " ".join(f"{n}x{m}" for m in range(9))) for n in range(99)
    ]
    add(store, *documents, *documents[:5], mode="flag", batch_documents=10, observer=observer)
    assert max(unpacked) <= 40
    add(store, *((f"copy of {key}", text) for key, text in documents), mode="skip")
    assert len(told(store)) == 99


def test_shingles_that_are_kept_are_forgotten_before_they_take_too_much(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "_KEPT_SHINGLES", 100)
    for number in range(12):
        add(store, (f"a {number}", A + f" {number}"), mode="skip")
        assert store._opened.last_state is not None
        kept = store._opened.shingles(store._opened.last_state)
        assert sum(map(len, [*kept._young.values(), *kept._old.values()])) <= 300
    assert told(store) == {f"a {number}": ("skipped", "a 0") for number in range(1, 12)}


@pytest.mark.parametrize(
    "options", [{"on_duplicate": "drop"}, {"min_resemblance": 0.0}, {"min_resemblance": 1.1}]
)
def test_options_out_of_their_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        IngestOptions(**options)


def dated(key: str, text: str, **dates: Any) -> Document:
    return Document(key, text, **dates)


def add_dated(store: Store, *given: Document, mode: str, **options: Any) -> IngestSummary:
    return store.add_many(
        given,
        threads=1,
        on_duplicate=mode,  # type: ignore[arg-type]
        min_resemblance=0.75,
        **options,
    )


@pytest.mark.parametrize("batch_documents", [1, 100])
def test_an_older_record_does_not_overrule_what_was_skipped(
    store: Store, batch_documents: int
) -> None:
    summary = add_dated(
        store,
        dated("a", A, seen_at=100),
        dated("b", A, seen_at=200),
        dated("b", UNLIKE, seen_at=50),
        dated("b", UNLIKE, seen_at=150, published_at=40),
        mode="skip",
        batch_documents=batch_documents,
    )
    assert (summary.added, summary.updated, summary.skipped) == (1, 0, 3)
    (row,) = store.duplicates.list()
    assert (row.key, row.state, row.original) == ("b", "skipped", "a")
    assert (row.digest, row.first_seen, row.last_seen) == (store.get("a").digest, 40, 200)
    # As late as the last sight, or without a date: it is what is there now.
    assert add_dated(store, dated("b", UNLIKE, seen_at=200), mode="skip").added == 1
    assert told(store) == {}
    assert store.get("b").first_seen == 40


def test_an_older_record_of_an_orphan_is_looked_at(store: Store) -> None:
    add_dated(store, dated("a", A, seen_at=100), dated("b", A, seen_at=200), mode="skip")
    summary = add_dated(
        store, dated("a", UNLIKE, seen_at=300), dated("b", C, seen_at=150), mode="skip"
    )
    assert (summary.updated, summary.added, summary.orphaned) == (1, 1, 0)
    assert told(store) == {}


@pytest.mark.parametrize("mode", ["keep", "flag", "skip"])
@pytest.mark.parametrize("becomes_orphan", [False, True])
def test_first_sight_outlives_being_skipped(store: Store, mode: str, becomes_orphan: bool) -> None:
    add_dated(store, dated("b", UNLIKE, seen_at=100, published_at=30), mode="keep")
    add_dated(store, dated("a", A, seen_at=20), dated("b", A, seen_at=200), mode="skip")
    (row,) = store.duplicates.list()
    assert (row.state, row.first_seen, row.last_seen) == ("skipped", 30, 200)
    if becomes_orphan:
        store.remove("a")
        assert [one.state for one in store.duplicates.list()] == ["orphaned"]
    add_dated(store, dated("b", C, seen_at=300), mode=mode)
    shown = store.get("b")
    assert (shown.first_seen, shown.last_seen) == (30, 300)
    assert store.duplicates.story("b").first_seen_basis == "crawl"


def test_first_sight_that_the_record_itself_tells_keeps_its_basis(store: Store) -> None:
    add_dated(store, dated("a", A, seen_at=150), dated("b", A, seen_at=200), mode="skip")
    add_dated(store, dated("b", UNLIKE, seen_at=300, published_at=20), mode="skip")
    add_dated(store, dated("c", A, seen_at=250), mode="skip")
    store.add("c", C)
    stories = [store.duplicates.story(key) for key in "bc"]
    assert [one.first_seen for one in stories] == [20, 250]
    assert [one.first_seen_basis for one in stories] == ["published", "ingest"]


def test_a_flagged_document_and_its_row_agree_on_the_first_sight(store: Store) -> None:
    add_dated(store, dated("a", A, seen_at=100), dated("b", UNLIKE, seen_at=120), mode="keep")
    add_dated(store, dated("b", A, seen_at=300), mode="flag")
    (row,) = store.duplicates.list()
    assert (row.first_seen, row.last_seen) == (120, 300)
    assert store.get("b").first_seen == 120


# By the distance of fingerprints

LONG = " ".join(f"word{number}" for number in range(40))


def distances(store: Store) -> dict[str, tuple[str, int | None, float | None, str]]:
    return {
        one.key: (one.original, one.distance, one.resemblance, one.basis)
        for one in store.duplicates.list()
    }


@pytest.mark.parametrize("options", [{}, {"text": False}])
def test_radius_alone_decides_whatever_the_texts_have_in_common(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    # The same words in another order: the same fingerprint, and not a shingle in common.
    words = LONG.split()
    turned = " ".join(reversed(words))
    with create(tmp_path, SchemeChoice("web"), **options) as made:
        made.add_many([("a", LONG), ("b", turned)], threads=1, on_duplicate="flag")
        assert distances(made) == {}
        made.add_many([("c", turned + " more")], on_duplicate="flag", radius=64, min_resemblance=1)
        assert distances(made) == {}
        made.add_many([("d", turned)], on_duplicate="flag", radius=0, min_resemblance=0.5)
        assert distances(made) == {"d": ("b", 0, 1.0, "same")}
        mixed = " ".join(random.Random(4).sample(words, len(words)))
        summary = made.add_many([("e", mixed)], on_duplicate="skip", radius=0)
        assert summary.skipped == 1
        original, distance, resemblance, basis = distances(made)["e"]
        assert (original, distance) == ("a", 0)
        assert resemblance is not None
        assert resemblance < 0.5
        assert basis == ("sketch" if options else "text")
        assert made.maintenance.fsck() == []


def test_store_of_fingerprints_and_nothing_else_tells_no_resemblance(tmp_path: Path) -> None:
    with create(tmp_path, SchemeChoice("web"), text=False, channels=("simhash",)) as made:
        with pytest.raises(NotFound, match="neither texts nor sketches"):
            made.add("a", LONG, on_duplicate="skip")
        made.add("a", LONG, on_duplicate="skip", radius=3)
        assert made.add("b", LONG + " end", on_duplicate="flag", radius=20) == "flagged"
        assert made.add("c", "end", on_duplicate="flag", radius=64) == "added"
        assert made.add("d", LONG, on_duplicate="skip", radius=3) == "skipped"
        found = distances(made)
        assert found["b"][0] == "a"
        assert found["b"][2:] == (None, "distance")
        assert found["d"] == ("a", 0, 1.0, "same")
        assert made.maintenance.fsck() == []


def test_course_tool_checks_by_distance_and_then_inserts(tmp_path: Path) -> None:
    scheme = SchemeChoice("simtool", bits=32, features=40)
    with create(tmp_path, scheme) as made:
        letters = "abcdefghij"
        words = [f"w{letters[n // 10]}{letters[n % 10]}" for n in range(40)]
        # The ranks are those of a generation, and the first documents make one.
        made.add_many([("a", " ".join(words)), ("z", "other")], on_duplicate="skip", radius=3)
        turned = " ".join(reversed(words))
        assert made.add("b", turned, on_duplicate="skip", radius=3) == "skipped"
        assert distances(made)["b"][:2] == ("a", 0)


def test_radius_needs_fingerprints_and_fits_them(tmp_path: Path) -> None:
    with create(tmp_path, SchemeChoice("web"), channels=("minhash",)) as made:
        with pytest.raises(InvalidParameter, match="no channel simhash"):
            made.add("a", LONG, on_duplicate="skip", radius=3)
        assert len(made) == 0
    (tmp_path / "b").mkdir()
    with create(tmp_path / "b", SchemeChoice("web", bits=16)) as made:
        for radius in (-1, 17):
            with pytest.raises(InvalidParameter, match="radius"):
                made.add("a", LONG, on_duplicate="skip", radius=radius)
        assert len(made) == 0


# What the store was made to do


def test_store_keeps_what_it_does_with_duplicates(tmp_path: Path) -> None:
    words = LONG.split()
    turned = " ".join(reversed(words))
    with create(tmp_path, SchemeChoice("web"), on_duplicate="skip", radius=0) as made:
        stats = made.stats()
        assert (stats.on_duplicate, stats.min_resemblance, stats.duplicate_radius) == (
            "skip", None, 0,
        )  # fmt: skip
        made.add("a", LONG)
        assert made.add("b", turned) == "skipped"
        # What is told goes before it, all of it or the half that is told.
        assert made.add("c", turned, on_duplicate="keep") == "added"
        assert made.add("d", turned + " end", min_resemblance=0.9) == "skipped"
        assert made.add("e", " ".join(words[::2] + words[1::2]), on_duplicate="flag") == "flagged"
        assert made.add_many([("f", turned)]).skipped == 1
    with Store.open(tmp_path / "s.db") as made:
        assert made.add("g", turned) == "skipped"
        assert made.maintenance.fsck() == []


def test_what_a_duplicate_is_goes_with_what_is_done_with_it(tmp_path: Path) -> None:
    with create(tmp_path) as made:
        for options in ({"min_resemblance": 0.5}, {"radius": 3}):
            with pytest.raises(InvalidParameter, match="choose flag or skip too"):
                made.add("a", LONG, **options)
            made.add("a", LONG, on_duplicate="keep", **options)
    (tmp_path / "b").mkdir()
    with pytest.raises(InvalidParameter, match="radius"):
        create(tmp_path / "b", SchemeChoice("web", bits=16), on_duplicate="skip", radius=17)
    assert not list((tmp_path / "b").iterdir())


def test_a_duplicate_points_at_the_original_it_resembles_most(store: Store, tmp_path: Path) -> None:
    # The last is like both others, and more like the second.
    between = " ".join([f"other{place}" for place in range(7)] + WORDS[7:])
    add(store, ("a", A), ("c", C), mode="flag")
    assert told(store) == {}
    add(store, ("b", between), mode="flag")
    (found,) = store.duplicates.list()
    assert (found.key, found.original) == ("b", "c")


def pages_of_a_template(count: int, own_words: int) -> list[tuple[str, str]]:
    """Return pages of 200 words, of which each page has some of its own."""
    pages = []
    for number in range(count):
        drawn = random.Random(f"page {number}")
        page = [f"shared{place}" for place in range(200)]
        for place in drawn.sample(range(200), own_words):
            page[place] = f"own{number} {place}"
        pages.append((str(number), " ".join(page)))
    return pages


@pytest.mark.parametrize("mode", ["flag", "skip"])
def test_pages_of_a_template_are_compared_only_where_their_sketches_may_tell(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []
    compare = SetPool.resemblances

    def counted(pool: SetPool, text: int, others: Any) -> Any:
        compared.append(len(others))
        return compare(pool, text, others)

    monkeypatch.setattr(SetPool, "resemblances", counted)
    # Of a resemblance of about .35: they agree in bands, and in too few values.
    pages = pages_of_a_template(200, 20)
    with create(tmp_path) as store:
        for start in range(0, 200, 50):
            add(store, *pages[start : start + 50], mode=mode)
        assert len(store) == 200
    assert sum(compared) < 20


@pytest.mark.parametrize("mode", ["flag", "skip"])
def test_pages_just_below_the_threshold_are_told_apart_without_walking_through_their_shingles(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools: dict[SetPool, int] = {}
    compared: list[int] = []
    compare = SetPool.resemblances

    def counted(pool: SetPool, text: int, others: Any) -> Any:
        found = compare(pool, text, others)
        compared.append(len(others))
        pools[pool] = pool.walked_count
        return found

    made: list[str] = []
    sets = Sketching.sets

    def scanned(sketching: Sketching, texts: Iterable[str]) -> Any:
        given = list(texts)
        made.extend(given)
        return sets(sketching, given)

    monkeypatch.setattr(SetPool, "resemblances", counted)
    monkeypatch.setattr(Sketching, "sets", scanned)
    # Of a resemblance of about .68: of 300 pages few are as alike as .75.
    pages = pages_of_a_template(300, 6)
    shingles = [
        set(zip(words, words[1:], words[2:], strict=False))
        for words in (text.split() for _, text in pages)
    ]
    originals: dict[int, str] = {}
    expected: dict[str, str] = {}
    for number, own in enumerate(shingles):
        shares = {
            other: len(own & shingles[other]) / len(own | shingles[other]) for other in originals
        }
        best = max(shares, key=lambda other: (shares[other], -other), default=None)
        if best is not None and shares[best] >= 0.75:
            expected[str(number)] = str(best)
        else:
            originals[number] = str(number)
    assert expected
    with create(tmp_path) as store:
        for start in range(0, 300, 100):
            add(store, *pages[start : start + 100], mode=mode)
        assert {one.key: one.original for one in store.duplicates.list()} == expected
    # Nearly all pairs are decided by the parities of their sets, and each text is read once.
    assert sum(compared) > 40_000
    assert sum(pools.values()) < sum(compared) / 20
    texts = {text for _, text in pages}
    assert sum(text in texts for text in made) <= 300


def test_candidates_of_pages_of_a_template_are_held_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    looked_up = EdgeCandidates.of_each

    def counted(candidates: EdgeCandidates, texts: Any, among: Any = None) -> Any:
        found = looked_up(candidates, texts, among)
        held.append(sum(len(numbers) for numbers in found))
        return found

    monkeypatch.setattr(EdgeCandidates, "of_each", counted)
    monkeypatch.setattr(edges, "_BLOCK_PAIRS", 2_000)
    pages = pages_of_a_template(400, 6)
    with create(tmp_path) as store:
        add(store, *pages[:200], mode="flag")
        held.clear()
        add(store, *pages[200:], mode="flag")
    assert sum(held) > 20_000
    assert max(held) <= 64 * 200
    assert sum(size > 2_500 for size in held) <= 1
