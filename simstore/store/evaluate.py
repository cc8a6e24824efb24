"""The namespace ``store.evaluate``: precision and recall against labelled near-duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from simstore.model import Results, with_keywords
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
