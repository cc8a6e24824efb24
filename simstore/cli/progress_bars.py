"""Show progress bars on a terminal: one at a time, on standard error, removed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

_SHOWN = "simstore.bar"
# On narrower terminals the figures need the room of the bar, and then of the rate.
_BAR_WIDTH = 80
_RATE_WIDTH = 70


@contextmanager
def bar_of(*columns: ProgressColumn) -> Iterator[Progress]:
    """Yield a bar on standard error; :func:`start` shows it, and it is taken back at the end.

    Messages that come meanwhile stand above it, in lines as they are.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, soft_wrap=True, highlight=False)
    bar = Progress(*columns, console=console, transient=True)
    try:
        yield bar
    finally:
        bar.stop()


def start(bar: Progress) -> None:
    """Show a bar, and take back the one that was shown: two would write over each other."""
    meta = click.get_current_context().meta
    before = meta.get(_SHOWN)
    if before is not None:
        before.stop()
    meta[_SHOWN] = bar
    bar.start()


def ingest_columns() -> tuple[ProgressColumn, ...]:
    """Return bytes, rate, documents (the task's description) and time left, as far as they fit.

    They stand on one line, whatever the terminal's width.
    """
    from rich.console import Console
    from rich.filesize import decimal
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.table import Column
    from rich.text import Text

    class Rate(TransferSpeedColumn):
        """The rate; that from the beginning, where too little has come to tell a present one."""

        def render(self, task: Task) -> Text:
            """Return what stands in the column."""
            if task.finished_speed or task.speed or not task.elapsed:
                return super().render(task)
            rate = decimal(int(task.completed / task.elapsed))
            return Text(f"{rate}/s", style="progress.data.speed")

    width = Console(stderr=True).width
    rate = Rate(table_column=Column(no_wrap=True))
    return (
        *([TextColumn("ingest")] if width >= _RATE_WIDTH else []),
        *([BarColumn()] if width >= _BAR_WIDTH else []),
        DownloadColumn(table_column=Column(no_wrap=True)),
        *([rate] if width >= _RATE_WIDTH else []),
        TextColumn("{task.description}"),
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
    )
