"""Detect the character encoding of bytes that declare none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from simstore.sources.encodings import (
    MARKS,
    MULTIBYTE,
    OLD_SYSTEMS,
    UTF8,
    Decoded,
    codec_named,
    decoded_as,
    strictly_decoded,
    undecodable_at,
)
from simstore.sources.unmarked_encodings import unmarked_text

# Confidence of chardet that is believed; a smaller one, if it is so many times that of the next
# encoding in which the bytes are another text.
_SURE, _ENOUGH, _AHEAD = 0.1, 0.03, 1.1
# The rest of a long text tells as much; fewer bytes beyond ASCII in a short one tell nothing.
_SHORT_BYTES, _SURE_OF_MUCH, _FEWEST = 150, 0.05, 3
# One that is so little behind the best, and not of an old system as that is, goes before it.
_LEVEL = 1.005
# What is looked at: stretches with bytes beyond ASCII and the letters around them.
_DETECTED_BYTES = 200_000
_WHOLE_BYTES, _STRETCH_BYTES, _LONGEST_BYTES = 4_096, 100, 20_000
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_BLANK = re.compile(rb"[ \t\r\n]")
_ASCII = bytes(range(128))
# A text whose encoding is right may have a damaged byte among so many that are not ASCII.
_FEW = 20
# UTF-8 has characters of several bytes, which hardly come about by chance in other encodings: it
# is UTF-8, if there are so many times more of them than of damaged bytes, and these are so few.
_MANY, _FEW_OF_ALL = 3, 100
# So few bytes beyond ASCII may be valid UTF-8 by chance.
_BY_CHANCE = 6
# So many in a line are not.
_NOT_BY_CHANCE = 16
_MIXED = (
    "some lines are UTF-8 and others are not: it mixes encodings; save it in one, or take the "
    "bytes as they are with --encoding keep"
)
_LONGEST_CHARACTER = 3
_NAMED_CANDIDATES = 3
_DOS_END = b"\x1a"
# Characters of no text that a person wrote; blanks, form feed, and the end mark of DOS are.
_CONTROL = re.compile("[\x00-\x08\x0e-\x19\x1b-\x1f\x80-\x9f]")


def decoded(data: bytes, *, declared: str | None = None, is_markup: bool = True) -> Decoded | str:
    """Return the text of bytes; or why their encoding is not certain.

    The first of these that holds says the encoding: a byte order mark; NUL and control characters
    or escapes, that make bytes UTF-16, UTF-32, ISO 2022 or HZ (:mod:`.unmarked_encodings`); UTF-8,
    if all bytes are of it, or nearly all; the declared one, if all bytes are of it, or nearly all;
    the one that is detected. What is declared goes before UTF-8 where it is of several bytes and
    there are so few of them that they may be UTF-8 by chance; and before any escapes.

    Args:
        data: The bytes.
        declared: Name of an encoding, as HTTP, a page or an XML document tells it; one that is not
            known is as none.
        is_markup: The declaration is of these bytes; false: it may be quoted in a text, and UTF-8
            that is valid throughout goes before it.
    """
    for mark, marked in MARKS:
        if data.startswith(mark):
            return decoded_as(data[len(mark) :], marked)
    named = codec_named(declared) if declared else None
    beyond_ascii = _bytes_beyond_ascii(data)
    if is_markup and named in MULTIBYTE and beyond_ascii <= _BY_CHANCE:
        text = strictly_decoded(data, named)
        if text is not None:
            return Decoded(text, named, 0)
    if (unmarked := unmarked_text(data)) is not None:
        return unmarked
    if (text := strictly_decoded(data, UTF8)) is not None:
        return Decoded(text, UTF8, 0)
    as_utf8 = decoded_as(data, UTF8)
    if _is_nearly_utf8(as_utf8, data, beyond_ascii):
        return as_utf8
    as_named = None if named is None else decoded_as(data, named)
    if as_named is not None and as_named.replaced * _FEW <= beyond_ascii:
        return as_named
    is_mixed = _has_line_of_utf8(data)
    guess = _Guess(None, ()) if is_mixed else _detected(data)
    if guess.encoding is not None:
        made = decoded_as(data, guess.encoding)
        if _damaged(made) * _FEW <= beyond_ascii and _is_text(made):
            return replace(made, is_detected=True)
    if as_named is not None:
        best = min((as_named, as_utf8), key=lambda one: one.replaced)
        if best.replaced * _FEW <= len(data):
            return best
    return _MIXED if is_mixed else not_certain(data, guess.candidates)


def recognised(data: bytes) -> str | None:
    """Return the encoding that bytes surely look like, by chardet; None: it is not sure."""
    return _detected(data).encoding


@dataclass(frozen=True, slots=True)
class _Guess:
    """The encoding that chardet detects in bytes, or its likeliest candidates.

    Attributes:
        encoding: The one that is certain; None: none is.
        candidates: The likeliest, each of which makes another text of them.
    """

    encoding: str | None
    candidates: tuple[str, ...]


def _detected(data: bytes) -> _Guess:
    """Return what chardet takes bytes for; a cut within the last character does not change it."""
    telling = _telling(data.removesuffix(_DOS_END))
    best = _guess(telling)
    for cut in range(1, _LONGEST_CHARACTER + 1):
        if best[0] >= _SURE or telling[-cut:].isascii():
            break
        best = max(best, _guess(telling[:-cut]), key=lambda one: one[0])
    return best[1]


def _guess(telling: bytes) -> tuple[float, _Guess]:
    """Return the confidence of chardet's best encoding, and which are likely."""
    import chardet

    eras = chardet.EncodingEra
    # The others are of mainframes, or of few languages and so like those of many that they are
    # taken for them.
    known = eras.ALL & ~eras.MAINFRAME & ~eras.LEGACY_REGIONAL
    found = chardet.detect_all(
        telling, encoding_era=known, max_bytes=_DETECTED_BYTES, ignore_threshold=True
    )
    # Encodings in which the bytes are the same text are one, of the newer name.
    texts: dict[str, tuple[str, float]] = {}
    for one in found:
        encoding, confidence = codec_named(one["encoding"] or ""), one["confidence"]
        if encoding is None:
            continue
        text = telling.decode(encoding, "replace")
        known_as, its = texts.setdefault(text, (encoding, confidence))
        if known_as in OLD_SYSTEMS and encoding not in OLD_SYSTEMS:
            texts[text] = encoding, its
    likely = list(texts.values())
    if not likely or likely[0][1] < _ENOUGH:
        # Where nothing fits, chardet names one all the same.
        return 0.0, _Guess(None, ())
    best, confidence = likely[0]
    if best in OLD_SYSTEMS:
        level = (one for one, its in likely if its * _LEVEL >= confidence)
        best = next((one for one in level if one not in OLD_SYSTEMS), best)
    names = dict.fromkeys([best, *(one for one, its in likely if its >= _ENOUGH)])
    others = [its for one, its in likely if one != best and _is_rival(one, best)]
    is_long = len(telling) >= _SHORT_BYTES
    is_ahead = len(likely) > 1 and max(others, default=0.0) * _AHEAD <= confidence
    is_certain = is_ahead or confidence >= (_SURE_OF_MUCH if is_long else _SURE)
    if not is_long and _bytes_beyond_ascii(telling) < _FEWEST:
        is_certain = False
    return confidence, _Guess(best if is_certain else None, tuple(names)[:_NAMED_CANDIDATES])


def _is_rival(other: str, best: str) -> bool:
    """Return whether a text may as well be in another encoding as in the best one.

    Between Windows and older systems the better one will do: those texts are rare by now.
    """
    return best in OLD_SYSTEMS or other not in OLD_SYSTEMS


def not_certain(data: bytes | None = None, candidates: Sequence[str] | None = None) -> str:
    """Return why bytes that are not UTF-8 are not read, and what helps.

    Args:
        data: The bytes; None: where they are not UTF-8 is not told.
        candidates: The likeliest encodings; None: they are looked for.
    """
    if candidates is None:
        candidates = _detected(data).candidates if data is not None else ()
    told = "not UTF-8" if data is None else undecodable_at(data, UTF8)
    names = [name.upper() for name in candidates]
    perhaps = f" (perhaps {' or '.join(names)})" if names else ""
    return (
        f"{told}, and which encoding it is in is not certain{perhaps}: name it, as with "
        f"--encoding {candidates[0] if candidates else 'gb18030'}, or save it as UTF-8; "
        "--encoding keep takes the bytes as they are"
    )


class RecordDecoder:
    """Decodes the records of a source one by one, each by itself.

    A record is UTF-8; else in the encoding that the beginning of its source is recognised to be
    in; else it is as a text by itself: :func:`decoded`. So it is read the same whatever was read
    before it.

    Args:
        head: The first bytes of the source.
    """

    def __init__(self, head: bytes) -> None:
        self._head = head

    def decoded(self, record: bytes) -> Decoded | str:
        """Return the text of a record; or why its encoding is not certain."""
        if (text := strictly_decoded(record, UTF8)) is not None:
            return unmarked_text(record) or Decoded(text, UTF8, 0)
        return _recognised_text(record, self._usual) or decoded(record)

    @cached_property
    def _usual(self) -> str | None:
        return recognised_of_lines(self._head)


def recognised_of_lines(head: bytes) -> str | None:
    """Return the encoding that those lines of a file are in that are not UTF-8; None: unknown.

    Args:
        head: The first bytes of the file; the last line may be cut off.
    """
    lines = head.split(b"\n")
    whole = lines[:-1] or lines
    foreign = [line for line in whole if strictly_decoded(line, UTF8) is None]
    return recognised(b"\n".join(foreign)) if foreign else None


def _recognised_text(data: bytes, encoding: str | None) -> Decoded | None:
    """Return the text of bytes in an encoding, if all are of it and it is a text."""
    text = None if encoding is None else strictly_decoded(data, encoding)
    if encoding is None or text is None:
        return None
    made = Decoded(text, encoding, 0, is_detected=True)
    return made if _is_text(made) else None


def _is_nearly_utf8(made: Decoded, data: bytes, beyond_ascii: int) -> bool:
    """Return whether bytes are UTF-8 of which a few are damaged, or the last ones cut off."""
    if made.replaced * _FEW <= beyond_ascii:
        return True
    damaged = _damaged(made)
    characters = len(made.text) - made.text.count("\ufffd") - (len(data) - beyond_ascii)
    is_much = damaged * _MANY <= characters and damaged * _FEW_OF_ALL <= len(data)
    return characters > 0 and is_much and _is_text(made)


def _has_line_of_utf8(data: bytes) -> bool:
    """Return whether some line is UTF-8, and that not by chance: it is so in no other encoding."""
    return any(
        _bytes_beyond_ascii(line) >= _NOT_BY_CHANCE and strictly_decoded(line, UTF8) is not None
        for line in data.splitlines()
    )


def _damaged(made: Decoded) -> int:
    """Return how many bytes could not be read, but for those of a character cut off at the end."""
    is_cut_off = made.encoding in (UTF8, *MULTIBYTE) and made.text.endswith("\ufffd")
    return made.replaced - (min(made.replaced, _LONGEST_CHARACTER) if is_cut_off else 0)


def _is_text(made: Decoded) -> bool:
    """Return whether a recognised text holds no control character, and no U+FFFD of its own."""
    has_marks = not made.replaced and "\ufffd" in made.text
    return not has_marks and _CONTROL.search(made.text) is None


def _bytes_beyond_ascii(data: bytes) -> int:
    return len(data.translate(None, delete=_ASCII))


def _telling(data: bytes) -> bytes:
    """Return the bytes that tell an encoding: those around what is not ASCII, so many at most.

    A stretch ends at a blank, which is a part of no other character in any encoding but UTF-16
    and UTF-32, which have NUL bytes.
    """
    if len(data) <= _WHOLE_BYTES or b"\0" in data:
        return data[:_DETECTED_BYTES]
    parts = []
    size = place = 0
    while size < _DETECTED_BYTES and (found := _BEYOND_ASCII.search(data, place)) is not None:
        start = max(place, found.start() - _STRETCH_BYTES)
        least = found.start() + _STRETCH_BYTES
        blank = _BLANK.search(data, least, least + _LONGEST_BYTES)
        place = least if blank is None else blank.end()
        parts.append(data[start:place])
        size += place - start
    return b"".join(parts)
