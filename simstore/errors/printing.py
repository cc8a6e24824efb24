"""Format names, keys, paths and URLs for messages: printable, shortened, without passwords."""

from __future__ import annotations

import re

# Characters of a word, and of a message, that are shown whole; of longer ones as many at the start.
_WORD, _MESSAGE = 300, 4_000
_LONG_WORD = re.compile(rf"\S{{{_WORD + 1},}}")
_PASSWORD = re.compile(r"(://[^:/@]*):[^@]*@")


def printable(text: str) -> str:
    """Return text that is safe to print: control characters are escaped.

    Args:
        text: Any string; bytes that are not UTF-8 are surrogate escapes (PEP
            383).
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


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number with what it counts, in the singular or the plural.

    >>> counted(1, "exact duplicate"), counted(1_200, "document")
    ('1 exact duplicate', '1,200 documents')
    >>> counted(1, "document holds", "documents hold")
    '1 document holds'

    Args:
        count: How many.
        one: What one is called, and does.
        many: What several are called; None: the same with an ``s``.
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def shown_place(place: str) -> str:
    """Return a path or a database URL to be shown: printable, without a password."""
    return printable(_PASSWORD.sub(r"\1:***@", place) if "://" in place else place)


def shortened(message: str) -> str:
    """Return a message in which long words are cut in the middle.

    >>> len(shortened(f"no document has the key {'k' * 70_000!r}"))
    285

    Args:
        message: Of an error.
    """
    if len(message) <= _WORD:
        return message
    found = _LONG_WORD.sub(lambda word: _cut(word[0], 200, 60), message)
    return found if len(found) <= _MESSAGE else _cut(found, 3_000, 600)


def _cut(text: str, first: int, last: int) -> str:
    return f"{text[:first]}…{text[-last:]}"
