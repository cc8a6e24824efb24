"""Titles: texts of at most twelve words, found by a stored one that differs in one word.

A word that is another leaves a title of three words hardly a run of characters, and its sketch
hardly a value. So a title is stored by its *forms*: all its words, and what is left when each is
left out. Two titles that differ in one word have a form in common, whatever the word is.

Example:
    >>> from simstore.fingerprint.titles import asked_forms, stored_forms, title_words
    >>> stored = stored_forms(title_words("Queues of a bank"))
    >>> len(stored), len(stored & asked_forms(title_words("Queues at a bank")))
    (5, 1)

References:
    Mor, Fraenkel: A hash code method for detecting and correcting spelling errors, CACM 25 (1982):
    what is left of words when characters are deleted, here of titles and words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from simstore.text.characters import CHARACTER, SEPARATOR, class_table, code_points
from simstore.text.normalization import DEFAULT, Normalization
from simstore.text.tokens import token_pieces

# Words of a title; two characters of a script without blanks are a word.
LONGEST = 12
# What must be left to be compared.
_LEAST = 2
# No title of twelve words is so long.
_MOST_CHARACTERS = 400


def title_words(text: str, normalization: Normalization = DEFAULT) -> tuple[str, ...]:
    """Return the words of a title, or none where a text is longer than a title with a word put in.

    Args:
        text: Any text.
        normalization: The scheme's; all channels see the same text.

    Returns:
        Words without their punctuation; characters of scripts without blanks stand alone.

    >>> title_words("A man-page: 银行")
    ('a', 'manpage', '银', '行')
    """
    if len(text) > _MOST_CHARACTERS:
        return ()
    words = tuple(chain.from_iterable(map(_parts, normalization.apply(text).split())))
    return words if _LEAST <= _size(words) <= LONGEST + 1 else ()


def most_features(words: Sequence[str]) -> int:
    """Return how many words a title of the scripts of these has at most.

    >>> most_features(("a", "bank")), most_features(("银", "行"))
    (12, 24)
    """
    return round(LONGEST * len(words) / _size(words)) if words else 0


def stored_forms(words: Sequence[str]) -> set[int]:
    """Return the forms that a title is found by: numbers of 63 bits."""
    return set(_numbers(words, _left_out(words, 2)))


def asked_forms(words: Sequence[str]) -> set[int]:
    """Return the forms to look up: also those with one and three characters left out.

    So a word of one character is found for one of two, and the other way round.
    """
    return set(_numbers(words, chain.from_iterable(_left_out(words, n) for n in (1, 2, 3))))


def pack_forms(forms: Iterable[int]) -> bytes:
    """Return forms as a store keeps them, 8 bytes each, ascending."""
    return b"".join(form.to_bytes(8, "little") for form in sorted(forms))


def unpack_forms(packed: bytes) -> list[int]:
    """Return the forms of :func:`pack_forms`.

    Raises:
        ValueError: They are damaged.
    """
    if len(packed) % 8:
        raise ValueError("damaged forms of a title")
    return [int.from_bytes(packed[at : at + 8], "little") for at in range(0, len(packed), 8)]


def is_one_word_apart(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether titles are the same, or differ in one place by at most a word on each side.

    >>> is_one_word_apart(("a", "new", "bank"), ("a", "bank"))
    True
    >>> is_one_word_apart(("a", "new", "bank"), ("the", "old", "bank"))
    False
    """
    least = min(len(one), len(other))
    begin = next((n for n in range(least) if one[n] != other[n]), least)
    end = next((n for n in range(least - begin) if one[-1 - n] != other[-1 - n]), least - begin)
    return all(_is_word(words[begin : len(words) - end]) for words in (one, other))


def _parts(piece: str) -> Iterator[str]:
    """Yield the words of a piece of text without blanks: what stands between wide characters."""
    classes = class_table()[code_points(piece)]
    if (classes == SEPARATOR).all():
        return
    found = ""
    for token in chain.from_iterable(token_pieces(piece)):
        if not _is_wide(token):
            found += token
            continue
        if found:
            yield found
            found = ""
        yield token
    if found:
        yield found


def _is_word(part: Sequence[str]) -> bool:
    return len(part) < 2 or (len(part) == 2 and _is_wide(part[0]) and _is_wide(part[1]))


def _is_wide(word: str) -> bool:
    return len(word) == 1 and bool(class_table()[ord(word)] == CHARACTER)


def _size(words: Iterable[str]) -> float:
    return sum(0.5 if _is_wide(word) else 1 for word in words)


def _left_out(words: Sequence[str], size: int) -> Iterator[tuple[int, int]]:
    """Yield what to leave out: nothing, each word, each so many characters beside each other."""
    yield 0, 0
    wide = [_is_wide(word) for word in words]
    for place, alone in enumerate(wide):
        if not alone:
            yield place, place + 1
            continue
        end = place
        while end < min(place + size, len(words)) and wide[end]:
            end += 1
        is_first = not place or not wide[place - 1]
        # Where fewer stand beside each other, all of them.
        if end == place + size or is_first:
            yield place, end


def _numbers(words: Sequence[str], left_out: Iterable[tuple[int, int]]) -> Iterator[int]:
    for begin, end in left_out:
        kept = (*words[:begin], *words[end:])
        if _size(kept) >= _LEAST:
            data = " ".join(kept).encode("utf-8", "surrogatepass")
            yield int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> 1
