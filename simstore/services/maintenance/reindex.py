"""Reindex a store: rebuild fingerprints, sketches and vocabulary from the stored texts.

The new scheme is built beside the standing one in batches; queries go on with the old one, new
documents are refused until the switch, which is one transaction. A killed reindex is gone on with
by the same call, or given up (``abort``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simstore.errors import Conflict, InvalidParameter, ReindexInProgress
from simstore.fingerprint.channels import Channels, recorded_choice
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.schemes import make_scheme, open_scheme
from simstore.fingerprint.simhash import to_integers
from simstore.model import Progress
from simstore.services.channels.store_part import pack_long_tails, parts_of
from simstore.services.features import feature_counts
from simstore.services.generations.refresh import drop_retired, freeze, link_batch
from simstore.services.maintenance.maintain import check_channels
from simstore.services.open_store.open_store import OpenStore, Snapshot, now
from simstore.services.open_store.state import State
from simstore.storage import deltas, documents, generations, vocabularies
from simstore.storage.damage import corrupt
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints

BATCH_DOCUMENTS = 1_000


def reindex(
    opened: OpenStore,
    scheme: Scheme | None,
    channels: Sequence[str] | None = None,
    *,
    resume: bool = False,
    on_progress: Progress | None = None,
) -> str:
    """Rebuild the store's fingerprints; return the label of the scheme now in use.

    Args:
        opened: The store.
        scheme: The new scheme; None: the present one, computed as this installation does.
        channels: Which to keep; None: as before.
        resume: Go on with a reindex that was interrupted, whatever its scheme.
        on_progress: Called with documents done and documents in all, twice over for a scheme
            that depends on the corpus.

    Raises:
        ReindexInProgress: One to another scheme or other channels was begun before; one to the
            same is gone on with.
        InvalidParameter: The store keeps no text.
        Conflict: ``resume`` and there is nothing to go on with.
    """
    state = _begin(opened, scheme, channels, resume=resume)
    if state.channels.has_fingerprints and state.generation is None:
        _count(opened, state, on_progress)
        with opened.write() as connection:
            _check_building(opened.snapshot(connection, state))
            building = generations.generation_with_status(connection, "building")
            state = replace(state, settings=generations.settings(connection))
            state = replace(
                state, generation=building or freeze(opened.snapshot(connection, state))
            )
    _make_anew(opened, state, on_progress)
    with opened.write() as connection:
        _switch(opened.snapshot(connection, state))
    drop_retired(opened)
    pack_long_tails(opened)
    return state.scheme.label


def abort(opened: OpenStore) -> None:
    """Give up a reindex that was begun.

    Raises:
        Conflict: There is none.
    """
    with opened.write() as connection:
        found = generations.scheme_with_status(connection, "building")
        if found is None:
            raise Conflict("no reindex is under way; there is nothing to give up")
        _retire_building(connection, found[0])
        generations.set_scheme_status(connection, found[0], "retired")
        documents.drop_reindexed_counts(connection)
    drop_retired(opened)


def _begin(
    opened: OpenStore,
    scheme: Scheme | None,
    wanted: Sequence[str] | None,
    *,
    resume: bool,
) -> State:
    """Return the state of the scheme under construction."""
    with opened.write() as connection:
        settings = generations.settings(connection)
        found = generations.scheme_with_status(connection, "building")
        if found is not None:
            if not resume and not _is_wanted(connection, found, scheme, wanted):
                raise ReindexInProgress(found[1].label)
            scheme_id, record = found
            scheme = open_scheme(record)
            channels = Channels.from_record(
                generations.channels_of(connection, scheme_id), scheme.normalization, record.label
            )
            building = generations.generation_with_status(connection, "building")
        else:
            if resume:
                raise Conflict("no reindex is under way; begin one with `simstore reindex`")
            if not settings.text_kept:
                raise InvalidParameter(
                    "this store keeps no text (--no-text), so nothing can be counted anew; "
                    "ingest the sources into a new store"
                )
            scheme, channels = _wanted(connection, scheme, wanted)
            standing = generations.scheme_with_status(connection, "standing")
            # A refresh under way is of no use any more.
            if standing is not None:
                _retire_building(connection, standing[0])
            check_channels(scheme, channels)
            scheme_id = generations.add_scheme(
                connection, scheme.record(), channels.record(), "building", now()
            )
            building = None
        state = State(
            settings=settings,
            scheme_id=scheme_id,
            scheme=scheme,
            generation=building,
            channels=channels,
        )
        if building is None and channels.has_fingerprints and not scheme.depends_on_corpus:
            # It needs no count of the corpus.
            state = replace(state, generation=freeze(opened.snapshot(connection, state)))
        return state


def _wanted(
    connection: Connection, scheme: Scheme | None, wanted: Sequence[str] | None
) -> tuple[Scheme, Channels]:
    """Return the scheme and the channels that are asked for: the standing ones, where none are."""
    standing = generations.scheme_with_status(connection, "standing")
    if standing is None:
        raise corrupt(connection, "it has no scheme")
    if scheme is None:
        scheme = make_scheme(standing[1])
    kept = generations.channels_of(connection, standing[0])
    names, layouts = recorded_choice(kept)
    return scheme, Channels.of(names if wanted is None else wanted, scheme.normalization, layouts)


def _is_wanted(
    connection: Connection,
    begun: tuple[int, SchemeRecord],
    scheme: Scheme | None,
    wanted: Sequence[str] | None,
) -> bool:
    """Return whether the reindex that was begun is the one that is asked for."""
    scheme, channels = _wanted(connection, scheme, wanted)
    return (
        begun[1] == scheme.record()
        and generations.channels_of(connection, begun[0]) == channels.record()
    )


def _retire_building(connection: Connection, scheme_id: int) -> None:
    for row in generations.generations(connection, ("building",)):
        if row.scheme_id == scheme_id:
            generations.set_generation_status(connection, row.generation_id, "retired")


def _count(opened: OpenStore, state: State, on_progress: Progress | None) -> None:
    """Count the features of every document by the new scheme."""
    with opened.database.read() as connection:
        after = vocabularies.last_counted_document(connection, state.scheme_id)
        done = documents.count_up_to(connection, after)
        total = documents.count(connection)
    while True:
        with opened.write() as connection:
            building = opened.snapshot(connection, state)
            _check_building(building)
            batch = documents.ids_after(connection, after, BATCH_DOCUMENTS)
            if not batch:
                return
            # Another process may go on with the same reindex.
            if not vocabularies.packed_features_of(connection, state.scheme_id, batch[:1]):
                _count_batch(building, batch)
            after = batch[-1]
        done += len(batch)
        if on_progress is not None:
            on_progress(done, total)


def _count_batch(snapshot: Snapshot, batch: list[int]) -> None:
    connection = snapshot.connection
    texts = feature_counts.whole_texts(snapshot, batch)
    counts = feature_counts.count_stored(connection, snapshot.scheme, texts)
    _note_sizes(snapshot, batch, counts)
    ids = feature_counts.change_vocabulary(snapshot, added=counts)
    deltas.merge_many(connection, snapshot.scheme_id, 1)
    if snapshot.keeps_counts:
        feature_counts.write_counts(connection, snapshot.scheme_id, ids, counts, batch)
    if snapshot.generation is not None:
        values = to_integers(snapshot.scheme.fingerprints(counts))
        fingerprints.link_many(
            connection,
            snapshot.scheme.bits,
            snapshot.generation.generation_id,
            dict(zip(batch, values, strict=True)),
        )


def _note_sizes(snapshot: Snapshot, batch: list[int], counts: FeatureCounts) -> None:
    """Note how many features the documents have by the new scheme, for the switch."""
    sizes = snapshot.scheme.token_counts(counts).tolist()
    documents.put_reindexed_counts(snapshot.connection, dict(zip(batch, sizes, strict=True)))


def _make_anew(opened: OpenStore, state: State, on_progress: Progress | None) -> None:
    """Give every document its fingerprint and its sketch by the new scheme."""
    generation_id = state.generation.generation_id if state.generation else 0
    with opened.database.read() as connection:
        after = _last_made(opened.snapshot(connection, state))
        done = documents.count_up_to(connection, after)
        total = documents.count(connection)
    while True:
        with opened.write() as connection:
            building = opened.snapshot(connection, state)
            _check_building(building)
            batch = documents.ids_after(connection, _last_made(building), BATCH_DOCUMENTS)
            if not batch:
                return
            if state.records_vocabulary and not state.scheme.depends_on_corpus:
                _count_batch(building, batch)
            elif state.channels.has_fingerprints:
                link_batch(building, generation_id, batch)
            if not state.records_vocabulary:
                texts = feature_counts.whole_texts(building, batch)
                counts = feature_counts.count_stored(connection, state.scheme, texts)
                _note_sizes(building, batch, counts)
            for part in parts_of(building):
                part.make_anew(building, batch)
        done += len(batch)
        if on_progress is not None:
            on_progress(min(done, total), total)


def _last_made(snapshot: Snapshot) -> int:
    """Return the last document that the new scheme has done."""
    # All channels of a batch are made in one transaction.
    return parts_of(snapshot)[0].last_made(snapshot)


def _check_building(snapshot: Snapshot) -> None:
    found = generations.scheme_with_status(snapshot.connection, "building")
    if found is None or found[0] != snapshot.scheme_id:
        raise Conflict("the reindex was given up or finished by another process")


def _switch(snapshot: Snapshot) -> None:
    """Make the new scheme and its generation the standing ones."""
    connection = snapshot.connection
    _check_building(snapshot)
    for row in generations.generations(connection, ("standing",)):
        generations.set_generation_status(connection, row.generation_id, "retired")
    for scheme_id in generations.scheme_ids(connection, "standing"):
        generations.set_scheme_status(connection, scheme_id, "retired")
    generations.set_scheme_status(connection, snapshot.scheme_id, "standing")
    documents.take_reindexed_counts(connection)
    if snapshot.generation is not None:
        generations.set_generation_status(
            connection, snapshot.generation.generation_id, "standing", now()
        )
