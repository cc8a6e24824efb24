"""The worst single requests that are known: what came near to keeping a server from others.

Each is what is sent on one connection, piece by piece. After each the server must be as it was: it
answers others, and ends when it is told to. The answer may be any that the service documents;
``statuses`` says which, where only some are right.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HOST = b"Host: localhost\r\n"
# What a server may answer: not 500 and 502, which nobody meant.
DOCUMENTED = frozenset(
    {200, 201, 204, 206, 303, 304, 307, 400, 401, 403, 404, 405, 408, 409, 413, 415, 416, 422, 429,
     431, 501, 503, 504, 507}
)  # fmt: skip
KEY = "a" * 4_000
TEXT = "A crawler fetches pages and remembers which of them it has seen before it keeps the page."


@dataclass(frozen=True)
class Worst:
    """A request, or what pretends to be one.

    Attributes:
        name: What it is.
        parts: What is sent; the answer is waited for after the last.
        statuses: Of the answer, where there is one.
        must_answer: It is to be answered, not only survived.
        pause: Seconds between the parts.
        waits: Seconds that the answer is waited for; what takes longer is left.
    """

    name: str
    parts: tuple[bytes, ...]
    statuses: frozenset[int] = field(default=DOCUMENTED)
    must_answer: bool = True
    pause: float = 0.0
    waits: float = 45.0


def request(
    method: str, path: str, body: bytes = b"", more: Mapping[str, str] | None = None
) -> bytes:
    """Return a request as bytes."""
    fields = {"Connection": "close", "Content-Type": "application/json", **(more or {})}
    if body:
        fields.setdefault("Content-Length", str(len(body)))
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n".encode() + HOST + lines.encode() + b"\r\n" + body


def _json(path: str, value: Any, method: str = "POST", **more: str) -> bytes:
    return request(method, path, json.dumps(value).encode(), more)


def _form(path: str, parts: list[tuple[str, bytes]], boundary: str = "b") -> bytes:
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + data + b"\r\n"
        for head, data in parts
    )
    body += f"--{boundary}--\r\n".encode()
    kind = f"multipart/form-data; boundary={boundary}"
    return request("POST", path, body, {"Content-Type": kind})


def _docx_bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("word/document.xml", "<a>" + "a" * 200_000_000)
    return out.getvalue()


def _zip_of_many() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(5_000):
            archive.writestr(f"{number}.txt", f"text {number}")
    return out.getvalue()


def _ok(name: str, sent: bytes, *statuses: int) -> Worst:
    return Worst(name, (sent,), frozenset(statuses) if statuses else DOCUMENTED)


_CHUNKED = {"Transfer-Encoding": "chunked"}
_MARKS = "a" + "\u0300" * 60_000 + "\u0316" * 60_000
_STARS = "*" + "a*" * 400 + "z"
_DEEP = b"[" * 100_000
_STORY = f"/v1/documents/{KEY}?story=1&original="

WORST: tuple[Worst, ...] = (
    # Patterns.
    _ok("an expression that backtracks", request("GET", _STORY + "prefer:(.%2B)%2B@"), 200),
    _ok("an expression of expressions", request("GET", _STORY + "prefer:((a{1000}){1000})"), 400),
    _ok(
        "an expression of optional letters",
        request("GET", _STORY + "prefer:" + "a%3F" * 300 + "a" * 300),
    ),
    _ok(
        "an expression of nested groups", request("GET", _STORY + "prefer:" + "(" * 450 + ")" * 450)
    ),
    _ok(
        "patterns of stars",
        _json("/v1/check", {"text": TEXT, "options": {"exclude": [_STARS] * 900}}),
    ),
    _ok(
        "blanks before a list of references",
        _json(
            "/v1/check",
            {
                "text": TEXT + "\nreferences" + " " * 200_000 + "x",
                "options": {"exclude_bibliography": True},
            },
        ),
        200,
    ),
    _ok(
        "quotation marks that open and never close",
        _json("/v1/check", {"text": '"“«‹„' * 40_000, "options": {"exclude_quotations": True}}),
    ),
    # Texts.
    _ok("marks that have to be put in order", _json("/v1/query", {"text": _MARKS}), 200),
    _ok(
        "marks to be compared",
        _json("/v1/compare", {"a": {"text": _MARKS}, "b": {"text": _MARKS[::-1]}}),
    ),
    _ok("a word of megabytes", _json("/v1/query", {"text": "a" * 4_000_000}), 200, 503, 504),
    _ok("a word again and again", _json("/v1/query", {"text": "a " * 2_000_000}), 200, 503, 504),
    _ok("a word again and again, to be checked", _json("/v1/check", {"text": "ferry " * 600_000})),
    _ok("sentences without an end", _json("/v1/check", {"text": "a.b" * 400_000})),
    _ok("ligatures that grow", _json("/v1/query", {"text": "ﷺ" * 300_000}), 200, 503, 504),
    _ok("Han without blanks", _json("/v1/query", {"text": "天地玄黄" * 200_000}), 200, 503, 504),
    _ok(
        "long texts to be compared",
        _json("/v1/compare", {"a": {"text": "a b " * 300_000}, "b": {"text": "b a " * 300_000}}),
    ),
    # JSON.
    _ok("brackets", request("POST", "/v1/query", _DEEP), 422),
    _ok("brackets that close", request("POST", "/v1/seen", _DEEP + b"]" * 100_000), 422),
    _ok("braces", request("POST", "/v1/documents", b'{"a":' * 100_000), 422),
    _ok(
        "brackets in metadata",
        request(
            "POST",
            "/v1/documents",
            b'{"key": "d", "text": "t", "metadata": {"n": %b}}' % (_DEEP[:5_000] + b"]" * 5_000),
        ),
        422,
    ),
    _ok(
        "a number of a million digits",
        request("POST", "/v1/query", b'{"text": "t", "limit": ' + b"9" * 1_000_000 + b"}"),
        422,
        400,
    ),
    _ok(
        "a number that is none",
        request("POST", "/v1/query", b'{"text": "t", "radius": 1e999}'),
        400,
        422,
    ),
    _ok("NaN", request("POST", "/v1/query", b'{"text": "t", "min_resemblance": NaN}'), 400, 422),
    _ok(
        "a name a hundred thousand times",
        request("POST", "/v1/query", b"{" + b",".join([b'"text": "t"'] * 100_000) + b"}"),
    ),
    _ok(
        "as many names",
        request(
            "POST", "/v1/query", b"{" + b",".join(b'"t%d": 0' % n for n in range(100_000)) + b"}"
        ),
        422,
    ),
    _ok(
        "half characters",
        request("POST", "/v1/query", b'{"text": "' + b"\\ud800" * 100_000 + b'"}'),
    ),
    _ok(
        "NULs",
        request(
            "POST", "/v1/documents", b'{"key": "n\\u0000", "text": "' + b"\\u0000" * 99_000 + b'"}'
        ),
    ),
    _ok("no UTF-8", request("POST", "/v1/query", b'{"text": "\xff\xfe\xed\xa0\x80"}'), 422, 400),
    _ok("a key of a megabyte", _json("/v1/seen", {"keys": ["k" * 1_000_000]})),
    _ok(
        "a thousand samples",
        _json("/v1/query", {"samples": [{"text": TEXT}] * 1_000}),
        200,
        503,
        504,
    ),
    # Bodies.
    _ok("a bomb of gzip", _json("/v1/query", {}, **{"Content-Encoding": "gzip"}), 415),
    _ok(
        "a bomb of gzip that is one",
        request(
            "POST", "/v1/documents", gzip.compress(b"a" * 100_000_000), {"Content-Encoding": "gzip"}
        ),
        415,
    ),
    _ok(
        "a form of ten thousand fields",
        _form("/v1/check", [(f'name="f{n}"', b"x") for n in range(10_000)]),
    ),
    _ok(
        "a form of files",
        _form("/v1/check", [(f'name="file"; filename="{n}.txt"', b"text") for n in range(500)]),
    ),
    _ok(
        "a document that is a bomb",
        _form("/v1/check", [('name="file"; filename="a.docx"', _docx_bomb())]),
    ),
    _ok(
        "an archive of thousands",
        _form("/v1/check", [('name="file"; filename="a.zip"', _zip_of_many())]),
    ),
    _ok(
        "a table that says it is huge",
        _form(
            "/v1/check", [('name="file"; filename="a.parquet"', b"PAR1" + b"\xff" * 500 + b"PAR1")]
        ),
    ),
    _ok(
        "a file whose name is marks",
        _form("/v1/check", [(f'name="file"; filename="{_MARKS[::40]}.txt"', b"t")]),
    ),
    _ok(
        "a field's head without an end",
        _form("/v1/check", [('name="' + "x" * 1_000_000 + '"', b"t")]),
    ),
    _ok("a boundary of dashes", _form("/v1/check", [('name="text"', b"-" * 3_000_000)], "-" * 60)),
    _ok(
        "a boundary that is missing",
        request("POST", "/v1/check", b"--\r\n" * 9, {"Content-Type": "multipart/form-data"}),
    ),
    _ok(
        "a type of blanks",
        request(
            "POST",
            "/v1/check",
            b"x",
            {"Content-Type": "multipart/form-data; boundary=" + " \t" * 20_000 + "x"},
        ),
    ),
    _ok(
        "a type of quotes",
        request(
            "POST",
            "/v1/check",
            b"x",
            {"Content-Type": 'application/x-www-form-urlencoded; !="' + "\\" * 30_000},
        ),
    ),
    _ok(
        "a form of signs",
        request(
            "POST",
            "/check",
            b"&" * 1_000_000,
            {"Content-Type": "application/x-www-form-urlencoded"},
        ),
    ),
    _ok(
        "a login of megabytes",
        request(
            "POST",
            "/login",
            b"token=" + b"%ff" * 300_000,
            {"Content-Type": "application/x-www-form-urlencoded"},
        ),
    ),
    _ok(
        "lines that are blank",
        request(
            "POST", "/v1/documents", b"\n" * 1_000_000, {"Content-Type": "application/x-ndjson"}
        ),
    ),
    _ok(
        "lines that are none",
        request("POST", "/v1/documents", b"[\n" * 20_000, {"Content-Type": "application/x-ndjson"}),
    ),
    _ok(
        "a line without an end",
        request(
            "POST", "/v1/documents", b"x" * 3_000_000, {"Content-Type": "application/x-ndjson"}
        ),
    ),
    # Addresses and fields.
    _ok("an address of 60 kB", request("GET", "/v1/documents/" + "%ff" * 20_000), 404, 431),
    _ok("an address with a NUL", request("GET", "/v1/documents/%00"), 404),
    _ok("an address that climbs", request("GET", "/static/..%2f..%2f..%2fetc%2fpasswd"), 404),
    _ok("an address that climbs twice", request("GET", "/static/%252e%252e/%2e%2e/x"), 404),
    _ok("a question of thousands", request("GET", "/v1/documents?" + "limit=1&" * 7_000)),
    _ok(
        "cursors that are none",
        request("GET", "/v1/documents?after=%F0%9F%92%A9&limit=99999999999999999999"),
    ),
    _ok("search for stars", request("GET", "/search?q=" + "*%3F" * 10_000)),
    _ok(
        "languages by the thousand",
        request("GET", "/", more={"Accept-Language": "zh;q=0.1," * 6_000}),
    ),
    _ok(
        "types by the thousand",
        request("GET", "/v1/documents", more={"Accept": "a/b;q=0.1," * 6_000}),
    ),
    _ok("a cookie of 60 kB", request("GET", "/", more={"Cookie": "a=" + '"\\' * 30_000})),
    _ok(
        "ranges by the thousand",
        request("GET", "/v1/known-keys", more={"Range": "bytes=" + "0-0," * 14_000}),
    ),
    _ok(
        "tags by the thousand",
        request("GET", "/v1/known-keys", more={"If-None-Match": '"x",' * 14_000}),
    ),
    _ok(
        "a token of 60 kB",
        request("GET", "/v1/stats", more={"Authorization": "Bearer " + "x" * 60_000}),
    ),
    _ok(
        "a token of other letters",
        request("GET", "/v1/stats", more={"Authorization": "Basic \u00ff\u00fe"}),
    ),
    _ok(
        "fields by the thousand",
        request("GET", "/healthz", more={f"x{n}": "" for n in range(5_000)}),
        200,
        431,
    ),
    _ok(
        "a filter with room for all",
        request("GET", "/v1/known-keys?capacity=9223372036854775807"),
        400,
        422,
    ),
    _ok("a filter without a rate", request("GET", "/v1/known-keys?false_positive_rate=1e-300")),
    # What is no request.
    _ok("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    _ok("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), 400),
    _ok("NULs and nothing else", bytes(70_000), 400, 431),
    _ok(
        "two lengths",
        request("POST", "/v1/query", b"ab", {"Content-Length": "2\r\nContent-Length: 1"}),
        400,
    ),
    _ok(
        "a length and chunks",
        request("POST", "/v1/query", b"ab", {**_CHUNKED, "Content-Length": "2"}),
        400,
    ),
    _ok("a length below zero", request("POST", "/v1/query", b"x", {"Content-Length": "-1"}), 400),
    _ok(
        "a length beyond all",
        request("POST", "/v1/query", b"x", {"Content-Length": "9" * 19}),
        400,
        413,
    ),
    _ok(
        "a chunk beyond all",
        request("POST", "/v1/query", b"f" * 16 + b"\r\n", {**_CHUNKED, "Content-Length": ""}),
        400,
        413,
    ),
    _ok(
        "a thousand requests at once",
        request("GET", "/healthz", more={"Connection": "keep-alive"}) * 1_000
        + request("GET", "/healthz"),
        200,
    ),
    _ok("CONNECT", request("CONNECT", "localhost:22")),
    _ok("TRACE", request("TRACE", "/healthz"), 405),
    _ok(
        "a web socket",
        request(
            "GET",
            "/v1/stats",
            more={
                "Connection": "Upgrade, close",
                "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "x",
            },
        ),
    ),
    # What comes slowly, or not at all.
    Worst(
        "a head that never ends",
        (b"GET / HTTP/1.1\r\n", *[b"x: y\r\n"] * 20),
        must_answer=False,
        pause=0.1,
        waits=6,
    ),
    Worst(
        "a body that never comes",
        (request("POST", "/v1/documents", b"{", {"Content-Length": "1000"}),),
    ),
    Worst(
        "a body byte by byte",
        (request("POST", "/v1/query", b"{", {"Content-Length": "1000"}), *[b" "] * 30),
        pause=0.1,
    ),
    Worst(
        "a chunk that never comes",
        (
            b"POST /v1/query HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
            b"ff\r\n",
        ),
    ),
    Worst(
        "chunks with long names",
        (
            b"POST /v1/query HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n",
            b"1;" + b"x" * 2_000_000 + b"\r\n{\r\n0\r\n\r\n",
        ),
        must_answer=False,
        waits=6,
    ),
    Worst(
        "trailers without end",
        (
            b"POST /v1/query HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
            *[b"x: " + b"y" * 60_000 + b"\r\n"] * 20,
        ),
        must_answer=False,
        waits=6,
    ),
    Worst(
        "a body that is waited for",
        (
            b"POST /v1/query HTTP/1.1\r\n"
            + HOST
            + b"Expect: 100-continue\r\nContent-Length: 9999999\r\n\r\n",
        ),
    ),
)
