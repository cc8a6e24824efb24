"""Addresses, keys in them, and what stands in the head of requests and replies."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote, urlsplit

from simstore.errors import InvalidParameter, printable
from simstore.text.decoding import encode


def checked_url(url: str) -> str:
    """Return the address of a server without a slash at its end.

    Raises:
        InvalidParameter: It is none.
    """
    shown = printable(url)
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise InvalidParameter(f"{shown}: write the address of a server as http://127.0.0.1:8765")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidParameter(
            "the address of a server has no password, no ? and no #; a token goes separately"
        )
    return url.rstrip("/")


def key_path(key: str) -> str:
    """Return a key as a part of a path: all that could mean something there is escaped."""
    shown = quote(encode(key), safe="")
    # What is all dots would be taken for a step up.
    return shown.replace(".", "%2E") if not shown.strip(".") else shown


def checked_token(token: str) -> str:
    """Return a token that can stand in the head of a request.

    Raises:
        InvalidParameter: It cannot.
    """
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidParameter("a token is what `simstore token add` printed, without white space")
    return token


def seconds_of(header: str | None) -> float | None:
    """Return when to come back, in seconds; None where the server does not say."""
    if not header:
        return None
    if header.isascii() and header.isdecimal():
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
