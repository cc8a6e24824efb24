"""The commands ``simstore rejects``: list and clear records that were not stored."""

from __future__ import annotations

from simstore.cli.options import common_options, format_option, open_store, yes_option
from simstore.cli.output import confirm
from simstore.cli.parameters import command_group
from simstore.cli.results import print_rows, print_summary
from simstore.cli.source_options import (
    with_remedy,
)


@command_group()
def rejects() -> None:
    """Records that could not be stored, and why."""


@rejects.command("list")
@format_option()
@common_options
def list_rejects(output_format: str) -> None:
    """List the rejected records of all sources, as last read.

    Example:
      simstore rejects list --format csv > rejects.csv
    """
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
    print_rows(columns, rows, output_format, drop=("byte", "record"))


@rejects.command()
@yes_option
@format_option()
@common_options
def clear(yes: bool, output_format: str) -> None:
    """Forget all rejected records.

    Example:
      simstore rejects clear --yes

    It asks first; without a terminal it wants --yes.
    """
    with open_store() as store:
        if count := len(store.rejects.list()):
            confirm(f"all rejected records would be forgotten: {count:,}", yes=yes)
            count = store.rejects.clear()
    print_summary({"forgotten": count}, f"{count:,} forgotten", output_format)
