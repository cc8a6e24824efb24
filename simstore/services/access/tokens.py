"""Create, list, revoke and verify the access tokens of a store served over HTTP.

A secret has 256 random bits, so its SHA-256 needs no salt and no slow hash: there is nothing to
guess. What is compared is digests, all of them and each in a time that does not depend on it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from threading import Lock

from simstore.errors import Conflict, CorruptStore, InvalidParameter, NotFound, printable
from simstore.model import SCOPES, Scope, Token
from simstore.services.open_store.open_store import OpenStore, now
from simstore.storage import tokens
from simstore.storage.tokens import TokenRow

PREFIX = "sst_"
SECRET_BYTES = 32
# No answer is given on a token for longer than this after it was revoked.
FRESH_SECONDS = 0.5
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
# Longer ones are none of ours, and need not be hashed.
_LONGEST = 200


def add_token(
    opened: OpenStore, name: str, scope: Scope = "read", expires_at: int | None = None
) -> str:
    """Create a token; return its secret, which is stored nowhere.

    Raises:
        InvalidParameter: The name, scope or time is none, or the time has passed.
        Conflict: A token that is not revoked is called so.
    """
    if _NAME.fullmatch(name) is None:
        raise InvalidParameter(
            f"{printable(name)!r} is no name of a token: write 1 to 100 of A-Z a-z 0-9 . _ @ - "
            "and begin with a letter or digit"
        )
    if scope not in SCOPES:
        raise InvalidParameter(f"scope {scope!r}: choose one of {', '.join(SCOPES)}")
    created_at = now()
    if expires_at is not None and expires_at <= created_at:
        raise InvalidParameter(
            f"the token {name} would have expired already; name a later time, or never"
        )
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with opened.write() as connection:
        if tokens.standing(connection, name) is not None:
            raise Conflict(
                f"there is a token {name} already; choose another name, or revoke it first with "
                f"`simstore token revoke {name}`"
            )
        tokens.add(connection, name, digest_of(secret), scope, created_at, expires_at)
    return secret


def all_tokens(opened: OpenStore) -> list[Token]:
    """Return the tokens, the expired and the revoked too, oldest first."""
    with opened.database.read() as connection:
        return [_token(row, opened.database.label) for row in tokens.rows(connection)]


def count_tokens(opened: OpenStore) -> int:
    """Return the number of tokens, the expired and the revoked too."""
    with opened.database.read() as connection:
        return tokens.count(connection)


def revoke_token(opened: OpenStore, name: str) -> None:
    """Revoke a token; servers refuse it within a second.

    Raises:
        NotFound: No token that is not revoked is called so.
    """
    with opened.write() as connection:
        # What can be no name may hold what the database has no form for.
        if _NAME.fullmatch(name) is None or not tokens.revoke(connection, name, now()):
            raise NotFound(
                f"no token that is not revoked is called {printable(name)!r}; "
                "`simstore token list` shows them"
            )


def digest_of(secret: str) -> bytes:
    """Return the SHA-256 of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


class TokenBook:
    """A cache of a store's tokens, read again after half a second.

    >>> secret = store.tokens.add("reader-1", scope="read")
    >>> book = store.tokens.book()
    >>> book.token_of(secret).name, book.token_of("a guess")
    ('reader-1', None)

    Threads may share it.

    Args:
        opened: The store.
    """

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        self._lock = Lock()
        self._rows: list[TokenRow] = []
        self._read_at: float | None = None

    def is_fresh(self) -> bool:
        """Return whether the cached tokens are recent enough to be used."""
        return self._read_at is not None and time.monotonic() - self._read_at < FRESH_SECONDS

    def read(self) -> None:
        """Read the tokens, unless another thread has just done so."""
        with self._lock:
            if not self.is_fresh():
                began = time.monotonic()
                with self._opened.database.read() as connection:
                    self._rows = tokens.rows(connection)
                self._read_at = began

    def are_there_any(self) -> bool:
        """Return whether the store ever had a token.

        Those that are expired or revoked count: who revokes the last one does
        not mean to open the store to everybody.
        """
        self.read()
        return bool(self._rows)

    def token_of(self, secret: str) -> Token | None:
        """Return the valid token of a secret; None where it is not valid."""
        return self._found(digest_of(secret)) if len(secret) <= _LONGEST else None

    def with_id(self, token_id: int) -> Token | None:
        """Return the valid token of a number; None where it is not valid."""
        self.read()
        for row in self._rows:
            if row.token_id == token_id:
                return _valid(row, self._opened.database.label)
        return None

    def _found(self, digest: bytes) -> Token | None:
        self.read()
        found = None
        for row in self._rows:
            # Every one is compared: how long it takes tells nothing.
            if hmac.compare_digest(row.digest, digest):
                found = row
        return None if found is None else _valid(found, self._opened.database.label)


def _valid(row: TokenRow, label: str) -> Token | None:
    token = _token(row, label)
    return token if token.state(now()) == "valid" else None


def _token(row: TokenRow, label: str) -> Token:
    scope: Scope | None = next((scope for scope in SCOPES if scope == row.scope), None)
    if scope is None:
        raise CorruptStore(label, f"the token {row.name!r} has no scope of ours")
    return Token(
        token_id=row.token_id,
        name=row.name,
        scope=scope,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )
