"""Collect garbage between the transactions of a run, not within them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Transactions after which everything is looked through, not only what is new.
_EVERYTHING = 64


@contextmanager
def collected_between() -> Iterator[Callable[[], None]]:
    """Pause Python's own collections; yield the function that collects instead.

    Documents hold no cycles, so they are freed without a collection, but their number starts one
    every few hundred of them. Each looks through all that lives, modules and compiled kernels
    too, which takes a fifth of a bulk ingest. Where collections are off already, none is made.

    >>> import gc
    >>> with collected_between() as collect:
    ...     gc.isenabled()
    ...     collect()
    False
    >>> gc.isenabled()
    True
    """
    if not gc.isenabled():
        yield lambda: None
        return
    count = 0

    def collect() -> None:
        nonlocal count
        count += 1
        gc.collect(2 if count % _EVERYTHING == 0 else 1)

    gc.disable()
    try:
        yield collect
    finally:
        gc.enable()
