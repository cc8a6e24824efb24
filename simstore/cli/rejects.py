"""The command ``simstore rejects``: list and clear records that were not stored."""

from __future__ import annotations

from simstore.cli.options import common_options, format_option, open_store, yes_option
from simstore.cli.output import confirm
from simstore.cli.parameters import command, flag
from simstore.cli.results import print_rows, print_summary
from simstore.cli.source_options import with_remedy


@command()
@flag("--clear", "Forget all of them; it asks first, and without a terminal it wants --yes.")
@yes_option
@format_option()
@common_options
def rejects(clear: bool, yes: bool, output_format: str) -> None:
    """List the records of all sources that could not be stored, and why, as last read.

    Examples:
      simstore rejects --format csv > rejects.csv
      simstore rejects --clear --yes
    """
    if clear:
        _clear(output_format, yes=yes)
        return
    with open_store(read_only=True, served=True) as store:
        found = store.rejects.list()
    columns = ("reject", "source", "record", "byte", "reason")
    rows = [
        (
            one.reject_id,
            one.rejection.source,
            one.rejection.position,
            one.rejection.byte_offset,
            with_remedy(one.rejection.reason),
        )
        for one in found
    ]
    print_rows(columns, rows, output_format)


def _clear(output_format: str, *, yes: bool) -> None:
    """Forget all rejected records."""
    with open_store() as store:
        if count := len(store.rejects.list()):
            confirm(f"all rejected records would be forgotten: {count:,}", yes=yes)
            count = store.rejects.clear()
    print_summary({"forgotten": count}, f"{count:,} forgotten", output_format)
