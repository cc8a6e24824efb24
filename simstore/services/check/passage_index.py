"""Build, compact and describe a store's passage index, which paper checks search."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain

from simstore.errors import Conflict, InvalidParameter
from simstore.fingerprint.passage_recipe import SEGMENTS, Cut, PassageRecipe
from simstore.model import PassageStatus, Progress
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import OpenStore, now
from simstore.storage import documents, generations, passages
from simstore.storage.passages import IndexSize
from simstore.storage.rows import chunks
from simstore.text.passages import DEFAULT_WINDOW

# Documents a transaction: a kill costs no more than these.
BATCH_DOCUMENTS = 2_000
_THREADS = 2
_TOGETHER = 64


def begin(
    opened: OpenStore,
    *,
    cut: Cut | None = None,
    window: int | None = None,
    fingerprints: bool | None = None,
    with_sentences: bool | None = None,
) -> PassageRecipe:
    """Make an index where there is none; documents that come get their entries from now on.

    Documents that are there get theirs by :func:`build`.

    Args:
        opened: The store.
        cut: ``sentences`` or ``window``; None: what the index has, else sentences.
        window: Characters of a window; None: what the index has, else 30.
        fingerprints: Whether each passage has one besides; None: what the index has, else not.
        with_sentences: Whether terms of sentences are kept; None: what the index has, else they
            are where the store has the texts that they are compared by. An index that is to have
            them and has none is rebuilt.

    Returns:
        The recipe of the index.

    Raises:
        Conflict: There is an index with other passages.
        InvalidParameter: The store has documents and keeps no texts, or keeps fingerprints alone.
        ReindexInProgress: The store is between two schemes.
    """
    with opened.write() as connection:
        state = opened.state(connection)
        generations.refuse_during_reindex(connection)
        if state.passages is not None:
            held = state.passages
            wanted = replace(
                held,
                cut=cut or held.cut,
                window=window or held.window,
                fingerprints=held.fingerprints if fingerprints is None else fingerprints,
                sentences=held.sentences if with_sentences is None else with_sentences,
            )
            if with_sentences and not held.sentences and state.settings.text_kept:
                passages.drop(connection)
                passages.begin(connection, wanted.record(), now())
                return wanted
            if wanted.record() != held.record():
                raise Conflict(
                    f"the passage index has {described(held)}; drop it first: "
                    "`simstore compact --drop-passages`"
                )
            return held
        if not state.settings.text_kept and documents.count(connection):
            raise InvalidParameter(
                "this store keeps no texts (--no-text) to make passages of; "
                "ingest the sources into a new store, with --passages"
            )
        if with_sentences and not state.settings.text_kept:
            raise InvalidParameter(
                "this store keeps no texts (--no-text), by which edited sentences are compared; "
                "--no-sentences makes an index without them"
            )
        recipe = PassageRecipe(
            cut or ("sentences" if window is None else "window"),
            window or DEFAULT_WINDOW,
            normalization=state.scheme.normalization,
            fingerprints=bool(fingerprints),
            sentences=state.settings.text_kept if with_sentences is None else with_sentences,
            neighbours=state.settings.text_kept,
        )
        passages.begin(connection, recipe.record(), now())
        if not documents.count(connection):
            passages.complete(connection)
        return recipe


def build(opened: OpenStore, on_progress: Progress | None = None) -> int:
    """Give every document its entry in the index, in batches; return how many had none.

    A process that is killed has built whole batches; the next one goes on.

    Args:
        opened: The store; it has an index, see :func:`begin`.
        on_progress: Called with documents done and in all.

    Raises:
        Conflict: Another process dropped the index.
        CorruptStore: A text is missing or damaged.
    """
    made = after = 0
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="passages") as pool:
        while True:
            with opened.write() as connection:
                snapshot = opened.snapshot(connection)
                if snapshot.passages is None:
                    raise Conflict("the passage index was dropped by another process")
                if snapshot.settings.passages_complete:
                    return made
                batch = passages.without_entry(connection, after, BATCH_DOCUMENTS)
                if not batch:
                    passages.complete(connection)
                    return made
                texts = feature_counts.whole_texts(snapshot, batch)
                parts = list(chunks(list(texts.values()), _TOGETHER))
                indexed = chain.from_iterable(pool.map(snapshot.passages.index_many, parts))
                passages.put_many(connection, list(zip(texts, indexed, strict=True)))
                total = documents.count(connection) if on_progress is not None else 0
                done = documents.count_up_to(connection, batch[-1]) if on_progress else 0
            made += len(batch)
            after = batch[-1]
            if on_progress is not None:
                on_progress(done, total)


def compact(opened: OpenStore) -> None:
    """Put all postings into one run, without those of texts that are gone."""
    with opened.write() as connection:
        if opened.state(connection).passages is not None:
            passages.merge_all(connection)


def status(opened: OpenStore, *, sizes: bool = True) -> PassageStatus | None:
    """Return the figures of the index, with its bytes on request; None where there is none."""
    with opened.database.read() as connection:
        state = opened.state(connection)
        recipe = state.passages
        if recipe is None:
            return None
        held = passages.size(connection, sizes=sizes)
        winnowing = recipe.winnowing
        return PassageStatus(
            cut=recipe.cut,
            window=recipe.window if recipe.cut == "window" else None,
            least_words=winnowing.run_words,
            least_characters=winnowing.run_characters,
            complete=state.settings.passages_complete,
            waiting_count=documents.count(connection) - held.entry_count,
            document_count=held.entry_count,
            passage_count=held.passage_count,
            anchor_count=anchor_count(recipe, held),
            stale_count=held.stored_count - held.posting_count,
            unpacked_count=held.unpacked_count,
            run_count=held.run_count,
            stored_bytes=held.stored_bytes,
            fingerprints=recipe.fingerprints,
            sentences=recipe.sentences,
            term_count=held.term_count,
            other_form=recipe.normalization != state.scheme.normalization,
        )


def anchor_count(recipe: PassageRecipe, held: IndexSize) -> int:
    """Return how many of the postings of an index are anchors."""
    segments = SEGMENTS * held.passage_count if recipe.fingerprints else 0
    return held.posting_count - segments - held.term_count


def described(recipe: PassageRecipe) -> str:
    """Describe in words how a recipe cuts texts into passages."""
    cut = "sentences" if recipe.cut == "sentences" else f"windows of {recipe.window} characters"
    fingerprints = "with" if recipe.fingerprints else "without"
    return f"{cut}, {fingerprints} fingerprints, {'with' if recipe.sentences else 'without'} terms"
