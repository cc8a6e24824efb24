"""Independent oracles for what the five source documents ask: plain loops, standard library only.

Like oracle.py, this module shares no code with the package under test.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

PRIME = 1_000_003


def poly1000003(word: str, bits: int) -> int:
    """Return the string hash of old Pythons, as the blog's script computes it."""
    mask = (1 << bits) - 1
    value = ord(word[0]) << 7
    for character in word:
        value = (value * PRIME ^ ord(character)) & mask
    return (value ^ len(word)) & mask


def simhash(
    weights: Mapping[str, float], hash_of: Callable[[str], int], bits: int, tie: int = 0
) -> int:
    """Return the fingerprint of weighted features; ``tie`` is the bit of a sum of zero."""
    result = 0
    for bit in reversed(range(bits)):
        total = 0.0
        for feature, weight in weights.items():
            total += weight if hash_of(feature) >> bit & 1 else -weight
        result = 2 * result + (tie if total == 0 else total > 0)
    return result


def enumerated(ordinal: int, count: int, copies_beyond: int = 0, bits: int = 64) -> int:
    """Return the code of an enumeration's value: its ordinal, as often as it fits.

    Args:
        ordinal: Place of the value, from 0.
        count: Number of values.
        copies_beyond: 1 for the lecture's loop, which starts with the ordinal and adds another
            ``bits // width`` copies, so that the top bits hold a part of a copy.
        bits: Fingerprint length.
    """
    width, reach = 1, 2
    while reach < count:
        width, reach = width + 1, reach * 2
    value = 0
    for _ in range(bits // width + copies_beyond):
        value = ((value << width) + ordinal) % (1 << bits)
    return value


def hanzi(text: str) -> int:
    """Return the lecture's hash of a string of GB2312 characters, at 64 bits."""
    number = 0
    for character in text:
        first, second = character.encode("gb2312")
        number = (number * 6885 + (first - 176) * 94 + (second - 161)) % (1 << 64)
    shift = 13 * len(text)
    value = number
    for _ in range(64 // shift + 1):
        # Java shifts a long by the rest of the division by 64.
        value = ((value << shift % 64) + number) % (1 << 64)
    return value


def distance(left: int, right: int) -> int:
    """Count the ones of the exclusive or."""
    difference, ones = left ^ right, 0
    while difference:
        ones += difference & 1
        difference >>= 1
    return ones


def near(values: Iterable[int], query: int, radius: int) -> list[tuple[int, int]]:
    """Return (value, distance) of all values within a radius, sorted by distance and value."""
    found = [(value, distance(value, query)) for value in values]
    return sorted((pair for pair in found if pair[1] <= radius), key=lambda pair: pair[::-1])


def near_pairs(values: Iterable[int], radius: int) -> list[tuple[int, int, int]]:
    """Return (left, right, distance) of all pairs within a radius."""
    pairs = ((a, b, distance(a, b)) for a, b in itertools.combinations(sorted(values), 2))
    return [pair for pair in pairs if pair[2] <= radius]


def units(text: str) -> list[str]:
    """Return the words of a plain text; each Han character is one."""
    found: list[str] = []
    word = ""
    for character in text.lower():
        is_han = "\u4e00" <= character <= "\u9fff"
        if character.isalnum() and not is_han:
            word += character
            continue
        found += [word] * bool(word) + [character] * is_han
        word = ""
    return found + [word] * bool(word)


def runs(items: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """Return the shingles of a sequence, with repetitions; a short one is one shingle."""
    count = len(items) - size + 1
    return [tuple(items[n : n + size]) for n in range(count)] or [tuple(items)] * bool(items)


def resemblance(one: str, two: str, size: int = 3) -> float:
    """Return common by all shingles of words."""
    a, b = (set(runs(units(text), size)) for text in (one, two))
    return len(a & b) / len(a | b)


def containment(one: str, two: str, size: int = 3) -> float:
    """Return the share of the first text's shingles of words that the second has."""
    a, b = (set(runs(units(text), size)) for text in (one, two))
    return len(a & b) / len(a)


def common_subsequence(one: Sequence[str], two: Sequence[str]) -> int:
    """Return how many items two sequences have in common in the same order."""
    row = [0] * (len(two) + 1)
    for item in one:
        before = 0
        for place, other in enumerate(two, start=1):
            before, row[place] = (
                row[place],
                (before + 1 if item == other else max(row[place], row[place - 1])),
            )
    return row[-1]


def alike(one: str, two: str) -> float:
    """Return twice the words in common, in the same order, by the words of both texts."""
    a, b = units(one), units(two)
    return 2 * common_subsequence(a, b) / (len(a) + len(b))


def line(text: str) -> str:
    """Return a text in one line and one form, as characters are counted."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def cuts(text: str, words: set[str]) -> list[list[str]]:
    """Return every way to cut a text into words of a list and single characters."""
    if not text:
        return [[]]
    found = []
    for size in range(1, len(text) + 1):
        if size == 1 or text[:size] in words:
            found += [[text[:size], *rest] for rest in cuts(text[size:], words)]
    return found


def longest_from_left(text: str, words: set[str]) -> list[str]:
    """Cut a text from the left, always the longest word."""
    found = []
    while text:
        size = len(text)
        while size > 1 and text[:size] not in words:
            size -= 1
        found.append(text[:size])
        text = text[size:]
    return found


def longest_from_right(text: str, words: set[str]) -> list[str]:
    """Cut a text from the right, always the longest word."""
    found: list[str] = []
    while text:
        start = 0
        while start < len(text) - 1 and text[start:] not in words:
            start += 1
        found.insert(0, text[start:])
        text = text[:start]
    return found


def precision_and_recall(
    found: Iterable[tuple[str, str]], labelled: Iterable[tuple[str, str]]
) -> tuple[float, float]:
    """Return which share of the found pairs is labelled, and of the labelled ones found."""
    one, other = ({frozenset(pair) for pair in pairs} for pairs in (found, labelled))
    return len(one & other) / len(one), len(one & other) / len(other)


def counts(text: str) -> Counter[str]:
    """Count the words of a plain text."""
    return Counter(units(text))
