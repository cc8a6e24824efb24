"""Open files, folders, patterns and standard input as files of rows."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from simstore.errors import InvalidParameter, UnreadableSource, printable
from simstore.outputs import writing
from simstore.rows import lines, tables, texts
from simstore.rows.batch import RowFile
from simstore.rows.lines import LineRows
from simstore.rows.tables import TableRows
from simstore.rows.texts import TextFile
from simstore.sources.delimited import DELIMITERS, are_values
from simstore.sources.encoding_detection import wide_encoding
from simstore.sources.files import open_sources
from simstore.sources.reader import ReadOptions
from simstore.sources.registry import archive_kind, look_ahead
from simstore.sources.streams import (
    STANDARD_INPUT,
    ByteStream,
    base_name,
    is_read_once,
    is_standard_input,
    open_bytes,
    reading,
)

# Files that are one document each, however it is taken out of them.
_ONE_DOCUMENT = (*texts.FORMATS, "html", "docx", "pdf")
_WITHOUT_FIELDS = ("text", "lines")
# Lines of a text that are looked at for what it may be otherwise.
_LINES_LOOKED_AT = 20
_PIECE = 1 << 20


def open_rows(
    names: Sequence[str], options: ReadOptions, spool: Callable[[], Path] | None = None
) -> tuple[list[RowFile], list[str]]:
    r"""Return the files of rows that are meant, and the names of files that are passed over.

    >>> from simstore.rows.inputs import open_rows
    >>> size = Path("day.jsonl").write_text('{"id": 1, "text": "Rye."}\n')
    >>> (file,), _ = open_rows(["day.jsonl"], ReadOptions())
    >>> file.format, [len(batch.rows) for batch in file.batches()]
    ('jsonl', [1])

    Args:
        names: Files, folders, patterns; ``-`` or a pipe: what is read once.
        options: How to read them.
        spool: Returns an empty file to which what is read once is written first: rows are read
            more than once.

    Raises:
        SourceNotFound: A name means nothing.
        InvalidParameter: A format has no rows that can be given back, or standard input is named
            and there is no spool.
        UnreadableSource: A file cannot be read.
    """
    if sum(map(is_standard_input, names)) > 1:
        raise InvalidParameter("standard input (-) can be read only once")
    files: dict[str, RowFile] = {}
    passed_over: list[str] = []
    stream_count = 0
    for name in names:
        if is_read_once(name):
            if spool is None:
                raise InvalidParameter("standard input and pipes cannot be read here: name files")
            stream_count += 1
            called = STANDARD_INPUT if stream_count == 1 else f"{STANDARD_INPUT}{stream_count}"
            path = spool()
            with open_bytes(name) as stream, writing(path), path.open("wb") as target:
                shutil.copyfileobj(stream, target, _PIECE)
            if options.format == "auto" and not path.stat().st_size:
                # No rows are rows of some format: an output is written, without any.
                files[called] = LineRows(str(path), called, replace(options, format="jsonl"))
            else:
                files[called] = row_file(str(path), called, options, is_named=True)
            continue
        sources, others = open_sources([name], options)
        passed_over += others
        for source in sources:
            if source.name not in files:
                is_named = source.name == name
                files[source.name] = row_file(source.name, source.name, options, is_named=is_named)
    return list(files.values()), passed_over


def row_file(path: str, name: str, options: ReadOptions, *, is_named: bool = False) -> RowFile:
    """Return a file as one of rows, by its content and its name.

    Args:
        path: Where it is.
        name: What it is called.
        options: How to read it.
        is_named: It was named itself, and is none of a folder or a pattern.

    Raises:
        InvalidParameter: Its format has no rows that can be given back; or fields are named, and
            it has none.
        SourceNotFound: It is not there.
        UnreadableSource: It cannot be read.
    """
    with ByteStream(name, options.max_expansion, path).open() as stream:
        reader, head, _ = look_ahead(stream, name, options)
    if (kind := archive_kind(name, head, options)) is not None:
        raise InvalidParameter(
            f"{printable(name)} is a {kind} archive, whose members cannot be given back as they "
            "are; unpack it and name the files"
        )
    fields = {"--key-field": options.key_field, "--text-field": options.text_field}
    given = [option for option, field in fields.items() if field]
    if is_named and given and reader.name in _WITHOUT_FIELDS:
        raise InvalidParameter(
            f"{printable(name)} is read as {reader.name}, which has no fields for "
            f"{' and '.join(given)}: --as csv or --as jsonl says what it is"
        )
    chosen = replace(options, format=reader.name)
    if reader.name in lines.FORMATS:
        return LineRows(path, name, chosen)
    if reader.name in tables.FORMATS:
        return TableRows(path, name, chosen)
    if reader.name in _ONE_DOCUMENT:
        return TextFile(path, name, options, _doubt(name, head, options, reader.name))
    remedy = (
        "write its records as JSON Lines (`jq -c '.[]'`)" if reader.name == "json"
        else "`simstore ingest` reads it"
    )  # fmt: skip
    raise InvalidParameter(
        f"{printable(name)} is of the format {reader.name}, whose rows cannot be given back as "
        f"they are; {remedy}"
    )


def likely_format(head: bytes) -> str | None:
    r"""Return the format of rows that a text looks like by its first lines; None: of none.

    >>> from simstore.rows.inputs import likely_format
    >>> likely_format(b"id;text\n1;Rye.\n2;Oats.\n")
    'csv'
    >>> likely_format(b"Rye, oats and barley.\nWheat, spelt and millet.\n")

    Args:
        head: Its first bytes.
    """
    text = head.decode(wide_encoding(head) or "utf-8", "replace").removeprefix("\ufeff")
    lines = [line for line in text.splitlines() if line.strip()][:_LINES_LOOKED_AT]
    if lines and all(line.strip()[0] == "{" and line.strip()[-1] == "}" for line in lines[:2]):
        return "jsonl"
    for delimiter in DELIMITERS:
        try:
            rows = list(csv.reader(lines, delimiter=delimiter))
        except csv.Error:
            continue
        if len(rows) < 2 or len(rows[0]) < 2 or are_values(rows[0]):
            continue
        # The last one may be cut off.
        others = rows[1:-1] or rows[1:]
        are_bare = all(name == name.strip() for name in rows[0])
        if are_bare and all(len(row) == len(rows[0]) for row in others):
            return "csv"
    return None


def _doubt(name: str, head: bytes, options: ReadOptions, reader: str) -> str | None:
    """Return the format of rows that a file looks like which is taken as one text by its name."""
    is_text = name.startswith(STANDARD_INPUT) or base_name(name).lower().endswith(".txt")
    return likely_format(head) if is_text and (options.format, reader) == ("auto", "text") else None


def check_one_output(files: Sequence[RowFile]) -> None:
    """Raise where the rows of files cannot stand in one file.

    Raises:
        InvalidParameter: They are of several formats, encodings or columns, or texts.
    """
    first = files[0]
    for other in files[1:]:
        if other.kind != first.kind:
            raise InvalidParameter(
                f"the rows of {printable(first.name)} and {printable(other.name)} cannot stand in "
                "one file: they differ in format, columns or encoding; name a folder for the "
                "output, and there is a file for each input"
            )


def check_columns(files: Sequence[RowFile]) -> None:
    r"""Raise where the columns of a file hold no text, whatever its rows are.

    >>> from simstore.rows.inputs import check_columns, open_rows
    >>> size = Path("stories.csv").write_text("id,story\n1,Rye.\n")
    >>> check_columns(open_rows(["stories.csv"], ReadOptions())[0])
    Traceback (most recent call last):
    simstore.errors.InvalidParameter: stories.csv: no text: none of the fields text, ...

    Raises:
        InvalidParameter: No row of one can be read.
    """
    for file in files:
        if (reason := file.refused()) is not None:
            raise InvalidParameter(f"{printable(file.name)}: {reason}")


def identity(path: str) -> tuple[int, int, int]:
    """Return what changes when a file does: size, time of the last change (ns), inode.

    Raises:
        SourceNotFound: It has gone.
        UnreadableSource: It cannot be looked at.
    """
    with reading(path):
        status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino


def check_unchanged(file: RowFile, known: Sequence[int]) -> None:
    """Raise where a file is not the one any more that was read.

    Raises:
        UnreadableSource: It is another.
    """
    if identity(file.path) != tuple(known):
        raise UnreadableSource(file.name, "it has changed since it was read; begin again")
