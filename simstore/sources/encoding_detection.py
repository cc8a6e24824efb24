"""Detect the character encoding of bytes that declare none, or have no byte order mark."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
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

_WIDE_MARKS = tuple(mark for mark, _ in MARKS[1:])
_WIDE_WIDTHS = (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2))
# The first bytes tell enough: an eighth of those of Chinese in UTF-16 are control characters or
# NUL, half of those of Russian, and of English.
_SAMPLE_BYTES = 4_096
_CONTROLS = bytes(one for one in range(0x20) if one not in b"\t\n\v\f\r\x1b")
_FEWEST_CONTROLS = 0.01
# A few characters of one script prove nothing: the bytes 0, 1, 2, 3 are two Latin ones.
_FEWEST_BYTES = 8
# Share of the characters that must be of one script, or of those that all scripts use. Bytes of
# other encodings, taken two by two, are Han, Yi, Hangul and unassigned characters in turn.
_OF_ONE_SCRIPT = 0.9
# Letters of ASCII taken two by two are Han characters; but rare ones.
_FREQUENT_SHARE, _FEWEST_FREQUENT = 0.08, 2
_FREQUENT_HAN = frozenset(
    "的一是不了在人有我他这这個个们們中来來上大为為和国國地到以说說时時要就出会會可也你对對生能而子那得于於着"
    "下自之年过過发發后後作里裡用道行所然家种種事成方多经經么麼去法学學如都同现現当當没沒动動面起看定天分还還"
    "进進好小部其些主样樣理心她本前开開但因只从從想实實日者意无無力它与與长長把机機十民第公此已工使情明性知全"
    "三又关關点點正业業外将將两兩高间間由问問很最重并並物手应應向头頭文体體政美相见見被利什二等产產或新己制身"
    "果加西月话話合回特代内內信表化老给給世位次度门門任常先海通教原东東提立及比员員解水名真论論处處走义義各入"
    "几幾口认認条條平系气氣题題活更别別打女变變四神总總何电電数數安少报報才结結反受目太量再感建务務做接必场場"
    "件计計管期市直资資命指许許统統区區保至形社便空决決治展科五基书書非则則白却界达達光放强強即难難且权權思王"
    "象完设設式色路记記南品住告类類求据據程北边邊该該交规規万萬取望术術领領共确確传傳观觀清今切院让讓识識带帶"
    "请請输輸值字符网網站页頁户戶码碼选選择擇删刪除添修改错錯误誤列每項目項必须須包含用者私達語本当込覧録氏"
)
# Where a script begins; None: characters that all scripts use; "": such as stand in few texts.
_SCRIPTS: tuple[tuple[int, str | None], ...] = (
    (0x00, ""), (0x09, None), (0x0E, ""), (0x1A, None), (0x1B, ""), (0x20, None), (0x7F, ""),
    (0xA0, "latin"), (0x250, ""), (0x300, "latin"), (0x370, "greek"), (0x400, "cyrillic"),
    (0x530, "armenian"), (0x590, "hebrew"), (0x600, "arabic"), (0x700, ""), (0x900, "devanagari"),
    (0x980, "bengali"), (0xA00, "gurmukhi"), (0xA80, "gujarati"), (0xB00, "odia"), (0xB80, "tamil"),
    (0xC00, "telugu"), (0xC80, "kannada"), (0xD00, "malayalam"), (0xD80, "sinhala"),
    (0xE00, "thai"), (0xE5C, ""), (0xE80, "lao"), (0xEE0, ""), (0x1000, "burmese"),
    (0x10A0, "georgian"), (0x1100, ""), (0x1780, "khmer"), (0x1800, ""), (0x1E00, "latin"),
    (0x1F00, "greek"), (0x2000, ""), (0x200B, None), (0x2040, ""), (0x20A0, None), (0x20C0, ""),
    (0x2100, None), (0x2140, ""), (0x2190, None), (0x2200, ""), (0x25A0, None), (0x2600, ""),
    (0x3000, None), (0x3041, "kana"), (0x3100, ""), (0x3130, "hangul"), (0x3190, ""),
    (0x4E00, "han"), (0x9FA6, ""), (0xAC00, "hangul"), (0xD7A4, ""), (0xFB50, "arabic"),
    (0xFE00, ""), (0xFE30, None), (0xFE50, ""), (0xFE70, "arabic"), (0xFF00, None),
    (0xFF66, "kana"), (0xFFA0, ""), (0x1F300, None), (0x1FA00, ""), (0x20000, ""),
)  # fmt: skip
_STARTS = [start for start, _ in _SCRIPTS]
_EAST_ASIAN = ("kana", "hangul", "han")
# Seven bits say what follows: ISO 2022 and HZ.
_ESCAPES = (
    (re.compile(rb"\x1b\$\)C"), ("iso2022_kr",)),
    (re.compile(rb"\x1b\$(?:[@AB]|\([CD])"), ("iso2022_jp", "iso2022_jp_2", "iso2022_jp_ext")),
    (re.compile(rb"~\{(?:[\x21-\x77][\x21-\x7e]){2,}"), ("hz",)),
)
# A cut at the end may damage a character, and the way back to ASCII.
_MOST_DAMAGED = 4
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
# git, buffer_is_binary and convert_is_binary; file, text_chars.
_GIT_BYTES, _GIT_SHARE = 8_000, 128
_UNPRINTABLE = re.compile(rb"[\x00-\x06\x0e-\x19\x1c-\x1f\x7f]")
_NO_TEXTS = (
    (
        b"SQLite format 3\0",
        "it is an SQLite database: write its rows to a CSV file, and ingest that",
    ),
    (b"{\\rtf", "it is RTF, not text: save it as .docx or plain text"),
)
# Characters of no text that a person wrote; blanks, form feed, and the end mark of DOS are.
_CONTROL = re.compile("[\x00-\x08\x0e-\x19\x1b-\x1f\x80-\x9f]")


def decoded(data: bytes, *, declared: str | None = None, is_markup: bool = True) -> Decoded | str:
    """Return the text of bytes; or why their encoding is not certain.

    The first of these that holds says the encoding: a byte order mark; NUL and control characters
    or escapes, that make bytes UTF-16, UTF-32, ISO 2022 or HZ (:func:`unmarked_text`); UTF-8,
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


def why_binary(head: bytes) -> str | None:
    """Return why bytes are no text, whatever encoding they might be in; None: they may be one.

    By the definition of git: there is a NUL among the first 8,000 bytes, or more than one in 128 of
    them is unprintable (and two at least); bell, backspace, escape and the end mark of DOS are not,
    as for ``file``. What is UTF-16, UTF-32, ISO 2022 or HZ is a text.

    >>> why_binary(b"some words")
    >>> why_binary(b"GIF89a" + bytes(20))
    'it is binary, not text: 20 of its first 26 bytes are NUL or other control characters; ...'

    Args:
        head: The first bytes of the file.
    """
    for beginning, reason in _NO_TEXTS:
        if head.startswith(beginning):
            return reason
    sample = head[:_GIT_BYTES]
    count = len(_UNPRINTABLE.findall(sample))
    is_likely = b"\0" in sample or count > max(1, len(sample) // _GIT_SHARE)
    if not is_likely or any(head.startswith(mark) for mark, _ in MARKS[1:]):
        return None
    if unmarked_text(head) is not None:
        return None
    return (
        f"it is binary, not text: {count:,} of its first {len(sample):,} bytes are NUL or other "
        "control characters; --encoding NAME names its encoding, --encoding keep takes any bytes"
    )


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
        try:
            text = record.decode()
        except UnicodeDecodeError:
            return _recognised_text(record, self._usual) or decoded(record)
        unmarked = unmarked_text(record)
        # A record is whole: where escapes leave a part unread, they are none.
        is_by_chance = unmarked is not None and unmarked.replaced and b"\0" not in record
        if unmarked is None or is_by_chance:
            return Decoded(text, UTF8, 0)
        return unmarked

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


def wide_encoding(head: bytes) -> str | None:
    """Return which of UTF-16 and UTF-32 bytes are in; None: in neither.

    By their byte order mark. Without one, if their first characters are of ASCII, as field names
    and braces are, and so have NUL bytes at their places; or if there are NUL bytes and control
    characters among the first bytes, and the text that they would be is one: nearly all of one
    script, and not of rare characters.

    Args:
        head: The first bytes of the file; more than 4,096 tell no more.

    Example:
        >>> wide_encoding("Все люди рождаются".encode("utf-16-be"))
        'utf-16-be'
        >>> wide_encoding(b"All human beings") is None
        True
    """
    for mark, marked in MARKS[1:]:
        if head.startswith(mark):
            return marked
    sample = head[:_SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, delete=_CONTROLS))
    if controls <= _FEWEST_CONTROLS * len(sample):
        return None
    for encoding, width in _WIDE_WIDTHS:
        first = sample[: 4 * width]
        shown = first.decode(encoding, "replace")
        if len(shown) == 4 and "\0" not in shown and shown.isascii():
            return encoding
    if len(sample) < _FEWEST_BYTES:
        return None
    likely = ((_likeness(sample, encoding), encoding) for encoding, _ in _WIDE_WIDTHS)
    likeness, encoding = max(likely)
    return encoding if likeness >= _OF_ONE_SCRIPT else None


def unmarked_text(data: bytes) -> Decoded | None:
    """Return the text of bytes that are surely UTF-16, UTF-32, ISO 2022 or HZ without a mark.

    Half a character at the end is replaced, and counted.
    """
    if not _may_be_unmarked(data):
        return None
    wide = wide_encoding(data)
    tried = (wide,) if wide is not None else _escaped(data)
    best = min((decoded_as(data, one) for one in tried), key=lambda one: one.replaced, default=None)
    if best is None or best.replaced > _MOST_DAMAGED or "\x1b" in best.text:
        return None
    return replace(best, is_detected=True)


def _may_be_unmarked(data: bytes) -> bool:
    """Return whether bytes have a mark, an escape or a control character; most texts have none."""
    sample = data[:_SAMPLE_BYTES]
    # To look for one byte is much faster than for two.
    return (
        (b"~" in data and b"~{" in data)
        or b"\x1b" in data
        or len(sample.translate(None, delete=_CONTROLS)) < len(sample)
        or data.startswith(_WIDE_MARKS)
    )


def _escaped(data: bytes) -> Iterator[str]:
    """Yield the encodings whose escapes stand in bytes, those of ISO 2022 first."""
    if data.isascii():
        for escape, encodings in _ESCAPES:
            if escape.search(data):
                yield from encodings


def _likeness(sample: bytes, encoding: str) -> float:
    """Return the share of characters that are of one script, were the bytes in an encoding."""
    # The last character may be cut.
    text = sample.decode(encoding, "replace").removesuffix("\ufffd")
    counts = Counter(_SCRIPTS[bisect_right(_STARTS, ord(c)) - 1][1] for c in text)
    common, _strange = counts.pop(None, 0), counts.pop("", 0)
    frequent = counts["kana"] + counts["hangul"] + sum(c in _FREQUENT_HAN for c in text)
    east_asian = sum(counts.pop(script, 0) for script in _EAST_ASIAN)
    most = max([east_asian, *counts.values()])
    if most == east_asian and frequent < max(_FEWEST_FREQUENT, _FREQUENT_SHARE * east_asian):
        # Of ASCII alone there is no other script either.
        most = 0
    return (common + most) / max(1, len(text))
