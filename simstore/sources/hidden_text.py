"""Leave out text that a file hides from a reader, and note where it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simstore.model.documents import HIDDEN

# Stands for a hidden stretch until it is known whether it stands for a blank. No text has it:
# Unicode says that it is no character.
MARK = "\ufdd0"
_MARKS = re.compile(f"{MARK}+")
_MOST_PLACES = 100
# Points: no reader reads letters of less.
LEAST_POINTS = 2.0
# A colour that differs from the background's by no more in each part, of 255, is not seen.
_NEAR = 8
# Words have five letters or so: where fewer blanks are seen, hidden letters stand for them.
_LEAST_BLANKS = 1 / 30
# A shorter line may be one word; the whole text says what its marks are.
_LONG_LINE = 20
_IN_COLOUR, _SMALL = "in the background's colour", f"smaller than {LEAST_POINTS:g} points"
REASONS: Mapping[str, str] = {"colour": _IN_COLOUR, "size": _SMALL, "hidden": "marked as hidden"}


@dataclass(slots=True)
class HiddenText:
    """A collection of what was hidden in a file.

    Attributes:
        characters: Its characters, without white space.
        places: Where it was and by what it was hidden, with the characters there.
    """

    characters: int = 0
    places: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, place: str, reason: str, text: str) -> None:
        """Note a stretch.

        Args:
            place: Where it is, such as ``page 3``.
            reason: Why nobody sees it, one of :data:`REASONS`.
            text: What it says.
        """
        count = sum(not character.isspace() for character in text)
        if count:
            self.characters += count
            self.places[place, reason] = self.places.get((place, reason), 0) + count

    def metadata(self) -> dict[str, Any]:
        """Return it as metadata of the document; empty: nothing was hidden."""
        if not self.characters:
            return {}
        told = [
            f"{place}: {count:,} character{'s' * (count != 1)} {REASONS[reason]}"
            for (place, reason), count in list(self.places.items())[:_MOST_PLACES]
        ]
        return {HIDDEN: {"characters": self.characters, "places": told}}


def visible(text: str) -> str:
    """Return a text without marks of what was hidden.

    Where hidden letters stand in the place of blanks, blanks stand for them.

    Example:
        >>> visible(f"The{MARK}ferry{MARK}is{MARK}late.")
        'The ferry is late.'
        >>> visible(f"The ferry {MARK}is la{MARK}te.")
        'The ferry is late.'
    """
    if MARK not in text:
        return text
    of_text = _for_mark(text)
    return "".join(
        _MARKS.sub(_for_mark(line) if len(line) >= _LONG_LINE else of_text, line)
        for line in text.splitlines(keepends=True)
    )


def _for_mark(text: str) -> str:
    """Return what a mark stands for: a blank where hardly another one is seen."""
    blanks = sum(map(str.isspace, text.strip()))
    return " " if blanks < _LEAST_BLANKS * len(text) else ""


def is_near(one: Iterable[float], other: Iterable[float]) -> bool:
    """Return whether two colours look the same; each is red, green and blue, 0 to 255."""
    return all(abs(a - b) <= _NEAR for a, b in zip(one, other, strict=True))
