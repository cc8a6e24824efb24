"""Results of commands on standard output: tables, CSV, JSON Lines, facts; and progress bars."""

from __future__ import annotations

import csv
import errno
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from simstore import outputs
from simstore.cli.messages import log, logs_json
from simstore.cli.options import store_place
from simstore.cli.progress_bars import bar_of, shows_bars, start
from simstore.cli.remote import server_url
from simstore.errors import InvalidParameter, printable, shortened
from simstore.reports import lines
from simstore.reports.lines import to_json
from simstore.text.decoding import encode

if TYPE_CHECKING:
    from rich.progress import TaskID

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

Update = Callable[[int, int | None], None]


class BriefErrors(click.Command):
    """A command whose usage errors quote no more of an argument than helps."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the words of a command line."""
        with _brief():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Do what they say."""
        with _brief():
            return super().invoke(ctx)


@contextmanager
def _brief() -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        # By its dictionary: click declares that nothing changes it.
        error.__dict__["message"] = shortened(error.message)
        raise


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table to stdout; nothing is cut, numbers stand to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = [[_cell(value) for value in row] for row in rows]
    numeric = [
        bool(shown) and all(isinstance(v, int | float) or v in (None, "") for v in column)
        for column in zip(*rows_as_lists(shown), strict=False)
    ]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        right = number < len(numeric) and numeric[number]
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for row in shown:
        table.add_row(
            *(Text("" if v is None else f"{v:,}" if isinstance(v, int) else str(v)) for v in row)
        )
    wide = 10_000
    console = Console(
        file=sys.stdout, width=None if sys.stdout.isatty() else wide, highlight=False, markup=False
    )
    if sys.stdout.isatty():
        console.width = max(console.width, console.measure(table).maximum)
    console.print(table, soft_wrap=True)


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], output_format: str) -> None:
    """Print rows as a ``table``, as ``csv``, or as ``jsonl``, an object of the columns a line."""
    if output_format == "table":
        print_table(columns, rows)
    elif output_format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([name.replace(" ", "_") for name in columns])
        writer.writerows(rows)
    else:
        for row in rows:
            click.echo(to_json(dict(zip(columns, row, strict=True))))


def print_items(
    items: Iterable[Any],
    output_format: str,
    *,
    columns: Sequence[str],
    row: Callable[[Any], Sequence[Any]],
    record: Callable[[Any], Mapping[str, Any]],
) -> None:
    """Print items as :func:`print_rows` does, as records in ``jsonl``; or their ``keys``.

    Args:
        items: What is printed; for ``keys`` each has one.
        output_format: The format.
        columns: Names for a table and CSV.
        row: Returns the values of an item in these columns.
        record: Returns an item as a JSON object.
    """
    if output_format == "keys":
        write_blocks(encode(one.key) + b"\n" for one in items)
    elif output_format == "jsonl":
        for one in items:
            click.echo(to_json(record(one)))
    else:
        print_rows(columns, map(row, items), output_format)


def print_record(record: Mapping[str, Any], output_format: str) -> None:
    """Print names and values, as ``json`` or a pair a line."""
    if output_format == "json":
        click.echo(to_json(record, indent=2))
    else:
        print_facts((name.replace("_", " "), value) for name, value in record.items())


def write_blocks(blocks: Iterable[bytes]) -> None:
    """Write bytes to standard output."""
    for block in blocks:
        sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()


def rows_as_lists(rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """Return the rows; an empty table has one empty row, so that its columns can be counted."""
    return rows or [[]]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return printable(value)
    return value


def print_facts(facts: Iterable[tuple[str, Any]]) -> None:
    """Print names and values, a pair a line."""
    pairs = [(name, _cell(value)) for name, value in facts]
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        shown = "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
        click.echo(f"{name:<{width}}  {shown}")


def time_text(seconds: int | None) -> str | None:
    """Return a time as people read it, UTC."""
    return None if seconds is None else lines.time_text(seconds)


@contextmanager
def progress(description: str, *, in_bytes: bool = False, at_once: bool = True) -> Iterator[Update]:
    """Yield a function that shows how much is done, of how much; silent unless on a terminal.

    Args:
        description: What is done, in a word.
        in_bytes: Amounts are bytes.
        at_once: Show a bar before the first amount is known.
    """
    if not shows_bars():
        yield lambda _done, _total: None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    with bar_of(*columns) as bar:
        tasks: list[TaskID] = []

        def update(done: int, total: int | None) -> None:
            if not tasks:
                start(bar)
                tasks.append(bar.add_task(description, total=None))
            bar.update(tasks[0], completed=done, total=total)

        if at_once:
            update(0, None)
        yield update


def check_output(path: str, *, replace: bool) -> None:
    """Refuse a place to write to, before there is something to write.

    Raises:
        InvalidParameter: It belongs to the store.
        NotAFile: There is a folder, a disk or a socket.
        OutputExists: There is a file already, and it is not to be replaced.
    """
    if not outputs.is_standard_output(path):
        refuse_store(Path(path))
    outputs.check_output(path, replace=replace)


def refuse_store(output: Path) -> None:
    """Refuse to write over the store or one of its journals."""
    if server_url() is not None or "://" in store_place():
        return
    for suffix in ("", "-wal", "-shm"):
        part = Path(store_place() + suffix)
        # A journal may not be there now, and come while the output is written.
        is_there = os.path.realpath(output) == os.path.realpath(part)
        if is_there or outputs.is_same_file(output, part):
            raise InvalidParameter(
                f"{printable(str(output))} belongs to the store; name another file"
            )


def settle_streams() -> None:
    """Make the standard streams safe to use.

    A stream that is closed is opened to nothing, so that no file of the store gets its number;
    what the terminal's encoding cannot show is escaped.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Send what is left of the output nowhere, so that the interpreter's end does not try again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def fail(message: str, exit_code: int) -> NoReturn:
    """Show an error in one line, as click does or as JSON where that is wanted, and exit."""
    if logs_json():
        log.error(message, extra={"facts": {"exit_code": exit_code}})
    else:
        click.echo(f"Error: {message}", file=sys.stderr)
    raise SystemExit(exit_code)
