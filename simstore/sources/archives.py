"""Read zip and tar archives: each member is a source named ``ARCHIVE!/MEMBER``."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import IO, cast

from simstore.errors import MissingExtra, UnreadableSource
from simstore.model import Ignored, Rejection, SourceState
from simstore.sources.reader import ReadOptions, ReadRequest
from simstore.sources.registry import (
    TYPE_UNKNOWN,
    archive_kind,
    is_known,
    look_ahead,
    read_with,
    reader_label,
)
from simstore.sources.source import Member, PlainSource, Record
from simstore.sources.streams import SEPARATOR, skip, sought
from simstore.sources.unpacking import ZIP_DAMAGE, DamagedStream, Expansion, decompressed, guarded

# The library copies as much for each header.
_TAR_BLOCKS = 1 << 14
_ENCRYPTED = 0x1
# More than any file holds; a store counts bytes in 63 bits.
_MOST_BYTES = 1 << 60
# What the two libraries raise where an archive is not as it should be.
_BROKEN = (tarfile.TarError, *ZIP_DAMAGE)
_Opener = Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive that is read.

    Attributes:
        name: Its name.
        state: Its identity, which is a part of its members'.
        options: How its members are read.
        expansion: Counts what its members become.
    """

    name: str
    state: SourceState
    options: ReadOptions
    expansion: Expansion


class MemberSource(PlainSource):
    """A member of an archive, as a source; an archive in it is not read.

    Args:
        archive: The archive.
        path: Name of the member in it.
        size: Its size, bytes.
        byte_offset: Where it stands in the archive.
        opener: Gives its bytes; a member of a tar archive can be opened once.
    """

    def __init__(
        self, archive: Archive, path: str, size: int, byte_offset: int, opener: _Opener
    ) -> None:
        self.name = f"{archive.name}{SEPARATOR}{path}"
        self.total_bytes = size
        self.bytes_read = 0
        self._archive = archive
        self._byte_offset = byte_offset
        self._opener = opener

    def state(self) -> SourceState:
        """Return what identifies the archive, the place of the member, and how it is read."""
        whole = self._archive.state
        place = f"{self.total_bytes} {self._byte_offset} ".encode() + whole.head_digest
        digest = hashlib.blake2b(place, digest_size=16).digest()
        label = reader_label("member", self._archive.options)
        path = whole.path and whole.path + self.name.removeprefix(self._archive.name)
        return replace(whole, head_digest=digest, reader=label, path=path)

    def records(self, position: int = 0, byte_offset: int = 0) -> Iterator[Record]:
        """Yield the records from ``position`` on, which begins at ``byte_offset``."""
        options, expansion = self._archive.options, self._archive.expansion
        try:
            with self._opener() as opened:
                outer = guarded(opened, self.name, expansion, _BROKEN)
                inner = decompressed(outer, self.name, expansion)
                reader, head, stream = look_ahead(inner, self.name, options)
                if archive_kind(self.name, head, options) is not None:
                    raise UnreadableSource(
                        self.name, "an archive in an archive is not read; unpack it first"
                    )
                if not reader.needs_file:
                    skip(stream, byte_offset)
                request = ReadRequest(self.name, position, byte_offset, options, head)
                yield from read_with(reader, stream, request)
        except MissingExtra as error:
            yield Rejection(self.name, position, byte_offset, byte_offset, str(error))
        except (UnreadableSource, *_BROKEN) as error:
            # Damage before the first record that was asked for, or no way to read the member.
            reason = error.reason if isinstance(error, UnreadableSource) else _one_line(error)
            yield Rejection(self.name, position, byte_offset, byte_offset, reason)


def zip_members(archive: Archive, opened: io.BufferedReader, position: int) -> Iterator[Member]:
    """Yield the members of a zip archive.

    Args:
        archive: The archive.
        opened: Its bytes.
        position: Number of the first member that is wanted.

    Raises:
        UnreadableSource: It is damaged, or breaks off.
    """
    with sought(opened, archive.name) as file:
        try:
            found = zipfile.ZipFile(file)
            infos = found.infolist()
            size = file.seek(0, io.SEEK_END)
        except _BROKEN as error:
            raise _damaged(archive.name, error) from None
        for number in range(position, len(infos)):
            info = infos[number]
            # A member may have no name, which the library does not expect.
            if info.filename and (info.is_dir() or _is_hidden(info.filename)):
                continue
            refusal = "it is encrypted" if info.flag_bits & _ENCRYPTED else None

            def opener(info: zipfile.ZipInfo = info) -> AbstractContextManager[IO[bytes]]:
                return found.open(info)

            # A damaged directory may say that a member stands before the archive or behind it.
            place = min(max(info.header_offset, 0), size)
            member = _member(archive, info.filename, info.file_size, place, opener, refusal)
            yield Member(number, place, place, member)


def tar_members(
    archive: Archive, opened: io.BufferedReader, position: int, byte_offset: int
) -> Iterator[Member]:
    """Yield the members of a tar archive.

    Args:
        archive: The archive.
        opened: Its bytes from ``byte_offset`` on.
        position: Number of the member that begins there.
        byte_offset: Where the header of a member begins.

    Raises:
        UnreadableSource: It is damaged, or breaks off.
    """
    number = position
    blocks = _UpToDamage(opened)
    try:
        found = tarfile.open(  # noqa: SIM115 - it owns nothing
            fileobj=cast(IO[bytes], blocks),
            mode="r|",
            bufsize=_TAR_BLOCKS,
            tarinfo=_StrictTarInfo,
        )
        while (info := found.next()) is not None:
            # It would remember each.
            found.members.clear()  # type: ignore[attr-defined]
            if info.size > _MOST_BYTES:
                raise tarfile.ReadError(f"a header says that {info.size} bytes follow")
            offset, end = byte_offset + info.offset, byte_offset + found.offset
            if not info.isdir() and not _is_hidden(info.name):

                @contextmanager
                def opener(info: tarfile.TarInfo = info) -> Iterator[IO[bytes]]:
                    yield cast(IO[bytes], found.extractfile(info))

                if info.isreg():
                    member = _member(archive, info.name, info.size, offset, opener, None)
                else:
                    name = f"{archive.name}{SEPARATOR}{info.name}"
                    member = Ignored(name, 0, 0, 0, "it is a link or a device, not a file")
                yield Member(number, offset, end, member)
            _skip_member(found)
            number += 1
        # The checksum of what is compressed stands behind all of it.
        while blocks.read(_TAR_BLOCKS):
            pass
    except _BROKEN as error:
        raise _damaged(archive.name, error) from None


def _skip_member(archive: tarfile.TarFile) -> None:
    """Read up to the next header; raise :exc:`tarfile.ReadError` where the stream ends before.

    The library asks for as many blocks behind the end as the size of the member says.
    """
    stream = cast(IO[bytes], archive.fileobj)
    while (missing := archive.offset - stream.tell()) > 0:
        if not stream.read(min(missing, _TAR_BLOCKS)):
            raise tarfile.ReadError("unexpected end of data")


class _UpToDamage:
    """Gives what comes before damage, and the damage at the next call, for a reader of blocks."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._damage: DamagedStream | None = None

    def read(self, size: int) -> bytes:
        """Return so many bytes, or fewer at the end and before damage.

        Raises:
            DamagedStream: They break off here.
        """
        if self._damage is not None:
            raise self._damage
        data = bytearray()
        try:
            while len(data) < size and (more := self._stream.read1(size - len(data))):
                data += more
        except DamagedStream as error:
            if not data:
                raise
            self._damage = error
        return bytes(data)


class _StrictTarInfo(tarfile.TarInfo):
    """Reports a damaged or missing header, which the library takes for the archive's end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> _StrictTarInfo:
        try:
            return super().fromtarfile(archive)
        except (tarfile.TruncatedHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            raise tarfile.ReadError("it breaks off") from None
        except tarfile.InvalidHeaderError as error:  # type: ignore[attr-defined]
            raise tarfile.ReadError(f"a member's header is damaged: {error}") from None


def _member(
    archive: Archive,
    path: str,
    size: int,
    byte_offset: int,
    opener: _Opener,
    refusal: str | None,
) -> MemberSource | Rejection | Ignored:
    """Return the source of a member, or why it is none."""
    name = f"{archive.name}{SEPARATOR}{path}"
    parts = path.replace("\\", "/").split("/")
    if not path:
        refusal = "it has no name"
    elif ".." in parts or not parts[0] or parts[0].endswith(":"):
        refusal = "its name leads out of the archive"
    elif archive.options.format == "auto" and not is_known(path):
        return Ignored(name, 0, 0, 0, TYPE_UNKNOWN)
    if refusal is not None:
        return Rejection(name, 0, 0, 0, refusal)
    return MemberSource(archive, path, size, byte_offset, opener)


def _is_hidden(path: str) -> bool:
    """Return whether a member is hidden, as files are, or holds what a Mac adds to an archive."""
    parts = path.replace("\\", "/").split("/")
    return parts[0] == "__MACOSX" or any(part[:1] == "." and part.strip(".") for part in parts)


def _damaged(name: str, error: BaseException) -> UnreadableSource:
    if isinstance(error, UnreadableSource):
        return error
    return UnreadableSource(name, f"the archive is damaged: {_one_line(error)}")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
