"""An independent oracle for resemblance and containment of plain English texts: loops over sets."""

from __future__ import annotations

import re

RUN_WORDS = 3
_PLAIN = re.compile(r"[a-z0-9 .,;\n]*")


def is_plain(text: str) -> bool:
    """Return whether this oracle knows the words of a text: small letters, digits and blanks."""
    return _PLAIN.fullmatch(text) is not None


def runs(text: str, length: int = RUN_WORDS) -> set[tuple[str, ...]]:
    """Return the runs of ``length`` consecutive words; all words of a shorter text are one run."""
    words = [word.strip(".,;") for word in text.split()]
    if len(words) < length:
        return {tuple(words)} if words else set()
    found = set()
    for start in range(len(words) - length + 1):
        found.add(tuple(words[start : start + length]))
    return found


def resemblance(left: str, right: str) -> float:
    """Return the shared runs of two texts as a share of all their runs (Jaccard)."""
    one, other = runs(left), runs(right)
    return len(one & other) / len(one | other) if one | other else 1.0


def containment(sample: str, document: str) -> float:
    """Return the share of the sample's runs that the document has."""
    one, other = runs(sample), runs(document)
    return len(one & other) / len(one) if one else 1.0
