"""Names and keys in messages."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(://[^:/@]*):[^@]*@")


def printable(text: str) -> str:
    """Return text that is safe to print: what is not UTF-8 or a control character is escaped.

    Args:
        text: Any string; bytes that are not UTF-8 are surrogate escapes (PEP 383).
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "backslashreplace")
    text = data.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def shown_place(place: str) -> str:
    """Return a path or a database URL to be shown: printable, without a password."""
    return printable(_PASSWORD.sub(r"\1:***@", place) if "://" in place else place)
