"""Files for what is derived from rows during a run: they take room on the disk, not in memory."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from simstore.outputs import writing


class WorkFiles:
    """Files without names: the system frees them when they are closed or the process ends.

    Args:
        folder: The folder whose file system stores them; None: that of temporary files.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._stack = ExitStack()

    def append(self, name: str, data: bytes) -> None:
        """Append bytes to a file."""
        with self._writing():
            self._file(name).write(data)

    def stream(self, name: str) -> BinaryIO:
        """Return a file for reading from its beginning; nothing is appended afterwards."""
        file = self._flushed(name)
        file.seek(0)
        return file

    def descriptor(self, name: str) -> int:
        """Return the descriptor of a file, to read all that was appended to it."""
        return self._flushed(name).fileno()

    def mapped(self, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a file as an array that is mapped into memory."""
        file = self._flushed(name)
        if not os.fstat(file.fileno()).st_size:
            return np.empty(0, dtype)
        # Kernels are compiled for writable arrays; changes would stay in memory.
        return np.asarray(np.memmap(file, dtype, "c"))

    def _file(self, name: str) -> BinaryIO:
        if name not in self._files:
            made = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed by the stack
            self._files[name] = self._stack.enter_context(made)
        return self._files[name]

    def _flushed(self, name: str) -> BinaryIO:
        with self._writing():
            file = self._file(name)
            file.flush()
        return file

    def _writing(self) -> Any:
        return writing(self._folder or tempfile.gettempdir())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # A full disk was reported already, and leaves bytes in the buffers.
        with suppress(OSError):
            self._stack.close()
