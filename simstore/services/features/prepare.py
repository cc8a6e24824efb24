"""Compute the digests, features, fingerprints and sketches of documents before they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.channels import NARROW
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.sketching import Sketching, sketch_texts
from simstore.model import Document
from simstore.services.features.feature_counts import pack_change
from simstore.services.open_store.state import State
from simstore.storage import codecs
from simstore.text.decoding import document_digest, encode
from simstore.text.scanning import Scanned

if TYPE_CHECKING:
    from simstore.fingerprint.passage_recipe import IndexedText


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedBatch:
    """Documents with all that can be computed without the database.

    Attributes:
        documents: The documents, in their order.
        keys: Their keys as bytes.
        digests: BLAKE2b-128 of their texts; of an empty one, of its key too.
        sizes: Bytes of their texts.
        token_counts: Occurrences of features in them.
        packed_texts: Their compressed texts; empty where the store keeps none.
        counts: Their feature counts; None where ``changes`` say all that is needed of them.
        changes: What they change in a vocabulary by terms, packed, some documents each; empty:
            there is none, or its features have numbers.
        words: Their fingerprints, where these depend on the document alone.
        sketches: By the channels of sketches, size of the shingle set and packed sketch of each.
        passages: What the passage index keeps of them; empty where there is none.
    """

    documents: tuple[Document, ...]
    keys: tuple[bytes, ...]
    digests: tuple[bytes, ...]
    sizes: tuple[int, ...]
    token_counts: tuple[int, ...]
    packed_texts: tuple[bytes, ...]
    counts: FeatureCounts | None
    changes: tuple[bytes, ...]
    words: NDArray[np.uint64] | None
    sketches: Mapping[str, tuple[tuple[int, bytes], ...]]
    passages: tuple[IndexedText, ...] = ()

    def part(self, start: int, end: int) -> PreparedBatch:
        """Return the documents ``start <= place < end``."""
        if (start, end) == (0, len(self.documents)):
            return self
        counts = None
        if self.counts is not None:
            rows = self.counts.rows(start, end)
            used, columns = np.unique(rows.columns, return_inverse=True)
            terms = tuple(rows.terms[column] for column in used.tolist())
            counts = replace(rows, terms=terms, columns=columns)
        return PreparedBatch(
            documents=self.documents[start:end],
            keys=self.keys[start:end],
            digests=self.digests[start:end],
            sizes=self.sizes[start:end],
            token_counts=self.token_counts[start:end],
            packed_texts=self.packed_texts[start:end],
            counts=counts,
            changes=(),
            words=None if self.words is None else self.words[start:end],
            sketches={name: made[start:end] for name, made in self.sketches.items()},
            passages=self.passages[start:end],
        )

    @classmethod
    def joined(cls, parts: Sequence[PreparedBatch]) -> PreparedBatch:
        """Return the documents of several batches as those of one.

        Args:
            parts: At least one, prepared for one state; none has feature counts.
        """
        if len(parts) == 1:
            return parts[0]
        words = [part.words for part in parts if part.words is not None]
        return cls(
            documents=tuple(chain.from_iterable(part.documents for part in parts)),
            keys=tuple(chain.from_iterable(part.keys for part in parts)),
            digests=tuple(chain.from_iterable(part.digests for part in parts)),
            sizes=tuple(chain.from_iterable(part.sizes for part in parts)),
            token_counts=tuple(chain.from_iterable(part.token_counts for part in parts)),
            packed_texts=tuple(chain.from_iterable(part.packed_texts for part in parts)),
            counts=None,
            changes=tuple(chain.from_iterable(part.changes for part in parts)),
            words=np.concatenate(words) if words else None,
            sketches={
                name: tuple(chain.from_iterable(part.sketches[name] for part in parts))
                for name in parts[0].sketches
            },
            passages=tuple(chain.from_iterable(part.passages for part in parts)),
        )


def prepare(batch: Sequence[Document], state: State) -> PreparedBatch:
    """Compute digests, counts, fingerprints, sketches and packed texts, without the database."""
    scheme, channels = state.scheme, state.channels
    for document in batch:
        if not document.key:
            raise InvalidParameter("a document has an empty key; give each its own key")
    encoded = [encode(document.text) for document in batch]
    if len(batch) == 1 and (alone := _prepared_alone(batch[0], encoded[0], state)):
        return alone
    texts = [document.text for document in batch]
    metadata = [document.metadata for document in batch]
    by_document = not scheme.depends_on_corpus
    keep_counts = state.keeps_counts or not by_document
    pack_counts = not keep_counts and state.records_vocabulary
    counts = words = None
    scanned = scanned_words(scheme, texts, encoded)
    if keep_counts or pack_counts or not channels.has_fingerprints:
        counts = scheme.count(texts, metadata) if scanned is None else scheme.count_words(scanned)
        token_counts = scheme.token_counts(counts)
        if by_document and channels.has_fingerprints:
            words = scheme.fingerprints(counts)
    else:
        words, token_counts = scheme.fingerprinted(texts, metadata, scanned)
    keys = tuple(encode(document.key) for document in batch)
    return PreparedBatch(
        documents=tuple(batch),
        keys=keys,
        digests=tuple(map(document_digest, keys, texts, encoded)),
        sizes=tuple(map(len, encoded)),
        token_counts=tuple(token_counts.tolist()),
        packed_texts=codecs.compress_many(encoded) if state.settings.text_kept else (),
        counts=counts if keep_counts else None,
        changes=(pack_change(counts),) if pack_counts and counts is not None else (),
        words=words,
        sketches={
            recipe.name: tuple(sketch_texts(recipe.sketching, texts, scanned))
            for recipe in channels.sketched
        },
        passages=tuple(state.passages.index_many(texts)) if state.passages is not None else (),
    )


def _prepared_alone(document: Document, encoded: bytes, state: State) -> PreparedBatch | None:
    """Prepare a document whose text is made all of in one go; None: it is a batch of one."""
    scheme, channels, settings = state.scheme, state.channels, state.settings
    if (
        scheme.depends_on_corpus
        or state.keeps_counts
        or not channels.has_fingerprints
        or len(channels.sketched) != 1
    ):
        return None
    (recipe,) = channels.sketched
    sketching = recipe.sketching
    if type(sketching) is not Sketching or sketching.normalization != scheme.normalization:
        return None
    made = scheme.prepared_alone(document.text, encoded, sketching.shingle)
    if made is None:
        return None
    key = encode(document.key)
    return PreparedBatch(
        documents=(document,),
        keys=(key,),
        digests=(document_digest(key, document.text, encoded),),
        sizes=(len(encoded),),
        token_counts=(made.token_count,),
        packed_texts=(codecs.compress(encoded),) if settings.text_kept else (),
        counts=None,
        changes=(codecs.packed_named_delta(made.change),) if state.records_vocabulary else (),
        words=made.words,
        sketches={recipe.name: (made.sketch,)},
        passages=(state.passages.index(document.text),) if state.passages is not None else (),
    )


def scanned_words(scheme: Scheme, texts: Sequence[str], encoded: Sequence[bytes]) -> Scanned | None:
    """Return the words of texts, where they are worth it, and the texts hardly anything else.

    Args:
        scheme: The scheme.
        texts: The texts.
        encoded: Their bytes.
    """
    # Few bytes beyond one a character: hardly any script without blanks between words.
    narrow = sum(map(len, encoded)) <= NARROW * sum(map(len, texts))
    return scheme.scan(texts) if narrow else None


def is_prepared_for(prepared_with: State, state: State) -> bool:
    """Return whether documents prepared for one state of a store can be written in another."""
    one, other = prepared_with, state
    return (one.scheme_id, one.channels, one.settings.text_kept, one.passages) == (
        other.scheme_id, other.channels, other.settings.text_kept, other.passages,
    ) and one.settings.vocabulary_recorded == other.settings.vocabulary_recorded  # fmt: skip
