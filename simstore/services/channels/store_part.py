"""The base class of storage for a search method (channel): write, search, pack, check its data.

Ingest, query, packing, reindex, fsck and statistics go through the store parts of a store's
channels and know none of them by name. A part is loaded when it is first asked for, by the address
in the registry (:mod:`simstore.model.channels`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simstore.model.channels import KEPT_CHANNELS, channel, load
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.services.open_store.state import State
from simstore.storage.engine import Connection

if TYPE_CHECKING:
    from simstore.fingerprint.features import FeatureCounts
    from simstore.fingerprint.minhash import BandLayout
    from simstore.model import Finding, Progress
    from simstore.services.channels.samples import ReadSample
    from simstore.services.features.prepare import PreparedBatch


class ChannelSearch(Protocol):
    """A search by one channel, in one snapshot of a store."""

    def candidates(self, samples: Sequence[ReadSample]) -> list[Mapping[int, Any]]:
        """Return the candidate documents of each sample, each with the channel's finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedTexts:
    """Texts of a batch that are written.

    Attributes:
        batch: The batch.
        places: Document number to its place in the batch.
        feature_ids: The terms of ``counts`` in the vocabulary.
        counts: Counts the features of the texts.
    """

    batch: PreparedBatch
    places: Mapping[int, int]
    feature_ids: NDArray[np.int64]
    counts: Callable[[], FeatureCounts]


@dataclass(frozen=True, slots=True)
class KeptFigures:
    """Counts and sizes of a channel's data, but for fingerprints: their generation counts them.

    Attributes:
        count: Entries.
        unpacked: Those that are not packed.
        stored_bytes: Their bytes and those of pages; None: they were not asked for.
        bands: How they are packed, as ``42x3``.
    """

    count: int = 0
    unpacked: int = 0
    stored_bytes: int | None = None
    bands: str = ""


class StorePart:
    """Storage operations of a channel, which do nothing until a subclass overrides them.

    Args:
        name: The channel.
    """

    # Documents that it finds count from the generation on that has their fingerprint.
    waits_for_generation = True

    def __init__(self, name: str) -> None:
        self.name = name

    def search(self, snapshot: Snapshot) -> ChannelSearch | None:  # noqa: ARG002
        """Return a search in a snapshot; None: fingerprints, which every query looks up first."""
        return None

    def warm(self, snapshot: Snapshot) -> None:
        """Load the query indexes into memory."""

    def put(self, snapshot: Snapshot, added: AddedTexts) -> None:
        """Write the channel's data for texts, in the writer's transaction."""

    def make_anew(self, snapshot: Snapshot, document_ids: Sequence[int]) -> None:
        """Make the channel's data for documents from their texts and write it, for a reindex.

        Fingerprints are made with the generation that they are of.
        """

    def last_made(self, snapshot: Snapshot) -> int:  # noqa: ARG002
        """Return the largest number of a document of which something is kept by a scheme, or 0."""
        return 0

    def drop(self, connection: Connection, document_ids: Sequence[int]) -> None:
        """Delete the channel's data for documents, of every scheme."""

    def pack_long_tail(self, opened: OpenStore) -> bool:  # noqa: ARG002
        """Pack where much is unpacked; return whether it was."""
        return False

    def pack_bands(
        self,
        opened: OpenStore,  # noqa: ARG002
        layout: BandLayout | None = None,  # noqa: ARG002
        on_progress: Progress | None = None,  # noqa: ARG002
    ) -> bool:
        """Pack the data that is found by bands, where there is something to do.

        Args:
            opened: The store.
            layout: The bands; None: those of the store.
            on_progress: Called with entries packed and entries to pack.

        Returns:
            False where another process has changed the scheme meanwhile.
        """
        return True

    def drop_scheme_rows(self, connection: Connection, scheme_id: int, limit: int) -> bool:  # noqa: ARG002
        """Delete up to ``limit`` rows of a retired scheme; return whether some may remain."""
        return False

    def findings(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        batches: Iterable[tuple[list[int], Mapping[int, bytes]]],  # noqa: ARG002
    ) -> Iterator[Finding]:
        """Yield the errors in the channel's stored data.

        Args:
            snapshot: The store in a read transaction.
            batches: All documents, and the texts of those that keep one.
        """
        return iter(())

    def figures(self, snapshot: Snapshot, *, sizes: bool = False) -> KeptFigures:  # noqa: ARG002
        """Return the counts and sizes of the channel's stored data.

        Args:
            snapshot: The store in a read transaction.
            sizes: Count the bytes, too: all of them are read.
        """
        return KeptFigures()


@cache
def store_part(name: str) -> StorePart:
    """Return the store part of a channel."""
    made: StorePart = load(channel(name).store_part)(name)
    return made


def parts_of(state: State) -> list[StorePart]:
    """Return the store parts of the channels that a store was made with."""
    return [store_part(name) for name in state.channels.names]


def every_part() -> list[StorePart]:
    """Return the store parts of all channels that a store can be made with."""
    return [store_part(name) for name in KEPT_CHANNELS]


def warm(opened: OpenStore) -> None:
    """Load the query indexes of each channel of a store into memory."""
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        for part in parts_of(snapshot):
            part.warm(snapshot)


def pack_long_tails(opened: OpenStore) -> bool:
    """Pack the data of the channels where much is unpacked; return whether something was packed."""
    with opened.database.read() as connection:
        parts = parts_of(opened.state(connection))
    packed = False
    for part in parts:
        packed |= part.pack_long_tail(opened)
    return packed


def pack_bands(
    opened: OpenStore, layout: BandLayout | None = None, on_progress: Progress | None = None
) -> bool:
    """Pack the sketches of all channels that have some; a layout is that of ``minhash``.

    Returns:
        False where another process has changed the scheme meanwhile.
    """
    with opened.database.read() as connection:
        state = opened.state(connection)
    done = True
    for part in parts_of(state):
        own = layout if part.name == state.channels.words.name else None
        done &= part.pack_bands(opened, own, on_progress)
    return done
