"""Write, delete, check and pack (into runs of a posting index) the sketches of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from simstore.fingerprint.sketching import sketch_texts
from simstore.index.bands import band_kind
from simstore.services.channels.store_part import (
    AddedTexts,
    ChannelSearch,
    KeptFigures,
    StorePart,
)
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.storage.engine import Connection
from simstore.storage.index_pages import drop, kinds, stored_bytes, stored_index
from simstore.storage.sketches import SKETCHES

if TYPE_CHECKING:
    from simstore.fingerprint.minhash import BandLayout
    from simstore.model import Finding, Progress


class SketchPart(StorePart):
    """The store part of a sketch channel: one row for each document, packed by bands.

    Args:
        name: The channel; its tables are :data:`simstore.storage.sketches.SKETCHES`.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._tables = SKETCHES[name]

    def search(self, snapshot: Snapshot) -> ChannelSearch:
        """Return a search by bands."""
        from simstore.services.channels.sketch_search import SketchSearch

        return SketchSearch(snapshot, self.name)

    def warm(self, snapshot: Snapshot) -> None:
        """Read the bands of all sketches."""
        from simstore.services.channels.sketch_search import SketchSearch

        SketchSearch(snapshot, self.name).warm()

    def forms(self, snapshot: Snapshot, texts: Mapping[int, str]) -> Mapping[int, bytes]:  # noqa: ARG002
        """Return what else documents are found by: packed forms of titles."""
        return {}

    def put(self, snapshot: Snapshot, added: AddedTexts) -> None:
        """Write the sketches of texts."""
        held, documents = added.batch.sketches[self.name], added.batch.documents
        forms = self.forms(
            snapshot, {n: documents[place].text for n, place in added.places.items()}
        )
        made = [(number, *held[place], forms.get(number)) for number, place in added.places.items()]
        if len(made) != 1:
            self._tables.put_many(snapshot.connection, snapshot.scheme_id, made)
            return
        number = self._tables.put_one(snapshot.connection, snapshot.scheme_id, made[0])
        if made[0][2] and snapshot.store.cache.latest(("tail", self.name)):
            from simstore.services.channels.sketch_search import note_added

            note_added(snapshot, self.name, number, *made[0][2:])

    def make_anew(self, snapshot: Snapshot, document_ids: Sequence[int]) -> None:
        """Make the sketches of stored documents from their texts, and write them."""
        texts = feature_counts.whole_texts(snapshot, document_ids)
        recipe = snapshot.channels.recipe(self.name)
        made = sketch_texts(recipe.sketching, list(texts.values()))
        forms = self.forms(snapshot, texts)
        rows = [
            (number, *sketch, forms.get(number)) for number, sketch in zip(texts, made, strict=True)
        ]
        self._tables.put_many(snapshot.connection, snapshot.scheme_id, rows)

    def last_made(self, snapshot: Snapshot) -> int:
        """Return the largest number of a document with a sketch, or 0."""
        return self._tables.last_document(snapshot.connection, snapshot.scheme_id)

    def drop(self, connection: Connection, document_ids: Sequence[int]) -> None:
        """Delete the sketches of documents."""
        self._tables.drop_many(connection, document_ids)

    def pack_long_tail(self, opened: OpenStore) -> bool:
        """Put sketches into runs where many are in none."""
        from simstore.services.channels import pack_sketches

        return pack_sketches.pack_long_tail(opened, self.name)

    def pack_bands(
        self,
        opened: OpenStore,
        layout: BandLayout | None = None,
        on_progress: Progress | None = None,
    ) -> bool:
        """Put all sketches into one run, by the bands that are asked for."""
        from simstore.services.channels import pack_sketches

        return pack_sketches.compact(opened, self.name, layout, on_progress)

    def drop_scheme_rows(self, connection: Connection, scheme_id: int, limit: int) -> bool:
        """Delete up to ``limit`` sketches, and some pages, of a retired scheme."""
        more = False
        for kind in kinds(connection, f"{self.name} ", scheme_id):
            more |= drop(connection, kind, scheme_id, limit)
        return self._tables.drop_scheme_rows(connection, scheme_id, limit) or more

    def findings(
        self,
        snapshot: Snapshot,
        batches: Iterable[tuple[list[int], Mapping[int, bytes]]],
    ) -> Iterator[Finding]:
        """Yield the errors in sketches and their bands."""
        from simstore.services.channels import sketch_checks

        yield from sketch_checks.check_sketches(snapshot, self.name, self.forms, batches)
        yield from sketch_checks.check_bands(snapshot, self.name)

    def figures(self, snapshot: Snapshot, *, sizes: bool = False) -> KeptFigures:
        """Return how many sketches there are."""
        connection, scheme_id, tables = snapshot.connection, snapshot.scheme_id, self._tables
        count = tables.count(connection, scheme_id)
        if self.name not in snapshot.channels.names:
            return KeptFigures(count=count)
        layout = snapshot.channels.recipe(self.name).layout
        kind = band_kind(self.name, layout)
        last = stored_index(connection, kind, scheme_id).last
        stored = None
        if sizes:
            stored = tables.stored_bytes(connection, scheme_id)
            stored += stored_bytes(connection, kind.name, scheme_id)
        return KeptFigures(
            count=count,
            unpacked=tables.count(connection, scheme_id, last),
            stored_bytes=stored,
            bands=str(layout),
        )
