"""Sessions of people who have signed in to the web interface."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

SESSION_SECONDS = 12 * 3_600
_MOST_SESSIONS = 10_000


class Sessions:
    """Sessions of the page: a random name in a cookie stands for a token.

    They are kept in memory and end with the server; so no cookie holds a token, and none is of use
    anywhere else. Whether the token is still good is asked for with each request.

    Args:
        clock: Tells seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # By digest of the name: who reads the memory of a session cannot use it.
        self._sessions: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, token_id: int) -> str:
        """Return the name of a new session of a token."""
        name = secrets.token_urlsafe(32)
        self._sessions[_digest(name)] = (token_id, self._clock() + SESSION_SECONDS)
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return name

    def token_id(self, name: str) -> int | None:
        """Return the token of a session; None where there is none, or it has ended."""
        digest = _digest(name)
        found = self._sessions.get(digest)
        if found is None:
            return None
        token_id, ends = found
        if self._clock() >= ends:
            del self._sessions[digest]
            return None
        return token_id

    def end(self, name: str) -> None:
        """End a session, if there is one."""
        self._sessions.pop(_digest(name), None)


def _digest(name: str) -> bytes:
    # A look-up by digest: its time tells nothing of the names that are there.
    return hashlib.sha256(name[:200].encode("utf-8", "surrogateescape")).digest()
