"""Length of the longest common subsequence of two strings, by bits of an integer."""

from __future__ import annotations


class CommonUnits:
    """Counts the units that one string has in common with others, in one order.

    Example:
        >>> CommonUnits("harbour").count("hair bar")
        4

    References:
        Crochemore, Iliopoulos, Pinzon, Reid: A fast and practical bit-vector algorithm for the
        longest common subsequence problem, Information Processing Letters 80, 2001.
    """

    def __init__(self, text: str) -> None:
        """Take the string, a unit a character."""
        self._all = (1 << len(text)) - 1
        self._places: dict[str, int] = {}
        for place, unit in enumerate(text):
            self._places[unit] = self._places.get(unit, 0) | 1 << place

    def count(self, other: str) -> int:
        """Return the length of the longest common subsequence with another string."""
        left, places = self._all, self._places
        for unit in other:
            if unit in places:
                matched = left & places[unit]
                left = (left + matched | left - matched) & self._all
        return (self._all ^ left).bit_count()
