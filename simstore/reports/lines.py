"""Render matches as JSON Lines and CSV; format keys, numbers and times for reports."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
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
            "matches": [record_of(match) for match in sample.matches],
        }
        yield to_json(record).encode() + b"\n"


def render_csv(samples: Iterable[SampleResult]) -> Iterator[bytes]:
    """Yield a header and one row a match; a sample without matches has one row without a key."""
    yield csv_line(CSV_COLUMNS)
    for sample in samples:
        about = {"sample": sample.key, "too_short": "yes" if sample.too_short else "no"}
        rows = [
            asdict(match) | {"rank": rank, "channels": "+".join(match.channels)}
            for rank, match in enumerate(sample.matches, 1)
        ]
        for row in rows or [{}]:
            yield csv_line([_csv_cell((row | about).get(name)) for name in CSV_COLUMNS])


def _csv_cell(value: Any) -> Any:
    if isinstance(value, float):
        return rounded(value)
    return printable(value) if isinstance(value, str) else value


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


def record_of(result: Any, *left_out: str) -> dict[str, Any]:
    """Return the fields of a result as JSON values by their names, with shares rounded.

    What a field ``NAME_key`` holds is called ``NAME``; ``NAME_base64`` stands beside a key that is
    not UTF-8.

    >>> merge = ClusterMerge(3, 1, 1_764_547_200)
    >>> record_of(merge, "ended_at")
    {'cluster_id': 3, 'merged_into': 1}

    Args:
        result: The result.
        left_out: Names of fields that are not wanted.
    """
    record: dict[str, Any] = {}
    for field in fields(result):
        value = getattr(result, field.name)
        if field.name in left_out:
            continue
        if field.name == "key" or field.name.endswith("_key"):
            name = field.name.removesuffix("_key")
            record |= {name: key_text(value), **key_bytes(name, value)}
        else:
            record[field.name] = rounded(value) if isinstance(value, float) else value
    return record


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
