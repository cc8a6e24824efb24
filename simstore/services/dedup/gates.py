"""Sort rows by what is known elsewhere: a store, a server, or benchmarks. Nothing is written there.

A gate returns for some documents at a time what each resembles. Rejects, the log and outputs are
those of `simstore dedup`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from simstore.model import Document, Match, QueryOptions, QueryRun, SampleResult
from simstore.model.channels import DROP_RESEMBLANCE
from simstore.rows.batch import RowBatch
from simstore.services.dedup.options import MARKS
from simstore.services.dedup.signed_rows import (
    KEYS,
    REJECTS,
    ROWS,
    Reading,
    StoredKeys,
    rejection_lines,
    row_array,
)
from simstore.services.dedup.verdicts import Verdicts
from simstore.services.dedup.work_files import WorkFiles
from simstore.text.decoding import encode, text_digest

FOUND = "found.jsonl"
Keep = Literal["new", "known"]


@dataclass(frozen=True, slots=True)
class Known:
    """The stored document that a row resembles.

    Attributes:
        key: Key of the document that it resembles most.
        resemblance: To that one, 0 to 1.
        basis: ``same``: one text; ``text``: compared exactly; ``sketch``: estimated; or another
            word of the gate.
        facts: What else is told of the row in the log and its marks; JSON values.
    """

    key: str
    resemblance: float | None
    basis: str
    facts: dict[str, Any] = field(default_factory=dict)


Answer = Callable[[Sequence[Document]], Sequence[Known | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A question to a store that decides which rows are kept.

    Attributes:
        answer: Returns what each of some documents is like; None: it is new.
        keep: Which rows are kept: those that are ``new``, or those that are ``known``.
        columns: Names of the columns that are added where rows are marked: the first two are the
            key and the resemblance, others are facts of that name.
        settle: Given what was found of all rows, returns what stands; None: all of it.
    """

    answer: Answer
    keep: Keep = "new"
    columns: tuple[str, ...] = MARKS[:2]
    settle: Callable[[dict[int, Known], StoredKeys], dict[int, Known]] | None = None


class GateVerdicts:
    """The decisions of a gate, one for each row.

    Args:
        gate: The gate.
        rows: The rows.
        found: By number, what is known of a row.
    """

    def __init__(self, gate: Gate, rows: NDArray[Any], found: dict[int, Known]) -> None:
        is_known = np.zeros(len(rows), np.bool_)
        is_known[list(found)] = True
        is_document = rows["kind"] == 1
        dropped = is_document & (is_known if gate.keep == "new" else ~is_known)
        self.dropped: NDArray[np.bool_] = dropped
        self.columns = gate.columns
        self.cluster_count = 0
        differing = Counter(
            one.key
            for row, one in found.items()
            if dropped[row] and one.resemblance is not None and one.resemblance < 1
        )
        self.most_differing = max(differing.values(), default=0)
        self._found = found

    def marks(self, first: int, end: int) -> dict[str, list[Any]]:
        """Return the values of the columns that are added to rows."""
        of_key, of_share, *others = self.columns
        found = [self._found.get(row) for row in range(first, end)]
        return {
            of_key: [None if one is None else one.key for one in found],
            of_share: [None if one is None else _rounded(one.resemblance) for one in found],
            **{name: [one and one.facts.get(name) for one in found] for name in others},
        }

    def told(self, row: int) -> tuple[dict[str, Any], None]:
        """Return what the log says of a row that is dropped; what it is like is no row."""
        of_key, of_share, *_ = self.columns
        one = self._found.get(row)
        if one is None:
            return {of_key: None, of_share: None, "basis": None}, None
        told = {of_key: one.key, of_share: _rounded(one.resemblance), "basis": one.basis}
        return {**told, **one.facts}, None


def judge_by_gate(gate: Gate, reading: Reading, work: WorkFiles) -> tuple[StoredKeys, Verdicts]:
    """Ask a gate about the rows of files; return the rows, and the decision about each."""
    first = 0
    for number, batch in reading.batches():
        _note(gate, number, batch, first, work)
        first += len(batch.rows)
    keys = StoredKeys(work)
    found = {one.pop("row"): Known(**one) for one in map(json.loads, work.stream(FOUND))}
    if gate.settle is not None:
        found = gate.settle(found, keys)
    return keys, GateVerdicts(gate, keys.rows, found)


def _note(gate: Gate, number: int, batch: RowBatch, first: int, work: WorkFiles) -> None:
    """Ask about the documents of a batch, and note the answers."""
    made = row_array(number, batch.rows)
    held = [(place, row) for place, row in enumerate(batch.rows) if isinstance(row, Document)]
    answers = gate.answer([row for _, row in held])
    keys, lines = [], []
    for (place, row), known in zip(held, answers, strict=True):
        key, text = encode(row.key), encode(row.text)
        keys.append(key)
        made[place]["key_bytes"] = len(key)
        made[place]["byte_count"] = len(text)
        made[place]["digest"] = np.frombuffer(text_digest(text), "<u8")
        if known is not None:
            told = {
                "row": first + place,
                "key": known.key,
                "resemblance": known.resemblance,
                "basis": known.basis,
                "facts": known.facts,
            }
            lines.append(json.dumps(told).encode() + b"\n")
    work.append(ROWS, made.tobytes())
    work.append(KEYS, b"".join(keys))
    work.append(FOUND, b"".join(lines))
    work.append(REJECTS, rejection_lines(batch))


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)


class Queried(Protocol):
    """A store, or the client of a server."""

    def query_many(
        self, samples: Sequence[Document], options: QueryOptions | None = None, /
    ) -> QueryRun:
        """Return the matches of each sample, in the order of the samples."""


def store_answer(
    store: Queried, min_resemblance: float = DROP_RESEMBLANCE, *, radius: int | None = None
) -> Answer:
    """Return what tells which stored document each row resembles most.

    The store is read, never written.

    Args:
        store: A store, or the client of a server.
        min_resemblance: Least resemblance of a row that is known, above 0, at most 1.
        radius: Of fingerprints, bits; None: 3.
    """
    options = QueryOptions(min_resemblance=min_resemblance, radius=radius)

    def answer(documents: Sequence[Document]) -> list[Known | None]:
        # Keys of several files may be the same; texts without a key have none.
        asked = [replace(one, key=str(n)) for n, one in enumerate(documents)]
        return [_known(result) for result in store.query_many(asked, options)]

    return answer


def _known(result: SampleResult) -> Known | None:
    nearest = min(result.matches, key=_rank, default=None)
    if nearest is None:
        return None
    return Known(nearest.key, nearest.resemblance, nearest.basis or "distance")


def _rank(match: Match) -> tuple[float, int]:
    return -(match.resemblance or 0.0), match.document_id
