"""The namespace ``store.duplicates``: duplicates that were found at ingest."""

from __future__ import annotations

from collections.abc import Callable

from simstore.errors import NotFound, printable
from simstore.model import Duplicate, Story, Stream
from simstore.model.results import Listed
from simstore.store.opened import Namespace


class Duplicates(Namespace, Listed[Duplicate]):
    """Duplicates that an ingest found, in ``store.duplicates``.

    They are found where ``on_duplicate`` is ``flag`` or ``skip``.
    ``for found in store.duplicates`` reads them,
    ``store.duplicates[key]`` is that of a key, and
    ``len(store.duplicates)`` counts them.
    """

    def __getitem__(self, key: str) -> Duplicate:
        found = self.of(key)
        if found is None:
            raise NotFound(f"{printable(key)} was not found to duplicate another document")
        return found

    def __len__(self) -> int:
        from simstore.storage import duplicates

        with self._opened.database.read() as connection:
            return sum(duplicates.counts(connection).values())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.of(key) is not None

    def list(
        self,
        *,
        state: str | None = None,
        original: str | None = None,
        after: str | None = None,
    ) -> Stream[Duplicate]:
        """Yield the duplicates that checks before the insert found.

        >>> store.add("copy", text, on_duplicate="flag")
        'flagged'
        >>> [(found.key, found.original) for found in store.duplicates.list()]
        [('copy', 'ferry-2025')]

        Args:
            state: Only those that are ``flagged``, ``skipped`` or ``orphaned``.
            original: Only those of the document with this key.
            after: Only those behind this key, by its bytes.

        Returns:
            An iterator over duplicates, each with ``key``, ``original`` and how
            like they are, by their keys.

        Raises:
            InvalidParameter: There is no such state.
        """
        from simstore.services.duplicates.duplicates import iterate_duplicates

        found = iterate_duplicates(self._opened, state=state, original=original, after=after)
        return Stream(found, of=Duplicate)

    def of(self, key: str) -> Duplicate | None:
        """Return what a key was found to duplicate.

        >>> store.add("copy", text, on_duplicate="skip")
        'skipped'
        >>> store.duplicates.of("copy").original
        'ferry-2025'

        Returns:
            The duplicate; None where no check before the insert found one.
        """
        from simstore.services.duplicates.duplicates import duplicate_of_key

        return duplicate_of_key(self._opened, key)

    def story(
        self,
        key: str,
        *,
        original: str = "first-seen",
        on_step: Callable[[], None] | None = None,
    ) -> Story:
        """Return when a key was seen, what is like it, and the original.

        >>> story = store.duplicates.story("ferry-2025")
        >>> story.original, story.reason
        ('ferry-2025', '...')

        Args:
            key: The key of a document, or one that was skipped as a duplicate.
            original: ``first-seen``: the one that was surely there first;
                ``linked``: the one that most of the others link to;
                ``prefer:REGEX``: one with such a key.
            on_step: Called between pieces of work; what it raises ends them.

        Raises:
            DocumentNotFound: The key was never seen.
            InvalidParameter: There is no such rule.
        """
        from simstore.services.history.story import tell_story

        return tell_story(self._opened, key, original=original, on_step=on_step)
