"""Choose between plain functions and their Numba-compiled versions, by the amount of work.

Numba is optional (the extra ``fast``). Importing it costs 0.2 to 0.4 s, so a caller
asks :func:`pays` first, with an estimate of the seconds that the form without it would take, and
uses that form for small inputs and for machines without Numba: NumPy code, or the very function
that is compiled (:meth:`Kernel.plain`).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from threading import Lock
from types import FunctionType
from typing import Any
from zlib import crc32

log = logging.getLogger("simstore")
_ONCE = "compiling once for this machine, about 20 s"
_EACH_TIME = "compiling, about 20 s; no folder can store the result (NUMBA_CACHE_DIR names one)"
# Seconds of NumPy work that cost about as much as the import and the load of cached kernels.
_WORTH_COMPILING_SECONDS = 0.6
# What a byte of a source takes in NumPy, at least: some are hardly text, as those of web pages are.
_SECONDS_A_BYTE = 0.5e-7
_threshold_seconds: float | None = _WORTH_COMPILING_SECONDS
_announced_seconds = 0.0
_compiling = Lock()
# Where it is None, its import fails at once; SciPy's packages above it are not looked at.
_BLAS = "scipy.linalg.cython_blas"
_leaves_out_blas = False


def disable() -> None:
    """Use the NumPy forms only."""
    _set_threshold(None)


def enable(worth_compiling_seconds: float = _WORTH_COMPILING_SECONDS) -> None:
    """Use the compiled forms, where Numba is installed, after so many seconds of work."""
    _set_threshold(worth_compiling_seconds)


def settings() -> tuple[float | None, bool]:
    """Return the state that another simstore process passes to :func:`set_up`."""
    threshold = _threshold_seconds
    if threshold is not None and (_is_loaded() or _announced_seconds >= threshold):
        threshold = 0.0
    return threshold, _leaves_out_blas


def set_up(settings: tuple[float | None, bool]) -> None:
    """Apply the :func:`settings` of another process, to use the same compiled forms."""
    global _leaves_out_blas
    threshold, _leaves_out_blas = settings
    _set_threshold(threshold)


def leave_out_blas() -> None:
    """Keep Numba from importing SciPy for linear algebra (0.2 s), which no kernel here uses.

    For programs of our own: in another's process, other compiled functions may use it.
    """
    global _leaves_out_blas
    _leaves_out_blas = True


def pays(seconds: float) -> bool:
    """Return whether work of so many seconds in NumPy is better done compiled.

    It is where it alone repays Numba's import, or together with the work of this process that was
    asked about before: what is yet to come is not known, and this never costs much more than
    twice the best choice. Once Numba is imported, any work is.
    """
    global _announced_seconds
    if _threshold_seconds is None:
        return False
    _announced_seconds += seconds
    if _announced_seconds < _threshold_seconds and not _is_loaded():
        return False
    return _is_usable()


def announce(source_bytes: int) -> None:
    """Say how much there is to read, so that the first of much is not done the slow way.

    Args:
        source_bytes: The size of files with texts, as far as is known.
    """
    global _announced_seconds
    _announced_seconds += source_bytes * _SECONDS_A_BYTE


class Kernel:
    """A function that Numba compiles when it is first called, and keeps on disk.

    Args:
        function: A function at the top level of a module, in the part of Python that Numba knows.
        signatures: The types it is compiled for, as Numba writes them; or a function that makes
            them of ``numba.types``, where arguments are named tuples.
        parts: Functions of a module that it calls by their names; each may call those before it.
        lets_go: Let other threads run meanwhile. A thread that lets go of the interpreter's lock
            waits for it afterwards, so calls of a few microseconds had better keep it.
        options: More options of ``numba.njit``.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signatures: Sequence[str] | Callable[[Any], Sequence[Any]],
        *,
        parts: Sequence[Callable[..., Any]] = (),
        lets_go: bool = True,
        **options: Any,
    ) -> None:
        self._function = function
        self._signatures = signatures
        self.parts = parts
        self.lets_go = lets_go
        self._options = options
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the compiled form.

        Raises:
            ImportError: Numba is not installed.
        """
        if self._compiled is None:
            with _compiling:
                if self._compiled is None:
                    self._compiled = self._compile()
        # Even no names at all take a while to pass on.
        return self._compiled(*arguments, **named) if named else self._compiled(*arguments)

    def plain(self, *arguments: Any) -> Any:
        """Run the function itself, in Python: for little work, and without Numba."""
        import numpy as np

        # Compiled, a product of uint64 wraps in silence.
        with np.errstate(over="ignore"):
            return self._function(*arguments)

    def _compile(self) -> Callable[..., Any]:
        import numba

        without_blas = _leaves_out_blas and _BLAS not in sys.modules
        if without_blas:
            sys.modules[_BLAS] = None  # type: ignore[assignment]
        try:
            return self._jit(numba, cached=True)
        except RuntimeError:
            # No folder to keep it in: a read-only installation without a home.
            return self._jit(numba, cached=False)
        finally:
            if without_blas:
                del sys.modules[_BLAS]

    def _jit(self, numba: Any, *, cached: bool) -> Callable[..., Any]:
        function = self._function
        if self.parts:
            # Copies that see the compiled parts: the modules' own functions stay plain.
            parts: dict[str, Any] = {}
            stamp = 0
            for part in self.parts:
                parts[part.__name__] = numba.njit(nogil=True)(_with_names(part, parts))
                code = part.__code__
                stamp = crc32(repr((code.co_code, code.co_consts, code.co_names)).encode(), stamp)
            function = _with_names(function, parts)
            # What is kept on disk goes by this name: another part, another kernel.
            function.__qualname__ += f"_{stamp:08x}"
        if not self.lets_go:
            # On disk another kernel than one that does.
            function = _with_names(function, {})
            function.__qualname__ += "_keeping_the_lock"
        given = self._signatures
        signatures = given(numba.types) if callable(given) else given
        decorate = numba.njit(list(signatures), nogil=self.lets_go, cache=cached, **self._options)
        with _reported(cached=cached):
            compiled: Callable[..., Any] = decorate(function)
        return compiled


def _with_names(function: Any, names: dict[str, Any]) -> Callable[..., Any]:
    """Return a copy of a function of a module that finds these names before its module's."""
    seen = {**function.__globals__, **names}
    copy = FunctionType(function.__code__, seen, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


def _reported(*, cached: bool) -> AbstractContextManager[Any]:
    """Log the first compilation of this process in the context; kernels from disk need none."""
    from numba.core import event

    class Reporter(event.Listener):
        def on_start(self, _event: Any) -> None:
            _report_compilation(_ONCE if cached else _EACH_TIME)

        def on_end(self, _event: Any) -> None:
            pass

    installed: AbstractContextManager[Any] = event.install_listener("numba:compile", Reporter())
    return installed


@cache
def _report_compilation(message: str) -> None:
    log.info(message)


def _is_loaded() -> bool:
    return "numba" in sys.modules


@cache
def _is_usable() -> bool:
    # Kernels read eight bytes at a time, the first the lowest.
    return sys.byteorder == "little" and find_spec("numba") is not None


def _set_threshold(seconds: float | None) -> None:
    global _announced_seconds, _threshold_seconds
    _announced_seconds, _threshold_seconds = 0.0, seconds
