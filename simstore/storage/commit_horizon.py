"""Find the largest row number up to which no open transaction can still add rows.

Writers beside each other take numbers from one sequence and commit in any order, so a row may come
under a smaller number than rows that are there already. What was once seen to be the largest is
settled as soon as all transactions have ended that were under way then: each of them had its own
number before it took any of the sequence (``storage.dialects.postgres_server``).
"""

from __future__ import annotations

import threading

from simstore.storage.connection import Connection
from simstore.storage.rows import dialect_of

# Observations that are kept: more are of transactions that take very long.
_KEPT = 64


class SettledNumbers:
    """Watches the row numbers of a table; threads may share it.

    Args:
        table: The table.
        column: The column that numbers its rows.
    """

    def __init__(self, table: str, column: str) -> None:
        self._table = table
        self._column = column
        # The next transaction when a number was the largest, and that number; both ascending.
        self._seen: list[tuple[int, int]] = []
        self._lock = threading.Lock()

    def up_to(self, connection: Connection) -> int | None:
        """Return a number up to which all rows that will ever be there are in this snapshot.

        Args:
            connection: A snapshot, or a writer.

        Returns:
            None: all numbers are settled, because writers take turns.
        """
        found = dialect_of(connection).largest_number(connection, self._table, self._column)
        if found is None:
            return None
        with self._lock:
            if found.oldest_open >= found.next_transaction:
                self._seen = [(found.next_transaction, found.largest)]
                return found.largest
            settled = max(
                (largest for number, largest in self._seen if number <= found.oldest_open),
                default=0,
            )
            if not self._seen or self._seen[-1][1] < found.largest:
                self._seen.append((found.next_transaction, found.largest))
            # The newest of those that are settled says all that the older ones do.
            held = [one for one in self._seen if one[1] >= settled]
            self._seen = held if len(held) <= _KEPT else [*held[:1], *held[2:]]
        return settled
