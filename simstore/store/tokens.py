"""The namespace ``store.tokens``: access tokens for a server of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simstore.model import Results, Scope, TimeOrAge, Token
from simstore.model.results import Listed
from simstore.model.times import moment_given
from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.services.access.tokens import TokenBook


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
