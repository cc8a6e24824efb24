"""Helpers for terminal output: streams, output files, progress bars, and error messages."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from simstore.cli.messages import log, logs_json, logs_times, shows_bars
from simstore.cli.options import store_place
from simstore.cli.remote import server_url
from simstore.errors import InvalidParameter, shortened
from simstore.reports import lines

if TYPE_CHECKING:
    from rich.progress import TaskID

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

Update = Callable[[int, int | None], None]


class BriefErrors(click.Command):
    """A program whose errors, also of its output, are one line of bounded length."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run a command line."""
        try:
            return super().main(*arguments, **options)
        except OSError as error:
            if error.errno not in _NO_SPACE:
                raise
            drop_output()
            fail("no space left to write the results; nothing committed is lost", 6)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse a command line."""
        with _brief():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _brief():
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()
            except BrokenPipeError:
                # The reader of the output has enough of it, as in `simstore list | head`.
                drop_output()
                return None
            return result


@contextmanager
def _brief() -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        # By its dictionary: click declares that nothing changes it.
        error.__dict__["message"] = shortened(error.message)
        raise


def time_text(seconds: int | None) -> str | None:
    """Format a time for people, in UTC."""
    return None if seconds is None else lines.time_text(seconds)


def clock_text(seconds: float) -> str:
    """Return a duration as ``0:01:05``.

    >>> clock_text(3_725.4)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


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

    from simstore.cli.progress_bars import bar_of, start

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


def has_terminal() -> bool:
    """Return whether a person is at standard input."""
    return sys.stdin.isatty()


def confirm(what: str, *, yes: bool) -> None:
    """Ask for confirmation of what cannot be undone; exit with 1 without it.

    Args:
        what: What would be done, as a sentence.
        yes: ``--yes`` was given: nobody is asked.

    Raises:
        InvalidParameter: There is no terminal to ask at.
    """
    if yes:
        return
    if not has_terminal():
        raise InvalidParameter(f"{what}; give --yes to do it")
    if not click.confirm(f"{what}. Go on?", err=True):
        raise SystemExit(1)


def check_output(path: str, *, replace: bool) -> None:
    """Refuse a place to write to, before there is something to write.

    Raises:
        InvalidParameter: It belongs to the store.
        NotAFile: There is a folder, a disk or a socket.
        OutputExists: There is a file already, and it is not to be replaced.
    """
    from simstore import outputs

    if not outputs.is_standard_output(path):
        refuse_store(path)
    outputs.check_output(path, replace=replace)


_FORMATS_BY_NAME = {
    ".html": "html", ".htm": "html", ".jsonl": "jsonl", ".json": "json", ".csv": "csv",
}  # fmt: skip


def format_by_name(output: str) -> str | None:
    """Return the format that the ending of an output's name says, where none was asked for.

    Returns:
        None: ``--format`` is given, or the ending says nothing.
    """
    if is_format_given():
        return None
    return _FORMATS_BY_NAME.get(Path(output).suffix.lower())


def is_format_given() -> bool:
    """Return whether ``--format`` is given: on the command line or by a variable."""
    source = click.get_current_context().get_parameter_source("output_format")
    return source is not ParameterSource.DEFAULT


def refuse_store(*outputs: str | None) -> None:
    """Refuse to write over the store in use or one of its journals; None: no output."""
    if server_url() is not None or "://" in (place := store_place()):
        return
    from simstore.outputs import check_no_part

    for output in filter(None, outputs):
        check_no_part(output, place)


def settle_streams() -> None:
    """Replace closed standard streams, and escape characters that they cannot encode.

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


def fail(message: str, exit_code: int, *, page: str | None = None) -> NoReturn:
    """Show an error in one line, as click does or as a log wants it, and exit.

    Args:
        message: What is said.
        exit_code: How the process ends.
        page: The place in the documentation that explains it, shown with ``-v``.
    """
    if logs_json() or logs_times():
        facts = {"exit_code": exit_code} | ({} if page is None else {"page": page})
        log.error(message, extra={"facts": facts})
    else:
        # The exit code says enough if standard error is full.
        with suppress(OSError):
            click.echo(f"Error: {message}", file=sys.stderr)
        if page is not None:
            log.debug("see %s", page)
    raise SystemExit(exit_code)
