"""Whatever a column is changed to behind the store's back, fsck tells, and no command breaks.

What a command cannot answer it refuses with an error of ours. Values that a column may hold, like
another title, are no damage.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, Column, Float, Integer, LargeBinary, Table
from stores import SIMTOOL, TEXTS, WEB, create

from simstore import Files
from simstore.errors import CorruptStore, SimstoreError, StorageError
from simstore.services.export.export import ExportOptions
from simstore.storage.tables import metadata
from simstore.store import Store

pytestmark = pytest.mark.sqlite("a server holds to the types of its columns")

_HUGE = 1 << 62
_CUT = object()
# By their names: what may be any bytes, any text or any number, so that nobody can tell.
_ANY_BYTES = frozenset((
    "key", "target", "name", "path", "source", "head_digest", "head", "stopwords", "hash_table",
    "term",
))  # fmt: skip
_ANY_TEXT = frozenset((
    "title", "collection", "preferred", "reader", "created_by", "reason", "version", "stale",
    "scheme", "fingerprint", "channels",
))  # fmt: skip
_ANY_NUMBER = frozenset(("modified_ns", "expires_at", "major"))
_MAY_BE_NEGATIVE = frozenset(("first_seen", "last_seen", "not_seen_since"))


def wrong_values(column: Column[Any]) -> Iterator[Any]:
    """Yield what a column may not hold."""
    kind = column.type
    if isinstance(kind, JSON):
        yield from (
            "{not json",
            '"s"',
            b"\x00\xff",
            "[1]" if column.name != "known_answers" else "1",
        )
    elif isinstance(kind, LargeBinary):
        yield "text"
        if column.name not in _ANY_BYTES:
            yield from (b"", b"\xff" * 40, _CUT)
    elif isinstance(kind, Boolean):
        yield from ("text", 7)
    elif isinstance(kind, Float):
        yield from ("text", -5.0)
    elif isinstance(kind, Integer):
        yield "text"
        if column.name not in _ANY_NUMBER:
            yield _HUGE
            if column.name not in _MAY_BE_NEGATIVE:
                yield -5
    else:
        yield b"\xff\xfe"
        if column.name not in _ANY_TEXT:
            yield "nonsense"


def file_of(scheme: str, folder: Path) -> bytes:
    """Return the file of a store that has a row in most tables."""
    lines = [{"key": key, "text": text, "lang": "en"} for key, text in TEXTS.items()]
    (folder / "s.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\nbroken\n")
    (folder / "later.jsonl").write_text(json.dumps({"key": "bread", "text": "a new text " * 9}))
    with create(folder, WEB if scheme == "web" else SIMTOOL) as store:
        for name in ("s.jsonl", "later.jsonl"):
            store.ingest([str(folder / name)])
        near = TEXTS["stone"] + " and more of this"
        for how in ("flag", "skip"):
            store.add(how, near, on_duplicate=how, min_resemblance=0.1, links=("bread",))
        store.clusters.build(min_resemblance=0.1)
        store.passages.build()
        store.maintenance.compact()
        store.add("late", "a text that came after the others, and is in no page yet")
        store.tokens.add("one")
        store.query_many(Files(str(folder / "later.jsonl")), record=True)
        store.remove("empty")
        assert store.maintenance.fsck() == []
    return (folder / "s.db").read_bytes()


def damages(path: Path, tables: Sequence[Table]) -> Iterator[tuple[str, str, Any]]:
    """Yield changes of a column in a row of each table: what they are, statement, value."""
    with closing(sqlite3.connect(path)) as connection:
        for table in tables:
            keys = [one.name for one in table.primary_key]
            asked = f"SELECT {', '.join(keys)} FROM {table.name} LIMIT 1"
            row = connection.execute(asked).fetchone()
            if row is None:
                continue
            there = " AND ".join(
                f"{key} = {quoted(value)}" for key, value in zip(keys, row, strict=True)
            )
            for name, value in ((one.name, v) for one in table.c for v in wrong_values(one)):
                cut = f"CAST(substr({name}, 1, length({name}) / 2) AS BLOB)"
                told = f"{table.name}.{name}: {'cut' if value is _CUT else repr(value)}"
                put = cut if value is _CUT else "?1"
                where = f"WHERE {there} AND {name} IS NOT {put}"
                yield told, f"UPDATE {table.name} SET {name} = {put} {where}", value


def quoted(value: Any) -> str:
    return f"x'{value.hex()}'" if isinstance(value, bytes) else repr(value)


def found_after_asking(path: Path, target: Path) -> list[str]:
    """Ask a store all that only looks, which raises nothing but errors of ours; return findings."""
    with Store.open(path, read_only=True) as store:
        for ask in (
            lambda: [*store.list()],
            lambda: [
                (store.get(k, with_text=True), store.duplicates.story(k))
                for k in ("stone", "bread")
            ],
            lambda: store.export(target, ExportOptions(replace=True)),
            lambda: store.export(target, ExportOptions("unique", replace=True)),
            lambda: (
                store.stats(sizes=True),
                store.maintenance.scheme(),
                store.vocabulary.terms(5),
            ),
            lambda: store.query(TEXTS["stone"]),
            lambda: [*store.clusters.list(1)],
            lambda: (
                store.runs.ingest(),
                store.runs.query(),
                store.rejects.list(),
                store.tokens.list(),
            ),
            lambda: ([*store.duplicates.list()], store.seen(["bread", "skip"])),
        ):
            with suppress(SimstoreError):
                ask()
        return [one.invariant for one in store.maintenance.fsck()]


@pytest.mark.timeout(300)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "names", "part"),
    [
        ("web", None, 0),
        pytest.param("web", None, 1, marks=pytest.mark.thorough),
        pytest.param("web", None, 2, marks=pytest.mark.thorough),
        ("simtool", ("feature", "generation", "document_features"), None),
    ],
)
def test_damage_of_every_column_is_told_and_breaks_no_command(
    tmp_path: Path, scheme: str, names: tuple[str, ...] | None, part: int | None
) -> None:
    sound = file_of(scheme, tmp_path)
    path = tmp_path / "damaged.db"
    path.write_bytes(sound)
    tables = [one for one in metadata.sorted_tables if names is None or one.name.startswith(names)]
    unseen, count = [], 0
    every = list(damages(path, tables))
    for told, statement, value in every if part is None else every[part::3]:
        path.write_bytes(sound)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            try:
                connection.execute(statement, () if value is _CUT else (value,))
            except sqlite3.Error:
                # Keys of type integer take nothing else.
                continue
            if not connection.total_changes:
                # It had this value.
                continue
            connection.commit()
        count += 1
        try:
            found = found_after_asking(path, tmp_path / "out.jsonl")
        except Exception as error:
            raise AssertionError(told) from error
        if not found:
            unseen.append(told)
    assert not unseen, unseen
    assert count > (80 if names is None else 15)


@pytest.mark.parametrize("scheme", [WEB, SIMTOOL])
def test_store_without_its_parameters_says_so(tmp_path: Path, scheme: Any) -> None:
    with create(tmp_path, scheme) as store:
        store.add_many(TEXTS.items())
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.execute("DELETE FROM store")
        connection.commit()
    with Store.open(tmp_path / "s.db") as store:
        for ask in (
            lambda: [*store.list()],
            lambda: store.get("bread"),
            store.stats,
            lambda: store.query("bread"),
            lambda: store.add("k", "text"),
            lambda: store.remove("bread"),
            store.clusters.build,
            store.maintenance.compact,
        ):
            with pytest.raises(StorageError, match=r"parameters are gone.*maintenance\.backup"):
                ask()
        (finding,) = store.maintenance.fsck()
    assert "parameters are gone" in finding.detail
    assert "maintenance.backup()" in finding.remedy


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM generation",
        "UPDATE generation SET status = 'building'",
    ],
)
@pytest.mark.parametrize(("scheme", "remedy"), [(WEB, "reindex"), (SIMTOOL, "refresh(force=True)")])
def test_lost_generation_is_told_with_its_remedy(
    tmp_path: Path, scheme: Any, remedy: str, statement: str
) -> None:
    with create(tmp_path, scheme) as store:
        store.add_many(TEXTS.items())
        before = [one.key for one in store.query(TEXTS["stone"])]
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(statement)
        connection.commit()
    with Store.open(tmp_path / "s.db") as store:
        with pytest.raises(
            CorruptStore, match=f"generation of fingerprints is lost.*{re.escape(remedy)}"
        ):
            store.query(TEXTS["stone"])
        assert [(one.invariant, remedy in one.remedy) for one in store.maintenance.fsck()] == [
            ("generation", True)
        ]
        if remedy == "reindex":
            with pytest.raises(CorruptStore, match="is lost"):
                store.add("k", "a text")
            store.maintenance.reindex()
        else:
            store.vocabulary.refresh(force=True)
        assert [one.key for one in store.query(TEXTS["stone"])] == before
        assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_changed_number_of_features_is_found(tmp_path: Path) -> None:
    for number, (scheme, options) in enumerate(
        [(WEB, {}), (SIMTOOL, {}), (SIMTOOL, {"text": False}), (WEB, {"vocabulary": False})]
    ):
        (folder := tmp_path / str(number)).mkdir()
        with create(folder, scheme, **options) as store:
            store.add_many(TEXTS.items())
        with closing(sqlite3.connect(folder / "s.db")) as connection:
            connection.execute("UPDATE document SET token_count = 99 WHERE key = x'6272656164'")
            connection.commit()
        with Store.open(folder / "s.db") as store:
            assert [
                (one.invariant, one.detail.split(":")[0]) for one in store.maintenance.fsck()
            ] == [("tokens", "bread")]
