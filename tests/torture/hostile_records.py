"""Files of records, some of which are malformed, with what is known of each record."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

from .hostile_texts import Hostile, odd, plain, printable

_KEYS = ("key", "id", "url", "doc_id")
_TEXTS = ("text", "content", "body")
# Lines that are no record, whoever reads them.
_NO_RECORDS = (
    '{"id": "x", "text": "cut', '{"id": "x" "text": "t"}', '{"id": "x", "text": "t",}',
    "{'id': 'x', 'text': 't'}", "[]", '["text"]', "7", '"text"', "null", "true", "{}", '{"id": 1}',
    '{"id": "x", "text": 7}', '{"id": "x", "text": null}', '{"id": "x", "text": ["t"]}',
    '{"id": true, "text": "t"}', '{"id": [], "text": "t"}', '{"id": {}, "text": "t"}',
    '{"id": "", "text": "t"}', '{"id": "x", "text": "t", "n": NaN}',
    '{"id": "x", "text": "t", "n": [Infinity]}', '{"id": 1e999, "text": "t"}',
    '{"id": "x", "text": "t"} {"id": "y", "text": "t"}', '{"id": "x", "text": "a\tb\x01c"}',
    '{"id": "x", "text": "t", "n": 1e9999}',
    '{"id": "x", "text": "t", "m": ' + "[" * 65 + "]" * 65 + "}",
    '{"id": "x", "text": "t", "m": ' + '{"a":' * 70 + "1" + "}" * 70 + "}",
    '{"id": "x", "text": "t", "m": ' + "[" * 100_000 + "]" * 100_000 + "}",
    '{"id": "x", "text": "t", "m": ' + "[" * 100_000, "x" * 5_000, "\x00", "\x00" * 100, "{", '{"',
    '{"id', "}", "\\", "//", "nul",
)  # fmt: skip
# Those that may be a record or none; @ is a key, # a number, of this line alone.
_DOUBTFUL = (
    b'{"id": "@", "text": "t\xff"}', b'{"id": "@\xe9t\xe9", "text": "caf\xe9 caf\xe9"}',
    b'{"id": "@\\ud800", "text": "half \\udc00 a character \\ud83d"}',
    b'{"id": "@\\u0000y", "text": "a\\u0000b"}', b'{"id": 7, "id": "@", "text": "t", "text": 9}',
    b'{"id": #, "text": "t"}', b'{"id": -#.0, "text": "t"}', b'{"id": #e-5, "text": "t"}',
    b'{"id": "@", "text": "t", "n": ' + b"9" * 5_000 + b"}",
    b'{"id": "@", "text": "", "title": "\\ud800", "collection": "\\u0000"}',
    b'{"id": "@", "text": "t", "title": "' + b"t" * 70_000 + b'"}',
    b'{"id": "@' + b"k" * 70_000 + b'", "text": "t"}',
    b'{"id": "@", "text": "t", "collection": "' + b"c" * 70_000 + b'"}',
    b'{"id": "@", "text": "t", "": {"": [[], {}, ""]}, "\\ud800": 1, "a.b": {"c": 2}}',
    b'{"document_id": 1, "key": "@", "text": "t", "digest": "zz", "first_seen": "never"}',
    b'{"document_id": -1, "key_base64": "!!", "text": "t", "first_seen": 1e300}',
    b'{"document_id": 1, "key": "@", "text": "t", "digest": "' + b"0" * 32 + b'", "source": "", '
    b'"first_seen": -9223372036854775809, "first_seen_basis": "ingest", "last_seen": 1e308}',
    b'{"id": "@", "text": "t", "m": "' + b"m" * 1_100_000 + b'"}',
    b"\xef\xbb\xbf" + b'{"id": "@", "text": "t"}', b"\xed\xa0\x80",
    b'{"id": "@", "text": "t", "seen_at": "yesterday"}', b'{"id": " @ ", "text": " "}',
    b'{"id": "../@", "text": "t"}', b'{"id": "-@", "text": "t"}', b'{"id": "@!/y", "text": "t"}',
    b'{"id": "@\\n\\r\\t", "text": "\\r\\n"}', b'{"id": "@\xc0\x80", "text": "t"}',
)  # fmt: skip


def json_lines(chance: Random, name: str) -> Hostile:
    """Return JSON Lines with odd values, and lines that are none."""
    lines: list[bytes] = []
    made = Hostile(name, b"", "JSON Lines", count=0, is_wrong=False)
    assert made.count is not None
    tame = chance.random() < 0.3
    for number in range(chance.randrange(1, 25)):
        kind = 0.0 if tame else chance.random()
        if kind < 0.7:
            lines.append(_record(chance, f"{name}#{number}", made.sure))
            made.count += 1
        elif kind < 0.78:
            lines.append(chance.choice((b"", b" ", b"\t \r", b"\r")))
        elif kind < 0.9:
            line = chance.choice(_NO_RECORDS)
            made.is_wrong = True
            made.count += 1
            lines.append(line.encode())
            made.story += f"; line {number + 1}: {line[:60]!r}"
        else:
            number_of_its_own = b"%d" % chance.getrandbits(90)
            line_bytes = chance.choice(_DOUBTFUL).replace(b"@", f"{name}#{number}".encode())
            line_bytes = line_bytes.replace(b": #", b": " + number_of_its_own)
            line_bytes = line_bytes.replace(b": -#", b": -" + number_of_its_own)
            lines.append(line_bytes)
            made.is_wrong = True if made.is_wrong else None
            made.count += 1
            made.story += f"; line {number + 1}: {line_bytes[:60]!r}"
    ends = chance.choice((b"\n", b"\r\n"))

    def grow(chance: Random, key: str) -> tuple[bytes, dict[str, str]]:
        known: dict[str, str] = {}
        more = [_record(chance, f"{key}{number}", known) for number in range(chance.randrange(9))]
        first = b"" if made.data.endswith(ends) else ends
        return first + ends.join(more) + chance.choice((b"", ends)), known

    made.grows = grow
    made.data = ends.join(lines) + chance.choice((b"", ends))
    if chance.random() < 0.1:
        made.data = b"\xef\xbb\xbf" + made.data
    if lines[0].startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in made.data[:400]:
        # It may be taken for UTF-16.
        made.forget("it begins like UTF-16")
    return made


def _record(chance: Random, key: str, sure: dict[str, str]) -> bytes:
    text = odd(chance, lines=True)
    key += chance.choice(("", "", " ", "'", '"', "%", "é", "天", "*", "\u202e", "\\", "/", "?#"))
    fields: list[tuple[str, Any]] = [
        (chance.choice(_KEYS), key),
        (chance.choice(_TEXTS), text),
    ]
    for _ in range(chance.randrange(4)):
        name = chance.choice(("title", "collection", "site", "n", "", "天", "a.b", "$", "metadata"))
        fields.append((name, chance.choice(_values(chance))))
    chance.shuffle(fields)
    fields = list(dict(fields).items())
    sure[key] = text
    # What is not ASCII may be escaped, and blanks may stand about.
    separators = chance.choice(((",", ":"), (", ", ": "), (" ,\t", " : ")))
    line = json.dumps(dict(fields), ensure_ascii=chance.random() < 0.5, separators=separators)
    return f"{chance.choice(('', ' ', chr(9)))}{line}{chance.choice(('', ' '))}".encode()


def _values(chance: Random) -> tuple[Any, ...]:
    return (
        None, True, 0, -1, 2**63, -(2**70), 1e300, 5e-324, "", " ", odd(chance), [], {}, [[]],
        {"": {"": None}}, [None, 1, "x", [2]], "2026-05-01", "x" * 2_000, {"k" * 300: 1},
        json.loads("[" * 60 + "]" * 60),
    )  # fmt: skip


def table(chance: Random, name: str) -> Hostile:
    """Return a table in a dialect of CSV, and rows that are none."""
    tabbed = name.endswith((".tsv", ".tab"))
    delimiter = "\t" if tabbed else chance.choice(",;|")
    end = chance.choice(("\n", "\r\n"))
    quoting = chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
    names = ["id", chance.choice(_TEXTS), "site", "n", "x y"][: chance.randrange(2, 6)]
    order = list(range(len(names)))
    chance.shuffle(order)
    made = Hostile(name, b"", f"CSV by {delimiter!r}", count=0, is_wrong=False)
    assert made.count is not None
    rows: list[str] = [_row([names[at] for at in order], delimiter, end, quoting)]
    tame = chance.random() < 0.4
    for number in range(chance.randrange(1, 25)):
        key = f"{name}#{number}"
        text = odd(chance, lines=True).replace("\r\n", "\n").replace("\r", " ").strip("\x00")
        cells = [key, text, *(odd(chance) for _ in names[2:])]
        kind = 0.0 if tame else chance.random()
        if kind < 0.8:
            made.sure[key] = text
            rows.append(_row([cells[at] for at in order], delimiter, end, quoting))
        elif kind < 0.86:
            rows.append(_row([*(cells[at] for at in order), "more"], delimiter, end, quoting))
            made.is_wrong = True
        elif kind < 0.92:
            rows.append(_row([cells[at] for at in order][:-1], delimiter, end, quoting))
            made.is_wrong = True
            if len(names) == 2 and not _row([cells[order[0]]], delimiter, end, quoting).strip():
                raise AssertionError("a row of one cell is not blank")
        elif kind < 0.96:
            rows.append(end)
            continue
        else:
            rows.append(f'"{plain(chance)}" and more{delimiter}x{end}')
            made.is_wrong = True
        made.count += 1
    made.data = "".join(rows).encode()

    def grow(chance: Random, key: str) -> tuple[bytes, dict[str, str]]:
        known, more = {}, []
        for number in range(chance.randrange(9)):
            text = odd(chance, lines=True).replace("\r\n", "\n").replace("\r", " ")
            cells = [f"{key}{number}", text, *(odd(chance) for _ in names[2:])]
            known[f"{key}{number}"] = text
            more.append(_row([cells[at] for at in order], delimiter, end, quoting))
        return "".join(more).encode(), known

    made.grows = grow
    if not tame and chance.random() < 0.2:
        # Rows after it are read anew, line by line.
        made.data += f'"never closed{delimiter}{end}'.encode()
        made.is_wrong = True
        made.count += 1
        made.story += "; a quote is not closed at the end"
    if chance.random() < 0.1:
        made.data = b"\xef\xbb\xbf" + made.data
    return made


def _row(cells: list[str], delimiter: str, end: str, quoting: Any) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting).writerow(cells)
    return out.getvalue()


def article_file(chance: Random, name: str) -> Hostile:
    """Return pages between form feeds."""
    made = Hostile(name, b"", "article file", count=0, is_wrong=False)
    assert made.count is not None
    pages = []
    for number in range(chance.randrange(1, 12)):
        before = chance.choice(("", "", "\n", " \t\r\n", "\v", "\n" * 1_000))
        if chance.random() < 0.15:
            pages.append(before)
            continue
        key = f"{name}#{number}{chance.choice(('', ' x', ',', chr(9) + 'y', '天', chr(1)))}"
        line_end = chance.choice(("\n", "\r\n", "\r"))
        text = odd(chance, lines=True)
        if line_end == "\r" and text.startswith("\n"):
            text = f"x{text}"
        made.sure[key] = text
        made.count += 1
        pages.append(f"{before}{key}{chance.choice(('', ' ', chr(9)))}{line_end}{text}")
    made.data = "\f".join(pages).encode() + chance.choice((b"", b"\f", b"\f\n"))

    def grow(chance: Random, key: str) -> tuple[bytes, dict[str, str]]:
        known = {f"{key}{number}": odd(chance, lines=True) for number in range(chance.randrange(9))}
        more = "".join(f"\f{one}\n{text}" for one, text in known.items())
        return more.encode(), known

    made.grows = grow
    if not made.sure:
        made.count = 0
    return made


def lines_of_text(chance: Random, name: str) -> Hostile:
    """Return a text; it is one document."""
    text = printable("\n".join(odd(chance, lines=True) for _ in range(chance.randrange(1, 6))))
    text = text.removeprefix("\ufeff")
    data = text.encode()
    made = Hostile(name, data, "text", {name: text}, count=1, is_wrong=False)
    kind = chance.random()
    if kind < 0.2:
        made.data = b"\xef\xbb\xbf" + data
    elif kind < 0.3:
        made.data = b"\xff\xfe" + text.encode("utf-16-le")
    elif kind < 0.4:
        made.data = b"\xfe\xff" + text.encode("utf-16-be")
    elif kind < 0.5:
        place = chance.randrange(len(data) + 1)
        made.data = data[:place] + chance.randbytes(chance.randrange(1, 30)) + data[place:]
        made.data = made.data.replace(b"\f", b"")
        made.sure, made.is_wrong = {}, None
        made.story += f"; any bytes at {place}"
    return made


_HTML = (
    b"<p>", b"</p>", b"<a href=", b"'/x#y'>", b'"http://[bad">', b"<!--", b"-->", b"<base href=",
    b"<link rel=canonical href=//x>", b"<meta name=date content=", b"2026-05-01>",
    b"<script type='application/ld+json'>", b'{"datePublished":', b'"2026"}', b"</script>",
    b"<meta charset=", b"gbk>", b"utf-16>", b"x-user-defined>", b"utf-7>", b"&#0;", b"&#xd800;",
    b"&#x110000;", b"\x00", b"\xff", b"<title>", b"<table><tr><td>", b"<svg><p>", b"<template>",
    b"</body>", b"<time datetime=9999-99-99>", b"<article>", b"<frameset>", b"<![CDATA[", b"<?xml",
    b"<div>" * 3_000, b"<b><i>" * 500, b"<a href=x>" * 500, b"&amp" * 500, b"<select><option>",
    b"<math><mi>", b"<plaintext>", b"<textarea>", b"<noscript>", b"<isindex>",
    b"<p " + b"x=1 " * 500, b'<script type="application/ld+json">' + b"[" * 5_000,
    b"<html lang='" + b"x" * 3_000 + b"'>",
    b'<meta property="article:published_time" content="99999999-01-01T00:00:00+99:99">',
)  # fmt: skip


def page(chance: Random, name: str) -> Hostile:
    """Return a page of tags in any order; it is one document, or rejected."""
    parts = [b"<!doctype html><html><body>"]
    for _ in range(chance.randrange(30)):
        parts.append(chance.choice(_HTML))
        if chance.random() < 0.5:
            parts.append(odd(chance).encode())
    return Hostile(name, b"".join(parts), "a page of any tags", count=1)


def markdown(chance: Random, name: str) -> Hostile:
    """Return a text with front matter, or with what looks like it."""
    front = chance.choice(("", "---\n", "+++\n", "---\na: b\n---\n", "---\n" * 3_000, "---\r\n"))
    text = front + printable(odd(chance, lines=True))
    return Hostile(name, text.encode(), "Markdown", count=1, is_wrong=False)


def web_archive(chance: Random, name: str) -> Hostile:
    """Return web archive records: conversions, responses in every coding, and malformed ones."""
    made = Hostile(name, b"", "WARC", is_wrong=False)
    parts: list[bytes] = []
    spoiled = False
    for number in range(chance.randrange(1, 12)):
        uri = f"http://e.example/{name}/{number}"
        text = f"{plain(chance, 20)} {number}"
        kind = chance.random()
        if kind < 0.45:
            parts.append(_warc(chance, uri, text.encode(), b"text/plain", b"conversion"))
            if not spoiled:
                made.sure[uri] = text
            spoiled = False
        elif kind < 0.75:
            body, is_good = _response(chance, text)
            parts.append(_warc(chance, uri, body, b"application/http; msgtype=response"))
            if is_good and not spoiled:
                made.sure[uri] = text
            elif not is_good:
                made.is_wrong = True if made.is_wrong else None
            spoiled = False
        else:
            # A length that is too large takes of the record behind it.
            part, spoiled_next = _malformed(chance, uri, text)
            parts.append(part)
            made.is_wrong = True if made.is_wrong else None
            made.story += f"; record {number}: {part[:120]!r}"
            spoiled = spoiled_next
    made.data = b"".join(parts)
    return made


def _warc(
    chance: Random,
    uri: str,
    body: bytes,
    media: bytes,
    kind: bytes = b"response",
    length: int | None = None,
) -> bytes:
    end = b"\r\n"
    headers = [
        b"WARC-Type: " + kind,
        b"WARC-Target-URI: " + uri.encode(),
        b"WARC-Date: 2026-05-01T12:00:00Z",
        b"WARC-Record-ID: <urn:uuid:%032x>" % chance.getrandbits(128),
        b"Content-Type: " + media,
        b"Content-Length: %d" % (len(body) if length is None else length),
    ]
    chance.shuffle(headers)
    version = chance.choice((b"WARC/1.0", b"WARC/1.1"))
    return end.join((version, *headers, b"", body, b"", b""))


def _response(chance: Random, text: str) -> tuple[bytes, bool]:
    """Return a response of HTTP, and whether it must be read."""
    body = text.encode()
    headers = [b"Content-Type: text/plain; charset=utf-8"]
    good = True
    if chance.random() < 0.5:
        packer: Callable[[bytes], bytes]
        coding, packer = chance.choice(((b"gzip", gzip.compress), (b"deflate", zlib.compress)))
        packed = packer(body)
        if chance.random() < 0.3:
            place = chance.randrange(2, len(packed))
            packed = packed[:place]
            good = False
        elif chance.random() < 0.1:
            packed = packer(b"a" * 20_000_000)
            good = False
        body = packed
        headers.append(b"Content-Encoding: " + coding)
    if chance.random() < 0.5:
        headers.append(b"Transfer-Encoding: chunked")
        size = chance.randrange(1, 30)
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"
        if chance.random() < 0.3:
            body = chance.choice(
                (body[:-7], body.replace(b"\r\n", b"\n", 1), b"ffffffffffffffff\r\n" + body,
                 b"-5\r\n" + body, body + b"tail", b"0\r\n\r\n" + body)
            )  # fmt: skip
            good = False
    status = b"200"
    if chance.random() < 0.1:
        status, good = chance.choice((b"404", b"301", b"2000", b"-1", b"")), False
    return b"\r\n".join((b"HTTP/1.1 " + status + b" OK", *headers, b"", body)), good


def _malformed(chance: Random, uri: str, text: str) -> tuple[bytes, bool]:
    """Return a record that is malformed, and whether it spoils the next one too."""
    body = text.encode()
    # Less than the next record has, and ending in no line that begins one.
    if chance.random() < 0.3:
        more = chance.randrange(1, 60)
        whole = _warc(chance, uri, body, b"text/plain", b"conversion", len(body) + more)
        return whole, True
    whole = _warc(chance, uri, body, b"text/plain", b"conversion")
    if chance.random() < 0.3:
        length = chance.choice((0, 1, len(body) // 2))
        return _warc(chance, uri, body, b"text/plain", b"conversion", length), False
    return chance.choice(
        (
            whole.replace(b"Content-Length: ", b"Content-Length: -"),
            whole.replace(b"Content-Length: ", b"Content-Length: x"),
            whole.replace(b"Content-Length: ", b"X-Length: "),
            whole.replace(b"WARC-Date: 2026", b"WARC-Date: 9999999"),
            whole.replace(b"WARC-Target-URI: ", b"X: "),
            whole.replace(b"WARC-Type: conversion", b"WARC-Type: revisit"),
            whole.replace(b"WARC-Type: conversion", b"WARC-Type: \x00"),
            whole.replace(b"WARC/1.", b"WARC/x."),
            whole.replace(b"text/plain", b"application/octet-stream"),
            b"garbage that is no record\r\n\r\n" + whole,
            whole + b"\r\n\r\n\r\nWARC/\r\n",
            b"\r\n" * 500 + whole,
        )
    ), False
