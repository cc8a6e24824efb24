"""A table of the report formats of a query, and a renderer of the ``result.txt`` of ``simtool``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from simstore.reports.lines import json_array, render_csv, render_jsonl
from simstore.text.decoding import encode

if TYPE_CHECKING:
    from simstore.model import Match, SampleResult

Renderer: TypeAlias = "Callable[[Iterable[SampleResult]], Iterator[bytes]]"


def render_simtool(samples: Iterable[SampleResult]) -> Iterator[bytes]:
    """Yield the course tool's ``result.txt``, a block a sample.

    A block is the sample's key, then ``d:`` and the keys at each distance d.
    What the channel simhash found, and nothing else.
    Keys are written as the bytes that they are; each match is followed by one blank.
    """
    for sample in samples:
        lines: dict[int, list[bytes]] = {}
        for match in sample.matches:
            distance = listed_distance(match)
            if distance is not None:
                lines.setdefault(distance, []).append(encode(match.key) + b" ")
        yield encode(sample.key) + b"\n"
        for distance in sorted(lines):
            yield b"%d:" % distance + b"".join(lines[distance]) + b"\n"


def listed_distance(match: Match) -> int | None:
    """Return the distance at which ``result.txt`` lists a match; None: it does not list it."""
    return match.distance if "simhash" in match.channels else None


RENDERERS: dict[str, Renderer] = {
    "simtool": render_simtool,
    "json": lambda samples: json_array(render_jsonl(samples)),
    "jsonl": render_jsonl,
    "csv": render_csv,
}
