"""Find letters that stand between all words, so that no two words follow one another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from simstore.text.passages import Span

_LETTERS = re.compile(r"[^\W\d_]+")
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# Kana stand in turn with Chinese characters in honest Japanese.
_LETTER = "[A-Za-z\u00c0-\u024f\u0370-\u052f]"
_SIGNS = r"[^\w\n]{0,3}"
# A letter behind each Chinese character.
_BETWEEN_HAN = re.compile(f"(?:[{_HAN}]{_SIGNS}{_LETTER}(?!{_LETTER}){_SIGNS}){{6,}}")
_BEHIND_HAN = re.compile(f"(?<=[{_HAN}]){_SIGNS}({_LETTER})")
# Letters in turn with words: a list of names and initials is shorter, or has stops and commas.
_LEAST_TURNS, _LEAST_MEAN, _LEAST_PLAIN = 8, 2.5, 0.7
# Words that a letter joins: longer than any of a language, most of the text, the letter frequent
# and the rest like words.
_LEAST_JOINED, _LEAST_JOINED_ALL, _LEAST_KINDS = 60, 120, 10
_LEAST_FREQUENCY, _LONGEST_PART, _MEAN_PART = 0.12, 30, (2.0, 9.0)


def letters_between_words(text: str) -> list[Span]:
    """Return where letters stand between all words of a stretch, each a span of one character.

    Three forms: ``the x cat x sat``, ``thexcatxsat`` where one letter stands for each blank, and a
    letter behind each Chinese character.

    Example:
        >>> text = "the x ferry x leaves x the x pier x at x nine x in x summer"
        >>> [text[a:b] for a, b in letters_between_words(text)]
        ['x', 'x', 'x', 'x', 'x', 'x', 'x', 'x']
    """
    found = _in_turn(text) + _joining(text)
    if not text.isascii():
        for stretch in _BETWEEN_HAN.finditer(text):
            found += [one.span(1) for one in _BEHIND_HAN.finditer(text, *stretch.span())]
    return sorted(set(found))


def without_letters_between(text: str, spans: Sequence[Span]) -> str:
    """Return a text with a blank for each of these letters; all places stay."""
    letters = list(text)
    for start, _ in spans:
        letters[start] = " "
    return "".join(letters)


def _in_turn(text: str) -> list[Span]:
    """Return single letters that stand in turn with words."""
    found: list[Span] = []
    words = [one.span() for one in _LETTERS.finditer(text)]
    number = 1
    while number < len(words) - 1:
        singles = []
        while number < len(words) - 1 and _is_single(text, words, number):
            singles.append(number)
            number += 2
        if len(singles) >= _LEAST_TURNS:
            sizes = [words[one - 1][1] - words[one - 1][0] for one in singles]
            plain = sum(text[words[one - 1][1] : words[one][0]].isspace() for one in singles)
            if sum(sizes) >= _LEAST_MEAN * len(sizes) and plain >= _LEAST_PLAIN * len(singles):
                found += [words[one] for one in singles]
        number += 1
    return found


def _is_single(text: str, words: Sequence[Span], number: int) -> bool:
    """Return whether a word is one letter between blanks, and the next one may be a word."""
    start, end = words[number]
    if end - start != 1:
        return False
    before, after = text[start - 1], text[end : words[number + 1][0]]
    return before.isspace() and after.isspace() and "\n\n" not in after


def _joining(text: str) -> list[Span]:
    """Return the letters that stand for blanks, where one letter does for nearly all."""
    if not re.search(rf"[^\W\d_]{{{_LEAST_JOINED}}}", text):
        return []
    long = [
        one.span() for one in _LETTERS.finditer(text) if one.end() - one.start() >= _LEAST_JOINED
    ]
    # One long word that is repeated is a word.
    counts = Counter("".join({text[start:end] for start, end in long}))
    total = counts.total()
    letter, count = counts.most_common(1)[0]
    every = sum(end - start for start, end in (one.span() for one in _LETTERS.finditer(text)))
    if (
        total < max(_LEAST_JOINED_ALL, every / 8)
        or len(counts) < _LEAST_KINDS
        or count < _LEAST_FREQUENCY * total
        or re.match(f"[{_HAN}]", letter)
    ):
        return []
    found: list[Span] = []
    for start, end in long:
        parts = text[start:end].split(letter)
        mean = sum(map(len, parts)) / len(parts)
        if max(map(len, parts)) <= _LONGEST_PART and _MEAN_PART[0] <= mean <= _MEAN_PART[1]:
            found += [(at, at + 1) for at in range(start, end) if text[at] == letter]
    return found
