"""Read a browser's request: keys that may not be UTF-8, and language."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, unquote

from fastapi import Request

from simstore.server.page.words import LANGUAGES, Language, accepted_language

LANGUAGE_COOKIE = "simstore_lang"
_MOST_FIELDS = 50


def asked_values(request: Request) -> dict[str, str]:
    """Return the query parameters; bytes that are not UTF-8 become surrogate escapes.

    Of a name that is given twice the first counts.
    """
    query = request.scope["query_string"].decode("utf-8", "surrogateescape")
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, errors="surrogateescape", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        return {}
    return dict(reversed(pairs))


def in_address(key: str) -> str:
    """Percent-encode a key for a URL, whatever its bytes are."""
    return quote(key, safe="", errors="surrogateescape")


def from_address(said: str) -> str:
    """Decode a key that :func:`in_address` encoded."""
    return unquote(said, errors="surrogateescape")


def language_of(request: Request) -> Language:
    """Return the language that is asked for, was chosen before, or that the browser likes."""
    for chosen in (asked_values(request).get("lang"), request.cookies.get(LANGUAGE_COOKIE)):
        for lang in LANGUAGES:
            if chosen == lang:
                return lang
    return accepted_language(request.headers.get("accept-language", ""))


def same_address(request: Request, name: str, value: str) -> str:
    """Return the address of the page that is shown, with another value of a name.

    An answer to a form has no address to come back to: then it is the first page's.
    """
    if request.method not in ("GET", "HEAD"):
        return f"/?{name}={value}"
    query = request.scope["query_string"].decode("latin-1")
    kept = [part for part in query.split("&") if part and part.split("=")[0] != name]
    path = quote(request.scope["path"], safe="/")
    return f"{path}?{'&'.join([*kept, f'{name}={value}'])}"


def local_place(place: str) -> str:
    """Return the redirect target after signing in: a page of this service, else the first one."""
    inside = place.startswith("/") and not place.startswith(("//", "/\\"))
    return place if inside and place.isprintable() and place.isascii() else "/"
