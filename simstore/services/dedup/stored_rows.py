"""Decide which rows duplicate what a store holds, and add the others to it.

Rows are ingested with ``on_duplicate="skip"``, so the decision is the store's own. A row whose key
and text are stored is known, and dropped. Where another text has its key, as where two files number
their rows, it gets a key of its own in the store: the key, ``@`` and a digest of its text.

The ingests of a run have a name that is derived from its output and inputs, and another one as
soon as the output is published. So the same command, after an interruption, recognises the rows
that it stored before and that are in no output yet, and keeps them.

Several processes may add rows at once. What is known of keys is read before the transaction that
stores rows, and looked at again in it: where another process stored one of them meanwhile, nothing
is written and the rows are judged again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import numpy as np

from simstore.errors import printable
from simstore.model import Document, Duplicate, Outcome
from simstore.outputs import is_standard_output
from simstore.rows.batch import RowBatch
from simstore.services.dedup.options import RowOptions
from simstore.services.dedup.signed_rows import (
    KEYS,
    REJECTS,
    ROWS,
    Reading,
    StoredKeys,
    rejection_lines,
    row_array,
)
from simstore.services.dedup.verdicts import ClusterVerdicts, Original, numbered
from simstore.services.dedup.work_files import WorkFiles
from simstore.services.duplicates.measure import Measure
from simstore.services.ingest.ingest import ingest_documents
from simstore.services.ingest.options import IngestOptions, Observer
from simstore.services.open_store.open_store import OpenStore
from simstore.sources.streams import is_read_once
from simstore.storage import documents, duplicates, runs
from simstore.storage.documents import DocumentRow
from simstore.storage.duplicates import DuplicateRow
from simstore.storage.engine import Connection
from simstore.text.decoding import document_digest, encode, exact_text

FOUND = "found.jsonl"
# Rows that are given to the store at once.
_GROUP_ROWS = 8_000
_DIGEST_LETTERS = 16
# Files that an ingest is called by in the list of runs.
_NAMED_FILES = 3


class _Moved(Exception):
    """Another process stored a key since it was looked up."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The documents and skipped duplicates that have the keys of some rows in a store.

    Attributes:
        keys: The key of each row in the store.
        stored: The documents that have one of them.
        skipped: The keys that it skipped before, by key.
        others: All that it noted of duplicates, by key.
    """

    keys: list[str]
    stored: dict[str, DocumentRow]
    skipped: dict[str, DuplicateRow]
    others: dict[bytes, DuplicateRow]


@dataclass(slots=True)
class _Judged:
    """What became of a document: None where it is kept."""

    key: str
    original: Original | None = None
    resemblance: float = 0.0


def run_mark(names: Sequence[str], output: str) -> str:
    """Return the name of the ingests of a run until its output is published.

    Args:
        names: The inputs as they were named.
        output: A file, a folder, or ``-``.
    """
    if is_standard_output(output) or any(map(is_read_once, names)):
        # Nothing shows that another run would write the same.
        return f"dedup {uuid4().hex[:12]}"
    places = [os.fsencode(os.path.abspath(name)) for name in (output, *names)]
    return f"dedup {hashlib.blake2b(bytes(1).join(places), digest_size=6).hexdigest()}"


def mark_written(store: OpenStore, mark: str) -> None:
    """Note that the rows of a run are in its output: runs that begin now drop them as known."""
    with store.database.write() as connection:
        runs.rename_source(connection, mark, _written(mark))


def _written(mark: str) -> str:
    return f"{mark}, written"


def judge_by_store(
    store: OpenStore, reading: Reading, work: WorkFiles, options: RowOptions, mark: str
) -> tuple[StoredKeys, ClusterVerdicts]:
    """Add the rows of files to a store that duplicate nothing in it.

    Returns:
        The rows, and the decision about each.
    """
    names = [printable(file.name) for file in reading.files[:_NAMED_FILES]]
    judging = _Judging(store, work, options, [*names, mark])
    for group in _groups(reading.batches()):
        for _, batch in group:
            work.append(REJECTS, rejection_lines(batch))
        judging.take(group)
    keys = StoredKeys(work)
    return keys, _verdicts(work, keys)


def check_store(store: OpenStore, options: RowOptions) -> None:
    """Raise InvalidParameter where a store cannot tell which rows duplicate its documents."""
    if options.stored_channels:
        with store.database.read() as connection:
            Measure.of(store.state(connection), options.stored_channels)


class _Judging:
    """Gives groups of rows to a store, and notes what became of each.

    Args:
        store: The store.
        work: Where it is noted.
        options: Of the run.
        names: The names of its ingests; the last one is the mark of the run.
    """

    def __init__(
        self,
        store: OpenStore,
        work: WorkFiles,
        options: RowOptions,
        names: Sequence[str],
    ) -> None:
        self._store = store
        self._names = names
        self._work = work
        self._ingest = IngestOptions(
            on_duplicate="skip",
            # The store drops the texts of rows that are marked, too.
            min_resemblance=replace(options, mark=False).least,
            threads=options.threads,
            channels=options.stored_channels,
            short_texts=options.short_texts,
        )
        self._row_count = 0
        # Ingests of this process; and those whose rows are all in this run's output.
        self._own: set[int] = set()
        self._cut_off: set[int] = set()
        # Texts that were stored by ingests that were cut off, and met again.
        self._kept: set[bytes] = set()
        with store.database.read() as connection:
            self._last_run = runs.last_run(connection)

    def take(self, batches: Sequence[tuple[int, RowBatch]]) -> None:
        """Decide of some rows."""
        held = [row for _, batch in batches for row in batch.rows if isinstance(row, Document)]
        texts = [encode(one.text) for one in held]
        digests = [
            document_digest(encode(one.key), one.text, data)
            for one, data in zip(held, texts, strict=True)
        ]
        judged = self._judged(held, digests)
        done = 0
        for number, batch in batches:
            made = row_array(number, batch.rows)
            places = np.flatnonzero(made["kind"])
            some = slice(done, done + len(places))
            done = some.stop
            keys = [encode(one.key) for one in judged[some]]
            made["key_bytes"][places] = list(map(len, keys))
            made["byte_count"][places] = list(map(len, texts[some]))
            digest = np.frombuffer(b"".join(digests[some]), "<u8")
            made["digest"][places] = digest.reshape(-1, 2)
            for place, one in zip(places.tolist(), judged[some], strict=True):
                if one.original is not None:
                    told = {
                        "row": self._row_count + place,
                        "original": encode(one.original.key).decode("utf-8", "surrogateescape"),
                        "basis": one.original.basis,
                        "resemblance": one.resemblance,
                    }
                    self._work.append(FOUND, json.dumps(told).encode() + b"\n")
            self._work.append(ROWS, made.tobytes())
            self._work.append(KEYS, b"".join(keys))
            self._row_count += len(batch.rows)

    def _judged(self, held: Sequence[Document], digests: Sequence[bytes]) -> list[_Judged]:
        while True:
            try:
                return self._judged_once(held, digests)
            except _Moved:
                # What other processes stored is seen now; what this one stored is its own.
                continue

    def _judged_once(self, held: Sequence[Document], digests: Sequence[bytes]) -> list[_Judged]:
        known = self._known(held, digests)
        own: set[bytes] = set()
        firsts: dict[str, _Judged] = {}
        fresh: list[Document] = []
        result = []
        for one, key, digest in zip(held, known.keys, digests, strict=True):
            if (first := firsts.get(key)) is not None:
                # The same row again, key and text.
                result.append(first)
                continue
            made = firsts[key] = _Judged(key)
            result.append(made)
            stored, skipped = known.stored.get(key), known.skipped.get(key)
            if stored is not None:
                if stored.run_id in self._cut_off and digest not in self._kept:
                    own.add(digest)
                else:
                    made.original, made.resemblance = Original(key, None, "same"), 1.0
            elif skipped is not None:
                made.original = Original(exact_text(skipped.original_key), None, skipped.basis)  # type: ignore[arg-type]
                made.resemblance = skipped.resemblance
            else:
                fresh.append(one if one.key == key else replace(one, key=key))
        self._add(fresh, firsts, known.others)
        self._kept |= own
        seen: set[str] = set()
        for place, made in enumerate(result):
            if made.key in seen:
                again = made.original or Original(made.key, None, "same")
                share = made.resemblance if made.original is not None else 1.0
                result[place] = _Judged(made.key, again, share)
            seen.add(made.key)
        return result

    def _known(self, held: Sequence[Document], digests: Sequence[bytes]) -> _Known:
        """Return the keys of rows in the store, and what it has of them."""
        usual = [one.key for one in held]
        apart = [
            f"{key}@{digest.hex()[:_DIGEST_LETTERS]}"
            for key, digest in zip(usual, digests, strict=True)
        ]
        with self._store.database.read() as connection:
            asked = sorted({encode(key) for key in usual + apart})
            mark = self._names[-1]
            same = runs.runs_called(connection, mark)
            # The same command may be running twice: each of its outputs is complete.
            same |= runs.runs_called(connection, _written(mark), after=self._last_run)
            rows = documents.by_keys(connection, asked)
            others = duplicates.by_keys(connection, asked)
        self._cut_off |= same - self._own
        stored = {exact_text(key): row for key, row in rows.items()}
        # A key that was skipped has a date of its own: with another text it would come first.
        skipped = {
            exact_text(key): row for key, row in others.items() if row.original_id is not None
        }
        holders = {exact_text(key): row.digest for key, row in others.items()}
        holders |= {key: row.digest for key, row in stored.items()}
        keys = []
        for key, other, digest in zip(usual, apart, digests, strict=True):
            keys.append(key if holders.setdefault(key, digest) == digest else other)
        return _Known(keys, stored, skipped, others)

    def _add(
        self,
        fresh: Sequence[Document],
        firsts: dict[str, _Judged],
        known: dict[bytes, DuplicateRow],
    ) -> None:
        """Ingest documents, and note what those that are skipped duplicate.

        Args:
            fresh: Documents whose keys the store does not have.
            firsts: What becomes of each key.
            known: What the store noted of duplicates of these keys.

        Raises:
            _Moved: Another process stored one of the keys; some may be stored.
        """
        if not fresh:
            return
        outcomes: list[tuple[str, Outcome]] = []
        found: dict[str, Duplicate] = {}
        written: set[int] = set()

        def guard(connection: Connection, run_id: int, keys: Sequence[bytes]) -> None:
            asked = sorted(set(keys))
            noted = {key: known[key] for key in asked if key in known}
            if (
                documents.numbers_of(connection, asked)
                or duplicates.by_keys(connection, asked) != noted
            ):
                # A first transaction that is rolled back gives the number to another run.
                self._cut_off |= written
                raise _Moved
            written.add(run_id)
            self._own.add(run_id)

        ingest_documents(
            self._store,
            fresh,
            self._ingest,
            Observer(
                on_document=lambda key, outcome: outcomes.append((key, outcome)),
                on_found=lambda one: found.update({one.key: one}),
            ),
            names=self._names,
            guard=guard,
        )
        for key, outcome in outcomes:
            if outcome == "skipped":
                one = found[key]
                made = firsts[key]
                made.original = Original(one.original, None, one.basis)
                made.resemblance = 1.0 if one.resemblance is None else one.resemblance


def _groups(
    read: Iterator[tuple[int, RowBatch]],
) -> Iterator[list[tuple[int, RowBatch]]]:
    group: list[tuple[int, RowBatch]] = []
    count = 0
    for one in read:
        group.append(one)
        count += len(one[1].rows)
        if count >= _GROUP_ROWS:
            yield group
            group, count = [], 0
    if group:
        yield group


def _verdicts(work: WorkFiles, keys: StoredKeys) -> ClusterVerdicts:
    found = {one["row"]: one for one in map(json.loads, work.stream(FOUND))}
    count = len(keys.rows)
    dropped = np.zeros(count, np.bool_)
    shares = np.zeros(count, np.float64)
    originals = {one["original"] for one in found.values()}
    kept: dict[str, int] = {}
    for row in np.flatnonzero(keys.rows["kind"]).tolist():
        if row not in found and (key := keys.key(row)) in originals:
            kept[key] = row
    # What is in the store alone has numbers behind those of the rows.
    beyond: dict[str, int] = {}
    centres = np.arange(count)
    for row, one in found.items():
        key = one["original"]
        dropped[row], shares[row] = True, one["resemblance"]
        centres[row] = kept[key] if key in kept else count + beyond.setdefault(key, len(beyond))

    def original(row: int) -> Original:
        one = found[row]
        return Original(one["original"], kept.get(one["original"]), one["basis"])

    return ClusterVerdicts(dropped, shares, numbered(centres, dropped), original)
