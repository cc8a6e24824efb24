"""Render matches as JSON Lines and CSV; format keys, numbers and times for reports."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from simstore.errors import printable
from simstore.text.decoding import encode

if TYPE_CHECKING:
    from simstore.model import Decoding, Match, SampleResult, SourceShare

_CONTROLS = re.compile("[\x7f-\x9f]")
CSV_COLUMNS = (
    "sample", "rank", "key", "distance", "document_id", "channels", "resemblance", "containment",
    "containment_reverse", "basis",
    "too_short", "passage_start", "passage_end", "passage_similarity", "character_resemblance",
    "title", "author", "date", "url",
)  # fmt: skip


def render_jsonl(samples: Iterable[SampleResult]) -> Iterator[bytes]:
    """Yield one JSON object a sample, with its matches in order.

    Keys are shown with what is not UTF-8 escaped; such a key has its bytes in ``key_base64`` too.
    """
    for sample in samples:
        record = {
            "sample": key_text(sample.key),
            **key_bytes("sample", sample.key),
            "fingerprint": sample.fingerprint or None,
            "too_short": sample.too_short,
            **decoding_fields(sample.decoding),
            "matches": [
                {
                    "key": key_text(match.key),
                    **key_bytes("key", match.key),
                    "distance": match.distance,
                    "document_id": match.document_id,
                    "channels": list(match.channels),
                    "resemblance": rounded(match.resemblance),
                    "containment": rounded(match.containment),
                    "containment_reverse": rounded(match.containment_reverse),
                    "basis": match.basis,
                    "passage_start": match.passage_start,
                    "passage_end": match.passage_end,
                    "passage_similarity": rounded(match.passage_similarity),
                    "character_resemblance": rounded(match.character_resemblance),
                    "title": match.title,
                    "author": match.author,
                    "date": match.date,
                    "url": match.url,
                }
                for match in sample.matches
            ],
        }
        yield to_json(record).encode() + b"\n"


def render_csv(samples: Iterable[SampleResult]) -> Iterator[bytes]:
    """Yield a header and one row a match; a sample without matches has one row without a key."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for sample in samples:
        shown = printable(sample.key)
        short = "yes" if sample.too_short else "no"
        if not sample.matches:
            place = CSV_COLUMNS.index("too_short")
            rest = len(CSV_COLUMNS) - place - 1
            writer.writerow((shown, *("",) * (place - 1), short, *("",) * rest))
        for rank, match in enumerate(sample.matches, 1):
            writer.writerow(
                (
                    shown,
                    rank,
                    printable(match.key),
                    match.distance,
                    match.document_id,
                    "+".join(match.channels),
                    rounded(match.resemblance),
                    rounded(match.containment),
                    rounded(match.containment_reverse),
                    match.basis,
                    short,
                    match.passage_start,
                    match.passage_end,
                    rounded(match.passage_similarity),
                    rounded(match.character_resemblance),
                    *(
                        fact and printable(fact)
                        for fact in (match.title, match.author, match.date, match.url)
                    ),
                )
            )
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def json_array(lines: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield blocks of JSON Lines as one JSON array, an element a line.

    >>> b"".join(json_array([b"1\n2\n", b"3\n"]))
    b'[\n1,\n2,\n3\n]\n'
    """
    yield b"["
    separator = b"\n"
    for block in lines:
        for line in filter(None, block.split(b"\n")):
            yield separator + line
            separator = b",\n"
    yield b"]\n" if separator == b"\n" else b"\n]\n"


def csv_line(values: Sequence[Any]) -> bytes:
    r"""Return values as a row of CSV.

    >>> csv_line(["a", None, "b, c"])
    b'a,,"b, c"\n'
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue().encode("utf-8", "backslashreplace")


def about_line(found: Match | SourceShare) -> str:
    """Return title, author, date and address of a document, in a line; empty: it tells none.

    What is its key is left out.
    """
    facts = (found.title, found.author, found.date, found.url)
    return ", ".join(printable(fact) for fact in facts if fact and fact != found.key)


def decoding_fields(decoding: Decoding | None) -> dict[str, Any]:
    """Return how a text was decoded as fields of a record; none, where nothing is doubtful."""
    return {} if decoding is None else {"decoding": asdict(decoding)}


def to_json(value: Any, **options: Any) -> str:
    """Return JSON text that is safe to print: control characters of Latin-1 are escaped too."""
    text = json.dumps(value, ensure_ascii=False, **options)
    if text.isascii() and "\x7f" not in text:
        return text
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def rounded(share: float | None) -> float | None:
    """Return a share with four digits after the point."""
    return None if share is None else round(share, 4)


def key_text(key: str) -> str:
    """Return a key with what is not UTF-8 escaped."""
    return encode(key).decode("utf-8", "backslashreplace")


def key_bytes(name: str, key: str) -> dict[str, Any]:
    """Return the field ``NAME_base64`` with the bytes of a key that is not UTF-8, else nothing."""
    data = encode(key)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode("ascii")}
    return {}


def time_text(seconds: int) -> str:
    """Return a time, in seconds since 1970-01-01 UTC, as ``2026-05-01 12:00:00 UTC``.

    What no calendar has is left in seconds.
    """
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s after 1970"
