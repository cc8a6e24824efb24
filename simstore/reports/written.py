"""Files that are written as a whole or not at all."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from simstore.errors import OutputExists, StorageError, printable

STANDARD_OUTPUT = "-"
_LEVEL_GZIP, _LEVEL_ZSTD = 6, 3


@contextmanager
def written(
    path: str | os.PathLike[str], *, replace: bool = False, compress: bool = True
) -> Iterator[BinaryIO]:
    """Yield a stream for the content of a file, which appears when all of it was written.

    Where there is something that is no file, as a device or a pipe, it is written to as it is.

    Args:
        path: The file; ``-`` is standard output.
        replace: Put it in the place of a file that is there.
        compress: Compress what is called ``.gz`` or ``.zst``.

    Raises:
        OutputExists: There is a file already.
        StorageError: It cannot be written.
    """
    if os.fspath(path) == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    place = Path(path)
    suffix = place.suffix if compress else ""
    with _writing(place):
        if place.exists() and not place.is_file():
            with place.open("wb") as file, _compressed(file, suffix) as stream:
                yield stream
            return
        if place.exists() and not replace:
            raise OutputExists(os.fspath(path))
        draft = place.with_name(f".{place.name}.{os.getpid()}.new")
        try:
            with draft.open("wb") as file:
                with _compressed(file, suffix) as stream:
                    yield stream
                file.flush()
                os.fsync(file.fileno())
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or printable(str(error))
        raise StorageError(f"{printable(str(place))} cannot be written: {reason}") from error


@contextmanager
def _compressed(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        # The same bytes for the same content: neither name nor time.
        with gzip.GzipFile("", "wb", _LEVEL_GZIP, file, mtime=0) as packed:
            yield cast(BinaryIO, packed)
    elif suffix == ".zst":
        try:
            from compression import zstd
        except ImportError:
            from backports import zstd
        with zstd.ZstdFile(file, "wb", level=_LEVEL_ZSTD) as packed:
            yield cast(BinaryIO, packed)
    else:
        yield file
