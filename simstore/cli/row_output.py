"""Options of the commands that give rows back, their progress bars, and what they report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.messages import log
from simstore.cli.output import progress
from simstore.cli.parameters import choice, completed, flag, option
from simstore.cli.results import print_summary
from simstore.cli.source_options import log_ignored, take_read_options, with_remedy
from simstore.errors import counted, printable

if TYPE_CHECKING:
    from simstore.model import Rejection
    from simstore.services.dedup.options import RowObserver, RowOptions, RowSummary

# Of rows that cannot be read so many are told one by one.
_SHOWN = 10

output_option = option(
    "-o --output",
    "What is written: a file; a folder, with a file for each input, where it is one, ends in "
    "/, or inputs are texts; - is standard output.",
    required=True,
    metavar="OUTPUT",
    shell_complete=completed("file"),
)
row_outputs = (
    option(
        "--log log_file",
        "Write each row that is dropped, of which it is a duplicate, and how alike they are; "
        "JSON Lines.",
        metavar="FILE",
        shell_complete=completed("file"),
    ),
    option(
        "--rejects",
        "Write the rows that cannot be read, and why; JSON Lines.",
        metavar="FILE",
        shell_complete=completed("file"),
    ),
    choice(
        "--on-reject",
        ("drop", "keep"),
        "What becomes of rows that cannot be read: keep writes them as they are.",
        default="drop",
    ),
    flag("--force", "Replace files that exist."),
)


def row_options(given: dict[str, Any], **more: Any) -> RowOptions:
    """Return the options of rows: those of reading and of the outputs above, and more.

    Args:
        given: The options that were given; those that are read are taken out.
        more: Other fields of the options.
    """
    from simstore.services.dedup.options import RowOptions

    read = take_read_options(given)
    return RowOptions(
        on_reject=given.pop("on_reject"),
        log=given.pop("log_file"),
        rejects=given.pop("rejects"),
        replace=given.pop("force"),
        read=read,
        **more,
    )


class ShownRows:
    """Shows how far a run is, and what cannot be read.

    Attributes:
        observer: What the run tells it to.
    """

    def __init__(self) -> None:
        from simstore.services.dedup.options import RowObserver

        self._told = self._doubts = 0
        self._stack = ExitStack()
        self._update: Callable[[int, int | None], None] = lambda _done, _total: None
        self.observer: RowObserver = RowObserver(
            on_progress=self._progress,
            on_stage=self._begin,
            on_reject=self._reject,
            on_pass_over=log_ignored,
            on_doubt=self._doubt,
        )

    def close(self) -> None:
        """Take the bar back."""
        self._stack.close()

    def report(
        self,
        summary: RowSummary,
        dropped: str,
        output: str,
        output_format: str,
        *,
        as_message: bool = False,
    ) -> None:
        """Print the counts of a run, and exit with 5 where something was rejected.

        Args:
            summary: The counts.
            dropped: How many rows were dropped, in words.
            output: Where the rows are.
            output_format: How to print the counts.
            as_message: Say the counts on standard error: the result is something else.
        """
        from simstore.outputs import is_standard_output

        self.close()
        line = (
            f"{counted(summary.read, 'row')}: {summary.kept:,} kept, {dropped}, "
            f"{summary.rejected:,} rejected"
        )
        if as_message or is_standard_output(output):
            log.info("%s", line)
        else:
            print_summary(asdict(summary), line, output_format)
        if summary.is_crowded:
            log.warning(
                "%d of %d rows are near-duplicates of one text and differ from it: if they share a "
                "template, raise --min-resemblance; --log FILE lists them",
                summary.most_differing,
                summary.read,
            )
        if self._told > _SHOWN:
            log.warning("... and %d more were rejected", self._told - _SHOWN)
        if summary.rejected:
            if click.get_current_context().params["rejects"] is None:
                log.warning(
                    "--rejects FILE keeps what cannot be read, --on-reject keep passes it through"
                )
            raise SystemExit(5)

    def _begin(self, stage: str) -> None:
        self.close()
        self._update = self._stack.enter_context(progress(stage, in_bytes=stage == "read"))

    def _progress(self, done: int, total: int | None) -> None:
        self._update(done, total)

    def _doubt(self, told: str) -> None:
        self._doubts += 1
        if self._doubts <= _SHOWN:
            log.warning("%s", told)

    def _reject(self, row: Rejection) -> None:
        self._told += 1
        if self._told <= _SHOWN:
            log.warning(
                "rejected: %s, record %d: %s",
                printable(row.source),
                row.position,
                with_remedy(row.reason),
            )


@contextmanager
def shown_rows() -> Iterator[ShownRows]:
    """Yield what shows how far a run is."""
    shown = ShownRows()
    try:
        yield shown
    finally:
        shown.close()
