"""The report formats there are, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from simstore.model import SampleResult
from simstore.reports import lines, simtool

Renderer = Callable[[Iterable[SampleResult]], Iterator[bytes]]

RENDERERS: dict[str, Renderer] = {
    "simtool": simtool.render,
    "jsonl": lines.render_jsonl,
    "csv": lines.render_csv,
}
