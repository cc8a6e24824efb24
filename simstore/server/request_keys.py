"""Read keys and texts from the URL of a request, byte for byte, and its Idempotency-Key header."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request

from simstore.errors import MalformedRequest
from simstore.model import Idempotency
from simstore.server.access.gate import Principal

_NAME = re.compile("[!-~]{1,255}")


class _AnyKey(Convertor[str]):
    """A key in the pattern of a path: all that is left, line breaks too."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


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


def idempotency_of(request: Request, name: str | None, body: bytes) -> Idempotency | None:
    """Return the idempotency key of a request with its digest; None where it has no key.

    Args:
        request: The request.
        name: Its name.
        body: Its body.

    Raises:
        MalformedRequest: It is no name.
    """
    if name is None:
        return None
    if _NAME.fullmatch(name) is None:
        raise MalformedRequest("header.Idempotency-Key", "1 to 255 visible ASCII characters")
    digest = hashlib.blake2b(digest_size=16)
    scope = request.scope
    for part in (scope["method"].encode(), scope["raw_path"], scope["query_string"], body):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    principal: Principal = request.state.principal
    return Idempotency(principal.owner, name, digest.digest())
