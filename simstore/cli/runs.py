"""The command ``simstore runs``: list the latest ingests, removals and expiries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from simstore.cli.options import common_options, format_option, open_store, store_place
from simstore.cli.output import clock_text, time_text
from simstore.cli.parameters import command, count
from simstore.cli.remote import server_url
from simstore.cli.results import limited, print_items, print_record
from simstore.model.documents import FILTERS
from simstore.reports.lines import key_text

_COUNTS = (
    "added", "updated", "unchanged", "flagged", "skipped", "duplicates", "rejected", "removed",
    "passed over",
)  # fmt: skip
# Sources of a run that are shown by name; of more, the first.
_NAMED = 3


@command()
@click.argument("show", type=click.Choice(["show"]), required=False, metavar="[show]")
@click.argument("number", type=int, required=False, metavar="[RUN]")
@count("--limit", "How many.", default=20)
@format_option()
@common_options
def runs(show: str | None, number: int | None, limit: int, output_format: str) -> None:
    """List the latest ingests, removals and expiries: when, how they ended, what they did.

    `runs show RUN` lists the keys that a run removed.

    Examples:
      simstore runs
      simstore runs --limit 5 --format jsonl
      simstore runs show 12

    A run whose process was killed is interrupted. While some process has the store open it is
    listed as running or interrupted, as JSON running: which of them is not known.
    """
    if show is not None:
        if number is None:
            raise click.UsageError("name the RUN: `simstore runs` lists their numbers")
        _show(number, output_format)
        return
    found = _found(limit + 1)
    print_items(
        limited(found, limit, "run"),
        output_format,
        columns=("run", "kind", "started", "took", "state", *_COUNTS, "of"),
        row=lambda run: (
            run["run_id"],
            run["kind"],
            time_text(run["started_at"]),
            _took(run),
            _state(run),
            *(run.get(name.replace(" ", "_")) for name in _COUNTS),
            _what(run),
        ),
        record=lambda run: run,
    )


def _show(number: int, output_format: str) -> None:
    """Print a run, and the keys that it removed."""
    with open_store(read_only=True, served=True) as store:
        details = store.runs.show(number)
    run = details.run.record()
    keys = [key_text(key) for key in details.removed_keys]
    facts = [
        ("run", number),
        ("kind", run["kind"]),
        ("started", time_text(run["started_at"])),
        ("took", _took(run)),
        ("state", _state(run)),
        *((name, count) for name in _COUNTS if (count := run[name.replace(" ", "_")])),
        ("of", _what(run)),
        *(("removed key", key) for key in keys),
    ]
    shown = [fact for fact in facts if fact[1] != ""]
    print_record({**run, "removed_keys": keys}, output_format, facts=shown)


def _found(limit: int) -> list[dict[str, Any]]:
    """Return the latest runs; one whose process died is told as interrupted where that is known."""
    with open_store(read_only=True, served=True) as store:
        found = [run.record() for run in store.runs.ingest(limit)]
    if server_url() is None and any(run["state"] == "running" for run in found):
        from simstore.services.maintenance.killed_runs import killed_runs

        killed = frozenset(killed_runs(store_place()))
        for run in found:
            if run["run_id"] in killed:
                run["state"] = "interrupted"
    return found


def _state(run: Mapping[str, Any]) -> str:
    """Return how a run ended; of one that did not, nobody knows whether it goes on."""
    state: str = run["state"]
    return "running or interrupted" if state == "running" else state


def _took(run: Mapping[str, Any]) -> str:
    """Return how long a run took."""
    if run["finished_at"] is None:
        return ""
    return clock_text(run["finished_at"] - run["started_at"])


def _what(run: Mapping[str, Any]) -> str:
    """Return a run's input: its sources, or a time and a filter of documents."""
    if run["not_seen_since"] is not None:
        values = ((name, run.get(name)) for name in FILTERS)
        of = "".join(f", {name} {value}" for name, value in values if value is not None)
        return f"last seen before {time_text(run['not_seen_since'])}{of}"
    names = run["sources"]
    if len(names) <= _NAMED:
        return " ".join(names)
    return f"{names[0]} and {len(names) - 1:,} more"
