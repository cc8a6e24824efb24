"""The course tool's ``result.txt``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from simstore.text.decoding import encode

if TYPE_CHECKING:
    from simstore.model import SampleResult


def render(samples: Iterable[SampleResult]) -> Iterator[bytes]:
    """Yield the block of each sample: its key, then ``d:`` and the keys at each distance d.

    What the channel simhash found, and nothing else.
    Keys are written as the bytes that they are; each match is followed by one blank.
    """
    for sample in samples:
        lines: dict[int, list[bytes]] = {}
        for match in sample.matches:
            if match.distance is None or "simhash" not in match.channels:
                continue
            lines.setdefault(match.distance, []).append(encode(match.key) + b" ")
        yield encode(sample.key) + b"\n"
        for distance in sorted(lines):
            yield b"%d:" % distance + b"".join(lines[distance]) + b"\n"
