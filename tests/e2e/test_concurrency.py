"""Several processes at once: writers take turns, readers see whole batches."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from forked import Child, Finished, Nursery

from simstore import Files, Store
from simstore.errors import DatabaseBusy
from simstore.services.ingest.ingest import IngestOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.services.open_store.open_store import OpenStore
from simstore.storage.engine import Database

from . import corpora
from .states import assert_sound, state_of

pytestmark = pytest.mark.slow

CHOICES = {"web": SchemeChoice("web"), "simtool": SchemeChoice("simtool", features=80)}
schemes = pytest.mark.parametrize("scheme", CHOICES)
BATCH = 20


def make(path: Path, scheme: str, *sources: Path) -> Path:
    with Store.create(path, scheme=CHOICES[scheme]) as store:
        if sources:
            store.ingest([str(source) for source in sources])
    return path


def article(folder: Path, seed: int, count: int, prefix: str, *, repeats: bool = True) -> Path:
    made = corpora.pages(seed, count, prefix=prefix, repeats=repeats)
    return corpora.article_file(folder / f"article-{prefix}.txt", made)


def finish(*children: Child) -> list[Finished]:
    """Wait for processes; each must have succeeded without a word."""
    done = [child.wait() for child in children]
    for one in done:
        assert (one.code, one.errors) == (0, "")
    return done


@pytest.mark.parametrize("course", [False, True], ids=["web", "simtool"])
def test_two_first_ingests_at_once_make_one_store_and_both_finish(
    nursery: Nursery, tmp_path: Path, course: bool
) -> None:
    if course:
        corpora.course_folder(tmp_path)
    sources = [article(tmp_path, 4, 60, "one"), article(tmp_path, 5, 60, "two")]
    for number in range(2):
        place = f"store-{number}.db"
        children = [
            nursery.start("simstore", tmp_path, words=["ingest", "--db", place, source.name])
            for source in sources
        ]
        for child in children:
            done = child.wait()
            assert done.code == 0, done.errors
        path = tmp_path / place
        assert_sound(path)
        with Store.open(path) as store:
            assert store.maintenance.scheme().label == ("simtool/1" if course else "web/1")
            found = [one.key for one in store]
        pages = corpora.pages(4, 60, prefix="one") + corpora.pages(5, 60, prefix="two")
        assert sorted(found) == sorted({key for key, _ in pages})
    assert not list(tmp_path.glob(".*.new*"))


def prefix_of(
    answer: list[list[tuple[int, str]]], whole: list[list[tuple[int, str]]], place: dict[str, int]
) -> int | None:
    """Return how many documents must be there for an answer; None where no number explains it."""
    held = max((place[key] for matches in answer for _, key in matches), default=-1)
    count = -(-(held + 1) // BATCH) * BATCH
    cut = [[(d, key) for d, key in matches if place[key] < count] for matches in whole]
    return count if cut == answer else None


@schemes
def test_queries_during_an_ingest_answer_from_whole_batches_and_never_fail(
    nursery: Nursery, tmp_path: Path, scheme: str
) -> None:
    pages = corpora.pages(6, 1_000, repeats=False)
    place = {key: number for number, (key, _) in enumerate(pages)}
    first = corpora.article_file(tmp_path / "article-first.txt", pages[:200])
    rest = corpora.article_file(tmp_path / "article-rest.txt", pages[200:])
    samples = corpora.samples(6, pages, 8)
    path = make(tmp_path / "store.db", scheme, first)
    # What the standing generation would answer with everything in it, and the next one.
    copy = Path(shutil.copy(path, tmp_path / "copy.db"))
    with Store.open(copy) as store:
        store.ingest([str(rest)], options=IngestOptions(refresh=False))
        before = answers(store, samples)
        store.vocabulary.refresh()
        after = answers(store, samples)
    reader = nursery.start(
        "query_without_end", tmp_path, place=str(path), samples=samples, radius=4
    )
    assert reader.message() == "open"
    writer = nursery.start(
        "ingest", tmp_path, place=str(path), names=[str(rest)], batch_documents=BATCH
    )
    finish(writer)
    (tmp_path / "stop").touch()
    said = list(reader.messages())
    finish(reader)
    # Before, while and after pages came; how many more depends on the machine.
    assert len(said) > 5
    counts = []
    for line in said:
        answer = ast.literal_eval(line)
        if scheme == "simtool" and answer == after:
            counts.append(len(pages))
            continue
        count = prefix_of(answer, before, place)
        assert count is not None, answer
        counts.append(count)
    assert counts == sorted(counts)
    with Store.open(path) as store:
        assert answers(store, samples) == after
    assert_sound(path)


def answers(store: Store, samples: list[tuple[str, str]]) -> list[list[tuple[int, str]]]:
    from simstore.model import QueryOptions

    found = store.query_many(samples, QueryOptions(radius=4))
    return [[(match.distance, match.key) for match in one.matches] for one in found]


@schemes
def test_removals_during_an_ingest_end_as_one_after_the_other(
    nursery: Nursery, tmp_path: Path, scheme: str
) -> None:
    old = article(tmp_path, 7, 60, "old", repeats=False)
    new = article(tmp_path, 8, 150, "new")
    gone = [key for key, _ in corpora.pages(7, 60, prefix="old", repeats=False)][::7]
    samples = corpora.samples(7, corpora.pages(7, 60) + corpora.pages(8, 150))
    clean = make(tmp_path / "clean.db", scheme, old, new)
    with Store.open(clean) as store:
        store.remove(*gone)
    path = make(tmp_path / "store.db", scheme, old)
    finish(
        nursery.start("ingest", tmp_path, place=str(path), names=[str(new)]),
        nursery.start("remove_each", tmp_path, place=str(path), keys=gone),
    )
    assert_sound(path)
    assert state_of(path, samples).unordered == state_of(clean, samples).unordered


def test_refresh_beside_an_ingest_into_a_frozen_store_loses_no_document(
    nursery: Nursery, tmp_path: Path
) -> None:
    one, two = article(tmp_path, 1, 100, "one"), article(tmp_path, 2, 100, "two")
    samples = corpora.samples(1, corpora.pages(1, 100))
    clean = state_of(make(tmp_path / "clean.db", "simtool", one, two), samples)
    path = make(tmp_path / "store.db", "simtool", one)
    with Store.open(path) as store:
        store.vocabulary.set_policy("frozen")
    writer = nursery.start("ingest", tmp_path, place=str(path), names=[str(two)])
    refreshes = [
        nursery.start("refresh", tmp_path, place=str(path), force=True, batch_documents=7)
        for _ in range(2)
    ]
    finish(writer, *refreshes)
    assert_sound(path)
    with Store.open(path) as store:
        assert store.vocabulary.status().waiting == 0
        store.vocabulary.refresh()
    assert state_of(path, samples).unordered == clean.unordered


def test_two_processes_that_resume_a_reindex_leave_a_sound_store(
    nursery: Nursery, tmp_path: Path
) -> None:
    source = article(tmp_path, 1, 200, "page")
    scheme = {"name": "simtool", "features": 70}
    path = make(tmp_path / "store.db", "web", source)
    clean = make(tmp_path / "clean.db", "web", source)
    samples = corpora.samples(1, corpora.pages(1, 200))
    with Store.open(clean) as store:
        store.maintenance.reindex(SchemeChoice("simtool", features=70))
    begun = nursery.start("reindex", tmp_path, place=str(path), scheme=scheme)
    for _ in range(6):
        begun.message()
    begun.kill()
    both = [nursery.start("reindex", tmp_path, place=str(path), resume=True) for _ in range(2)]
    done = [child.wait() for child in both]
    assert 0 in [one.code for one in done]
    # The other one may find the work done; it says so and changes nothing.
    for one in done:
        assert one.code == 0 or "Conflict" in one.errors, one.errors
    assert_sound(path)
    assert state_of(path, samples) == state_of(clean, samples)
    with Store.open(path) as store:
        assert store.add("new", "a new page") == "added"
        assert store.vocabulary.refresh(force=True).switched
    assert_sound(path)


def test_backups_during_an_ingest_are_sound_and_hold_whole_batches(
    nursery: Nursery, tmp_path: Path
) -> None:
    source = article(tmp_path, 9, 400, "page", repeats=False)
    path = make(tmp_path / "store.db", "web")
    copier = nursery.start("back_up_without_end", tmp_path, place=str(path))
    assert copier.message() == "open"
    finish(
        nursery.start(
            "ingest", tmp_path, place=str(path), names=[str(source)], batch_documents=BATCH
        )
    )
    (tmp_path / "stop").touch()
    copies = int(list(copier.messages())[-1]) + 1
    finish(copier)
    order = [key for key, _ in corpora.pages(9, 400, repeats=False)]
    for number in {0, copies // 2, copies - 1}:
        copy = tmp_path / f"copy-{number}.db"
        assert_sound(copy)
        with Store.open(copy) as store:
            held = [one.key for one in store]
        assert held == order[: len(held)]
        assert len(held) % BATCH == 0


def test_compacting_during_an_ingest_loses_nothing(nursery: Nursery, tmp_path: Path) -> None:
    source = article(tmp_path, 10, 150, "page")
    samples = corpora.samples(10, corpora.pages(10, 150))
    clean = state_of(make(tmp_path / "clean.db", "simtool", source), samples)
    path = make(tmp_path / "store.db", "simtool")
    packer = nursery.start("compact_without_end", tmp_path, place=str(path))
    assert packer.message() == "open"
    finish(nursery.start("ingest", tmp_path, place=str(path), names=[str(source)]))
    (tmp_path / "stop").touch()
    finish(packer)
    assert_sound(path)
    assert state_of(path, samples) == clean


def test_locked_store_is_busy_for_writers_and_open_for_queries_until_the_holder_dies(
    nursery: Nursery, tmp_path: Path
) -> None:
    source = article(tmp_path, 1, 30, "page", repeats=False)
    path = make(tmp_path / "store.db", "web", source)
    holder = nursery.start("hold_lock", tmp_path, place=str(path), document="x")
    assert holder.message() == "locked x"
    with Store.open(path) as store:
        store._opened = OpenStore(Database(path, busy_seconds=0.2))
        with pytest.raises(DatabaseBusy) as caught:
            store.add("new", "some text")
        assert caught.value.exit_code == 6
        assert caught.value.http_status == 503
        assert str(path) in str(caught.value)
        assert "locked" in str(caught.value)
        assert "try again" in str(caught.value)
        run = store.query_many(Files(str(source)), record=True)
        assert run.run_id is None
        assert run.not_recorded is not None
        assert "locked" in run.not_recorded
        assert all(one.matches for one in run.samples)
        holder.kill()
        assert store.add("new", "some text") == "added"
        assert store.query_many(Files(str(source)), record=True).run_id is not None
        assert store.maintenance.fsck() == []
