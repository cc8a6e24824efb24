"""What the page tells people holds: of what was looked for, of who may look, of what they typed."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import httpx
import pytest
from served import serve

from simstore import Store

from .test_page import browsing, check, own, visible

LONG = (
    "Divers inspecting the central pier last autumn found that the lower ring had worn quite "
    "unevenly, so that the span dropped four centimetres towards the fish quay."
)


@pytest.fixture
def quoted(tmp_path: Path) -> Path:
    """A store with a text and a passage index."""
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("long", LONG)
    return tmp_path / "s.db"


@pytest.mark.slow
def test_who_can_open_a_report_is_told_as_it_is(quoted: Path) -> None:
    with serve(quoted) as served, browsing(served.url) as ask:
        said = visible(ask.get("/"))
        assert "whoever uses this computer and knows the address" in said
        # It is so: another browser opens it.
        place = check(ask, LONG).url.path
        with browsing(served.url) as other:
            assert other.get(place).status_code == 200
    with Store.open(quoted) as store:
        secret = store.tokens.add("reader", "read")
    with serve(quoted) as served, browsing(served.url) as ask:
        ask.post("/login", data={"token": secret, "next": "/"}, headers=own(served))
        said = visible(ask.get("/"))
        assert "opens only for whoever signs in with the same token" in said
        assert "whoever uses this computer" not in said


def typed(answer: httpx.Response) -> dict[str, str]:
    """What the fields of the form on a page are filled with; a browser drops one line end."""
    areas = re.findall(r'<textarea id="\w+" name="(\w+)"[^>]*>\n(.*?)</textarea>', answer.text,
                       re.DOTALL)  # fmt: skip
    fields = {name: unescape(text) for name, text in areas}
    number = r'<input id="\w+" name="(\w+)" type="number"[^>]* value="([^"]*)"'
    fields |= {name: unescape(value) for name, value in re.findall(number, answer.text)}
    for name in re.findall(r'<input type="checkbox" name="(\w+)" value="1" checked>', answer.text):
        fields[name] = "1"
    if '<option value="window" selected>' in answer.text:
        fields["by"] = "window"
    return fields


@pytest.mark.slow
def test_an_error_keeps_what_was_typed(quoted: Path) -> None:
    fields = {
        "text": "\n</textarea><b>My</b> paper & “words”.\n\nA second paragraph.\n",
        "high": "0.4", "moderate": "0.6", "by": "window", "exclude": "mine/*\n</textarea>",
        "exclude_quotations": "1", "include_self": "1",
    }  # fmt: skip
    with serve(quoted) as served, browsing(served.url) as ask:
        assert typed(ask.get("/")) == {
            "text": "", "exclude": "", "high": "0.8", "moderate": "0.5", "sentences": "1",
        }  # fmt: skip
        answer = ask.post("/check", data=fields, files=[("file", ("", b""))])
        assert answer.status_code == 400
        assert typed(answer) == fields
        assert "Moderate has to be at most high." in visible(answer)
        assert '<details class="options" open>' in answer.text
        assert "Choose the files again" not in visible(answer)
        # And again from there.
        again = ask.post(
            "/check", data=typed(answer) | {"high": "0.9"}, files=[("file", ("", b""))]
        )
        assert again.url.path.startswith("/report/")
        broken = check(ask, "", ("paper.docx", b"no zip"), exclude="mine/*")
        assert broken.status_code == 422
        assert typed(broken)["exclude"] == "mine/*"
        said = visible(broken)
        assert "paper.docx: it is not a Word document (.docx), or is damaged" in said
        assert "Choose the files again" in said
        # Programs get what programs read.
        told = ask.post("/check", data=fields, headers={"Accept": "application/json"})
        assert told.headers["content-type"] == "application/problem+json"
