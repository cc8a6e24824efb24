"""Namespaces of what a store looks up by: fingerprints, passages, vocabulary; and evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, Unpack

from simstore.errors import InvalidParameter, check_numbers
from simstore.model import (
    PassageStatus,
    Policy,
    RefreshSummary,
    Results,
    VocabularyStatus,
    VocabularyTerm,
    with_keywords,
)
from simstore.model.results import Listed
from simstore.storage import generations
from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.model import Progress
    from simstore.search.evaluation import Evaluation
    from simstore.services.evaluate.evaluate import (
        EvaluateKeywords,
        EvaluateOptions,
        ExactPair,
        Labels,
    )
    from simstore.services.fingerprints.fingerprint_store import FingerprintValues
    from simstore.services.fingerprints.reader import FingerprintReader


class Fingerprints(Namespace):
    """Fingerprints by their values, in ``store.fingerprints``.

    Of any store they can be read; :meth:`add` and :meth:`remove` are for a
    store of fingerprints alone, ``Store.create(...,
    fingerprints_only=True)``.
    """

    def add(
        self,
        values: FingerprintValues,
        *,
        apart: int | None = None,
        on_progress: Progress | None = None,
    ) -> int:
        """Add fingerprints; return how many were not there.

        The store is one of fingerprints alone.

        >>> with Store.create("values.db", fingerprints_only=True) as alone:
        ...     alone.fingerprints.add([0xFF, 0xFE, 0xFF])
        2

        Args:
            values: An array of uint64, shape (n,) up to 64 bits, else (n, 2),
                the most significant word first; or integers.
            apart: Leave out what lies within so many bits of one that is there,
                or of one before it; None: only what is there.
            on_progress: Called with fingerprints added and in all; what it was
                told is durable.

        Raises:
            InvalidParameter: The store is one of documents, a value does not
                fit M, or the distance is not from 0 to M.
        """
        from simstore.services.fingerprints.fingerprint_store import add_fingerprints

        return add_fingerprints(self._opened, values, on_progress, apart=apart)

    def remove(self, values: FingerprintValues, *, on_progress: Progress | None = None) -> int:
        """Remove fingerprints; return how many were there.

        The store is one of fingerprints alone.

        >>> with Store.create("values.db", fingerprints_only=True) as alone:
        ...     alone.fingerprints.add([0xFF, 0xFE])
        ...     alone.fingerprints.remove([0xFF, 0xAA])
        2
        1

        Args:
            values: As for :meth:`add_fingerprints`.
            on_progress: Called with fingerprints done and in all; what it was
                told is durable.

        Raises:
            InvalidParameter: The store is one of documents, or a value does not
                fit M.
        """
        from simstore.services.fingerprints.fingerprint_store import remove_fingerprints

        return remove_fingerprints(self._opened, values, on_progress)

    @contextmanager
    def reader(self, *, resident: bool | None = None) -> Iterator[FingerprintReader]:
        """Yield a reader of the fingerprints of one snapshot.

        >>> with Store.create("values.db", fingerprints_only=True) as alone:
        ...     alone.fingerprints.add([0xFF, 0xFE])
        ...     with alone.fingerprints.reader() as reader:
        ...         reader.near(0xFF)
        2
        [(255, 0), (254, 1)]

        Args:
            resident: Answer from memory, where all fingerprints are read to
                first; None: as the store was opened.
        """
        from simstore.services.fingerprints.reader import FingerprintReader
        from simstore.services.open_store.resident_index import ResidentIndex

        kept = self._opened.resident
        if resident is None:
            resident = kept is not None
        with self._opened.database.read() as connection:
            snapshot = self._opened.snapshot(connection)
            index = (kept or ResidentIndex()) if resident else None
            reader = FingerprintReader(snapshot, index)
            try:
                yield reader
            finally:
                reader.close()


class Passages(Namespace):
    """The passage index, by which papers are checked, in ``store.passages``."""

    def build(
        self,
        *,
        cut: Literal["sentences", "window"] | None = None,
        window: int | None = None,
        fingerprints: bool | None = None,
        sentences: bool | None = None,
        on_progress: Progress | None = None,
    ) -> PassageStatus:
        """Make the passage index, or go on making it.

        From then on every ingest keeps it up to date.

        >>> store.passages.build().document_count
        3

        Args:
            cut: ``sentences`` or ``window``; None: as the index has it, else
                sentences (windows where ``window`` is given).
            window: Characters of a window, by default 30.
            fingerprints: Keep a fingerprint of 64 bits of each passage besides,
                by which passages within 3 bits are found; None: as the index
                has it, else not.
            sentences: Keep terms of each sentence too, by which one is found
                again though words in it were changed or stand in another
                order; None: as the index has it, else where the store keeps
                texts. An index that lacks them is rebuilt if they are
                requested.
            on_progress: Called with documents done and in all.

        Returns:
            What the index holds.

        Raises:
            Conflict: There is an index with other passages.
            InvalidParameter: The store has documents and keeps no texts.
            ReindexInProgress: The store is between two schemes.
        """
        self._check_takes_documents()
        from simstore.services.check import passage_index

        passage_index.begin(
            self._opened,
            cut=cut,
            window=window,
            fingerprints=fingerprints,
            with_sentences=sentences,
        )
        passage_index.build(self._opened, on_progress)
        found = passage_index.status(self._opened)
        if found is None:
            from simstore.errors import Conflict

            raise Conflict("the passage index was dropped by another process")
        return found

    def status(self, *, sizes: bool = True) -> PassageStatus | None:
        """Return what the passage index holds; None where there is none.

        >>> store.passages.status() is None
        True

        Args:
            sizes: Count its bytes, too: all of it is read.
        """
        from simstore.services.check import passage_index

        return passage_index.status(self._opened, sizes=sizes)


class Vocabulary(Namespace, Listed[VocabularyTerm]):
    """The features of all documents, in ``store.vocabulary``.

    ``for term in store.vocabulary`` reads them, the most frequent first.
    """

    _NAMED = "term"

    def _all(self) -> Results[VocabularyTerm]:
        return self.terms()

    def terms(self, limit: int | None = None) -> Results[VocabularyTerm]:
        """Return the most frequent features of the stored documents.

        >>> terms = store.vocabulary.terms(limit=2)
        >>> [(term.term, term.document_count) for term in terms]
        [('the', 3), ('...', ...)]
        """
        from simstore.services.generations import drift

        check_numbers(limit=limit)
        return Results(drift.top_terms(self._opened, limit), of=VocabularyTerm)

    def status(self) -> VocabularyStatus:
        """Return how far the fingerprints in use lag behind the vocabulary.

        >>> store.vocabulary.status().policy
        'live'
        """
        from simstore.services.generations import drift

        return drift.status(self._opened)

    def refresh(
        self, *, force: bool = False, on_progress: Progress | None = None
    ) -> RefreshSummary:
        """Recompute all fingerprints from the present vocabulary.

        >>> store.vocabulary.refresh().document_count
        3

        Args:
            force: Refresh a generation that is not stale, too.
            on_progress: Called with documents done and in all.

        Returns:
            What the new generation holds.
        """
        from simstore.services.generations import refresh

        return refresh.refresh(self._opened, force=force, on_progress=on_progress)

    def set_policy(self, policy: Policy) -> None:
        """Change whether ingest and removal refresh the store at their end.

        >>> store.vocabulary.set_policy("frozen")
        >>> store.vocabulary.status().policy
        'frozen'
        """
        if policy not in ("live", "frozen"):
            raise InvalidParameter(f"policy {policy!r}: choose live or frozen")
        with self._opened.write() as connection:
            generations.set_policy(connection, policy)


class Evaluate(Namespace):
    """Evaluation of the store against labels, in ``store.evaluate``."""

    def run(
        self,
        labels: Labels,
        options: EvaluateOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[EvaluateKeywords],
    ) -> Evaluation:
        """Tell how well each method finds what is labelled.

        >>> from simstore import LabelledPair, Labels
        >>> pairs = [LabelledPair("ferry-2025", "ferry-2026")]
        >>> found = store.evaluate.run(Labels(pairs=pairs))
        >>> found.pair_count
        1

        Args:
            labels: What is near-duplicate of what.
            options: How to evaluate, as an object; keywords go before it.
            on_progress: Called with documents read and in all.

        Keyword Args:
            radii: First and last radius of the curve of ``simhash``, bits;
                None: 0 to 12.
            floor: Least resemblance and likeness of the exact joins' pairs.
            older_methods: I-Match and counting Bloom filters too.

        Returns:
            Precision and recall of each method at each threshold.

        Raises:
            NotFound: No document of the store is labelled.
        """
        self._check_takes_documents()
        from simstore.services.evaluate.evaluate import EvaluateOptions, evaluate_store

        chosen = with_keywords("evaluate.run", EvaluateOptions, options, keywords)
        return evaluate_store(self._opened, labels, chosen, on_progress)

    def exact_pairs(
        self, min_resemblance: float = 0.5, *, on_progress: Progress | None = None
    ) -> Results[ExactPair]:
        """Return all pairs of documents of a least resemblance.

        None is missed; they are in order of ingest.

        >>> pairs = store.evaluate.exact_pairs(0.5)
        >>> [(pair.first, pair.second) for pair in pairs]
        [('ferry-2025', 'ferry-2026')]

        Args:
            min_resemblance: Above 0, at most 1, inclusive.
            on_progress: Called with documents read and in all.

        Raises:
            NotFound: The store keeps no texts.
        """
        self._check_takes_documents()
        from simstore.services.evaluate.evaluate import ExactPair, exact_pairs

        return Results(exact_pairs(self._opened, min_resemblance, on_progress), of=ExactPair)
