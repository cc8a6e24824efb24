"""Show a progress bar in a terminal or a notebook, for calls from Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from simstore.errors import counted

# Documents, bytes read, and bytes in all where that is known.
Show = Callable[[int, int, int | None], None]
# Between two displays in a notebook.
_PAUSE_SECONDS = 0.25


@contextmanager
def shown_progress(title: str) -> Iterator[Show]:
    """Yield a function that shows progress in documents, and in bytes where their number is known.

    rich draws the bar of a terminal; where there is none, it writes one line at the end. A notebook
    shows an element of its own, since rich asks for ipywidgets there.

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

    console = Console(stderr=True)
    if console.is_jupyter:
        with _in_notebook(title) as show_there:
            yield show_there
        return
    columns = (
        TextColumn(title), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("0 documents", total=None)

        def show(documents: int, byte_count: int, total_bytes: int | None) -> None:
            told = counted(documents, "document")
            bar.update(task, completed=byte_count, total=total_bytes, description=told)

        yield show
        # Of documents in memory nobody knows how many there are before the last.
        if bar.tasks[0].total is None:
            bar.update(task, total=1, completed=1)


class _NotebookBar:
    """Progress as a notebook shows it."""

    def __init__(self, title: str) -> None:
        self._title = title
        self.documents = self.byte_count = 0
        self.total_bytes: int | None = None
        self.is_done = False

    def __repr__(self) -> str:
        return f"{self._title}: {counted(self.documents, 'document')}"

    def _repr_html_(self) -> str:
        if self.is_done or self.total_bytes:
            share = 1.0 if self.is_done else self.byte_count / (self.total_bytes or 1)
            bar = f'<progress value="{min(share, 1.0):.3f}"></progress>'
        else:
            bar = "<progress></progress>"
        return f"<div>{bar} {escape(repr(self))}</div>"


@contextmanager
def _in_notebook(title: str) -> Iterator[Show]:
    from IPython.display import display

    bar = _NotebookBar(title)
    shown = display(bar, display_id=True)  # type: ignore[no-untyped-call]
    told_at = time.monotonic()

    def show(documents: int, byte_count: int, total_bytes: int | None) -> None:
        nonlocal told_at
        bar.documents, bar.byte_count, bar.total_bytes = documents, byte_count, total_bytes
        if time.monotonic() - told_at >= _PAUSE_SECONDS:
            told_at = time.monotonic()
            shown.update(bar)

    try:
        yield show
        bar.is_done = True
    finally:
        shown.update(bar)
