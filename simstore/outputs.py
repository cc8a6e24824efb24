"""Write output files atomically, and check which files they may overwrite."""

from __future__ import annotations

import fcntl
import glob
import gzip
import hashlib
import os
import secrets
import stat
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self, cast

from simstore.errors import (
    Conflict,
    InvalidParameter,
    NotAFile,
    OutputExists,
    StorageError,
    printable,
)
from simstore.version import APPLICATION_ID, EARLIER_APPLICATION_ID

STANDARD_OUTPUT = "-"
_OUTPUT_PATHS = frozenset({"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
_LEVEL_GZIP, _LEVEL_ZSTD = 6, 3
# How an SQLite file begins, and where its `application_id` stands ("Database File Format", section
# 1.3).
_MAGIC, _MARK_PLACE = b"SQLite format 3\0", 68
# The files that SQLite keeps next to a database, and how two of them begin ("Database File Format",
# sections 3 and 4); zeros if power was lost before their content was on the disk. The third is made
# in pages, and may hold anything then.
_JOURNAL_HEADS = {
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", bytes(4)),
    "-journal": (b"\xd9\xd5\x05\xf9", bytes(4)),
}
JOURNALS = (*_JOURNAL_HEADS, "-shm")
_SHM_PAGE_BYTES = 4_096
_PRIVATE = 0o600
# File systems take names of 255 bytes; a draft's name adds 27 and its journal's 8.
_MOST_DRAFT_BYTES = 215


def is_standard_output(path: str | os.PathLike[str]) -> bool:
    """Return whether a path names standard output.

    >>> is_standard_output("-"), is_standard_output("/dev/stdout"), is_standard_output("-.txt")
    (True, True, False)
    """
    return os.fspath(path) == STANDARD_OUTPUT or os.fspath(path) in _OUTPUT_PATHS


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two paths lead to one file; a path that cannot be followed leads to none."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def check_apart(
    outputs: Mapping[str, str | os.PathLike[str] | None],
    inputs: Sequence[str | os.PathLike[str]] = (),
) -> None:
    """Refuse outputs of one command that would take the place of each other, or of an input.

    Links are followed, so ``./a``, a symbolic link and a hard link to ``a`` are one file. What is
    written to ``/dev/null`` takes no place.

    >>> check_apart({"output": "out.jsonl", "log": "./out.jsonl"})
    Traceback (most recent call last):
    simstore.errors.InvalidParameter: the output and the log are one file: give each a name

    Args:
        outputs: What is written, by what it is called in messages; None: it is not.
        inputs: Files that are read.

    Raises:
        InvalidParameter: Two outputs are one file, or an output is an input.
    """
    written_to = {
        called: path
        for called, path in outputs.items()
        if path is not None and not is_same_file(path, os.devnull)
    }
    names = list(written_to)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            if _is_one_place(written_to[one], written_to[other]):
                raise InvalidParameter(f"the {one} and the {other} are one file: give each a name")
        for path in inputs:
            if is_same_file(written_to[one], path):
                raise InvalidParameter(
                    f"{printable(os.fspath(written_to[one]))} is an input; name another file for "
                    f"the {one}"
                )


def _is_one_place(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether what is written to two paths ends in one file, which may not be there yet."""
    if is_standard_output(one) or is_standard_output(other):
        return is_standard_output(one) and is_standard_output(other)
    return os.path.realpath(one) == os.path.realpath(other) or is_same_file(one, other)


def check_no_part(path: str | os.PathLike[str], store: str | os.PathLike[str]) -> None:
    """Refuse to write over a store or one of its journals.

    Args:
        path: What is to be written.
        store: The file of the store.

    Raises:
        InvalidParameter: It is a part of the store.
    """
    # A place may be empty, which is no name of a file.
    for part in (f"{os.fspath(store)}{suffix}" for suffix in ("", *JOURNALS)):
        # A journal may not be there now, and come while the output is written.
        is_there = os.path.realpath(path) == os.path.realpath(part)
        if is_there or is_same_file(path, part):
            raise InvalidParameter(
                f"{printable(os.fspath(path))} belongs to the store; name another file"
            )


def check_file(path: str | os.PathLike[str], *, replace: bool) -> Path:
    """Return where a file is to be written: at the end of links.

    Args:
        path: The file.
        replace: It may take the place of a file that is there.

    Raises:
        NotAFile: There is a folder, a device, a pipe or a socket.
        OutputExists: There is a file already.
    """
    if (mode := _mode(path)) is not None:
        if not stat.S_ISREG(mode):
            raise NotAFile(os.fspath(path), _kind(mode))
        if not replace:
            raise OutputExists(os.fspath(path))
    return Path(os.path.realpath(path))


def check_store_file(path: str | os.PathLike[str], *, replace: bool) -> Path:
    """Return where a copy of a store is to be written: at the end of links.

    Args:
        path: The file.
        replace: It may take the place of a store that is there, sound or damaged, or of an empty
            file; of nothing else.

    Raises:
        NotAFile: There is a folder, a device, a pipe or a socket.
        OutputExists: There is a file already.
        Conflict: There is a file that is no store.
        StorageError: The file cannot be read.
    """
    place = check_file(path, replace=replace)
    if os.path.isfile(place) and os.path.getsize(place) and not is_store(place):
        raise Conflict(
            f"{printable(os.fspath(path))} is not a simstore store, so --force leaves it as it is; "
            "name another file, or move this one away first"
        )
    return place


def is_store(path: Path) -> bool:
    """Return whether a file has the header of a store, whatever follows it.

    Raises:
        StorageError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_MARK_PLACE + 4)
    except OSError as error:
        reason = error.strerror or printable(str(error))
        raise StorageError(f"{printable(str(path))} cannot be read: {reason}") from error
    marks = [struct.pack(">I", number) for number in (APPLICATION_ID, EARLIER_APPLICATION_ID)]
    return header.startswith(_MAGIC) and header[_MARK_PLACE:] in marks


def check_output(path: str | os.PathLike[str], *, replace: bool) -> None:
    """Refuse what :func:`written` would refuse, before there is something to write.

    Args:
        path: The file; ``-`` is standard output.
        replace: It may take the place of a file that is there.

    Raises:
        NotAFile: There is a folder, a disk or a socket.
        OutputExists: There is a file already.
    """
    if not is_standard_output(path) and not _is_stream(path):
        check_file(path, replace=replace)


class Drafts:
    """Output files that get their names together, when all of them are written.

    Each is written to a private draft in the folder of the file. Drafts that have no name yet are
    deleted when this object is closed.

    >>> with Drafts() as drafts:
    ...     with drafts.stream("out.txt") as out, drafts.stream("log.txt") as log:
    ...         sizes = out.write(b"Rye."), log.write(b"one row")
    ...     Path("out.txt").exists()
    ...     drafts.publish()
    False
    >>> Path("out.txt").read_text(), Path("log.txt").read_text()
    ('Rye.', 'one row')
    """

    def __init__(self) -> None:
        self._unnamed: list[Path] = []
        self._named: list[tuple[Path, Path, bool]] = []

    @contextmanager
    def stream(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        compress: bool = True,
        make_folders: bool = False,
    ) -> Iterator[BinaryIO]:
        """Yield a stream for the content of a file.

        Standard output, a pipe, a terminal and the like (``/dev/null``) are written to directly.

        Args:
            path: The file; ``-`` is standard output.
            replace: Put it in the place of a file that is there.
            compress: Compress what is called ``.gz``, ``.zst``, ``.bz2`` or ``.xz``.
            make_folders: Make the folders above it with its name, if they are missing.

        Raises:
            NotAFile: There is a folder, a disk or a socket.
            OutputExists: There is a file already.
            StorageError: It cannot be written.
        """
        if is_standard_output(path):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        suffix = Path(path).suffix if compress else ""
        with writing(path):
            if _is_stream(path):
                with Path(path).open("wb") as file, compressed(file, suffix) as stream:
                    yield stream
                return
            place = check_file(path, replace=replace)
            folder = place.parent
            while make_folders and not folder.exists():
                folder = folder.parent
            draft = self.beside(folder / place.name)
            with draft.open("wb") as file, compressed(file, suffix) as stream:
                yield stream
        self._named.append((draft, place, replace))

    def beside(self, path: Path) -> Path:
        """Return a new, empty draft in the folder of a file; it gets no name.

        Raises:
            StorageError: The folder cannot be written.
        """
        draft = draft_beside(path)
        with writing(path):
            make_private(draft)
        self._unnamed.append(draft)
        return draft

    def publish(self) -> None:
        """Give each file that was written its name.

        Raises:
            OutputExists: A file came into the place of one meanwhile; none has its name.
            StorageError: A name cannot be given.
        """
        for _, place, is_replaced in self._named:
            if not is_replaced and os.path.lexists(place):
                raise OutputExists(str(place))
        for draft, place, is_replaced in self._named:
            with writing(place):
                make_folder(place.parent)
                publish(draft, place, replace=is_replaced)
        self._named = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for draft in self._unnamed:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


@contextmanager
def written(
    path: str | os.PathLike[str], *, replace: bool = False, compress: bool = True
) -> Iterator[BinaryIO]:
    """Yield a stream for the content of a file, as :meth:`Drafts.stream` does; then publish it."""
    with Drafts() as drafts:
        with drafts.stream(path, replace=replace, compress=compress) as stream:
            yield stream
        drafts.publish()


def write_file(path: str | os.PathLike[str], data: bytes, *, replace: bool) -> None:
    """Write bytes to a file atomically, by :func:`written`, without compression."""
    with written(path, replace=replace, compress=False) as stream:
        stream.write(data)


def draft_beside(path: Path) -> Path:
    """Return a new name for a draft of a file; delete the drafts of dead processes.

    Names of drafts have a digest of the machine and the PID namespace: only in its own namespace
    can a process see which others have exited, and no other file has such a name by chance.

    Raises:
        StorageError: The folder cannot be written.
    """
    folder = path.absolute().parent
    if os.path.isdir(folder) and not os.access(folder, os.W_OK):
        raise StorageError(
            f"{printable(str(folder))} cannot be written: no permission; name another place"
        )
    prefix = f".{_draft_name(path)}.{_namespace()}-"
    # A loss of power may leave the journal of a draft, and not the draft.
    for suffix in ("", *JOURNALS):
        for left in path.parent.glob(f"{glob.escape(prefix)}*.new{suffix}"):
            number = left.name.removeprefix(prefix).partition("-")[0]
            if number.isdigit() and not _is_alive(int(number)):
                left.unlink(missing_ok=True)
    return path.with_name(f"{prefix}{os.getpid()}-{secrets.token_hex(4)}.new")


def _namespace() -> str:
    """Return a name for the machine and the PID namespace."""
    number = 0
    with suppress(OSError):
        number = os.stat("/proc/self/ns/pid").st_ino
    named = f"{os.uname().nodename} {number}".encode("utf-8", "surrogateescape")
    return hashlib.blake2b(named, digest_size=4).hexdigest()


def _draft_name(path: Path) -> str:
    """Return what drafts of a file are called: as the file, or by a digest of a long name."""
    name = os.fsencode(path.name)
    if len(name) <= _MOST_DRAFT_BYTES:
        return path.name
    return hashlib.blake2b(name, digest_size=16).hexdigest()


def make_private(draft: Path) -> None:
    """Make an empty draft that nobody else may read; it gets its permissions with its name.

    Raises:
        FileExistsError: The name is taken, if only by a link.
    """
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE))


def publish(
    draft: Path,
    path: Path,
    *,
    replace: bool = False,
    journals: bool = False,
    source: Path | None = None,
) -> None:
    """Give a finished file its final name and permissions, durably.

    The permissions are those of the file whose place it takes, else those that the umask leaves.
    A lock on the folder keeps other processes that publish there away.

    Args:
        draft: The file.
        path: Its name.
        replace: It may take the place of a file that is there.
        journals: It is a store. Journals that another store of that name left behind are deleted:
            SQLite would replay them into this one.
        source: It is a copy of this file, which others can read no better than this.

    Raises:
        OutputExists: There is a file at ``path``; the draft stays.
        Conflict: Something that SQLite did not write has the name of a journal.
    """
    with locked_folder(path):
        if not replace and os.path.lexists(path):
            raise OutputExists(str(path))
        if journals:
            check_journals(path)
        _make_durable(draft, _permissions(path, source))
        if journals:
            delete_journals(path)
            # For good: a loss of power could bring them back, and leave the new name.
            sync_folder(path)
        draft.replace(path)
        sync_folder(path)


def delete_file(path: Path) -> None:
    """Delete a draft and its journals, if there is one."""
    path.unlink(missing_ok=True)
    delete_journals(path)


def check_journals(path: Path) -> None:
    """Raise Conflict if a journal's name is taken by something that SQLite did not write."""
    is_replaced = path.exists() and is_store(path)
    for journal in journals_of(path):
        mode = _mode(journal, follow=False)
        if mode is None:
            continue
        is_written = stat.S_ISREG(mode)
        if is_written and not is_replaced and (size := os.path.getsize(journal)):
            heads = _JOURNAL_HEADS.get(journal.name[len(path.name) :])
            with journal.open("rb") as file:
                is_written = file.read(4) in heads if heads else size % _SHM_PAGE_BYTES == 0
        if not is_written:
            raise Conflict(
                f"{printable(str(journal))} has the name of a journal and was not written by "
                "SQLite; move it away, or name another file"
            )


def delete_journals(path: Path) -> None:
    """Delete the journals of a file that is gone or about to be replaced."""
    for journal in journals_of(path):
        journal.unlink(missing_ok=True)


def journals_of(path: Path) -> list[Path]:
    """Return the names of the journals that SQLite may keep beside a file."""
    return [path.with_name(path.name + suffix) for suffix in JOURNALS]


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Hold the lock of a file's folder, which ends with the process at the latest."""
    descriptor = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        # Not every file system can lock a folder; then only a race of two first runs is open.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Make a new name durable."""
    descriptor = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, where they are missing; their names are durable."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in missing:
        sync_folder(one)


def _make_durable(path: Path, permissions: int) -> None:
    """Give a file its permissions, by which it may not be opened again, and sync it with them."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fchmod(descriptor, permissions)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _permissions(path: Path, source: Path | None) -> int:
    if (mode := _mode(path)) is not None:
        return stat.S_IMODE(mode) & 0o777
    found = 0o666 & ~_umask()
    return found if source is None else found & source.stat().st_mode | _PRIVATE


def _umask() -> int:
    # There is no way to ask for it that does not change it for all threads, but for Linux's.
    with suppress(OSError), Path("/proc/self/status").open(encoding="ascii", errors="replace") as f:
        for line in f:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    found = os.umask(0o077)
    os.umask(found)
    return found


def _mode(path: str | os.PathLike[str], *, follow: bool = True) -> int | None:
    """Return type and permissions of what is at the end of a path's links; None: nothing."""
    try:
        return os.stat(path, follow_symlinks=follow).st_mode
    except OSError:
        return None


def _is_stream(path: str | os.PathLike[str]) -> bool:
    mode = _mode(path)
    return mode is not None and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode))


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise an error of the system as a StorageError that names a file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or printable(str(error))
        raise StorageError(f"{printable(os.fspath(path))} cannot be written: {reason}") from error


@contextmanager
def compressed(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """Yield a stream that compresses to a file by the ending of its name, or the file itself.

    Args:
        file: The file.
        suffix: ``.gz``, ``.zst``, ``.bz2`` or ``.xz``; any other: it is not compressed.
    """
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
    elif suffix == ".bz2":
        import bz2

        with bz2.BZ2File(file, "wb") as packed:
            yield cast(BinaryIO, packed)
    elif suffix == ".xz":
        import lzma

        with lzma.LZMAFile(file, "wb") as packed:
            yield cast(BinaryIO, packed)
    else:
        yield file
