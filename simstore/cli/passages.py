"""The commands ``simstore passages``: manage the index that finds copied passages."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import progress
from simstore.cli.parameters import choice, command_group, count, flag, option
from simstore.cli.results import print_record, print_summary
from simstore.errors import NotFound, counted

if TYPE_CHECKING:
    from simstore.fingerprint.passage_recipe import Cut


@command_group()
def passages() -> None:
    """Make and show the index by which `simstore check` finds copied passages."""


@passages.command()
@choice("--by cut", ("sentences", "window"), "What a passage is.  [default: sentences]")
@count("--window", "Characters of a window, about.  [default: 30]")
@flag("--simhash", "A fingerprint of each passage besides: 64 bits, found within 3.")
@option(
    "--sentences/--no-sentences",
    "Terms of each sentence besides, by which it is found though words in it were changed or "
    "stand in another order; an index without them is made anew.  "
    "[default: sentences, where the store keeps texts]",
    default=None,
)
@format_option()
@common_options
def build(
    cut: Cut | None, window: int | None, simhash: bool, sentences: bool | None, output_format: str
) -> None:
    """Make the passage index of the stored documents.

    Examples:
      simstore passages build                     sentences, from the kept texts
      simstore passages build --by window         windows of about 30 characters
      simstore passages build --by window --window 13

    An interrupted build goes on with the same command. From then on every ingest keeps the index
    up.
    """
    if window is not None and cut == "sentences":
        raise click.UsageError("--window is for --by window")
    with open_store() as store, progress("passages", at_once=False) as show:
        found = store.passages.build(
            cut=cut,
            window=window,
            fingerprints=simhash or None,
            sentences=sentences,
            on_progress=show,
        )
    print_summary(
        asdict(found),
        f"{counted(found.document_count, 'document')}, {counted(found.passage_count, 'passage')}, "
        f"{counted(found.anchor_count, 'anchor')}, {found.stored_bytes:,} bytes",
        output_format,
    )


@passages.command()
@format_option()
@common_options
def status(output_format: str) -> None:
    """Show what the passage index holds.

    Example:
      simstore passages status --format json
    """
    with open_store(read_only=True) as store:
        found = store.passages.status()
    if found is None:
        raise NotFound("this store has no passage index; `simstore passages build` makes one")
    print_record(asdict(found), output_format)
