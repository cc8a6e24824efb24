"""The report formats there are, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from simstore.reports import lines, simtool

if TYPE_CHECKING:
    from simstore.model import SampleResult

Renderer: TypeAlias = "Callable[[Iterable[SampleResult]], Iterator[bytes]]"

RENDERERS: dict[str, Renderer] = {
    "simtool": simtool.render,
    "json": lambda samples: lines.json_array(lines.render_jsonl(samples)),
    "jsonl": lines.render_jsonl,
    "csv": lines.render_csv,
}
