"""Show a progress bar in a terminal, for calls from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from simstore.errors import counted

# Documents, bytes read, and bytes in all where that is known.
Show = Callable[[int, int, int | None], None]


@contextmanager
def shown_progress(title: str) -> Iterator[Show]:
    """Yield a function that shows progress in documents, and in bytes where their number is known.

    rich draws the bar of a terminal; where there is none, as in a notebook, it writes one line at
    the end.

    Args:
        title: What is done.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(title), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    # In a notebook rich asks for ipywidgets.
    with Progress(*columns, console=Console(stderr=True, force_jupyter=False)) as bar:
        task = bar.add_task("0 documents", total=None)

        def show(documents: int, byte_count: int, total_bytes: int | None) -> None:
            told = counted(documents, "document")
            bar.update(task, completed=byte_count, total=total_bytes, description=told)

        yield show
        # Of documents in memory nobody knows how many there are before the last.
        if bar.tasks[0].total is None:
            bar.update(task, total=1, completed=1)
