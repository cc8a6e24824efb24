"""The known-keys filter: a cuckoo filter of what a store knows, as a file for crawlers.

A file of it, all numbers little-endian::

    8 bytes   SIMKNOWN
    uint16    version of the format: 1
    uint16    number of parts
    uint32    0
    then for each part, 32 bytes:
    uint8     what its members are: 1 keys, 2 texts
    uint8     length of a tag in bits, t: 8 to 32
    uint8     slots a bucket: 4
    uint8     hash of a member: 1, BLAKE2b-128 of its bytes (of text: in UTF-8)
    uint32    0
    uint64    number of buckets
    uint64    number of tags that are kept
    uint64    number of bytes of the part
    then the bytes of each part, in the same order:
    slot s is the number in bits s*t to s*t + t - 1, the lowest bit of the first byte being bit 0;
    the last byte is filled up with zeros
    16 bytes  BLAKE2b-128 of all that stands before

:mod:`simstore.search.cuckoo` says which slots are a member's.
"""

from __future__ import annotations

import io
import os
import stat
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, SourceNotFound, UnreadableSource
from simstore.outputs import written
from simstore.search.cuckoo import (
    HASH_BYTES,
    LEAST_TAG_BITS,
    MOST_BUCKETS,
    MOST_TAG_BITS,
    SLOTS,
    CuckooTable,
    hash_words,
    member_hash,
    pack_slots,
    unpack_slots,
)
from simstore.text.decoding import encode

MAGIC = b"SIMKNOWN"
VERSION = 1
KINDS = {"keys": 1, "digests": 2}
_HEAD = struct.Struct("<8sHHI")
_PART = struct.Struct("<BBBBIQQQ")
_BLAKE2B_128 = 1
_NO_FILTER = "it is no known-keys filter that `simstore export --known-keys` wrote"


class KnownFilter:
    """A known-keys filter: no false negatives, few false positives.

    >>> known = store.filters.known()
    >>> known.add_key("harbour")
    >>> known.knows_key("harbour"), known.knows_key("lighthouse")
    (True, False)

    A crawler asks it before it fetches. What was added is known until it was
    removed as often as it was added; what was added four times stays known.
    Only what was added may be removed: a stranger that is taken for known would
    take another's place with it.
    """

    def __init__(self, parts: dict[str, CuckooTable]) -> None:
        """Use :meth:`create` or :meth:`load`."""
        self._parts = parts

    @classmethod
    def create(
        cls,
        capacity: int,
        *,
        false_positive_rate: float = 0.001,
        of: Sequence[str] = ("keys", "digests"),
    ) -> Self:
        """Return an empty filter.

        Args:
            capacity: Keys, and as many texts, that it has room for, at least.
            false_positive_rate: Largest share of unknown keys, and of unknown
                texts, that are taken for known, above 0, below 1.
            of: ``keys``, ``digests`` (of texts) or both.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        _check_kinds(of)
        return cls({kind: CuckooTable.sized(capacity, false_positive_rate) for kind in of})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a filter from a file.

        No more is read than what its beginning and its size agree on.

        Raises:
            SourceNotFound: There is no such file.
            UnreadableSource: It cannot be read, is no file or no filter, or is
                damaged.
        """
        try:
            # Before it is opened: a pipe without a writer would be waited for.
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise UnreadableSource(os.fspath(path), "it is not a file")
            with Path(path).open("rb") as file:
                return cls(_read(file))
        except FileNotFoundError:
            raise SourceNotFound(os.fspath(path)) from None
        except OSError as error:
            raise UnreadableSource(os.fspath(path), error.strerror or str(error)) from error
        except ValueError as error:
            raise UnreadableSource(os.fspath(path), str(error)) from None

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the filter of the bytes of a file.

        Raises:
            ValueError: They are no filter, or damaged.
        """
        return cls(_read(io.BytesIO(data)))

    def to_bytes(self) -> bytes:
        """Return the bytes of a file of it."""
        return b"".join(_packed(self._parts))

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the filter to a file, as a whole or not at all.

        Args:
            path: The file.
            replace: Put it in the place of a file that is there.

        Raises:
            OutputExists: There is a file, and it is not to be replaced.
            StorageError: It cannot be written.
        """
        content = _packed(self._parts)
        with written(path, replace=replace, compress=False) as stream:
            for block in content:
                stream.write(block)

    def __repr__(self) -> str:
        held = ", ".join(f"{len(table):,} {kind}" for kind, table in self._parts.items())
        return f"KnownFilter({held})"

    @property
    def of(self) -> tuple[str, ...]:
        """The parts of the filter: ``keys``, ``digests`` or both."""
        return tuple(self._parts)

    def table(self, kind: str) -> CuckooTable:
        """Return the table of ``keys`` or of ``digests``.

        Raises:
            InvalidParameter: The filter was made without.
        """
        if kind not in self._parts:
            raise InvalidParameter(
                f"this filter was made without {kind}: export one with --of {kind}"
            )
        return self._parts[kind]

    def knows_key(self, key: str | bytes) -> bool:
        """Return whether a key is known; False is certain."""
        return _hash(key) in self.table("keys")

    def knows_keys(self, keys: Iterable[str | bytes]) -> NDArray[np.bool_]:
        """Return whether each of many keys is known, shape (keys,)."""
        return self.table("keys").contains_many(_words(keys))

    def add_key(self, key: str | bytes) -> None:
        """Make a key known.

        Raises:
            FilterFull: There is no room; the filter is as before.
        """
        self.table("keys").add(_hash(key))

    def add_keys(self, keys: Iterable[str | bytes]) -> None:
        """Make many keys known, all or none; faster than one by one.

        Raises:
            FilterFull: There is no room; the filter is as before.
        """
        self.table("keys").add_many(_words(keys))

    def remove_key(self, key: str | bytes) -> bool:
        """Take back one addition of a key; return whether that was done.

        It is not where the key is unknown, or was added four times.
        """
        return self.table("keys").remove(_hash(key))

    def knows_text(self, text: str | bytes) -> bool:
        """Return whether a text is known, to the letter; False is certain."""
        return _hash(text) in self.table("digests")

    def knows_digest(self, digest: bytes) -> bool:
        """Return whether a text is known by its BLAKE2b-128, 16 bytes."""
        return digest in self.table("digests")

    def add_text(self, text: str | bytes) -> None:
        """Make a text known.

        Raises:
            FilterFull: There is no room; the filter is as before.
        """
        self.table("digests").add(_hash(text))

    def remove_text(self, text: str | bytes) -> bool:
        """Take back one addition of a text; return whether that was done."""
        return self.table("digests").remove(_hash(text))


def _check_kinds(kinds: Sequence[str]) -> None:
    if not kinds or set(kinds) - set(KINDS) or len(set(kinds)) < len(kinds):
        raise InvalidParameter(f"a filter of {', '.join(kinds) or 'nothing'}: choose keys, digests")


def _hash(member: str | bytes) -> bytes:
    return member_hash(member if isinstance(member, bytes) else encode(member))


def _words(members: Iterable[str | bytes]) -> NDArray[np.uint64]:
    return hash_words(b"".join(map(_hash, members)))


def _packed(parts: dict[str, CuckooTable]) -> list[bytes]:
    blocks: list[bytes] = [_HEAD.pack(MAGIC, VERSION, len(parts), 0)]
    for kind, table in parts.items():
        size = (len(table.slots) * table.tag_bits + 7) // 8
        head = (KINDS[kind], table.tag_bits, SLOTS, _BLAKE2B_128, 0)
        blocks.append(_PART.pack(*head, table.buckets, len(table), size))
    blocks += (pack_slots(table.slots, table.tag_bits) for table in parts.values())
    return [*blocks, member_hash(b"".join(blocks))]


@dataclass(frozen=True, slots=True)
class _Part:
    """The header of a part of a filter file."""

    kind: str
    tag_bits: int
    buckets: int
    kept: int
    size: int


def _read(file: BinaryIO) -> dict[str, CuckooTable]:
    """Return the parts of a filter's file.

    Raises:
        ValueError: It is no filter, or damaged.
    """
    beginning = _taken(file, _HEAD.size)
    parts = []
    for _ in range(_count_of_parts(beginning)):
        head = _taken(file, _PART.size)
        parts.append(_part(head))
        beginning += head
    if len({part.kind for part in parts}) < len(parts):
        raise ValueError("the filter contradicts itself")
    size = sum(part.size for part in parts) + HASH_BYTES
    if len(beginning) + size != (found := file.seek(0, os.SEEK_END)):
        raise ValueError(
            f"the filter is damaged: it has {found:,} bytes, not {len(beginning) + size:,}"
        )
    file.seek(len(beginning))
    rest = _taken(file, size)
    content = memoryview(rest)[:-HASH_BYTES]
    if member_hash(b"".join((beginning, content))) != rest[-HASH_BYTES:]:
        raise ValueError("the filter is damaged: its checksum is another")
    tables: dict[str, CuckooTable] = {}
    start = 0
    for part in parts:
        packed = rest[start : start + part.size]
        slots = unpack_slots(packed, part.tag_bits, SLOTS * part.buckets)
        tables[part.kind] = table = CuckooTable(part.buckets, part.tag_bits, slots)
        if len(table) != part.kept:
            raise ValueError("the filter contradicts itself")
        start += part.size
    return tables


def _taken(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        if data[: len(MAGIC)] != MAGIC and file.tell() < _HEAD.size:
            raise ValueError(_NO_FILTER)
        raise ValueError("the filter breaks off")
    return data


def _count_of_parts(head: bytes) -> int:
    magic, version, count, _ = _HEAD.unpack(head)
    if magic != MAGIC:
        raise ValueError(_NO_FILTER)
    if version != VERSION:
        raise ValueError(f"a filter of version {version}; this simstore reads version {VERSION}")
    return int(count)


def _part(head: bytes) -> _Part:
    number, tag_bits, width, hashed, _, buckets, kept, size = _PART.unpack(head)
    kind = next((kind for kind, known in KINDS.items() if known == number), None)
    if (
        kind is None
        or (width, hashed) != (SLOTS, _BLAKE2B_128)
        or not LEAST_TAG_BITS <= tag_bits <= MOST_TAG_BITS
    ):
        raise ValueError("the filter has a part that this simstore does not know")
    if not 1 <= buckets <= MOST_BUCKETS or size != (SLOTS * buckets * tag_bits + 7) // 8:
        raise ValueError("the filter contradicts itself")
    return _Part(kind, tag_bits, buckets, kept, size)
