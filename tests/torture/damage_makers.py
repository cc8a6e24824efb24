"""Ways to damage a store: bytes of its files, and rows of its tables."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

_PAGE, _SECTOR = 4_096, 512
BYTES = (
    "bits", "bytes", "header", "sector zero", "sector garbage", "page zero", "page garbage",
    "pages swapped", "older page", "older page", "truncated", "appended",
)  # fmt: skip
ROWS = (
    "null", "type", "huge", "negative", "other row", "byte", "byte", "cut", "deleted", "doubled",
    "one more", "word",
)  # fmt: skip
_WORDS = (
    "flagged", "skipped", "orphaned", "standing", "building", "retired", "live", "frozen",
    "finished", "text", "sketch", "ingest", "crawl", "read", "admin",
)  # fmt: skip
_HUGE = (1 << 62) + 12_345


def damage_bytes(path: Path, kind: str, chance: random.Random) -> str:
    """Damage a file by one of ``BYTES``; return what was done.

    Args:
        path: The file; ``older.db`` beside it is where older pages come from.
        kind: How.
        chance: Where all chance comes from.
    """
    data = bytearray(path.read_bytes())
    size = len(data)
    at = chance.randrange(size)
    if kind == "bits":
        places = [chance.randrange(size) for _ in range(chance.choice((1, 1, 3, 20)))]
        for place in places:
            data[place] ^= 1 << chance.randrange(8)
        told = f"bits of {places}"
    elif kind == "bytes":
        count = chance.choice((1, 2, 8, 100))
        data[at : at + count] = chance.randbytes(len(data[at : at + count]))
        told = f"{count} bytes at {at}"
    elif kind == "header":
        at = chance.randrange(min(100, size))
        data[at] = chance.randrange(256)
        told = f"byte {at} of the header is {data[at]}"
    elif kind in ("truncated", "appended"):
        if kind == "truncated":
            at = chance.choice((at, at // _PAGE * _PAGE, 0, 1, 99))
            del data[at:]
        else:
            count = chance.choice((1, _SECTOR, _PAGE, 3 * _PAGE))
            data += chance.randbytes(count) if chance.random() < 0.5 else bytes(count)
        told = f"{size} bytes are {len(data)}"
    else:
        told = _pages(data, kind, path, chance)
    path.write_bytes(data)
    return f"{path.name}: {kind}: {told}"


def _pages(data: bytearray, kind: str, path: Path, chance: random.Random) -> str:
    """Damage a sector or a page, or put pages where they do not belong."""
    unit = _SECTOR if kind.startswith("sector") else _PAGE
    count = max(len(data) // unit, 1)
    number = chance.randrange(count)
    place = slice(number * unit, min((number + 1) * unit, len(data)))
    length = place.stop - place.start
    if kind.endswith("zero"):
        data[place] = bytes(length)
    elif kind.endswith("garbage"):
        data[place] = chance.randbytes(length)
    elif kind == "pages swapped":
        other = chance.randrange(count)
        there = slice(other * unit, min((other + 1) * unit, len(data)))
        if length == there.stop - there.start:
            data[place], data[there] = data[there], data[place]
        return f"{number} and {other}"
    else:
        older = path.with_name("older.db").read_bytes()
        changed = [
            n
            for n in range(min(count, len(older) // unit))
            if older[n * unit : (n + 1) * unit] != data[n * unit : (n + 1) * unit]
        ]
        # All but the first as well: the header tells of a change there.
        number = chance.choice(changed or [0])
        place = slice(number * unit, (number + 1) * unit)
        data[place] = older[place]
    return f"{number}"


def damage_rows(path: Path, chance: random.Random) -> str | None:
    """Change a row behind the store's back; return what was done, or None.

    Any table with rows, any column, as likely as another; where the database refuses the change,
    another one is tried.

    Args:
        path: The file.
        chance: Where all chance comes from.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        asked = (
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
            "AND name <> 'alembic_version' ORDER BY name"
        )
        names = [name for (name,) in connection.execute(asked)]
        if chance.random() < 0.1:
            connection.execute("PRAGMA ignore_check_constraints = ON")
        columns = [
            (name, row[1], row[5])
            for name in names
            if connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            for row in connection.execute(f'PRAGMA table_info("{name}")')
        ]
        for _ in range(40):
            name, column, _ = chance.choice(columns)
            kind = chance.choice(ROWS)
            key = [c for t, c, is_key in columns if t == name and is_key] or ["rowid"]
            try:
                told = _change(connection, name, column, kind, key, chance)
            except sqlite3.Error:
                continue
            if told is not None:
                return f"{name}.{column}: {kind}: {told}"[:400]
    return None


def _change(
    connection: sqlite3.Connection,
    name: str,
    column: str,
    kind: str,
    key: list[str],
    chance: random.Random,
) -> str | None:
    """Change a value or a row; return what, or None where nothing was changed."""
    listed = ", ".join(f'"{part}"' for part in key)
    rows = connection.execute(f'SELECT {listed} FROM "{name}" ORDER BY {listed}').fetchall()
    row = chance.choice(rows)
    there = " AND ".join(f'"{part}" IS ?' for part in key)
    ((old,),) = connection.execute(f'SELECT "{column}" FROM "{name}" WHERE {there}', row)
    if kind == "deleted":
        connection.execute(f'DELETE FROM "{name}" WHERE {there}', row)
        return f"row {row} of {len(rows)}"
    if kind == "doubled":
        return _double(connection, name, key, row, chance)
    new = _value(kind, old, chance)
    if kind == "other row":
        other = chance.choice(rows)
        ((new,),) = connection.execute(f'SELECT "{column}" FROM "{name}" WHERE {there}', other)
    if type(new) is type(old) and new == old:
        return None
    connection.execute(f'UPDATE "{name}" SET "{column}" = ? WHERE {there}', (new, *row))
    ((now,),) = connection.execute(
        f'SELECT count(*) FROM "{name}" WHERE {there} AND "{column}" IS ?', (*row, old)
    )
    return f"row {row}: {old!r:.120} is {new!r:.120}" if not now else None


def _value(kind: str, old: Any, chance: random.Random) -> Any:
    """Return another value for a column; the same where the kind does not fit."""
    if kind == "null":
        return None
    if kind == "type":
        return chance.choice(("text", b"\xff\x00", 1.5, 7))
    if kind == "huge":
        return _HUGE
    if kind == "negative":
        return -5
    if kind == "one more":
        return old + chance.choice((-1, 1)) if isinstance(old, int | float) else old
    if kind in ("byte", "cut") and isinstance(old, bytes | str) and old:
        data = bytearray(old if isinstance(old, bytes) else old.encode())
        at = chance.randrange(len(data))
        if kind == "cut":
            del data[at:]
        else:
            data[at] ^= 1 << chance.randrange(7)
        return bytes(data) if isinstance(old, bytes) else data.decode("utf-8", "replace")
    if kind == "word" and isinstance(old, str):
        return chance.choice(_WORDS)
    return old


def _double(
    connection: sqlite3.Connection,
    name: str,
    key: list[str],
    row: tuple[Any, ...],
    chance: random.Random,
) -> str | None:
    """Put a row there a second time, with another number in its key and other unique values."""
    cursor = connection.execute(
        f'SELECT * FROM "{name}" WHERE ' + " AND ".join(f'"{part}" IS ?' for part in key), row
    )
    columns = [one[0] for one in cursor.description]
    values = dict(zip(columns, cursor.fetchone(), strict=True))
    for part in key:
        if isinstance(values.get(part), int):
            values[part] += chance.randint(1, 500)
    for part in ("key", "name", "digest", "standing_name", "centre_id", "target"):
        value = values.get(part)
        if isinstance(value, bytes):
            values[part] = value[:-1] + bytes([value[-1] ^ 1]) if value else b"x"
        elif isinstance(value, str):
            values[part] = value + "2"
    marks = ", ".join("?" * len(columns))
    connection.execute(f'INSERT INTO "{name}" VALUES ({marks})', [*values.values()])
    return f"row {row} as {[values.get(part) for part in key]}"


def differences(path: Path, other: Path) -> set[str]:
    """Return the columns (``table.column``) in which two stores differ, as SQLite reads them.

    Rows that only one of them has are ``table.*``.

    Args:
        path: A file.
        other: Another.
    """
    found: set[str] = set()
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(other)) as two:
        for connection in (one, two):
            connection.text_factory = bytes
        asked = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        names = {name.decode() for c in (one, two) for (name,) in c.execute(asked)}
        for name in sorted(names):
            found |= _table_differences(one, two, name)
    return found


def _table_differences(one: sqlite3.Connection, two: sqlite3.Connection, name: str) -> set[str]:
    tables = []
    for connection in (one, two):
        told = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
        columns = [row[1].decode() for row in told]
        keys = [place for place, row in enumerate(told) if row[5]] or [0]
        rows = connection.execute(f'SELECT * FROM "{name}"')
        tables.append({tuple(row[place] for place in keys): row for row in rows})
    found = {f"{name}.*"} if tables[0].keys() != tables[1].keys() else set()
    for key in tables[0].keys() & tables[1].keys():
        for column, left, right in zip(columns, tables[0][key], tables[1][key], strict=True):
            if left != right or type(left) is not type(right):
                found.add(f"{name}.{column}")
    return found
