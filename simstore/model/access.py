"""Access tokens of a store's server, and their scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simstore.model.results import Shown

Scope = Literal["metrics", "read", "write", "admin"]
# Each may do what those before it may.
SCOPES: tuple[Scope, ...] = ("metrics", "read", "write", "admin")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Token(Shown):
    """An access token, without its secret, which only its holder has.

    >>> secret = store.tokens.add("reader-1", scope="read")
    >>> (token,) = store.tokens.list()
    >>> token.name, token.scope, token.expires_at
    ('reader-1', 'read', None)

    Attributes:
        token_id: Its number, never given again.
        name: How its owner calls it.
        scope: ``metrics``: only ``GET /metrics``, no text; ``read``: and query
            and read documents; ``write``: and change them; ``admin``: and copy
            the whole store.
        created_at: Seconds since 1970-01-01 UTC, as all times here.
        expires_at: From then on it is refused; None: never.
        revoked_at: Since then it is refused; None: it is not revoked.
    """

    token_id: int
    name: str
    scope: Scope
    created_at: int
    expires_at: int | None
    revoked_at: int | None

    def state(self, now: int) -> Literal["valid", "expired", "revoked"]:
        """Return whether the token is taken at a time."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and now >= self.expires_at else "valid"

    def allows(self, scope: Scope) -> bool:
        """Return whether its scope has another in it."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)
