"""Write the rows of files without their near-duplicates, in one call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from simstore.errors import InvalidParameter
from simstore.model.arguments import checked
from simstore.model.channels import DEFAULT_CHANNELS
from simstore.sources.files import names_of
from simstore.sources.frames import as_table
from simstore.store import Store

if TYPE_CHECKING:
    from simstore.services.dedup.options import RowObserver, RowSummary
    from simstore.sources.reader import ReadOptions


@checked
def dedup_rows(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    min_resemblance: float | None = None,
    policy: str = "first",
    channels: Sequence[str] = DEFAULT_CHANNELS,
    short_texts: bool = False,
    store: Store | None = None,
    mark: bool = False,
    log: str | os.PathLike[str] | None = None,
    rejects: str | os.PathLike[str] | None = None,
    on_reject: Literal["drop", "keep"] = "drop",
    replace: bool = False,
    read: ReadOptions | None = None,
    observer: RowObserver | None = None,
) -> RowSummary:
    r"""Write the rows of files without their near-duplicates, each row as it was.

    >>> lines = ['{"id": 1, "text": "Rye needs sour dough.", "price": 2.50}\n',
    ...          '{"id": 2, "text": "rye needs sour dough"}\n']
    >>> size = Path("bread.jsonl").write_text("".join(lines))
    >>> summary = dedup_rows("bread.jsonl", "unique.jsonl")
    >>> summary.kept, summary.dropped
    (1, 1)
    >>> Path("unique.jsonl").read_text() == lines[0]
    True

    Rows keep their columns, types and order; those of JSON Lines and CSV are
    the very bytes. Outputs appear when all of them are written; with a store,
    the same call after an interruption keeps the rows that it stored before.
    ``simstore dedup`` is the same on the command line.

    Args:
        inputs: Files of JSON Lines, CSV, Parquet, Arrow or text, compressed or
            not; folders or patterns of such.
        output: A file; a folder, with a file for each input, where it is one,
            ends in a slash, or inputs are texts.
        min_resemblance: Least resemblance of a row that is dropped to the one
            that is kept, above 0, at most 1; None: 0.8, and 0.5 with ``mark``
            and without a store, or by characters.
        policy: Which row of a group is kept: ``first``, ``longest`` or
            ``prefer:REGEX``; with a store ``first``.
        channels: By which near-duplicates are found: ``simhash``, ``minhash``
            or both, or ``characters`` alone, for scans and typed copies. Then
            the resemblance is that of runs of characters. A store decides
            which of words it has.
        short_texts: With ``characters``, rows of at most 24 words (characters
            of Chinese) are dropped too; else only where they are the same text.
        store: Rows that duplicate its documents are dropped too, and those that
            are kept are added to it.
        mark: Keep all rows, and add the columns ``duplicate_of``,
            ``resemblance`` and ``cluster``.
        log: A file to write each dropped row to, and of which it is a
            duplicate; JSON Lines.
        rejects: A file to write the rows to that cannot be read; JSON Lines.
        on_reject: What becomes of these rows: ``drop``, or ``keep`` as they
            are.
        replace: Replace files that exist.
        read: How inputs are read.
        observer: Hears of what happens.

    Returns:
        Counts of rows: ``read``, ``kept``, ``dropped``, ``rejected`` and
        others.

    Raises:
        InvalidParameter: An option is out of its range, or rows cannot stand in
            such an output.
        OutputExists: There is a file already.
        StorageError: There is no room.
        UnreadableSource: An input changed while it was read.
    """
    from simstore.services.dedup.dedup import dedup_files
    from simstore.services.dedup.options import RowObserver, RowOptions
    from simstore.sources.reader import ReadOptions

    options = RowOptions(
        min_resemblance=min_resemblance,
        policy=policy,
        channels=tuple(channels),
        short_texts=short_texts,
        mark=mark,
        log=None if log is None else os.fspath(log),
        rejects=None if rejects is None else os.fspath(rejects),
        on_reject=on_reject,
        replace=replace,
        read=read or ReadOptions(),
    )
    if as_table(inputs) is not None or isinstance(inputs, Mapping):
        raise InvalidParameter(
            f"{type(inputs).__name__} is no name of a file: dedup_rows reads files; write the rows "
            "to one first, as JSON Lines or Parquet (`store.filter(rows)` takes rows in memory)"
        )
    return dedup_files(
        names_of(inputs),
        os.fspath(output),
        options,
        observer or RowObserver(),
        store=None if store is None else store._opened,
    )
