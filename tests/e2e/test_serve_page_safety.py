"""The page runs nothing of what is stored or sent, and leads nowhere that it is told to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import quote

import httpx
import pytest
from served import Served, serve

from simstore import Store

PATIENCE_SECONDS = 60
HOSTILE = (
    "javascript:alert(1)",
    '"><script>alert(1)</script>',
    "https://a.example/?x=\" onmouseover=alert(1) '",
    "</script><script>alert(2)</script>",
    "</title></style></textarea><img src=x onerror=alert(3)>",
    "{{7*7}}${7*7}<%=7*7%>",
    "data:text/html,<script>alert(4)</script>",
    "//evil.example/<svg/onload=alert(5)>",
    "\u202eevil\u2066\udcff\x00\x1b[31m",
)
TEXT = " ".join(["The ferry leaves at noon; the harbour is quiet until it comes back."] * 3)
PAGES = ("/", "/overview", "/rejects", "/runs", "/login", "/search?q=", "/search?q=ferry")


class Page(HTMLParser):
    """What of a page could run, load, or lead away."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[dict[str, str | None]] = []
        self.inline: list[str] = []
        self.handlers: list[str] = []
        self.addresses: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        if tag == "script":
            self.scripts.append(found)
            self._in_script = True
        self.handlers += [name for name in found if name.startswith("on")]
        self.addresses += [
            found[name] or "" for name in ("href", "src", "action", "formaction") if name in found
        ]

    def handle_endtag(self, tag: str) -> None:
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._in_script and data.strip():
            self.inline.append(data)


def assert_safe(reply: httpx.Response, what: str) -> None:
    policy = dict(
        part.strip().partition(" ")[::2]
        for part in reply.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'", what
    assert policy["frame-ancestors"] == "'none'", what
    assert policy["base-uri"] == "'none'", what
    for kind in ("script-src", "style-src", "connect-src", "img-src", "form-action"):
        assert set(policy.get(kind, "'none'").split()) <= {"'none'", "'self'", "data:"}, what
    assert "data:" not in policy.get("script-src", ""), what
    assert reply.headers["x-content-type-options"] == "nosniff"
    page = Page(reply.text)
    assert page.handlers == [], what
    for script in page.scripts:
        # What is no program is data: a browser does not run it.
        assert "src" in script or script.get("type") == "application/json", what
    if not [one for one in page.scripts if one.get("type") == "application/json"]:
        assert page.inline == [], what
    for address in page.addresses:
        assert re.match(r"(/(?![/\\])|#|\?|$)", address), (what, address)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose store holds what hostile pages say."""
    path = tmp_path_factory.mktemp("hostile") / "store.db"
    with Store.create(path) as store:
        for number, key in enumerate(HOSTILE):
            name = key.encode(errors="replace").decode()
            store.add(
                key,
                f"{TEXT} {number} {key} {TEXT}",
                title=name,
                collection=name[:20],
                metadata={"note": name},
                links=HOSTILE[:2],
            )
            store.add(f"{key} copy", f"{TEXT} {number} {key} {TEXT}", on_duplicate="flag")
        store.passages.build()
    with serve(path) as served:
        yield served


def fetch(served: Served, path: str, method: str = "GET", **options: object) -> httpx.Response:
    headers = {"Origin": served.url, "Accept": "text/html"}
    return httpx.request(
        method, served.url + path, headers=headers, timeout=PATIENCE_SECONDS, **options
    )  # type: ignore[arg-type]


def in_address(text: str) -> str:
    return quote(text, safe="", errors="surrogateescape")


def test_pages_have_a_policy_that_runs_no_script_of_data(hostile: Served) -> None:
    for path in PAGES:
        reply = fetch(hostile, path)
        assert reply.status_code == 200, path
        assert_safe(reply, path)


def test_hostile_keys_titles_and_texts_are_shown_as_text(hostile: Served) -> None:
    for key in HOSTILE:
        for path in (f"/search?q={in_address(key)}", f"/document?key={in_address(key)}"):
            reply = fetch(hostile, path)
            assert reply.status_code == 200, path
            assert_safe(reply, path)
            assert "<script>alert" not in reply.text
            assert "<img src=x" not in reply.text
            assert "49$49" not in reply.text
        assert_safe(fetch(hostile, f"/document?key={in_address(key + ' none')}"), "not there")


@pytest.mark.slow
def test_hostile_papers_are_shown_as_text(hostile: Served) -> None:
    for text in HOSTILE:
        assert_shown_as_text(hostile, text)


def assert_shown_as_text(hostile: Served, text: str) -> None:
    # Bytes that are no text are told, not shown.
    pasted = f"{TEXT} {text} {TEXT}".encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    paper = pasted.encode()
    for form in (
        {"data": {"text": pasted}},
        {"files": {"file": (f"{text[:30]}.txt".encode("ascii", "replace").decode(), paper)}},
    ):
        reply = fetch(hostile, "/check", "POST", follow_redirects=True, **form)
        # A file with a NUL is no text, which the page says.
        is_refused = "files" in form and "\0" in text
        assert reply.status_code == (422 if is_refused else 200), reply.text[:300]
        assert ("it is binary, not text" in reply.text) == is_refused
        assert_safe(reply, text)
        assert "<script>alert" not in reply.text
        assert "<img src=x" not in reply.text
