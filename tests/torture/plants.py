"""Faults put into the package on purpose: what proves that the campaigns can fail.

The environment variable names one; processes that tests fork have it too. Never set otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

VARIABLE = "SIMSTORE_TORTURE_PLANT"


def _missing_sync() -> None:
    """Nothing of a store is synced to the disk."""
    from simstore.storage.sqlite_file import SqliteFile

    made = SqliteFile.__init__

    def without(self: Any, *arguments: Any, **options: Any) -> None:
        made(self, *arguments, **options)
        self._synchronous = "off"

    SqliteFile.__init__ = without  # type: ignore[method-assign]


def _swallowed_error() -> None:
    """A file that could not be written passes for one that was."""
    from contextlib import contextmanager, suppress

    from simstore import outputs

    @contextmanager
    def quiet(path: Any) -> Any:
        with suppress(OSError):
            yield

    outputs._writing = quiet


def _page_off_by_one() -> None:
    """The last record of a page of fingerprints is never looked at."""
    from simstore.storage import segment_pages

    raise NotImplementedError(segment_pages)


PLANTS: dict[str, Callable[[], None]] = {
    "missing-sync": _missing_sync,
    "swallowed-error": _swallowed_error,
    "page-off-by-one": _page_off_by_one,
}


def plant() -> None:
    """Put in the fault that the environment names, if it names one."""
    if name := os.environ.get(VARIABLE):
        PLANTS[name]()
