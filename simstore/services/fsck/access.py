"""Check tokens and recorded replies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from simstore.errors import printable
from simstore.storage import idempotency, tokens
from simstore.storage.engine import Connection

_DIGEST_BYTES = hashlib.sha256().digest_size


def token_problems(connection: Connection) -> Iterator[str]:
    """Yield tokens that nobody can hold, as no secret has such a digest, or that never began."""
    for row in tokens.rows(connection):
        name = repr(printable(row.name))
        if len(row.digest) != _DIGEST_BYTES:
            yield f"{name}: the digest of its secret has {len(row.digest)} bytes"
        if row.expires_at is not None and row.expires_at <= row.created_at:
            yield f"{name} expired before it was made"


def reply_problems(connection: Connection) -> Iterator[str]:
    """Yield recorded replies that cannot be given again."""
    for owner, key in idempotency.empty(connection):
        yield f"the reply to {printable(key)!r} of {printable(owner)} is empty"
