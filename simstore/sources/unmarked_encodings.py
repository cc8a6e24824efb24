"""Recognise UTF-16 and UTF-32 without a byte order mark, ISO 2022, and HZ."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from simstore.sources.encodings import MARKS, Decoded, decoded_as

_WIDE_WIDTHS = (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2))
# The first bytes tell enough: an eighth of those of Chinese in UTF-16 are control characters or
# NUL, half of those of Russian, and of English.
_SAMPLE_BYTES = 4_096
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_FEWEST_CONTROLS = 0.01
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
    controls = len(_CONTROLS.findall(sample))
    if controls <= _FEWEST_CONTROLS * len(sample):
        return None
    for encoding, width in _WIDE_WIDTHS:
        first = sample[: 4 * width]
        shown = first.decode(encoding, "replace")
        if len(shown) == 4 and "\0" not in shown and shown.isascii():
            return encoding
    likely = ((_likeness(sample, encoding), encoding) for encoding, _ in _WIDE_WIDTHS)
    likeness, encoding = max(likely)
    return encoding if likeness >= _OF_ONE_SCRIPT else None


def unmarked_text(data: bytes) -> Decoded | None:
    """Return the text of bytes that are surely UTF-16, UTF-32, ISO 2022 or HZ without a mark.

    Half a character at the end is replaced, and counted.
    """
    wide = wide_encoding(data)
    tried = (wide,) if wide is not None else _escaped(data)
    best = min((decoded_as(data, one) for one in tried), key=lambda one: one.replaced, default=None)
    if best is None or best.replaced > _MOST_DAMAGED or "\x1b" in best.text:
        return None
    return replace(best, is_detected=True)


def _escaped(data: bytes) -> Iterator[str]:
    """Yield the encodings whose escapes stand in bytes, those of ISO 2022 first."""
    if (b"\x1b$" in data or b"~{" in data) and data.isascii():
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
