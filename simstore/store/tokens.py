"""Methods of the store: access tokens for a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simstore.model import Scope, Token
from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.services.access.tokens import TokenBook


class Access(Opened):
    """Who may use the store through a server."""

    def add_token(self, name: str, scope: Scope = "read", expires_at: int | None = None) -> str:
        """Make a token for a server of this store; return its secret, which is kept nowhere.

        Args:
            name: What to call it: letters, digits and ``. _ @ -``, at most 100.
            scope: ``read``; ``write``: and change documents; ``admin``: and copy the whole store.
            expires_at: From when on it is refused, in seconds since 1970-01-01 UTC; None: never.

        Raises:
            InvalidParameter: The name, scope or time is none, or the time has passed.
            Conflict: A token that is not revoked is called so.
        """
        from simstore.services.access import tokens

        return tokens.add_token(self._opened, name, scope, expires_at)

    def tokens(self) -> list[Token]:
        """Return the tokens in the order they were made, the expired and the revoked too."""
        from simstore.services.access import tokens

        return tokens.all_tokens(self._opened)

    def revoke_token(self, name: str) -> None:
        """Revoke a token; servers refuse it within a second.

        Raises:
            NotFound: No token that is not revoked is called so.
        """
        from simstore.services.access import tokens

        tokens.revoke_token(self._opened, name)

    def token_book(self) -> TokenBook:
        """Return what recognises tokens by their secrets, for a server of this store."""
        from simstore.services.access.tokens import TokenBook

        return TokenBook(self._opened)
