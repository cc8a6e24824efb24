"""Read keys and texts from the URL of a request, byte for byte."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request


class _AnyKey(PathConvertor):
    """A key in the pattern of a path: all that is left, line breaks too."""

    regex = "(?s:.*)"


register_url_convertor("key", _AnyKey())


def key_in_path(request: Request, decoded: str) -> str:
    """Return the key at the end of the address of a document, byte for byte.

    Args:
        request: The request, for ``/v1/documents/KEY`` and the like.
        decoded: The key as the framework decoded it, which loses what is not UTF-8.
    """
    raw: bytes = request.scope.get("raw_path") or b""
    parts = raw.partition(b"?")[0].split(b"/", 3)
    if len(parts) < 4:
        return decoded
    return unquote_to_bytes(parts[3]).decode("utf-8", "surrogateescape")


def query_text(request: Request, name: str, decoded: str) -> str:
    """Return the first query parameter of a name, byte for byte.

    Args:
        request: The request.
        name: Its name.
        decoded: The text as the framework decoded it, which loses what is not UTF-8.
    """
    query = request.scope["query_string"].decode("ascii", "surrogateescape")
    for key, value in parse_qsl(query, keep_blank_values=True, errors="surrogateescape"):
        if key == name:
            return str(value)
    return decoded
