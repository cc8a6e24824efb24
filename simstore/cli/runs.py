"""The command ``simstore runs``: list the latest ingests, removals and expiries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import clock_text, time_text
from simstore.cli.parameters import command, count
from simstore.cli.results import limited, print_items
from simstore.model.documents import FILTERS

_COUNTS = (
    "added", "updated", "unchanged", "flagged", "skipped", "duplicates", "rejected", "removed",
    "passed over",
)  # fmt: skip
# Sources of a run that are shown by name; of more, the first.
_NAMED = 3
# What a narrow terminal can do without.
_DROP = (
    "duplicates",
    "passed over",
    "unchanged",
    "of",
    "flagged",
    "updated",
    "took",
    "kind",
    "skipped",
    "removed",
)


@command()
@count("--limit", "How many.", default=20)
@format_option()
@common_options
def runs(limit: int, output_format: str) -> None:
    """List the latest ingests, removals and expiries: when, how they ended, what they did.

    Examples:
      simstore runs
      simstore runs --limit 5 --format jsonl
    """
    with open_store(read_only=True, served=True) as store:
        found = [run.record() for run in store.runs.ingest(limit + 1)]
    print_items(
        limited(found, limit, "runs"),
        output_format,
        columns=("run", "kind", "started", "took", "state", *_COUNTS, "of"),
        row=lambda run: (
            run["run_id"],
            run.get("kind", "ingest"),
            time_text(run["started_at"]),
            _took(run),
            run["state"],
            *(run.get(name.replace(" ", "_")) for name in _COUNTS),
            _what(run),
        ),
        record=lambda run: run,
        drop=_DROP,
    )


def _took(run: Mapping[str, Any]) -> str:
    """Return how long a run took."""
    if run["finished_at"] is None:
        return ""
    return clock_text(run["finished_at"] - run["started_at"])


def _what(run: Mapping[str, Any]) -> str:
    """Return a run's input: its sources, or a time and a filter of documents."""
    # A server of an older version does not tell of removals.
    if run.get("not_seen_since") is not None:
        values = ((name, run.get(name)) for name in FILTERS)
        of = "".join(f", {name} {value}" for name, value in values if value is not None)
        return f"last seen before {time_text(run['not_seen_since'])}{of}"
    names = run["sources"]
    if len(names) <= _NAMED:
        return " ".join(names)
    return f"{names[0]} and {len(names) - 1:,} more"
