"""Detect the encoding of bytes that declare none."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import Any

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
    wide_encoding,
)

# Confidence of chardet that is believed; a smaller one, if it is so many times that of the next
# encoding in which the bytes are another text. Of 960 pieces of 20 to 4,000 characters in 25
# encodings 900 were read right so, 12 wrong, and 48 not.
_SURE, _ENOUGH, _AHEAD = 0.15, 0.03, 1.3
# Fewer bytes beyond ASCII tell nothing without that confidence.
_FEWEST = 3
# What is looked at: stretches with bytes beyond ASCII; more ASCII beside them makes chardet unsure.
_DETECTED_BYTES = 200_000
_STRETCH_BYTES, _LONGEST_BYTES = 20, 20_000
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_BLANK = re.compile(rb"[ \t\r\n]")
_ASCII = bytes(range(128))
# A text whose encoding is right may have a damaged byte among so many that are not ASCII.
_FEW = 20
# Seven bits say what follows: ISO 2022.
_ESCAPES = (
    (re.compile(rb"\x1b\$\)C"), ("iso2022_kr",)),
    (re.compile(rb"\x1b\$(?:[@AB]|\([CD])"), ("iso2022_jp", "iso2022_jp_2", "iso2022_jp_ext")),
)
_DOS_END = b"\x1a"
# Characters of no text that a person wrote; blanks, form feed, and the end mark of DOS are.
_CONTROL = re.compile("[\x00-\x08\x0e-\x19\x1b-\x1f\x80-\x9f]")


def decoded(data: bytes, *, declared: str | None = None, is_markup: bool = True) -> Decoded | str:
    """Return the text of bytes; or why their encoding is not certain.

    A byte order mark says the encoding. Else it is the declared one, if all bytes are of it; but
    what is declared to be of single bytes, which any bytes are, and is UTF-8, is UTF-8 (servers
    declare Latin-1 for all they have). Else UTF-8, if all bytes are. Else the first of the declared
    one, UTF-8 and what is recognised that reads all but a twentieth of those beyond ASCII. Else
    the declared one or UTF-8, if one is declared and all but a twentieth of all bytes are read.

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
    before = is_markup and named in MULTIBYTE
    for tried in (named, UTF8) if before else (UTF8, named):
        if tried is not None and (text := strictly_decoded(data, tried)) is not None:
            seven_bits = None if named is not None else _of_seven_bits(data)
            return seven_bits or Decoded(text, tried, 0)
    beyond_ascii = _bytes_beyond_ascii(data)
    found: list[Decoded] = []
    for encoding in (named, UTF8):
        if encoding is not None:
            found.append(decoded_as(data, encoding))
            if found[-1].replaced * _FEW <= beyond_ascii:
                return found[-1]
    recognised_as = recognised(data)
    if recognised_as is not None:
        made = decoded_as(data, recognised_as)
        if made.replaced * _FEW <= beyond_ascii and _is_text(made):
            return replace(made, is_detected=True)
    best = min(found, key=lambda one: one.replaced)
    if named is not None and best.replaced * _FEW <= len(data):
        return best
    return not_certain(data)


def recognised(data: bytes) -> str | None:
    """Return the encoding that bytes surely look like, by chardet; None: it is not sure."""
    chardet = _detector()
    if chardet is None:
        return None
    eras = chardet.EncodingEra
    # The others are of mainframes, or of few languages and so like those of many that they are
    # taken for them.
    known = eras.ALL & ~eras.MAINFRAME & ~eras.LEGACY_REGIONAL
    telling = _telling(data.removesuffix(_DOS_END))
    found = chardet.detect_all(
        telling,
        encoding_era=known,
        max_bytes=_DETECTED_BYTES,
        ignore_threshold=True,
    )
    best, *others = ((codec_named(one["encoding"] or ""), one["confidence"]) for one in found)
    encoding, confidence = best
    if encoding is None or confidence < _ENOUGH:
        return None
    if confidence < _SURE:
        if not others or _bytes_beyond_ascii(telling) < _FEWEST:
            # Where nothing fits, chardet names one all the same.
            return None
        text = telling.decode(encoding, "replace")
        for other, its_confidence in others:
            if its_confidence * _AHEAD <= confidence:
                break
            # Between Windows and older systems the better one will do: those texts are rare by now.
            is_rare = other in OLD_SYSTEMS and encoding not in OLD_SYSTEMS
            if not is_rare and (other is None or telling.decode(other, "replace") != text):
                return None
    return encoding


def not_certain(data: bytes | None = None) -> str:
    """Return why bytes that are not UTF-8 are not read, and what helps.

    Args:
        data: The bytes; None: where they are not UTF-8 is not told.
    """
    told = "not UTF-8" if data is None else undecodable_at(data, UTF8)
    if _detector() is None:
        return (
            f"{told}: name its encoding, as with --encoding gb18030, save it as UTF-8, or "
            "`pip install chardet` to have the encoding detected"
        )
    return (
        f"{told}, and which encoding it is in is not certain: name it, as with "
        "--encoding gb18030, or save it as UTF-8; --encoding keep takes the bytes as they are"
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
            return _of_seven_bits(record) or Decoded(text, UTF8, 0)
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


def _of_seven_bits(data: bytes) -> Decoded | None:
    """Return the text of bytes that are valid UTF-8, but surely UTF-16, UTF-32 or ISO 2022."""
    if b"\0" in data and (wide := wide_encoding(data)) is not None:
        return _recognised_text(data, wide)
    if b"\x1b$" in data and data.isascii():
        for escape, encodings in _ESCAPES:
            if escape.search(data):
                read = (_recognised_text(data, encoding) for encoding in encodings)
                return next((made for made in read if made is not None), None)
    return None


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
    if b"\0" in data:
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


def _detector() -> Any:
    """Return the library that recognises encodings; None: it is not installed."""
    try:
        import chardet
    except ImportError:
        return None
    return chardet
