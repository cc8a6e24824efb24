"""The namespace ``store.vocabulary``: feature counts, and refreshing fingerprints made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simstore.errors import InvalidParameter, check_numbers
from simstore.model import Policy, RefreshSummary, Results, VocabularyStatus, VocabularyTerm
from simstore.model.results import Listed
from simstore.storage import generations
from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.model import Progress


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
