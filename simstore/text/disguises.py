"""Fold disguises: character tricks that hide words from a program but not from a reader.

Characters that show nothing, letters of another script that look like the right ones, heaps of
combining marks, letters spaced out, HTML entities left in plain text, and words broken at the end
of a line. What was folded is counted; each place of the folded text is known in the given one.

References:
    Unicode Technical Standard 39, section 4 (confusable detection);
    Boucher, Shumailov, Anderson, Papernot: Bad characters: imperceptible NLP attacks,
    IEEE Symposium on Security and Privacy 2022.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simstore.text.characters import (
    CHARACTER,
    SEPARATOR,
    WORD,
    class_table,
    code_points,
    table_rows,
)

# The code points that Unicode 14.0 says are to be ignored by default (DerivedCoreProperties.txt).
_IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
# Of these, such as honest texts have within words: soft hyphens, joiners of Arabic and Indic
# letters and of emoji, the selectors of a glyph.
_HONEST = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x180B, 0x180F), (0x200C, 0x200D), (0xFE00, 0xFE0F),
    (0xE0100, 0xE01EF),
)  # fmt: skip
# The marks of Latin, Greek and Cyrillic letters, as for ``accents``, and those around a symbol.
_MARK_BLOCKS = (
    (0x300, 0x34E), (0x350, 0x36F), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0),
    (0xFE20, 0xFE2F),
)  # fmt: skip


def _class_of(blocks: Iterable[tuple[int, int]]) -> str:
    """Return the inside of a regular expression's brackets for blocks of code points."""
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in blocks)


IGNORABLE = re.compile(f"[{_class_of(_IGNORABLE)}]+")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKS = _class_of(_MARK_BLOCKS)
_MARK = re.compile(f"[{_MARKS}]")
# More than the letters of any orthography carry: Greek and Vietnamese have three at most.
_MARK_HEAP = re.compile(f"[{_MARKS}]{{4,}}")
# Lines through, under or over a letter: they form no letter of an orthography, but for one.
_MARK_LINE = re.compile("[\u0305\u0332-\u0338\u033f\u20d0-\u20f0\ufe20-\ufe2f]+")
# Marks with which orthographies, transcriptions and dictionaries write letters that are no single
# character: Yoruba, Lithuanian, stress in Russian, Sanskrit.
_COMMON_MARKS = frozenset(
    "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u030f\u0310\u0311\u0323"
    "\u0324\u0325\u0326\u0327\u0328\u032d\u032e\u0330\u0331"
)
# A line end behind a soft hyphen, or behind a hyphen between small letters of one word.
_SOFT_BREAK = re.compile(r"\u00ad\r?\n[ \t]*")
_HYPHEN_BREAK = re.compile(r"[-\u2010]\r?\n[ \t]*")
# Single characters, each between blanks. Possessive: nothing is tried twice.
_SINGLE = r"(?:\w[^\w\s]{0,2}|[^\w\s])(?!\S)"
_SPACED = re.compile(rf"(?<!\S){_SINGLE}(?:\s++{_SINGLE})++")
_GAP = re.compile(r"\s+")
_THIN = frozenset("\u2004\u2005\u2006\u2008\u2009\u200a\u202f\u205f")
_WIDEST = 1 << 20
_LEAST_SPACED_LETTERS = 5
_LONGEST_SINGLE = 3
_LEAST_MIXED, _LEAST_MARKS = 3, 2
# How many words away those may be that tell the script of one.
_FAR = 8
# How many words away those may be whose marks tell of others.
_NEAR = 4
# Scripts where a blank of no width parts words: Thai to Myanmar, Khmer.
_UNSPACED = ((0xE00, 0x109F), (0x1780, 0x17FF))
_ASCII_BLANK = ord(" ")
_TRUE, _FALSE = np.ones(1, bool), np.zeros(1, bool)

# Kinds of code points here, bits.
LATIN, CYRILLIC, _GREEK, _FOREIGN = 1, 2, 4, 8
LETTER_BITS = LATIN | CYRILLIC | _GREEK | _FOREIGN
IGNORED, IS_MARK, LIKE_LATIN, BLANK = 16, 32, 64, 128
_SCRIPTS = {"LATIN": LATIN, "CYRILLIC": CYRILLIC, "GREEK": _GREEK}
_BLOCKS = {
    LATIN: ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF), (0xFF21, 0xFF5A)),
    CYRILLIC: ((0x400, 0x52F), (0x1C80, 0x1C8F), (0xA640, 0xA69F)),
    _GREEK: ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
}

# Texts that show whether the same is folded: each kind, letters of all scripts that are folded, and
# variants of Chinese characters.
KNOWN_DISGUISES = (
    "fr\u200bee che\u0430p w\u0456re p\u0440\u0438vet \u0441o\u0441o\u043d \u03b1bout g\u0261ag "
    "w\u0336i\u0336d\u0336e z\u0301\u0300\u0302\u0303\u0304o\u034fo &eacute;t&#233; "
    "\u202eback\u202c the \u0430 \u0441\u043e end",
    "t\u0309o\u0312w\u0313n\u0301s\u0315 \u00e9\u0301t\u0346\u00e9 a\u0301 o\u0313n\u033a m\u0305 "
    "k\u0323\u0300 w\u0326r\u034de\u0344 \u1ecd\u0300r\u1ecd\u0300 \u043c\u0438\u0301\u0440 "
    "a\u0301 plain",
    "t h e   l e t t e r s   a r e   a p a r t , and a bro-\nken word ends co\u00ad\noperation.",
    "乾隆年間乾旱，麵條鐘錶，頭髮發現，皇后之後，著作看著，臺灣台風颱風，里程裏面，"
    "爲爲為線綫，羣眾床牀。",
)


# Entities and words broken at the end of a line are told as counts, and are no sign of a disguise.
_WORDS_OF = {
    "hidden_characters": "hidden characters",
    "mixed_scripts": "mixed scripts",
    "stacked_marks": "stacked marks",
    "spaced_letters": "spaced letters",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedCounts:
    """Counts of the disguises folded in a text, by kind.

    Attributes:
        hidden_characters: Characters that show nothing, within words of scripts that have none.
        mixed_scripts: Words with letters of another script that look like their own.
        stacked_marks: Letters with more combining marks than letters carry.
        spaced_letters: Words whose letters were spaced out.
        entities: HTML entities.
        line_breaks: Words that were broken at the end of a line.
    """

    hidden_characters: int = 0
    mixed_scripts: int = 0
    stacked_marks: int = 0
    spaced_letters: int = 0
    entities: int = 0
    line_breaks: int = 0

    def counts(self) -> dict[str, int]:
        """Return the kinds that occur, with how often."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: count for name, count in found.items() if count}

    def flags(self) -> tuple[str, ...]:
        """Return the kinds that occur and that honest texts hardly have, in words."""
        return tuple(self.flag_counts())

    def flag_counts(self) -> dict[str, int]:
        """Return the kinds of :meth:`flags`, with how often each occurs."""
        counts = self.counts()
        return {_WORDS_OF[name]: count for name, count in counts.items() if name in _WORDS_OF}


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text without its disguises.

    Attributes:
        text: The folded text; no longer than the given one.
        counts: What was folded.
        starts: The first code point in the given text that each of the folded one stands for;
            int32, not descending; None: nothing was folded.
        ends: The code point after its last one; int32.
    """

    text: str
    counts: FoldedCounts
    starts: NDArray[np.int32] | None = None
    ends: NDArray[np.int32] | None = None


NOTHING = FoldedCounts()


def fold_disguises(text: str) -> FoldedText:
    r"""Return a text without its disguises; its case, width and composition stay.

    Example:
        >>> folded = fold_disguises("fr\u200bee &amp; ch\u0435\u0430p")
        >>> folded.text
        'free & cheap'
        >>> folded.counts.counts()
        {'hidden_characters': 1, 'mixed_scripts': 1, 'entities': 1}
    """
    if text.isascii() and not _may_fold_ascii(text):
        return FoldedText(text, NOTHING)
    return _folded(_Work(text, located=True)).result()


def without_disguises(text: str) -> str:
    r"""Return a text without its disguises, without saying where they were: that is quicker.

    Example:
        >>> without_disguises("fr\u200bee &amp; ch\u0435\u0430p")
        'free & cheap'
    """
    return text if text.isascii() and not _may_fold_ascii(text) else _folded(_Work(text)).text


def _folded(work: _Work) -> _Work:
    work.decode_entities()
    if work.has(IGNORED):
        work.drop_ignorable()
    if work.has(IS_MARK):
        work.drop_marks()
    work.join_spaced_letters()
    work.join_broken_words()
    if work.has(_FOREIGN | CYRILLIC | _GREEK) and work.has(LATIN | CYRILLIC | _GREEK):
        work.fold_lookalikes()
    return work


def _may_fold_ascii(text: str) -> bool:
    if "&" in text or _may_break_words(text):
        return True
    data = np.frombuffer(text.encode("ascii"), np.uint8)
    return bool(_thin_pairs(data <= _ASCII_BLANK).any())


def _may_break_words(text: str) -> bool:
    return "-\n" in text or "-\r\n" in text or (not text.isascii() and "\u2010" in text)


def _thin_pairs(blank: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where a single character, a blank, another and a blank follow, given where blanks are.

    The text's ends count as blanks.
    """
    padded = np.concatenate((_TRUE, blank, _TRUE))
    found: NDArray[np.bool_] = padded[:-4] & ~padded[1:-3] & padded[2:-2]
    found &= ~padded[3:-1] & padded[4:]
    return found


class _Work:
    """A text on its way: its code points, their kinds, and where each comes from.

    Args:
        text: The text.
        located: Whether it is kept where each code point comes from.
    """

    def __init__(self, text: str, *, located: bool = False) -> None:
        self._given = self.text = text
        self._counts: dict[str, int] = {}
        self._changed = False
        self._points: NDArray[np.uint32] | None = None
        self._kinds: NDArray[np.uint8] | None = None
        self._seen = 0
        self._located = located
        places = np.arange(len(text) if located else 0, dtype=np.int32)
        self.starts, self.ends = places, places + np.int32(1)

    @property
    def points(self) -> NDArray[np.uint32]:
        """Return the code points of the text, as folded so far."""
        if self._points is None:
            self._points = code_points(self.text)
        return self._points

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """Return the kinds of the code points."""
        if self._kinds is None:
            self._kinds = kind_table()[self.points]
            self._seen = int(np.bitwise_or.reduce(self._kinds)) if len(self._kinds) else 0
        return self._kinds

    def has(self, kinds: int) -> bool:
        """Return whether a code point beyond ASCII is of one of these kinds."""
        return not self.text.isascii() and len(self.kinds) > 0 and bool(self._seen & kinds)

    def result(self) -> FoldedText:
        """Return the text, as folded so far."""
        if not self._changed:
            return FoldedText(self._given, NOTHING)
        return FoldedText(self.text, FoldedCounts(**self._counts), self.starts, self.ends)

    def _count(self, name: str, count: int) -> None:
        if count:
            self._counts[name] = self._counts.get(name, 0) + int(count)

    def _replace(self, edits: Iterable[tuple[int, int, str]]) -> None:
        """Put texts in the place of spans, in order, each not longer than its span.

        Where they are as long, each character keeps its place.
        """
        if not self._located:
            pieces, done = [], 0
            for start, end, new in edits:
                pieces += [self.text[done:start], new]
                done = end
            self.text = "".join((*pieces, self.text[done:]))
            self._points = self._kinds = None
            self._changed = True
            return
        keep = np.ones(len(self.points), bool)
        points, starts, ends = self.points.copy(), self.starts.copy(), self.ends.copy()
        for start, end, new in edits:
            size = len(new)
            for place, character in enumerate(new, start):
                points[place] = ord(character)
            if size < end - start:
                keep[start + size : end] = False
                starts[start : start + size] = starts[start]
                ends[start : start + size] = ends[end - 1]
        self._set(points, starts, ends, keep)

    def _set(
        self,
        points: NDArray[np.uint32],
        starts: NDArray[np.int32],
        ends: NDArray[np.int32],
        keep: NDArray[np.bool_],
    ) -> None:
        self._points = points[keep]
        if self._located:
            self.starts, self.ends = starts[keep], ends[keep]
        self.text = self._points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        self._kinds = None
        self._changed = True

    def _drop(self, keep: NDArray[np.bool_]) -> None:
        self._set(self.points, self.starts, self.ends, keep)

    def decode_entities(self) -> None:
        """Decode HTML entities that were left in plain text, once."""
        if "&" not in self.text:
            return
        import html  # its table of names is for texts that have any

        edits = [
            (found.start(), found.end(), made)
            for found in _ENTITY.finditer(self.text)
            if len(made := html.unescape(found[0])) < len(found[0]) and "&" not in made[1:]
        ]
        if edits:
            self._count("entities", len(edits))
            self._replace(edits)

    def drop_ignorable(self) -> None:
        """Drop invisible characters, and the line ends behind soft hyphens."""
        keep = self.kinds & IGNORED == 0
        hidden = np.flatnonzero(~keep)
        hidden = hidden[~_among(self.points[hidden], _HONEST)]
        if len(hidden):
            # The nearest characters that show: a word goes on where both are of one.
            shown = np.flatnonzero(keep)
            after = np.searchsorted(shown, hidden)
            within = (after > 0) & (after < len(shown))
            left, right = shown[after[within] - 1], shown[after[within]]
            classes = class_table()
            a, b = self.points[left], self.points[right]
            inside = (classes[a] != SEPARATOR) & (classes[b] != SEPARATOR)
            inside &= ~(_among(a, _UNSPACED) & _among(b, _UNSPACED))
            self._count("hidden_characters", int(np.count_nonzero(inside)))
        if "\u00ad" in self.text:
            breaks = list(_SOFT_BREAK.finditer(self.text))
            for found in breaks:
                keep[found.start() : found.end()] = False
            self._count("line_breaks", len(breaks))
        self._drop(keep)

    def drop_marks(self) -> None:
        """Drop combining marks beyond those that letters of an orthography carry."""
        keep = np.ones(len(self.points), bool)
        count = 0
        for pattern in (_MARK_HEAP, _MARK_LINE):
            for found in pattern.finditer(self.text):
                keep[found.start() : found.end()] = False
                count += 1
        if count:
            self._drop(keep)
        if self.has(IS_MARK):
            edits = list(self._marked_words())
            if edits:
                count += len(edits)
                self._replace(edits)
        self._count("stacked_marks", count)

    def _marked_words(self) -> Iterable[tuple[int, int, str]]:
        """Yield, without their marks, the words whose marks no orthography has, and those among.

        Letters that were given with a mark as one character keep it: ``é`` is no ``e`` with one.
        """
        starts, ends = self._words()
        sums = np.concatenate(([0], np.cumsum(self.kinds & IS_MARK != 0)))
        given = sums[ends] - sums[starts]
        marked = np.flatnonzero(given)
        odd = np.zeros(len(starts), bool)
        memory: dict[str, bool] = {}
        for word, count in zip(marked.tolist(), given[marked].tolist(), strict=True):
            text = self.text[starts[word] : ends[word]]
            if text not in memory:
                memory[text] = _has_odd_marks(text, count)
            odd[word] = memory[text]
        if not odd.any():
            return
        odd_sums = np.concatenate(([0], np.cumsum(odd)))
        places = np.arange(len(starts))
        first, last = np.maximum(places - _NEAR, 0), np.minimum(places + _NEAR + 1, len(starts))
        # Of the words around, at least half.
        among = 2 * (odd_sums[last] - odd_sums[first]) >= np.maximum(last - first - 1, 1)
        for word in np.flatnonzero(odd | (among & (given > 0))).tolist():
            start, end = int(starts[word]), int(ends[word])
            yield start, end, _MARK.sub("", self.text[start:end])

    def _words(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return first and last place (exclusive) of each word of a script with blanks."""
        word = class_table()[self.points] == WORD
        edges = np.flatnonzero(np.diff(np.concatenate((_FALSE, word, _FALSE))))
        return edges[::2], edges[1::2]

    def join_spaced_letters(self) -> None:
        """Join letters with blanks between them, where words keep wider gaps."""
        if self.text.isascii():
            blank = np.frombuffer(self.text.encode(), np.uint8) <= _ASCII_BLANK
        else:
            blank = self.kinds & BLANK != 0
        pairs = np.flatnonzero(_thin_pairs(blank))
        if not len(pairs):
            return
        keep = np.ones(len(self.points), bool)
        count = 0
        for first, last in self._runs_of_singles(pairs):
            for found in _SPACED.finditer(self.text[first:last]):
                spans = _spaced_words(found[0])
                count += len(spans)
                for start, end in spans:
                    part = slice(first + found.start() + start, first + found.start() + end)
                    keep[part] = self.kinds[part] & BLANK == 0
        if count:
            self._count("spaced_letters", count)
            self._drop(keep)

    def _runs_of_singles(self, pairs: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return where enough single characters, with or without signs behind them, follow.

        Args:
            pairs: Where two without signs, and a blank between them, begin; one has to be among
                those of a run.
        """
        shown = self.kinds & BLANK == 0
        edges = np.flatnonzero(np.diff(np.concatenate((_FALSE, shown, _FALSE))))
        starts, ends = edges[::2], edges[1::2]
        letters = np.concatenate(([0], np.cumsum(class_table()[self.points] != SEPARATOR)))
        single = (letters[ends] - letters[starts] <= 1) & (ends - starts <= _LONGEST_SINGLE)
        turns = np.flatnonzero(np.diff(np.concatenate((_FALSE, single, _FALSE))))
        firsts, lasts = turns[::2], turns[1::2] - 1
        begins, stops = starts[firsts], ends[lasts]
        many = lasts - firsts >= _LEAST_SPACED_LETTERS - 1
        many &= np.searchsorted(pairs, begins) < np.searchsorted(pairs, stops - 2)
        return list(zip(begins[many].tolist(), stops[many].tolist(), strict=True))

    def join_broken_words(self) -> None:
        """Join words that were broken at the end of a line, with a hyphen."""
        if not _may_break_words(self.text):
            return
        edits = []
        for found in _HYPHEN_BREAK.finditer(self.text):
            start, end = found.span()
            before, after = self.text[max(start - 2, 0) : start], self.text[end : end + 2]
            whole = len(before) == len(after) == 2 and (before + after).isalpha()
            if whole and before[1].islower() and after.islower():
                edits.append((start, end, ""))
        if edits:
            self._count("line_breaks", len(edits))
            self._replace(edits)

    def fold_lookalikes(self) -> None:
        """Give words of mixed scripts the letters of one script, where all look like it."""
        starts, ends = self._words()
        if not len(starts):
            return
        letters = self.kinds & LETTER_BITS
        scripts = np.bitwise_or.reduceat(letters, starts)
        unlike = (letters != 0) & (letters != LATIN) & (self.kinds & LIKE_LATIN == 0)
        is_latin = scripts == LATIN
        other = scripts & ~np.uint8(LATIN) != 0
        unlike_sums = np.concatenate(([0], np.cumsum(unlike)))
        like_latin = other & (unlike_sums[ends] == unlike_sums[starts])
        mixed = other & (scripts & (scripts - 1) != 0) & (ends - starts >= _LEAST_MIXED)
        # The script of each word: 0 where its neighbours are to say.
        known = np.where(other, scripts & ~np.uint8(LATIN), scripts)
        known[like_latin] = 0
        edits: dict[int, str] = {}
        choices: dict[int, dict[int, str]] = {}
        memory: dict[str, dict[int, str]] = {}
        for word in np.flatnonzero(mixed).tolist():
            given = self.text[starts[word] : ends[word]]
            if given not in memory:
                memory[given] = _in_one_script(given)
            found = memory[given]
            if len(found) == 1:
                known[word], edits[word] = next(iter(found.items()))
            elif found:
                choices[word] = found
                known[word] = 0
        alone = np.flatnonzero(like_latin & ~mixed).tolist()
        if choices or (alone and is_latin.any()):
            between = _between_latin(known)
            for word, found in choices.items():
                first = next(iter(found))
                edits[word] = found[LATIN if between[word] and LATIN in found else first]
            for word in alone:
                if between[word]:
                    edits[word] = _in_script(self.text[starts[word] : ends[word]], LATIN) or ""
        if edits:
            # A single letter between words of another script is hardly a disguise.
            told = sum(
                bool(mixed[word]) or ends[word] - starts[word] >= _LEAST_MIXED for word in edits
            )
            self._count("mixed_scripts", told)
            self._replace((int(starts[w]), int(ends[w]), new) for w, new in sorted(edits.items()))


def _has_odd_marks(word: str, given: int) -> bool:
    """Return whether a word has marks that no orthography puts there.

    They compose with no letter, and are rare or second ones. Two of them, or one of three marks.

    Args:
        word: The word.
        given: How many marks it has.
    """
    odd = standing = 0
    for character in unicodedata.normalize("NFC", word):
        standing = standing + 1 if _MARK.match(character) else 0
        odd += standing > 1 or (standing == 1 and character not in _COMMON_MARKS)
    return odd >= _LEAST_MARKS or (odd > 0 and given > _LEAST_MARKS)


def _spaced_words(text: str) -> list[tuple[int, int]]:
    """Return the words of spaced-out letters in a run of single characters.

    Words are what stands between gaps that are wider than the narrowest; characters of a script
    without blanks need no wider gaps.
    """
    gaps = [(found.start(), found.end()) for found in _GAP.finditer(text)]
    widths = [_width(text[start:end]) for start, end in gaps]
    least = min(widths)
    bounds = [0]
    wider = False
    for (start, end), width in zip(gaps, widths, strict=True):
        if width > least:
            wider |= "\n" not in text[start:end]
            bounds += [start, end]
    bounds.append(len(text))
    words = [(bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2)]
    unspaced = all(class_table()[ord(c)] == CHARACTER for c in text if c.isalpha())
    if not wider and not unspaced:
        return []
    found = [
        (start, end)
        for start, end in words
        if end - start > 1 and not any(c.isdigit() for c in text[start:end])
    ]
    letters = sum(c.isalpha() for start, end in found for c in text[start:end])
    return found if letters >= _LEAST_SPACED_LETTERS else []


def _width(gap: str) -> int:
    """Return about how wide a gap is, in half blanks."""
    if "\n" in gap:
        return _WIDEST
    return sum(1 if c in _THIN else 2 for c in gap)


def _in_one_script(word: str) -> dict[int, str]:
    """Return the scripts in which a word can be written whole, those with most letters first."""
    kinds = kind_table()[code_points(word)] & LETTER_BITS
    counts = {bit: int(np.count_nonzero(kinds == bit)) for bit in _SCRIPTS.values()}
    # All letters may have been replaced, by those of several scripts.
    possible = [bit for bit, count in counts.items() if count or bit == LATIN]
    order = sorted(possible, key=lambda bit: -counts[bit])
    made = {bit: _in_script(word, bit) for bit in order}
    return {bit: text for bit, text in made.items() if text is not None}


def _in_script(word: str, script: int) -> str | None:
    """Return a word in the letters of a script; None: one looks like none of them."""
    table = lookalikes()[script]
    kinds = (kind_table()[code_points(word)] & LETTER_BITS).tolist()
    made = [
        c if kind in (0, script) else table.get(c, "") for c, kind in zip(word, kinds, strict=True)
    ]
    return "".join(made) if all(made) else None


def _between_latin(known: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return whether the nearest words whose script is known, before and after, are Latin.

    Those at most eight words away count; at least one has to be there.
    """
    places = np.arange(len(known))
    standing = np.where(known != 0, places, -1)
    before = np.maximum.accumulate(standing)
    after = np.minimum.accumulate(np.where(known != 0, places, len(known) + _FAR)[::-1])[::-1]
    has_before = (before >= 0) & (places - before <= _FAR)
    has_after = (after < len(known)) & (after - places <= _FAR)
    latin: NDArray[np.bool_] = known == LATIN
    before_fits: NDArray[np.bool_] = latin[np.maximum(before, 0)] | ~has_before
    after_fits = latin[np.minimum(after, len(known) - 1)] | ~has_after
    found: NDArray[np.bool_] = before_fits & after_fits & (has_before | has_after)
    return found


def _among(points: NDArray[np.uint32], blocks: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
    found = np.zeros(len(points), bool)
    for first, last in blocks:
        found |= (points >= first) & (points <= last)
    return found


@cache
def lookalikes() -> dict[int, dict[str, str]]:
    """Return the letters that look like those of a script, with the letters they look like."""
    found: dict[int, dict[str, str]] = {script: {} for script in _SCRIPTS.values()}
    for script, source, target in table_rows("lookalikes.txt"):
        found[_SCRIPTS[script]][source] = target
    return found


@cache
def kind_table() -> NDArray[np.uint8]:
    """Return the kinds of each code point, bits; uint8, shape (0x110000,)."""
    table = np.zeros(0x110000, np.uint8)
    for bit, blocks in _BLOCKS.items():
        for first, last in blocks:
            table[first : last + 1] = bit
    table[class_table() == SEPARATOR] = 0
    for script, letters in lookalikes().items():
        sources = np.array(list(map(ord, letters)))
        table[sources[table[sources] == 0]] = _FOREIGN
        if script == LATIN:
            table[sources] |= LIKE_LATIN
    for bit, ranges in ((IGNORED, _IGNORABLE), (IS_MARK, _MARK_BLOCKS)):
        for first, last in ranges:
            table[first : last + 1] |= bit
    blanks = [ord(c) for c in map(chr, range(0x3001)) if c.isspace() or c <= " "]
    table[np.array(blanks)] |= BLANK
    table.flags.writeable = False
    return table
