"""Export the documents of a store to a file: all, one for each cluster, or the others."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, BinaryIO, Literal

from simstore.errors import InvalidParameter, printable
from simstore.model import (
    DocumentFilter,
    DocumentFilterKeywords,
    DocumentLabels,
    ExclusionReason,
    ExportedDocument,
    LeastShares,
    Progress,
    Shown,
)
from simstore.model.channels import DROP_RESEMBLANCE
from simstore.outputs import check_apart, is_standard_output, written
from simstore.reports.exported import CSV_COLUMNS, csv_row, json_line
from simstore.reports.lines import csv_line
from simstore.search.resemblance import check_share
from simstore.search.stars import CanonicalOrder
from simstore.services.clusters.cluster import ClusterOptions, cluster_documents
from simstore.services.clusters.distinct_texts import pages
from simstore.services.clusters.reasons import ClusterRule
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.storage import clusters, documents, duplicates, history
from simstore.text.decoding import exact_text

ExportPart = Literal["all", "unique", "duplicates"]
ExportFormat = Literal["auto", "jsonl", "json", "csv", "parquet"]
PARTS = ("all", "unique", "duplicates")
FORMATS = ("auto", "jsonl", "json", "csv", "parquet")
# What else the ending of a name promises, so that JSON Lines in it would mislead.
_OTHER_FORMATS = frozenset(
    (".arrow", ".avro", ".db", ".feather", ".html", ".orc", ".sqlite", ".tsv",
     ".txt", ".xls", ".xlsx", ".xml", ".yaml", ".yml")
)  # fmt: skip
_COMPRESSED = frozenset((".gz", ".zst"))
_PAGE_KEYS = 1_000

Sink = Callable[[Sequence[ExportedDocument]], None]


@dataclass(frozen=True, slots=True)
class ExportOptions(DocumentFilter):
    """Options of an export.

    >>> options = ExportOptions(part="unique", text=False)
    >>> store.export("unique.csv", options).document_count
    2

    Attributes:
        part: ``all`` documents; ``unique``: without what resembles one of them
            by ``min_resemblance``; ``duplicates``: those that ``unique`` leaves
            out, and the keys that were skipped.
        min_resemblance: Least resemblance of a document that ``unique`` leaves
            out to one that it exports, above 0, at most 1.
        collection: Only documents of this collection. Clusters are those of the
            collection alone then.
        text: With the texts, where the store keeps them.
        format: ``jsonl``, ``json`` (one array), ``csv`` or ``parquet``,
            whatever the file is called; ``auto``: by its name, before ``.gz``
            or ``.zst``, else ``jsonl``. A name that promises another format
            (``.xlsx``) is refused then.
        log: File for the documents that ``unique`` leaves out, complete and
            with the reason.
        dry_run: Only count.
        replace: Put the files in the place of others.
    """

    part: ExportPart = "all"
    min_resemblance: float = DROP_RESEMBLANCE
    text: bool = True
    format: ExportFormat = "auto"
    log: str | os.PathLike[str] | None = None
    dry_run: bool = False
    replace: bool = False


class ExportKeywords(DocumentFilterKeywords, total=False):
    """The options of an export by name, as :class:`ExportOptions` describes them."""

    part: ExportPart
    min_resemblance: float
    text: bool
    format: ExportFormat
    log: str | os.PathLike[str] | None
    dry_run: bool
    replace: bool


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ExportSummary(Shown):
    """Counts of an export, or of a dry run.

    >>> summary = store.export("unique.jsonl", part="unique")
    >>> summary.document_count, summary.dropped_count
    (2, 1)

    Attributes:
        document_count: Documents written, without keys that were skipped.
        text_bytes: Bytes of their texts, UTF-8.
        dropped_count: Documents that ``unique`` leaves out.
        dropped_bytes: Bytes of their texts.
        cluster_count: Clusters they are in.
        skipped_count: Keys that were skipped as duplicates when they came, and
            have no text.
        text_kept: The store keeps the texts.
    """

    document_count: int = 0
    text_bytes: int = 0
    dropped_count: int = 0
    dropped_bytes: int = 0
    cluster_count: int = 0
    skipped_count: int = 0
    text_kept: bool = True


def export_documents(
    opened: OpenStore,
    target: str | os.PathLike[str],
    options: ExportOptions,
    on_progress: Progress | None = None,
) -> ExportSummary:
    """Write the documents of one snapshot to a file, in order of ingest.

    For ``unique`` and ``duplicates`` clusters are computed, by the policy of the stored clusters if
    there are some.

    Args:
        opened: The store.
        target: The file; ``-`` is standard output. With a ``dry_run`` it is not looked at.
        options: What to write.
        on_progress: Called with documents done and in all.

    Raises:
        InvalidParameter: The options contradict each other.
        MissingExtra: Parquet is wanted and its library is not installed.
        OutputExists: There is a file already.
        StorageError: A file cannot be written; then there is none.
        NotFound: The store keeps nothing to cluster by.
    """
    _check(options, target)
    if options.format == "auto" and not options.dry_run:
        options = replace(options, format=format_of(target))
    left_out = {} if options.part == "all" else _left_out(opened, options, on_progress)
    with ExitStack() as stack:
        sinks = _Sinks(None, None) if options.dry_run else _open_sinks(stack, target, options)
        with opened.database.read() as connection:
            snapshot = opened.snapshot(connection)
            return _Export(snapshot, options, left_out, sinks).run(on_progress)


def format_of(target: str | os.PathLike[str]) -> ExportFormat:
    """Return the export format that a file name implies.

    Raises:
        InvalidParameter: It stands for one that is not written.
    """
    if is_standard_output(target):
        return "jsonl"
    path = PurePath(os.fspath(target))
    ending = path.suffix.lower()
    if ending in _COMPRESSED:
        ending = PurePath(path.stem).suffix.lower()
    if ending in _OTHER_FORMATS:
        raise InvalidParameter(
            f"{printable(path.name)}: an export is JSON Lines, JSON, CSV or Parquet, not "
            f"{ending[1:]}; name the file .jsonl, .json, .csv or .parquet, or choose a format"
        )
    if path.suffix.lower() == ".parquet":
        return "parquet"
    by_name: dict[str, ExportFormat] = {".json": "json", ".csv": "csv"}
    return by_name.get(ending, "jsonl")


def _check(options: ExportOptions, target: str | os.PathLike[str]) -> None:
    if options.part not in PARTS:
        raise InvalidParameter(f"part {options.part!r}: choose one of {', '.join(PARTS)}")
    if options.format not in FORMATS:
        raise InvalidParameter(f"format {options.format!r}: choose one of {', '.join(FORMATS)}")
    check_share("min_resemblance", options.min_resemblance)
    if options.log is None:
        return
    if options.part != "unique":
        raise InvalidParameter("a log tells what the unique part leaves out: give --unique")
    if not options.dry_run:
        check_apart({"log": options.log, "export": target})


def _left_out(
    opened: OpenStore, options: ExportOptions, on_progress: Progress | None
) -> dict[int, ExclusionReason]:
    """Return why documents are left out of the unique part, by their numbers."""
    with opened.database.read() as connection:
        kept = clusters.row(connection)
    policy = "first" if kept is None else str(CanonicalOrder(kept.policy, kept.preferred))
    least = options.min_resemblance
    wanted = ClusterOptions(min_resemblance=least, policy=policy, **options.chosen)
    rule = ClusterRule(policy, LeastShares(least))
    return {
        member.document_id: ExclusionReason(
            cluster.members[0].document_id,
            cluster.key,
            member.distance,
            member.resemblance,
            rule.member_reason(member),
        )
        for cluster in cluster_documents(opened, wanted, on_progress).clusters
        for member in cluster.members[1:]
    }


@dataclass(frozen=True, slots=True)
class _Sinks:
    """Where documents go: those of the part, and those that the unique part leaves out."""

    part: Sink | None
    log: Sink | None


def _open_sinks(stack: ExitStack, target: str | os.PathLike[str], options: ExportOptions) -> _Sinks:
    """Open the files; the log is there before the part is, which it belongs to."""
    if options.format == "parquet":
        from simstore.reports.parquet import parquet_sink

        part = stack.enter_context(
            parquet_sink(
                target,
                replace=options.replace,
                with_reasons=options.part == "duplicates",
            )
        )
    else:
        stream = stack.enter_context(written(target, replace=options.replace))
        part = stack.enter_context(_WRITERS[options.format](stream))
    if options.log is None:
        return _Sinks(part, None)
    log = stack.enter_context(written(options.log, replace=options.replace))
    return _Sinks(part, stack.enter_context(_lines(log)))


@contextmanager
def _lines(stream: BinaryIO) -> Iterator[Sink]:
    def write(page: Sequence[ExportedDocument]) -> None:
        stream.write(b"".join(map(json_line, page)))

    yield write


@contextmanager
def _array(stream: BinaryIO) -> Iterator[Sink]:
    before = b"[\n"

    def write(page: Sequence[ExportedDocument]) -> None:
        nonlocal before
        for document in page:
            stream.write(before + json_line(document)[:-1])
            before = b",\n"

    yield write
    stream.write(b"[]\n" if before == b"[\n" else b"\n]\n")


@contextmanager
def _csv(stream: BinaryIO) -> Iterator[Sink]:
    stream.write(csv_line(CSV_COLUMNS))

    def write(page: Sequence[ExportedDocument]) -> None:
        stream.write(b"".join(csv_line(csv_row(document)) for document in page))

    yield write


_WRITERS = {"jsonl": _lines, "json": _array, "csv": _csv}


class _Export:
    """One export, in one snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        options: ExportOptions,
        left_out: Mapping[int, ExclusionReason],
        sinks: _Sinks,
    ) -> None:
        self._snapshot = snapshot
        self._options = options
        self._left_out = left_out
        self._sinks = sinks
        self._text_kept = snapshot.settings.text_kept

    def run(self, on_progress: Progress | None) -> ExportSummary:
        """Write all, page by page."""
        connection, options = self._snapshot.connection, self._options
        total = documents.count(connection)
        counts = Counter[str]()
        canonical_ids: set[int] = set()
        for rows in pages(connection, options):
            dropped = [self._left_out.get(row.document_id) for row in rows]
            left_out = [place for place, why in enumerate(dropped) if why is not None]
            kept = [place for place, why in enumerate(dropped) if why is None]
            counts["dropped"] += len(left_out)
            counts["dropped bytes"] += sum(rows[place].byte_count for place in left_out)
            canonical_ids.update(why.canonical_id for why in dropped if why is not None)
            chosen = left_out if options.part == "duplicates" else kept
            counts["documents"] += len(chosen)
            counts["bytes"] += sum(rows[place].byte_count for place in chosen)
            self._write(self._sinks.part, rows, dropped, chosen)
            self._write(self._sinks.log, rows, dropped, left_out)
            counts["done"] += len(rows)
            if on_progress is not None:
                on_progress(counts["done"], total)
        if options.part == "duplicates" and not options.chosen:
            counts["skipped"] = self._write_skipped()
        return ExportSummary(
            document_count=counts["documents"],
            text_bytes=counts["bytes"],
            dropped_count=counts["dropped"],
            dropped_bytes=counts["dropped bytes"],
            cluster_count=len(canonical_ids),
            skipped_count=counts["skipped"],
            text_kept=self._text_kept,
        )

    def _write(
        self,
        sink: Sink | None,
        rows: Sequence[Any],
        dropped: Sequence[ExclusionReason | None],
        chosen: Sequence[int],
    ) -> None:
        """Write the chosen of a page's documents."""
        if sink is None or not chosen:
            return
        connection = self._snapshot.connection
        ids = [rows[place].document_id for place in chosen]
        texts: dict[int, str] = {}
        # A log gives back what was left out, so it is complete.
        if self._text_kept and (self._options.text or sink is self._sinks.log):
            texts = feature_counts.whole_texts(self._snapshot, ids)
        links = history.links_of(connection, ids)
        page = []
        for place, number in zip(chosen, ids, strict=True):
            row = rows[place]
            page.append(
                ExportedDocument(
                    key=exact_text(row.key),
                    text=texts.get(number),
                    **DocumentLabels.of(row).by_name(),
                    metadata=row.metadata or {},
                    digest=row.digest.hex(),
                    source=None if row.source_name is None else exact_text(row.source_name),
                    first_seen=row.first_seen,
                    first_seen_basis=row.first_seen_basis,
                    last_seen=row.last_seen,
                    links=tuple(map(exact_text, links.get(number, ()))),
                    dropped=dropped[place],
                )
            )
        sink(page)

    def _write_skipped(self) -> int:
        """Write the keys that were skipped as duplicates; return how many there are."""
        count, after = 0, None
        while rows := duplicates.some(
            self._snapshot.connection, state="skipped", original=None, after=after, limit=_PAGE_KEYS
        ):
            if self._sinks.part is not None:
                self._sinks.part([_skipped(row) for row in rows])
            count += len(rows)
            after = rows[-1].key
        return count


def _skipped(row: duplicates.DuplicateRow) -> ExportedDocument:
    why = ExclusionReason(
        0,
        exact_text(row.original_key),
        row.distance,
        row.known_resemblance,
        "skipped when it came",
    )
    return ExportedDocument(
        key=exact_text(row.key),
        text=None,
        **DocumentLabels().by_name(),
        metadata={},
        digest=row.digest.hex(),
        source=None,
        first_seen=row.first_seen,
        first_seen_basis="ingest",
        last_seen=row.last_seen,
        links=(),
        dropped=why,
    )
