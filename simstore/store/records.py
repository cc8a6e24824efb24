"""Namespaces of what a store recorded: runs, rejected records, duplicates, tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simstore.errors import NotFound, check_numbers, printable
from simstore.model import (
    Duplicate,
    IngestRun,
    RecordedQuery,
    Results,
    RunDetails,
    Scope,
    StoredRejection,
    Story,
    Stream,
    TimeOrAge,
    Token,
)
from simstore.model.results import Listed
from simstore.model.times import moment_given
from simstore.store.opened import Namespace
from simstore.text.decoding import exact_text

if TYPE_CHECKING:
    from simstore.services.access.tokens import TokenBook
    from simstore.services.ingest.writer import Writer


class Runs(Namespace, Listed[IngestRun]):
    """Recorded runs of ingests and queries, in ``store.runs``.

    ``for run in store.runs`` reads those of ingest and removal, the newest
    first; :meth:`query` those of queries.
    """

    _NAMED = "run_id"

    def _all(self) -> Results[IngestRun]:
        return self._latest(None)

    def __len__(self) -> int:
        from simstore.storage import runs

        with self._opened.database.read() as connection:
            return runs.count(connection)

    def ingest(self, limit: int = 20) -> Results[IngestRun]:
        """Return the latest runs of ingest and removal, the newest first.

        >>> [run.kind for run in store.runs.ingest(limit=2)]
        ['ingest', 'ingest']

        Args:
            limit: At most so many.
        """
        check_numbers(limit=limit)
        return self._latest(limit)

    def show(self, run_id: int) -> RunDetails:
        """Return a run of ingest or removal, with the keys that it removed.

        >>> store.runs.show(1).run.kind
        'ingest'

        Args:
            run_id: Its number.

        Raises:
            NotFound: There is none.
        """
        from simstore.storage import runs

        check_numbers(run_id=run_id)
        with self._opened.database.read() as connection:
            found = runs.run(connection, run_id)
            if found is None:
                raise NotFound(f"run {run_id} is not recorded; `simstore runs` lists the latest")
            keys = tuple(map(exact_text, runs.removed_keys(connection, run_id)))
        return RunDetails(run=IngestRun.of_record(found), removed_keys=keys)

    def _latest(self, limit: int | None) -> Results[IngestRun]:
        from simstore.storage import runs

        with self._opened.database.read() as connection:
            found = runs.recent_runs(connection, limit)
        return Results(map(IngestRun.of_record, found), of=IngestRun)

    def query(self, limit: int = 20) -> Results[RecordedQuery]:
        """Return the latest query runs, the newest first.

        >>> run = store.query_many([text], record=True)
        >>> [run.sample_count for run in store.runs.query()]
        [1]

        Args:
            limit: At most so many.
        """
        from simstore.storage import queries

        check_numbers(limit=limit)
        with self._opened.database.read() as connection:
            found = queries.recent_runs(connection, limit)
        return Results(map(RecordedQuery.of_record, found), of=RecordedQuery)

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Yield a writer for a process that takes requests: one ingest run.

        >>> from simstore import Document, WriteRequest
        >>> with store.runs.writer() as writer:
        ...     request = WriteRequest((Document("soup", "Boil the bones."),))
        ...     (reply,) = writer.write([request])

        Raises:
            InvalidParameter: The store holds fingerprints alone.
        """
        self._check_takes_documents()
        from simstore.services.ingest.writer import Writer

        writer = Writer(self._opened)
        try:
            yield writer
        finally:
            writer.close()


class Rejects(Namespace, Listed[StoredRejection]):
    """Records that could not be stored, in ``store.rejects``.

    ``for record in store.rejects`` reads them, the oldest first.
    """

    _NAMED = "reject_id"

    def __len__(self) -> int:
        from simstore.storage import runs

        with self._opened.database.read() as connection:
            return runs.reject_count(connection)

    def list(self, *, limit: int | None = None, after: int = 0) -> Results[StoredRejection]:
        """Return the records that could not be stored, the oldest first.

        >>> store.rejects.list()
        []

        Args:
            limit: Most of them; None: all.
            after: Only those with larger numbers, for the next ones after a
                limit.
        """
        from simstore.storage import runs

        check_numbers(limit=limit, after=after)
        with self._opened.database.read() as connection:
            found = runs.rejections(connection, limit=limit, after=after)
        return Results(found, of=StoredRejection)

    def clear(self) -> int:
        """Forget the records that could not be stored; return how many there were.

        >>> store.rejects.clear()
        0
        """
        from simstore.storage import runs

        with self._opened.write() as connection:
            return runs.clear_rejections(connection)


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


class Tokens(Namespace, Listed[Token]):
    """Tokens for users of a server of the store, in ``store.tokens``.

    ``for token in store.tokens`` reads them, the oldest first.
    """

    _NAMED = "name"

    def __len__(self) -> int:
        from simstore.services.access import tokens

        return tokens.count_tokens(self._opened)

    def add(self, name: str, scope: Scope = "read", expires_at: TimeOrAge | None = None) -> str:
        """Make a token for a server of this store; return its secret.

        >>> secret = store.tokens.add("reader-1", scope="read")

        Args:
            name: What to call it: letters, digits and ``. _ @ -``, at most 100.
            scope: ``metrics``: only ``GET /metrics``, no text; ``read``: and
                query and read documents; ``write``: and change them;
                ``admin``: and copy the whole store.
            expires_at: From when on it is refused: a datetime or date, ISO
                8601, or seconds since 1970, without a zone it is UTC; or how
                long from now: a timedelta, or ``90d``. None: never.

        Returns:
            The secret. It is kept nowhere: pass it on now.

        Raises:
            InvalidParameter: The name, scope or time is none, or the time has
                passed.
            Conflict: A token that is not revoked is called so.
        """
        from simstore.services.access import tokens

        until = None if expires_at is None else moment_given("expires_at", expires_at, ahead=True)
        return tokens.add_token(self._opened, name, scope, until)

    def list(self) -> Results[Token]:
        """Return the tokens, the expired and the revoked too, oldest first.

        >>> secret = store.tokens.add("reader-1")
        >>> [(token.name, token.scope) for token in store.tokens.list()]
        [('reader-1', 'read')]
        """
        from simstore.services.access import tokens

        return Results(tokens.all_tokens(self._opened), of=Token)

    def revoke(self, name: str) -> None:
        """Revoke a token; servers refuse it within a second.

        >>> secret = store.tokens.add("reader-1")
        >>> store.tokens.revoke("reader-1")

        Raises:
            NotFound: No token that is not revoked is called so.
        """
        from simstore.services.access import tokens

        tokens.revoke_token(self._opened, name)

    def book(self) -> TokenBook:
        """Return what recognises tokens by their secrets, for a server.

        >>> secret = store.tokens.add("reader-1")
        >>> book = store.tokens.book()
        """
        from simstore.services.access.tokens import TokenBook

        return TokenBook(self._opened)
