"""The compiled forms on or off, for tests that hold with either."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from simstore import compiled


@contextmanager
def kernels(on: bool) -> Iterator[None]:
    """Use the compiled forms from the first bit of work on, where Numba is installed; or never."""
    compiled.enable(0.0) if on else compiled.disable()
    try:
        yield
    finally:
        compiled.enable()
