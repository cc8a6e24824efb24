"""Bytes of the web to text: which encoding they are in, and what could not be read."""

from __future__ import annotations

import codecs
import re
import threading
from dataclasses import dataclass
from typing import Any

from simstore.errors import InvalidParameter, MissingExtra
from simstore.text.decoding import UTF8_BOM, well_formed

UTF8 = "utf-8"
# UTF-32 before UTF-16, whose mark it begins with.
_MARKS = (
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
_MULTIBYTE = frozenset(
    {"gb18030", "big5hkscs", "cp932", "euc_jp", "iso2022_jp", "cp949", "utf-16-le", "utf-16-be"}
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
_KNOWN = _MULTIBYTE | {
    UTF8,
    "utf-32-le",
    "utf-32-be",
    "koi8-r",
    "koi8-u",
    "cp866",
    "cp874",
    "mac-roman",
    "mac-cyrillic",
    *(f"cp{number}" for number in range(1250, 1259)),
    *(f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
}
_WIDE_WIDTHS = (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2))
_DETECTED_BYTES = 200_000
# Where a page or an XML document says what it is in: WHATWG, HTML, section 13.2.3.2 (1,024 bytes);
# pages with long comments or scripts in front say it later.
_PRESCAN_BYTES = 4_096
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([a-z0-9_:.+-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([a-z0-9_:.+-]{1,40})", re.IGNORECASE)
_COUNTED = "simstore.counted"
_ASCII = bytes(range(128))
# A text whose encoding is right may have a damaged byte among so many that are not ASCII.
_FEW = 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and how it was read.

    Attributes:
        text: Without surrogates.
        encoding: Name of Python's codec.
        replaced: Bytes that could not be read; each run of them is a U+FFFD.
    """

    text: str
    encoding: str
    replaced: int

    @property
    def metadata(self) -> dict[str, Any]:
        """What is kept with a document: nothing where all of it was UTF-8."""
        told: dict[str, Any] = {} if self.encoding == UTF8 else {"encoding": self.encoding}
        if self.replaced:
            told["replaced_bytes"] = self.replaced
        return told


def decoded(data: bytes, *, declared: str | None = None) -> Decoded:
    """Return the text of bytes from the web.

    A byte order mark says the encoding. Else it is the declared one, if all bytes are of it; but
    what is declared to be of single bytes, which any bytes are, and is UTF-8, is UTF-8 (servers
    declare Latin-1 for all they have). Else UTF-8, if all bytes are. Else the first of the declared
    one, UTF-8 and what the bytes look like that reads all but a twentieth of those beyond ASCII;
    or the one that reads most.

    Args:
        data: The bytes.
        declared: Name of an encoding, as HTTP, a page or an XML document tells it; one that is not
            known is as none.

    Raises:
        MissingExtra: The encoding must be recognised, and the library for it is not installed.
    """
    for mark, marked in _MARKS:
        if data.startswith(mark):
            return decoded_as(data[len(mark) :], marked)
    named = codec_named(declared) if declared else None
    for tried in (named, UTF8) if named in _MULTIBYTE else (UTF8, named):
        if tried is not None and (text := _strict(data, tried)) is not None:
            return Decoded(text, tried, 0)
    beyond_ascii = len(data.translate(None, delete=_ASCII))
    found: list[Decoded] = []
    for candidate in (named, UTF8, recognised):
        encoding = candidate(data) if callable(candidate) else candidate
        if encoding is not None:
            found.append(decoded_as(data, encoding))
            if found[-1].replaced * _FEW <= beyond_ascii:
                return found[-1]
    return min(found, key=lambda one: one.replaced)


def decoded_as(data: bytes, encoding: str) -> Decoded:
    """Return the text of bytes in an encoding; what cannot be read is replaced and counted."""
    _replaced.count = 0
    text = data.decode(encoding, _COUNTED)
    # UTF-16 of some codecs lets half a character pass.
    return Decoded(well_formed(text), encoding, _replaced.count)


def has_wide_mark(data: bytes) -> bool:
    """Return whether bytes begin with the byte order mark of UTF-16 or UTF-32."""
    return any(data.startswith(mark) for mark, _ in _MARKS[1:])


def wide_encoding(head: bytes) -> str | None:
    """Return which of UTF-16 and UTF-32 a file of lines is in; None: in neither.

    By its byte order mark; without one, where its first bytes are a character of ASCII, as field
    names and braces are, and so have NUL bytes at their places.

    Args:
        head: The first bytes of the file.
    """
    for mark, marked in _MARKS[1:]:
        if head.startswith(mark):
            return marked
    for encoding, width in _WIDE_WIDTHS:
        first = head[: 4 * width]
        shown = first.decode(encoding, "replace")
        if len(shown) == 4 and "\0" not in shown and shown.isascii():
            return encoding
    return None


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
        raise InvalidParameter(f"no encoding is called {name!r}: gb18030, big5, shift_jis, koi8-r")
    return found


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


def recognised(data: bytes) -> str | None:
    """Return the encoding that bytes look most like, by chardet; None: like none of the known.

    Raises:
        MissingExtra: chardet is not installed.
    """
    try:
        import chardet
    except ImportError:
        raise MissingExtra("recognising encodings", "web") from None
    found = chardet.detect(
        data,
        encoding_era=chardet.EncodingEra.MODERN_WEB,
        max_bytes=_DETECTED_BYTES,
        prefer_superset=True,
    )
    return codec_named(found["encoding"] or "")


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


class _Replaced(threading.local):
    """How many bytes were replaced by this thread."""

    count = 0


_replaced = _Replaced()


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    _replaced.count += error.end - error.start
    return "\ufffd", error.end


codecs.register_error(_COUNTED, _replace)
