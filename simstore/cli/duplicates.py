"""The command ``simstore duplicates``: list the duplicates found at ingest."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from simstore.cli.messages import log
from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import time_text
from simstore.cli.parameters import choice, command, option
from simstore.cli.results import print_items
from simstore.errors import DocumentNotFound, printable
from simstore.reports.lines import rounded
from simstore.wire import to_wire

if TYPE_CHECKING:
    from simstore.model import Duplicate

_COLUMNS = (
    "key", "state", "original", "distance", "resemblance", "basis", "first seen", "last seen",
)  # fmt: skip


@command()
@choice(
    "--state",
    ("flagged", "skipped", "orphaned", "uncovered"),
    "Only those that are stored too; only those that are not; only those whose original was "
    "removed (orphaned) or no longer has their text (uncovered): ingest them again.",
)
@option("--of original", "Only duplicates of this document.", metavar="KEY")
@format_option("keys")
@common_options
def duplicates(state: str | None, original: str | None, output_format: str) -> None:
    """List what `ingest --on-duplicate` found to be duplicates, and of which document.

    Examples:
      simstore duplicates               what was flagged or skipped, and why
      simstore duplicates --of page-17  what duplicates one document
      simstore duplicates --state skipped --format jsonl
      simstore duplicates --state orphaned --format keys | xargs my-crawler-fetch
    """
    with open_store(read_only=True, served=True) as store:
        found = iter(store.duplicates.list(state=state, original=original))
        first = list(islice(found, 1))
        if not first and original is not None and store.seen(original) is None:
            raise DocumentNotFound(original)
        print_items(
            chain(first, found),
            output_format,
            columns=_COLUMNS,
            row=_row,
            record=to_wire,
        )
        if not first and state is None and original is None and output_format == "table":
            log.info(
                "nothing was flagged or skipped; `ingest --on-duplicate flag` does so, and\n"
                "`simstore clusters` groups what is stored and nearly the same"
            )


def _row(one: Duplicate) -> tuple[str | int | float | None, ...]:
    return (
        printable(one.key), one.state, printable(one.original), one.distance,
        rounded(one.resemblance), one.basis, time_text(one.first_seen), time_text(one.last_seen),
    )  # fmt: skip
