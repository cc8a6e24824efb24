"""Decode bytes to text and encode it back without loss; compute the digest of a text."""

from __future__ import annotations

import hashlib

from simstore.errors import InvalidParameter

UTF8_BOM = b"\xef\xbb\xbf"


def decode(data: bytes) -> str:
    """Decode UTF-8; each byte that is not UTF-8 becomes a surrogate escape (PEP 383).

    A byte order mark at the start is dropped.
    """
    return exact_text(data.removeprefix(UTF8_BOM))


def exact_text(data: bytes) -> str:
    """Decode UTF-8 as :func:`decode` does, and keep a byte order mark: the inverse of `encode`."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Encode as UTF-8; the inverse of :func:`decode` for text without a byte order mark.

    Raises:
        InvalidParameter: ``text`` holds surrogates that are no escapes; see :func:`well_formed`.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidParameter(
            f"a lone surrogate at character {error.start}: half a character is no text; "
            "replace it first"
        ) from None


def well_formed(text: str) -> str:
    """Return text with every lone surrogate replaced by U+FFFD.

    For strings that do not come from bytes (JSON may hold any code unit), where a surrogate in
    the range of escapes would be taken for a byte.
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def storable(text: str) -> str:
    """Return text that every database keeps and gives back the same, for fields of one line.

    Lone surrogates and U+0000, which PostgreSQL has not, are replaced by U+FFFD.
    """
    return well_formed(text).replace("\0", "\ufffd")


def line_as_stored(text: str) -> str:
    """Return how a line that is looked for, such as the name of a collection, is stored.

    Raises:
        InvalidParameter: It holds surrogates that are no escapes, which are not stored.
    """
    encode(text)
    return storable(text)


DIGEST_BYTES = 16


def digest_given(given: str | bytes) -> bytes:
    """Return a digest that was given as bytes or as hexadecimal digits.

    Raises:
        InvalidParameter: It is none.
    """
    found = given if isinstance(given, bytes) else b""
    if isinstance(given, str):
        try:
            found = bytes.fromhex(given)
        except ValueError:
            found = b""
    if len(found) != DIGEST_BYTES:
        raise InvalidParameter(
            f"digest {str(given)[:50]!r}: it must be {DIGEST_BYTES} bytes, or "
            f"{2 * DIGEST_BYTES} hexadecimal digits, as results have it"
        )
    return found


def document_digest(owner: bytes, text: str, data: bytes) -> bytes:
    """Return the digest that identifies the text of a document among those of others.

    An empty text duplicates nothing, so the digest of a text without a visible character covers its
    document, too.

    Args:
        owner: The key of the document, or what else distinguishes it.
        text: The text.
        data: Its bytes.
    """
    is_empty = not text or text.isspace()
    return text_digest(b"\0".join((b"", owner, data)) if is_empty else data)


def text_digest(data: bytes) -> bytes:
    """Return BLAKE2b-128 of the bytes of a text."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
