"""What a store holds, in a form that two stores can be compared by."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simstore import Store
from simstore.model import QueryOptions


@dataclass(frozen=True)
class State:
    """Documents in order, rejects, vocabulary with ranks, and answers; no runs, no times."""

    documents: list[tuple[Any, ...]]
    rejects: list[tuple[Any, ...]]
    vocabulary: list[tuple[Any, ...]]
    scheme: dict[str, Any]
    fresh: bool
    answers: list[tuple[Any, ...]]

    @property
    def unordered(self) -> tuple[Any, ...]:
        """The state, whatever the order of ingest was: of equals, another is the earliest."""
        return (
            sorted(repr(one[:11] + one[12:]) for one in self.documents),
            sorted(map(repr, self.rejects)),
            self.vocabulary,
            self.scheme,
            self.fresh,
            [(key, value, sorted(matches)) for key, value, matches in self.answers],
        )


def state_of(
    path: Path, samples: list[tuple[str, str]], *, folder: Path | None = None, radius: int = 6
) -> State:
    """Return the state of a store.

    Args:
        path: The store.
        samples: What to ask it.
        folder: Taken off the front of the names of sources.
        radius: How far to look, bits.
    """

    def source(name: str | None) -> str | None:
        return name if name is None or folder is None else name.removeprefix(f"{folder}/")

    with Store.open(path) as store:
        answers = store.query_many(samples, QueryOptions(radius=radius))
        return State(
            [
                (
                    one.key, one.digest, one.title, one.collection, dict(one.metadata),
                    source(one.source), one.position, one.byte_offset, one.byte_count,
                    one.token_count, one.fingerprint, one.duplicate_of, one.text,
                )
                for one in store.list(with_text=store.stats().text_kept)
            ],
            sorted(
                (source(one.rejection.source), one.rejection.position, one.rejection.byte_offset,
                 one.rejection.reason, one.rejection.head)
                for one in store.rejects.list()
            ),
            [
                (one.rank, one.term, one.document_count, one.total_count)
                for one in store.vocabulary.terms()
            ],
            store.maintenance.scheme(),
            store.stats().fresh,
            [
                (one.key, one.fingerprint, [(match.distance, match.key) for match in one.matches])
                for one in answers
            ],
        )  # fmt: skip


def assert_sound(path: Path) -> None:
    """SQLite finds the file in order, and fsck every invariant of the store."""
    assert integrity(path) == "ok"
    with Store.open(path) as store:
        assert store.maintenance.fsck() == []


def integrity(path: Path) -> str:
    """Return what SQLite says of a file, through a connection of its own."""
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def committed(path: Path) -> int:
    """Return how many records of all sources are committed, read by a second connection."""
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as connection:
        return int(
            connection.execute("SELECT coalesce(sum(position), 0) FROM source").fetchone()[0]
        )


def drafts(folder: Path) -> list[str]:
    """Return files that nobody asked for."""
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".new"))
