"""Compiled forms of NumPy code: the same answers, for inputs that repay Numba's import.

Numba is optional (``pip install 'simstore[fast]'``). Importing it costs 0.2 to 0.4 s, so a caller
asks :func:`pays` first, with an estimate of the seconds that the NumPy form would take, and keeps
that form for small inputs and for machines without Numba.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from threading import Lock
from types import FunctionType
from typing import Any

# Seconds of NumPy work from which the import and the load of a cached kernel are repaid.
_WORTH_COMPILING_SECONDS = 1.0
_threshold_seconds: float | None = _WORTH_COMPILING_SECONDS
_compiling = Lock()


def disable() -> None:
    """Use the NumPy forms only."""
    _set_threshold(None)


def enable(worth_compiling_seconds: float = _WORTH_COMPILING_SECONDS) -> None:
    """Use the compiled forms, where Numba is installed, from so many seconds of work on."""
    _set_threshold(worth_compiling_seconds)


def pays(seconds: float) -> bool:
    """Return whether work of so many seconds in NumPy is better done compiled.

    Once Numba is imported, any work is.
    """
    if _threshold_seconds is None:
        return False
    return (seconds >= _threshold_seconds or "numba" in sys.modules) and _is_usable()


class Kernel:
    """A function that Numba compiles when it is first called, and keeps on disk.

    Args:
        function: A function at the top level of a module, in the part of Python that Numba knows.
        signatures: The types it is compiled for, as Numba writes them.
        parts: Functions of the same module that it calls by their names; each may call those
            before it.
        options: More options of ``numba.njit``.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signatures: Sequence[str],
        *,
        parts: Sequence[Callable[..., Any]] = (),
        **options: Any,
    ) -> None:
        self._function = function
        self._signatures = list(signatures)
        self._parts = parts
        self._options = options
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled form.

        Raises:
            ImportError: Numba is not installed.
        """
        if self._compiled is None:
            with _compiling:
                if self._compiled is None:
                    self._compiled = self._compile()
        return self._compiled(*arguments)

    def _compile(self) -> Callable[..., Any]:
        import numba

        try:
            return self._jit(numba, cached=True)
        except RuntimeError:
            # No folder to keep it in: a read-only installation without a home.
            return self._jit(numba, cached=False)

    def _jit(self, numba: Any, *, cached: bool) -> Callable[..., Any]:
        function = self._function
        if self._parts:
            # Copies that see the compiled parts: the module's own functions stay plain.
            names: dict[str, Any] = dict(getattr(function, "__globals__", {}))
            for part in self._parts:
                names[part.__name__] = numba.njit(nogil=True)(_with_globals(part, names))
            function = _with_globals(function, names)
        decorate = numba.njit(self._signatures, nogil=True, cache=cached, **self._options)
        compiled: Callable[..., Any] = decorate(function)
        return compiled


def _with_globals(function: Any, names: dict[str, Any]) -> Callable[..., Any]:
    """Return a copy of a function of a module that finds its global names in ``names``."""
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


@cache
def _is_usable() -> bool:
    # Kernels read eight bytes at a time, the first the lowest.
    return sys.byteorder == "little" and find_spec("numba") is not None


def _set_threshold(seconds: float | None) -> None:
    global _threshold_seconds
    _threshold_seconds = seconds
