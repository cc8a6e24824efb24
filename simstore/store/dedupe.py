"""Drop the near-duplicates of a list of texts, or of the rows of files, in one call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from simstore.errors import InvalidParameter
from simstore.model.arguments import checked
from simstore.model.channels import DEFAULT_CHANNELS, DROP_RESEMBLANCE
from simstore.model.results import Shown
from simstore.store import Store

if TYPE_CHECKING:
    from simstore.services.dedup.options import RowObserver, RowSummary
    from simstore.sources.reader import ReadOptions


@dataclass(frozen=True, slots=True)
class _KeptText:
    """A row of a DataFrame: a text that is kept, and how many were dropped because of it."""

    place: int
    text: str
    dropped_count: int


@dataclass(frozen=True, slots=True, repr=False)
class Deduped(Shown, Sequence[str]):
    """The texts that :func:`simstore.dedupe` keeps, in their order: a sequence.

    >>> unique = dedupe(["Oats.", "Rye.", "oats."])
    >>> list(unique), unique.dropped, unique.groups
    (['Oats.', 'Rye.'], (2,), ((0, 2),))
    >>> list(unique.to_frame()["dropped_count"])
    [1, 0]

    A DataFrame has a row for each text that is kept: its ``place``, ``text``
    and ``dropped_count``, how many were dropped because of it.

    Attributes:
        texts: The texts that are kept.
        kept: Their places among the texts that were given, from 0.
        dropped: The places of the others.
        groups: Places of near-duplicates, a group each: first the text that is
            kept, then those that were dropped because of it.
    """

    _HOLDS = ("_rows", _KeptText)

    texts: tuple[str, ...]
    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def _rows(self) -> Iterator[_KeptText]:
        sizes = {group[0]: len(group) for group in self.groups}
        for place, text in zip(self.kept, self.texts, strict=True):
            yield _KeptText(place, text, sizes.get(place, 1) - 1)

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self.texts[place]

    def __repr__(self) -> str:
        total = len(self.kept) + len(self.dropped)
        return f"Deduped({len(self):,} of {total:,} texts kept, groups={len(self.groups):,})"


@checked
def dedupe(
    texts: Iterable[str],
    *,
    min_resemblance: float = DROP_RESEMBLANCE,
) -> Deduped:
    """Return texts without their near-duplicates; of each group the first stays.

    >>> lines = ["Tickets are sold here.", "Oats.", "tickets are sold here"]
    >>> unique = dedupe(lines)
    >>> list(unique)
    ['Tickets are sold here.', 'Oats.']
    >>> unique.kept, unique.groups
    ((0, 1), ((0, 2),))

    A text is dropped where one that is kept resembles it so much, as by
    ``Store(":memory:").add_many(enumerate(texts), on_duplicate="skip")``. A
    store does more: it takes documents with keys, and remembers them.

    Args:
        texts: The texts: a list, a column of a DataFrame, a generator.
        min_resemblance: Least resemblance of a near-duplicate to the text that
            is kept, above 0, at most 1.

    Returns:
        The texts that are kept, with ``kept``, ``dropped`` and ``groups``.

    Raises:
        InvalidParameter: There is something else than texts, or the
            resemblance is out of its range.
    """
    given = _texts_of(texts)
    with Store(":memory:", synchronous="normal") as store:
        store.add_many(enumerate(given), on_duplicate="skip", min_resemblance=min_resemblance)
        kept = sorted(int(document.key) for document in store.list(with_text=False))
        originals = {int(one.key): int(one.original or one.key) for one in store.duplicates}
    groups: dict[int, list[int]] = {}
    for place, original in sorted(originals.items()):
        groups.setdefault(original, [original]).append(place)
    return Deduped(
        tuple(given[place] for place in kept),
        tuple(kept),
        tuple(sorted(originals)),
        tuple(tuple(groups[original]) for original in sorted(groups)),
    )


def _texts_of(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str | bytes):
        raise InvalidParameter("one text is given where several can be; put it into a list")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):
        kind = type(texts).__name__
        raise InvalidParameter(
            f"dedupe takes texts, not a {kind}; give its values or one column of it, or give it "
            "to Store(':memory:').add_many(..., on_duplicate='skip')"
        )
    given = list(texts)
    for place, text in enumerate(given):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InvalidParameter(f"dedupe takes texts, and number {place} is a {kind}")
    return given


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
    from simstore.sources.files import names_of
    from simstore.sources.frames import as_table
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
