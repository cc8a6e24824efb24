"""Commit the write requests that a long-running process gathers, many to one transaction.

What comes together is prepared together and committed together: a transaction costs about the same
for one document as for many. Requests are as if one after the other, and each fails alone.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from simstore.errors import InvalidParameter, SimstoreError, StorageError
from simstore.model import WriteReply
from simstore.services.channels.store_part import pack_long_tails, warm
from simstore.services.features.prepare import is_prepared_for, prepare
from simstore.services.ingest.check_insert import check_and_store
from simstore.services.ingest.run import RUN_COUNTS
from simstore.services.ingest.write_groups import (
    PreparedGroup,
    RemovingPart,
    Reply,
    Request,
    StoringPart,
    checked,
    keys_told,
    outcomes_of,
    prepared_group,
)
from simstore.services.open_store.open_store import OpenStore, now
from simstore.services.open_store.state import State
from simstore.services.removal.remove import refresh_live, remove_keys
from simstore.storage import deltas, generations, runs
from simstore.storage.engine import Connection
from simstore.text.decoding import encode
from simstore.version import __version__

# Documents written after which is looked whether a tail is long.
_LOOKED_AT = 4_096


class _Apart(Exception):
    """Requests of a group change what others duplicate: each is to be told what it changed."""


class Writer:
    """A writer that commits groups of requests as one ingest run.

    >>> request = WriteRequest((Document("soup", "Boil the bones."),))
    >>> with store.runs.writer() as writer:
    ...     (reply,) = writer.write([request])
    >>> reply.outcomes[0].outcome
    'added'

    Any thread may check and prepare; commits take turns.

    Args:
        opened: The store.
    """

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        self._turn = threading.Lock()
        self._run_id: int | None = None
        self._counts: Counter[str] = Counter()
        self._looked_at = 0
        self._is_closed = False
        with opened.database.read() as connection:
            opened.state(connection)

    @property
    def counts(self) -> Counter[str]:
        """The counts of outcomes so far, as the ingest run records them."""
        return Counter(self._counts)

    def checked(self, request: Request) -> Request:
        """Return a request with its documents as they will be stored.

        Raises:
            InvalidParameter: It holds what cannot be stored, or an option is
                out of its range.
            NotFound: Duplicates are asked for, and the store keeps nothing to
                verify them by.
        """
        return checked(request, self._state())

    def write(self, requests: Sequence[Request]) -> list[Reply]:
        """Prepare requests and commit them, together where that can be done.

        Returns:
            The reply to each request, or why it failed, in their order.

        Raises:
            StorageError: The store cannot be written; nothing of the requests
                is, unless some could not be prepared together.
        """
        try:
            group = self.prepare(requests)
        except Exception as error:
            if len(requests) == 1:
                return [error]
            # Only what cannot be prepared fails.
            return [reply for one in requests for reply in self.write([one])]
        return self.commit(group)

    def prepare(self, requests: Sequence[Request]) -> PreparedGroup:
        """Prepare, outside a transaction, the requests of one commit.

        Raises:
            InvalidParameter: One of them holds what cannot be stored;
                :meth:`checked` tells which.
        """
        return prepared_group(requests, self._state())

    def commit(self, group: PreparedGroup) -> list[Reply]:
        """Execute requests in one transaction; durable on return.

        The result is as if they came one after the other.

        Where one fails by what it asks, only it does. Where something fails
        that was not foreseen, the transaction is undone, and each request has
        one of its own.

        Returns:
            The reply to each request, or why it failed, in their order.

        Raises:
            StorageError: The store cannot be written; nothing of the group is.
            InvalidParameter: The writer is closed.
        """
        with self._turn:
            if self._is_closed:
                raise InvalidParameter("this writer is closed; open another by Store.writer()")
            try:
                return self._commit(group)
            except StorageError:
                raise
            except Exception as error:
                if len(group.requests) == 1:
                    return [error]
            replies: list[Reply] = []
            for request in group.requests:
                try:
                    replies += self._commit(self.prepare([request]))
                except Exception as error:
                    replies.append(error)
            return replies

    def tidy(self) -> bool:
        """Refresh a live store, and pack a tail that has grown long.

        Any thread may call it at any time.

        A corpus-dependent scheme is brought up to date as an ingest does at its
        end. Commits go on between the transactions of it.

        Returns:
            Whether a tail was packed; what queries go by is read anew then.
        """
        refresh_live(self._opened)
        written = sum(self._counts[name] for name in ("added", "updated", "flagged"))
        if written - self._looked_at < _LOOKED_AT:
            return False
        self._looked_at = written
        if not pack_long_tails(self._opened):
            return False
        warm(self._opened)
        return True

    def close(self) -> None:
        """End the run."""
        with self._turn:
            if self._is_closed:
                return
            self._is_closed = True
            if self._run_id is not None:
                with self._opened.write() as connection:
                    runs.end_run(connection, self._run_id, "finished", now())

    def _state(self) -> State:
        """Return what stood when it was last asked; a commit looks whether it still does."""
        known = self._opened.last_state
        if known is None:
            with self._opened.database.read() as connection:
                known = self._opened.state(connection)
        return known

    def _commit(self, group: PreparedGroup) -> list[Reply]:
        counts, run_id = Counter(self._counts), self._run_id
        made: dict[int, Reply] = {}
        with self._opened.write() as connection:
            # Not before: what waited for others comes after what they stored.
            moment = now()
            generations.refuse_during_reindex(connection)
            for part in group.parts:
                if isinstance(part, RemovingPart):
                    made[part.place], gone = self._removed(connection, part)
                    if not gone:
                        continue
                    counts["removed"] += len(gone)
                if run_id is None:
                    run_id = runs.begin_run(connection, [], moment, __version__)
                if isinstance(part, StoringPart):
                    made |= self._stored(connection, part, counts, run_id, moment)
                else:
                    runs.put_removed(connection, run_id, gone)
            if run_id is not None:
                of_run = {name: counts[name] for name in (*RUN_COUNTS, "removed")}
                runs.count_in_run(connection, run_id, of_run, finished_at=None)
        self._run_id, self._counts = run_id, counts
        return [made[place] for place in range(len(group.requests))]

    def _removed(self, connection: Connection, part: RemovingPart) -> tuple[Reply, Sequence[bytes]]:
        """Remove documents; return the reply, and the keys that were removed."""
        keys = list(dict.fromkeys(map(encode, part.request.keys)))
        try:
            gone, let_go = remove_keys(
                self._opened.snapshot(connection), keys, missing_ok=part.request.missing_ok
            )
        except StorageError:
            raise
        except SimstoreError as error:
            # Nothing was changed yet.
            return error, ()
        reply = WriteReply(
            removed=len(gone),
            orphans=keys_told(let_go.orphans),
            unflagged=keys_told(set(let_go.unflagged.values()).difference(keys)),
        )
        return reply, gone

    def _stored(
        self,
        connection: Connection,
        part: StoringPart,
        counts: Counter[str],
        run_id: int,
        seen_at: int,
    ) -> dict[int, Reply]:
        """Store the documents of a part."""
        batch = part.batch
        snapshot = self._opened.snapshot(connection)
        if not is_prepared_for(part.state, snapshot):
            batch = prepare(batch.documents, snapshot)
        outcome = check_and_store(
            snapshot, batch, part.check,
            run_id=run_id, seen_at=seen_at, source_ids={},
        )  # fmt: skip
        counts.update(outcome.outcomes)
        counts["duplicates"] += len(outcome.duplicates)
        counts["byte_count"] += sum(batch.sizes)
        told = tuple(outcomes_of(batch, outcome))
        freed = [
            keys_told(keys) for keys in (outcome.orphans, outcome.unflagged, outcome.uncovered)
        ]
        if len(part.spans) > 1 and (outcome.lets_go or any(freed)):
            raise _Apart
        deltas.merge_many(connection, snapshot.scheme_id, 1)
        return {
            place: WriteReply(told[start:end], 0, *freed)
            for place, (start, end) in part.spans.items()
        }
