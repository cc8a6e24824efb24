"""The façade: what goes in, what threads and processes may do, what is opened and what is not."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from simstore import Document, Store
from simstore.errors import (
    DocumentNotFound,
    ForkedStore,
    InvalidParameter,
    NotAStore,
    ReadOnlyStore,
    SchemaOutOfDate,
    SchemaTooNew,
    StorageError,
    StoreExists,
    StoreNotFound,
)
from simstore.services.upkeep.choose import SchemeChoice
from simstore.storage import migrate

SIMTOOL = SchemeChoice("simtool", bits=32, features=5)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.create(tmp_path / "s.db", synchronous="normal") as made:
        yield made


# Documents in and out.


def test_document_comes_back_as_it_went_in(store: Store) -> None:
    text = "Zeile\r\n\x00\udcff\ufeff 字 \U0001f600"
    document = Document("ke\x00y\udcff é", text, "Title", "news", {"n": [1, None, {"é": 1.5}]})
    store.add_many([document])
    (found,) = store.documents(with_text=True)
    assert (found.key, found.text, found.title) == (document.key, text, "Title")
    assert (found.collection, found.metadata) == ("news", document.metadata)
    assert store.show(document.key).text is None
    assert store.show(document.key, with_text=True) == found
    assert document.key in store
    assert len(store) == 1


def test_documents_pairs_and_mappings_are_added_alike(store: Store) -> None:
    summary = store.add_many(
        [
            Document("a", "x", title="T"),
            ("b", "x"),
            {"key": "c", "text": "x", "title": "T", "metadata": {"n": 1}},
            {"key": "d", "text": "x", "collection": None},
        ]
    )
    assert summary.added == 4
    assert [(one.key, one.title, dict(one.metadata)) for one in store] == [
        ("a", "T", {}),
        ("b", None, {}),
        ("c", "T", {"n": 1}),
        ("d", None, {}),
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"key": "a"},
        {"text": "x"},
        {"key": "a", "text": "x", "lang": "en"},
        {"key": "", "text": "x"},
        ("", "x"),
        (5, "x"),
        ("a", None),
        ("a", b"x"),
        ("\ud800", "x"),
        ("a", "x \ud800"),
        {"key": "a", "text": "x", "metadata": {"n": object()}},
        {"key": "a", "text": "x", "metadata": {"n": {1, 2}}},
        {"key": "a", "text": "x", "metadata": {"n": math.inf}},
        {"key": "a", "text": "x", "title": 5},
        {"key": "a", "text": "x", "title": "\ud800"},
        {"key": "a", "text": "x", "collection": ["c"]},
        {"key": "a", "text": "x", "metadata": "en"},
        ("a", "x", "y"),
        "ab",
        5,
    ],
)
def test_what_is_no_document_is_an_invalid_parameter(store: Store, given: Any) -> None:
    with pytest.raises(InvalidParameter):
        store.add_many([("first", "x"), given])
    assert "a" not in store
    assert store.fsck() == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.show("\ud800"),
        lambda store: store.remove("\ud800"),
        lambda store: store.query("x \ud800"),
        lambda store: store.query_many([("k", "\ud800")]),
    ],
)
def test_text_that_no_bytes_can_give_is_an_error_of_ours(
    store: Store, ask: Callable[[Store], object]
) -> None:
    with pytest.raises((InvalidParameter, DocumentNotFound)):
        ask(store)


def test_key_that_no_bytes_can_give_is_not_in_the_store(store: Store) -> None:
    assert "\ud800" not in store
    assert 5 not in store


@pytest.mark.parametrize(
    "metadata", [{"a": (1, 2)}, {1: "x"}, {"a": {2: [(3,)]}}, {"a": 1.0}, {"a": True}, {}]
)
def test_document_added_again_is_unchanged_whatever_its_metadata(
    store: Store, metadata: dict[Any, Any]
) -> None:
    assert store.add("k", "text", metadata=metadata) == "added"
    assert store.add("k", "text", metadata=metadata) == "unchanged"
    assert store.add("k", "text", metadata={**metadata, "more": 1}) == "updated"


def test_add_says_what_became_of_the_document(store: Store) -> None:
    assert store.add("k", "text") == "added"
    assert store.add("k", "text") == "unchanged"
    assert store.add("k", "other") == "updated"
    assert store.add("k", "other", title="T") == "updated"
    assert store.add("k", "other", title="T", collection="c") == "updated"
    assert store.show("k").revision == 4


def test_documents_of_a_collection_and_a_limit(store: Store) -> None:
    store.add_many([Document(str(n), "x", collection="ab"[n % 2]) for n in range(900)], threads=1)
    assert [int(one.key) for one in store] == list(range(900))
    assert [one.key for one in store.documents(collection="b", limit=3)] == ["1", "3", "5"]
    assert len(list(store.documents(limit=450))) == 450
    assert list(store.documents(limit=0)) == []
    assert list(store.documents(collection="c")) == []


def test_statistics_are_those_of_the_documents(store: Store) -> None:
    store.add_many([("a", "river"), ("b", "river"), ("c", "stone")])
    found = store.statistics()
    assert (found.document_count, found.distinct_contents, found.distinct_fingerprints) == (3, 2, 2)
    assert (found.text_bytes, found.waiting, found.fresh) == (15, 0, True)
    assert found.scheme == "web/1"
    assert found.revision == migrate.HEAD
    assert found.file_bytes > 0


def test_scheme_tells_its_options(tmp_path: Path, store: Store) -> None:
    assert store.scheme() == {
        "scheme": "web/1",
        "bits": 64,
        "weights": "log-tf",
        "tie": "zero",
        "feature_hash": "xxh3",
    }


# Opening.


def test_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for options in ({}, {"read_only": True}, {"read_only": True, "create": True}):
        with pytest.raises(StoreNotFound) as raised:
            Store.open(tmp_path / "s.db", **options)
        assert raised.value.path == str(tmp_path / "s.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sqlite
def test_store_is_made_where_asked_for(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db", create=True) as store:
        store.add("a", "x")
    with Store.open(tmp_path / "s.db", create=True) as store:
        assert len(store) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]


@pytest.mark.sqlite
def test_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(b"precious")
    with pytest.raises(StoreExists):
        Store.create(path)
    path.unlink()
    Store.create(path).close()
    with pytest.raises(StoreExists):
        Store.create(path)
    Store.create(path, exist_ok=True).close()
    (tmp_path / "link.db").symlink_to(path)
    with pytest.raises(StoreExists):
        Store.create(tmp_path / "link.db")
    with pytest.raises(StorageError, match="folder"):
        Store.create(tmp_path / "no folder" / "s.db")


@pytest.mark.sqlite
def test_link_is_followed_to_the_file_it_points_at(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link = tmp_path / "s.db"
    link.symlink_to(tmp_path / "far" / "real.db")
    with Store.create(link) as store:
        store.add("a", "river")
    with Store.open(tmp_path / "far" / "real.db") as store:
        assert "a" in store
    with Store.open(link) as store:
        store.add("b", "river")
        assert len(store) == 2
    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["real.db"]


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        b"SQLite format 3\0",
        b"SQLite format 3\0" + b"\0" * 84,
        b"\0" * 4096,
        b"a text file, of all things\n" * 500,
        b"\x1f\x8b\x08" + b"\0" * 100,
    ],
)
@pytest.mark.sqlite
def test_file_that_is_no_database_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(data)
    for read_only in (False, True):
        with pytest.raises(NotAStore):
            Store.open(path, read_only=read_only)
    with pytest.raises(NotAStore):
        Store.open(path, create=True)
    assert path.read_bytes() == data
    assert [one.name for one in tmp_path.iterdir()] == ["s.db"]


@pytest.mark.sqlite
def test_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    with pytest.raises(NotAStore, match="empty"):
        Store.open(path)
    assert path.stat().st_size == 0


@pytest.mark.sqlite
def test_folder_and_empty_path_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAStore, match="not a file"):
        Store.open(tmp_path)
    with pytest.raises(InvalidParameter, match="path"):
        Store.open("")


@pytest.mark.sqlite
def test_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE document (key TEXT)")
        connection.commit()
    with pytest.raises(NotAStore, match="not a simstore database"):
        Store.open(path)


def with_revision(path: Path, statement: str) -> Path:
    Store.create(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    return path


@pytest.mark.sqlite
def test_older_store_says_how_to_upgrade(tmp_path: Path) -> None:
    older = migrate.HISTORY[0]
    path = with_revision(
        tmp_path / "s.db",
        f"UPDATE alembic_version SET version_num = '{older}'",  # noqa: S608 - a constant
    )
    with pytest.raises(SchemaOutOfDate, match="simstore upgrade") as raised:
        Store.open(path)
    assert (raised.value.revision, raised.value.expected) == (older, migrate.HEAD)


@pytest.mark.sqlite
@pytest.mark.parametrize("revision", ["9999", "other"])
def test_newer_store_is_refused(tmp_path: Path, revision: str) -> None:
    path = with_revision(
        tmp_path / "s.db",
        f"UPDATE alembic_version SET version_num = '{revision}'",  # noqa: S608 - constants
    )
    with pytest.raises(SchemaTooNew, match="newer simstore") as raised:
        Store.open(path)
    assert raised.value.revision == revision


@pytest.mark.sqlite
@pytest.mark.parametrize("statement", ["DROP TABLE alembic_version", "DELETE FROM alembic_version"])
def test_store_without_revision_is_refused(tmp_path: Path, statement: str) -> None:
    with pytest.raises(NotAStore):
        Store.open(with_revision(tmp_path / "s.db", statement))


def test_read_only_store_answers_and_refuses_to_write(tmp_path: Path, store: Store) -> None:
    store.add("a", "river")
    with Store.open(tmp_path / "s.db", read_only=True) as reader:
        assert [match.key for match in reader.query("river")] == ["a"]
        assert reader.show("a").key == "a"
        assert reader.statistics().document_count == 1
        assert reader.fsck() == []
        for write in (
            lambda: reader.add("b", "x"),
            lambda: reader.remove("a"),
            lambda: reader.compact(),
            lambda: reader.reindex(),
            lambda: reader.set_policy("frozen"),
            lambda: reader.clear_rejections(),
        ):
            with pytest.raises(ReadOnlyStore):
                write()
        store.add("b", "stone")
        assert "b" in reader


@pytest.mark.sqlite
def test_closed_store_has_no_file_beside_it(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add("a", "x")
        store.query("x")
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]
    store.close()


@pytest.mark.sqlite
def test_path_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "a?b#c%20d é'\"&mode=ro;.db"
    with Store.create(path) as store:
        store.add("a", "river")
        assert [match.key for match in store.query("river")] == ["a"]
    with Store.open(path) as store:
        assert len(store) == 1
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.sqlite
def test_url_of_an_sqlite_file_is_that_file(tmp_path: Path) -> None:
    with Store.create(f"sqlite:///{tmp_path / 's.db'}") as store:
        store.add("a", "river")
    with Store.open(tmp_path / "s.db") as store:
        assert "a" in store


# Threads and processes.


def in_threads(*work: Callable[[], object]) -> list[BaseException]:
    """Run all at once; return what they raised."""
    raised: list[BaseException] = []
    together = threading.Barrier(len(work))

    def run(one: Callable[[], object]) -> None:
        together.wait()
        try:
            one()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.mark.parametrize("scheme", [SchemeChoice("web"), SIMTOOL])
def test_threads_may_add_and_query_together(tmp_path: Path, scheme: SchemeChoice) -> None:
    with Store.create(tmp_path / "s.db", scheme=scheme, synchronous="normal") as store:
        store.add("first", "river stone lamp")

        def add(name: str) -> None:
            for number in range(3):
                store.add(f"{name} {number}", f"river stone {'lamp ' * number}")

        def ask() -> None:
            for _ in range(6):
                assert "first" in [
                    match.key for match in store.query("river stone lamp", radius=32)
                ]
                assert store.statistics().waiting >= 0
                assert len(list(store)) >= 1

        assert in_threads(lambda: add("a"), lambda: add("b"), ask, ask, ask) == []
        assert len(store) == 7
        assert sorted(one.key for one in store) == sorted(
            ["first", *(f"{name} {number}" for name in "ab" for number in range(3))]
        )
        assert store.fsck() == []
        assert store.statistics().fresh


def test_many_threads_may_query_at_once(store: Store) -> None:
    store.add_many([(str(n), f"text {n}") for n in range(50)])
    answers: list[list[str]] = []

    def ask() -> None:
        answers.append([match.key for match in store.query("text 7", radius=0)])

    assert in_threads(*[ask] * 24) == []
    assert answers == [["7"]] * 24


def test_readers_are_not_limited_in_number(store: Store) -> None:
    store.add("a", "river")

    def ask(depth: int) -> int:
        """Hold a snapshot while as many others are taken."""
        deeper: list[int] = []

        def samples() -> Any:
            if depth:
                deeper.append(ask(depth - 1))
            yield ("sample", "river")

        (result,) = store.query_many(samples())
        return sum(deeper) + len(result.matches)

    assert ask(24) == 25


def test_reader_keeps_its_snapshot_while_another_thread_writes(store: Store) -> None:
    store.add_many([(f"k{n}", "river") for n in range(5)])
    asked: list[str] = []

    def samples() -> Any:
        for number in range(3):
            yield (f"s{number}", "river")
            if number == 0:
                raised = in_threads(lambda: store.add("late", "river"))
                asked.extend(map(repr, raised))

    results = store.query_many(samples())
    assert asked == []
    assert [len(one.matches) for one in results] == [5, 5, 5]
    assert len(store.query("river")) == 6


def test_snapshot_of_a_generation_is_whole_while_it_is_switched(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db", scheme=SIMTOOL, synchronous="normal") as store:
        store.add_many([(f"k{n}", f"river {'stone ' * n}") for n in range(4)])

        def samples() -> Any:
            for number in range(2):
                yield (f"s{number}", "river")
                assert in_threads(lambda: store.add("new", "lamp lamp lamp bridge")) == []

        first, second = store.query_many(samples())
        assert first.fingerprint == second.fingerprint
        assert first.matches == second.matches
        assert store.fsck() == []


def exit_code_of_child(work: Callable[[], object]) -> int:
    """Run in a forked child; return 0, or 77 where it raised ForkedStore."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            work()
            code = 0
        except ForkedStore:
            code = 77
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.add("b", "x"),
        lambda store: store.query("river"),
        lambda store: list(store),
        lambda store: len(store),
        lambda store: store.refresh(),
        lambda store: store.compact(),
        lambda store: store.fsck(),
    ],
)
def test_store_cannot_be_used_in_a_forked_child(
    store: Store, use: Callable[[Store], object]
) -> None:
    store.add("a", "river")
    assert exit_code_of_child(lambda: use(store)) == 77
    assert [one.key for one in store] == ["a"]
    assert store.fsck() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_may_close_the_store_and_open_it_again(tmp_path: Path, store: Store) -> None:
    store.add("a", "river")

    def work() -> None:
        store.close()
        with Store.open(tmp_path / "s.db", synchronous="normal") as own:
            own.add("b", "river")

    assert exit_code_of_child(work) == 0
    assert [match.key for match in store.query("river")] == ["a", "b"]
    store.add("c", "river")
    assert store.fsck() == []


def test_stores_of_two_owners_see_each_other(tmp_path: Path, store: Store) -> None:
    with Store.open(tmp_path / "s.db", synchronous="normal") as other:
        for number in range(4):
            (store, other)[number % 2].add(f"k{number}", f"river {number} stone")
        assert [one.key for one in store] == [one.key for one in other] == ["k0", "k1", "k2", "k3"]
        assert store.vocabulary() == other.vocabulary()
        assert store.fsck() == other.fsck() == []


def test_two_owners_of_a_live_simtool_store_end_fresh(tmp_path: Path) -> None:
    with (
        Store.create(tmp_path / "s.db", scheme=SIMTOOL, synchronous="normal") as store,
        Store.open(tmp_path / "s.db", synchronous="normal") as other,
    ):
        raised = in_threads(
            lambda: store.add_many([(f"a{n}", "river stone " * n) for n in range(6)]),
            lambda: other.add_many([(f"b{n}", "lamp river " * n) for n in range(6)]),
        )
        assert raised == []
        assert len(store) == 12
        assert store.statistics().fresh
        assert store.fsck() == []
