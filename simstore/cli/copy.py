"""``simstore copy``."""

from __future__ import annotations

import click

from simstore.cli.options import common_options
from simstore.cli.output import progress
from simstore.cli.parameters import flag
from simstore.errors import shown_place


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  simstore copy store.db postgresql+psycopg://me@host/pages    from a file to a server\n"
        "  simstore copy postgresql+psycopg://me@host/pages store.db    and back\n"
        "  simstore copy old.db new.db                                 from file to file\n\n"
        "The copy is as the store is when it begins; others may go on reading and writing. After "
        "an interruption the same command goes on where it was, if the store has not changed. A "
        "copy is a store only when all of it is there, its counts and digests those of the source. "
        "Passwords of servers go into a password file (PGPASSFILE), not on the command line."
    )
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@flag("--restart", "Begin again, whatever was copied before.")
@common_options
def copy(source: str, target: str, restart: bool) -> None:
    """Copy a store to another place: a file or a PostgreSQL database."""
    from simstore.store import copy_store

    with progress("copy") as show:
        made = copy_store(source, target, restart=restart, on_progress=show)
    click.echo(
        f"copied {made.document_count:,} documents, {made.row_count:,} rows of "
        f"{made.table_count} tables to {shown_place(target)}; counts and digests are the same"
    )
