"""Decode text by a named or declared character encoding, and count undecodable bytes."""

from __future__ import annotations

import codecs
import re
import threading
from dataclasses import dataclass
from typing import Any

from simstore.errors import InvalidParameter
from simstore.model.documents import DETECTED, ENCODING, REPLACED
from simstore.text.decoding import UTF8_BOM, well_formed

UTF8 = "utf-8"
# UTF-32 before UTF-16, whose mark it begins with.
MARKS = (
    (UTF8_BOM, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What the web means by a name is often more than the standard of that name: WHATWG, Encoding
# Standard, section 4.2 (names and labels). Keys as Python's codecs call themselves.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}
MULTIBYTE = frozenset(
    {
        "gb18030",
        "big5hkscs",
        "cp932",
        "euc_jp",
        "iso2022_jp",
        "iso2022_jp_2",
        "iso2022_jp_ext",
        "iso2022_kr",
        "cp949",
        "hz",
        "johab",
        "utf-16-le",
        "utf-16-be",
    }
)
# Names that only the web uses.
_LABELS = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "x-gbk": "gb18030",
    "gb_2312-80": "gb18030",
    "x-euc-jp": "euc_jp",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "x-mac-roman": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "iso-8859-8-i": "iso8859-8",
}
# Of DOS, and of Macintosh computers before 2001.
OLD_SYSTEMS = frozenset(
    {
        *(f"cp{number}" for number in (437, 737, 775, 850, 852, 855, *range(857, 867), 869)),
        *(f"mac-{name}" for name in ("roman", "cyrillic", "greek", "turkish", "latin2", "iceland")),
    }
)
_KNOWN = (
    MULTIBYTE
    | OLD_SYSTEMS
    | {
        UTF8,
        "utf-32-le",
        "utf-32-be",
        "koi8-r",
        "koi8-u",
        "cp874",
        *(f"cp{number}" for number in range(1250, 1259)),
        *(f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    }
)
# Where a page or an XML document says what it is in: WHATWG, HTML, section 13.2.3.2 (1,024 bytes);
# pages with long comments or scripts in front say it later.
_PRESCAN_BYTES = 4_096
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([a-z0-9_:.+-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([a-z0-9_:.+-]{1,40})", re.IGNORECASE)
_COUNTED = "simstore.counted"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded text, with its encoding and the number of undecodable bytes.

    Attributes:
        text: Without surrogates, but for bytes that are kept as they are.
        encoding: Name of Python's codec.
        replaced: Bytes that could not be read; each run of them is a U+FFFD.
        is_detected: Nothing told the encoding: it was recognised by the bytes.
    """

    text: str
    encoding: str
    replaced: int
    is_detected: bool = False

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata about the decoding; empty where all of the text was UTF-8."""
        told: dict[str, Any] = {} if self.encoding == UTF8 else {ENCODING: self.encoding}
        if self.is_detected:
            told[DETECTED] = True
        if self.replaced:
            told[REPLACED] = self.replaced
        return told


def decoded_as(data: bytes, encoding: str) -> Decoded:
    """Return the text of bytes in an encoding; what cannot be read is replaced and counted."""
    if encoding == UTF8:
        # What is dropped is what is replaced; to count it by a handler takes 100 times as long.
        read = len(data.decode(UTF8, "ignore").encode(UTF8))
        return Decoded(data.decode(UTF8, "replace"), UTF8, len(data) - read)
    _replaced.count = 0
    text = data.decode(encoding, _COUNTED)
    # UTF-16 of some codecs lets half a character pass.
    return Decoded(well_formed(text), encoding, _replaced.count)


def as_bytes(data: bytes) -> Decoded:
    """Decode UTF-8; other bytes become surrogate escapes (PEP 383)."""
    return Decoded(data.decode(UTF8, "surrogateescape"), UTF8, 0)


def has_wide_mark(data: bytes) -> bool:
    """Return whether bytes begin with the byte order mark of UTF-16 or UTF-32."""
    return any(data.startswith(mark) for mark, _ in MARKS[1:])


def line_end_in(encoding: str) -> bytes:
    """Return LF in an encoding, which is none with states."""
    return "\n".encode(encoding)


def codec_named(name: str) -> str | None:
    """Return Python's codec for what the web calls an encoding; None: it is none of the web's."""
    name = name.strip().lower()
    try:
        found = _LABELS.get(name) or codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    found = _MEANT.get(found, found)
    return found if found in _KNOWN else None


def checked_codec(name: str) -> str:
    """Return Python's codec for an encoding that a person names.

    Raises:
        InvalidParameter: There is none.
    """
    found = codec_named(name)
    if found is None:
        raise InvalidParameter(
            f"no encoding is called {name!r}; known are gb18030, big5, shift_jis, koi8-r and "
            "others of Python, and auto and keep"
        )
    return found


def checked_encoding(name: str) -> str:
    """Validate the encoding of a user's option: ``auto``, ``keep``, or the name of an encoding.

    Raises:
        InvalidParameter: No encoding is called so.
    """
    return name if name in ("auto", "keep") else checked_codec(name)


def declared_encoding(head: bytes) -> str | None:
    """Return the encoding that an XML declaration or a page's ``meta`` element names.

    Args:
        head: The first bytes of a page; at least 4,096 of them, or all.
    """
    head = head[:_PRESCAN_BYTES]
    found = _XML.match(head) or _META.search(_COMMENT.sub(b"", head))
    if found is None:
        return None
    codec = codec_named(found[1].decode("ascii"))
    # Who could read this far in single bytes did not read UTF-16.
    return UTF8 if codec is not None and codec.startswith("utf-") else codec


def strictly_decoded(data: bytes, encoding: str) -> str | None:
    """Return the text of bytes in an encoding; None: some of them are not of it."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def undecodable_at(data: bytes, encoding: str) -> str:
    """Return that bytes are not of an encoding, and from which one on."""
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return f"not {encoding.upper()} at byte {error.start}"
    return f"not {encoding.upper()}"


class _Replaced(threading.local):
    """A counter, for each thread, of undecodable bytes that were replaced."""

    count = 0


_replaced = _Replaced()


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    _replaced.count += error.end - error.start
    return "\ufffd", error.end


codecs.register_error(_COUNTED, _replace)
