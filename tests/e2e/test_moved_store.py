"""`export` and `ingest` move a store from a file to a PostgreSQL server, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from postgres_servers import PostgresServer

from simstore import Document, Store
from simstore.cli import main
from simstore.errors import Conflict
from simstore.types import Match

pytestmark = [pytest.mark.postgres, pytest.mark.sqlite("names both places itself")]

TEXT = "The iron bridge stays shut for eleven weeks while engineers replace its bearing."
SAMPLES = [TEXT * times + f" Notice {times}." for times in range(1, 7)]


@pytest.fixture
def name(postgres_server: PostgresServer) -> Iterator[str]:
    yield postgres_server.make_database()
    postgres_server.drop_databases()


def fill(place: Path) -> None:
    documents = [
        Document(
            f"page {number}" if number % 5 else f"odd \udcff {number}",
            TEXT * (number % 7) + f" Notice {number % 11}.",
            title=f"title {number}" if number % 2 else None,
            collection="notices" if number % 4 else None,
            metadata={"n": number, "é": [None, True, 1.5]} if number % 3 else {},
            seen_at=1_000 * number,
            links=(f"page {number - 1}",),
        )
        for number in range(60)
    ]
    with Store.create(place) as store:
        store.add_many(documents)
        store.add("page 3", "It says something else now.", seen_at=90_000)
        store.remove("page 7")


def move(source: str, target: str, file: Path) -> None:
    for place, *words in ((source, "export", "-o"), (target, "ingest")):
        done = CliRunner().invoke(main, ["--db", place, *words, str(file)])
        assert done.exit_code == 0, done.stderr


def contents(store: Store) -> list[tuple[object, ...]]:
    return [
        (
            one.key, one.text, one.title, one.collection, dict(one.metadata), one.digest,
            one.first_seen, one.last_seen,
        )
        for one in store.list(with_text=True)
    ]  # fmt: skip


def answers(store: Store) -> list[list[Match]]:
    """Return what is near each sample; numbers of documents are of one store."""
    return [
        [replace(one, document_id=0) for one in store.query(text, radius=radius)]
        for text in SAMPLES
        for radius in (0, 3, 10)
    ]


def test_moved_store_has_the_same_documents_and_answers(
    tmp_path: Path, postgres_server: PostgresServer, name: str
) -> None:
    one, server, back = str(tmp_path / "one.db"), postgres_server.url(name), str(tmp_path / "b.db")
    fill(Path(one))
    move(one, server, tmp_path / "to-server.jsonl")
    move(server, back, tmp_path / "back.jsonl.gz")
    with Store.open(one) as first:
        documents, terms = contents(first), first.vocabulary.terms()
        found = answers(first)
    assert len(documents) == 59
    assert all(found)
    for place in (server, back):
        with Store.open(place) as moved:
            assert contents(moved) == documents
            assert moved.vocabulary.terms() == terms
            assert answers(moved) == found
            assert moved.maintenance.fsck() == []


def test_tables_of_others_are_left_alone(postgres_server: PostgresServer, name: str) -> None:
    postgres_server.execute("CREATE TABLE document (mine int)", database=name)
    with pytest.raises(Conflict, match="document"):
        Store.create(postgres_server.url(name))
    assert postgres_server.execute("SELECT * FROM document", database=name) == []
