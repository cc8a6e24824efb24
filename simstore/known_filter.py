"""The known-keys filter: a Bloom filter of what a store knows, as a file for crawlers.

A file of it, all numbers little-endian::

    8 bytes   SIMKNOWN
    uint16    version of the format: 1
    uint16    number of parts
    uint32    0
    then for each part, 24 bytes:
    uint8     what its members are: 1 keys, 2 texts
    uint8     hash functions, k: 1 to 64
    uint16    0
    uint32    0
    uint64    number of bits, m, a multiple of 8
    uint64    number of members
    then the m / 8 bytes of each part, in the same order; bit 0 is the lowest of the first byte
    16 bytes  BLAKE2b-128 of all that stands before

The BLAKE2b-128 of a member (a key's bytes, or a text in UTF-8) is read as two numbers of 64 bits,
a and b. The bits of the member are (a + i * b mod 2**64) mod m, for i from 0 to k - 1.

References:
    Bloom: Space/time trade-offs in hash coding with allowable errors, CACM 13(7), 1970.
    Kirsch, Mitzenmacher: Less hashing, same performance, ESA 2006 (two hashes for k).
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, log, log2
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, SourceNotFound, UnreadableSource
from simstore.outputs import written
from simstore.text.decoding import encode

MAGIC, VERSION = b"SIMKNOWN", 1
# In a file each is its number, from 1.
KINDS = ("keys", "digests")
_HEAD = struct.Struct("<8sHHI")
_PART = struct.Struct("<BBHIQQ")
_HASH_BYTES = 16
_NO_FILTER = "it is no known-keys filter of version 1 that `simstore export --known-keys` wrote"
_MOST_HASHES, _MOST_BITS = 64, 1 << 40
_BLOCK_MEMBERS = 1 << 16


@dataclass(slots=True)
class _Part:
    """A Bloom filter: its bits, the number of hash functions and of members."""

    bits: NDArray[np.uint8]
    hashes: int
    count: int = 0

    def places(self, hashed: bytes) -> NDArray[np.uint64]:
        """Return the bits of members by their hashes, shape (members, k)."""
        words: NDArray[np.uint64] = np.frombuffer(hashed, "<u8").reshape(-1, 2, 1)
        steps = np.arange(self.hashes, dtype=np.uint64)
        return (words[:, 0] + steps * words[:, 1]) % np.uint64(8 * len(self.bits))

    def add(self, hashed: bytes) -> None:
        """Set the bits of members."""
        places = self.places(hashed).ravel()
        masks = np.left_shift(1, places & np.uint64(7)).astype(np.uint8)
        np.bitwise_or.at(self.bits, places >> np.uint64(3), masks)
        self.count += len(hashed) // _HASH_BYTES

    def contains(self, hashed: bytes) -> NDArray[np.bool_]:
        """Return whether all bits of each member are set."""
        places = self.places(hashed)
        held = self.bits[places >> np.uint64(3)] >> (places & np.uint64(7))
        return np.asarray((held & np.uint64(1)).all(axis=1))


class KnownFilter:
    """A known-keys filter: no false negatives, few false positives.

    >>> known = store.filters.known()
    >>> known.add_key("harbour")
    >>> known.knows_key("harbour"), known.knows_key("lighthouse")
    (True, False)

    A crawler asks it before it fetches. Beyond its capacity more strangers are
    taken for known.
    """

    def __init__(self, parts: dict[str, _Part]) -> None:
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
            capacity: Keys, and as many texts, that it has room for.
            false_positive_rate: Largest share of unknown keys, and of unknown
                texts, that are taken for known, from 1e-9 on, below 1.
            of: ``keys``, ``digests`` (of texts) or both.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        if not of or set(of) - set(KINDS) or len(set(of)) < len(of):
            raise InvalidParameter(f"of {', '.join(of) or 'nothing'}: choose keys, digests")
        if not 1e-9 <= false_positive_rate < 1:
            raise InvalidParameter(f"false positive rate {false_positive_rate}: take 1e-9 to 0.9")
        hashes = max(1, round(-log2(false_positive_rate)))
        size = ceil(capacity * -log2(false_positive_rate) / log(2) / 8)
        if not 1 <= size <= _MOST_BITS // 8:
            raise InvalidParameter(f"capacity {capacity:,}: it must be from 1 to 10,000,000,000")
        return cls({kind: _Part(np.zeros(size, np.uint8), hashes) for kind in of})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a filter from a file.

        Raises:
            SourceNotFound: There is no such file.
            UnreadableSource: It cannot be read, is no file or no filter, or is
                damaged.
        """
        try:
            # Opening a pipe without a writer would wait.
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
        head = _HEAD.pack(MAGIC, VERSION, len(self._parts), 0)
        for kind, part in self._parts.items():
            fields = KINDS.index(kind) + 1, part.hashes, 0, 0, 8 * len(part.bits), part.count
            head += _PART.pack(*fields)
        content = head + b"".join(part.bits.tobytes() for part in self._parts.values())
        return content + member_hash(content)

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the filter to a file, as a whole or not at all.

        Args:
            path: The file.
            replace: Put it in the place of a file that is there.

        Raises:
            OutputExists: There is a file, and it is not to be replaced.
            StorageError: It cannot be written.
        """
        content = self.to_bytes()
        with written(path, replace=replace, compress=False) as stream:
            stream.write(content)

    def __repr__(self) -> str:
        held = ", ".join(f"{count:,} {kind}" for kind, count in self.counts.items())
        return f"KnownFilter({held})"

    @property
    def counts(self) -> dict[str, int]:
        """The number of ``keys`` and of ``digests`` that were added."""
        return {kind: part.count for kind, part in self._parts.items()}

    def knows_key(self, key: str | bytes) -> bool:
        """Return whether a key is known; False is certain."""
        return bool(self.knows_keys([key])[0])

    def knows_keys(self, keys: Iterable[str | bytes]) -> NDArray[np.bool_]:
        """Return whether each of many keys is known, shape (keys,)."""
        part, none = self._part("keys"), np.empty(0, np.bool_)
        return np.concatenate([none, *map(part.contains, _blocks(map(member_hash, keys)))])

    def add_key(self, key: str | bytes) -> None:
        """Make a key known."""
        self.add_keys((key,))

    def add_keys(self, keys: Iterable[str | bytes]) -> None:
        """Make many keys known; faster than one by one."""
        self.add_hashes("keys", map(member_hash, keys))

    def add_hashes(self, kind: str, hashes: Iterable[bytes]) -> None:
        """Make ``keys`` or ``digests`` known by their BLAKE2b-128."""
        for hashed in _blocks(hashes):
            self._part(kind).add(hashed)

    def knows_text(self, text: str | bytes) -> bool:
        """Return whether a text is known, to the letter; False is certain."""
        return self.knows_digest(member_hash(text))

    def knows_digest(self, digest: bytes) -> bool:
        """Return whether a text is known by its BLAKE2b-128, 16 bytes."""
        return bool(self._part("digests").contains(digest)[0])

    def add_text(self, text: str | bytes) -> None:
        """Make a text known."""
        self.add_hashes("digests", [member_hash(text)])

    def _part(self, kind: str) -> _Part:
        if kind not in self._parts:
            raise InvalidParameter(f"this filter has no {kind}: export one with --of {kind}")
        return self._parts[kind]


def member_hash(member: str | bytes) -> bytes:
    """Return the BLAKE2b-128 of a member, or of a file's content."""
    content = member if isinstance(member, bytes) else encode(member)
    return hashlib.blake2b(content, digest_size=_HASH_BYTES).digest()


def _blocks(hashes: Iterable[bytes]) -> Iterable[bytes]:
    """Yield hashes one behind the other, some at a time."""
    given = iter(hashes)
    while held := b"".join(islice(given, _BLOCK_MEMBERS)):
        yield held


def _read(file: BinaryIO) -> dict[str, _Part]:
    """Return the parts of a filter's file.

    Raises:
        ValueError: It is no filter, or damaged.
    """
    try:
        magic, version, count, _ = _HEAD.unpack(file.read(_HEAD.size))
        parts = [_PART.unpack(file.read(_PART.size)) for _ in range(count)]
    except struct.error:
        raise ValueError(_NO_FILTER) from None
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError(_NO_FILTER)
    names = dict(enumerate(KINDS, 1))
    for kind, hashes, _, _, bits, _ in parts:
        if kind not in names or not 1 <= hashes <= _MOST_HASHES or bits % 8 or not bits:
            raise ValueError("the filter has a part that this simstore does not know")
    start = file.tell()
    size = start + sum(part[4] // 8 for part in parts) + _HASH_BYTES
    if size != (found := file.seek(0, os.SEEK_END)):
        raise ValueError(f"the filter is damaged: it has {found:,} bytes, not {size:,}")
    content = file.read(file.seek(0) + size)
    if member_hash(content[:-_HASH_BYTES]) != content[-_HASH_BYTES:]:
        raise ValueError("the filter is damaged: its checksum is another")
    read: dict[str, _Part] = {}
    for kind, hashes, _, _, bits, members in parts:
        held = np.frombuffer(content, np.uint8, bits // 8, start).copy()
        read[names[kind]] = _Part(held, hashes, members)
        start += bits // 8
    return read
