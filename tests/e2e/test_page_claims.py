"""What the page tells people holds: of what was looked for, of who may look, of what they typed."""

from __future__ import annotations

import random
import re
from html import unescape
from pathlib import Path

import httpx
import pytest
from page_stores import store_without_passages
from served import serve

from simstore import Store

from .test_page import browsing, check, document, drawn, own, visible

SHORT = "The lamp keeper counts his oil."
LONG = (
    "Divers inspecting the central pier last autumn found that the lower ring had worn quite "
    "unevenly, so that the span dropped four centimetres towards the fish quay."
)


def words(count: int, seed: int) -> str:
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefghiklmnoprstu", k=6)) for _ in range(count))


@pytest.fixture
def quoted(tmp_path: Path) -> Path:
    """A store in which many documents quote a text, one has half of it, and the last one is it."""
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        half = LONG.partition(",")[0]
        store.add("half", f"{half} {words(20, 99)}")
        for number in range(12):
            around = words(60, number), words(60, number + 50)
            store.add(f"quotes/{number}", f"{around[0]} {SHORT} {LONG} {around[1]}")
            store.add(f"near/{number}", f"{SHORT} {words(2, number)}")
        store.add("copy of the long", LONG)
        store.add("copy of the short", SHORT)
    return tmp_path / "s.db"


def found(answer: httpx.Response) -> list[tuple[str, str]]:
    """Key and figures of each document that was found, in their order."""
    hits = re.findall(r"<li><div class=\"of\">.*?</li>", answer.text, re.DOTALL)
    plain = [" ".join(unescape(re.sub(r"<[^>]*>", " ", hit)).split()) for hit in hits]
    keys = [re.findall(r"key=([^\"&]*)", hit)[0].replace("%20", " ") for hit in hits]
    told = (said.partition("Text in document ")[2] for said in plain)
    return list(zip(keys, told, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "copy"), [(SHORT, "copy of the short"), (LONG, "copy of the long")]
)
def test_the_copy_of_a_text_is_found_first_and_with_one_figure(
    quoted: Path, text: str, copy: str
) -> None:
    with serve(quoted) as served, browsing(served.url) as ask:
        hits = found(ask.get("/search", params={"q": text}))
    assert hits[0][0] == copy
    shares = [float(said.split("%")[0]) for _, said in hits]
    assert hits[0][1].startswith("100% Resemblance 100%")
    assert shares == sorted(shares, reverse=True)
    assert min(shares) > 0
    assert shares.count(100) == sum(key != "half" for key, _ in hits) > 12
    if text is LONG:
        # What counts is the words that both have, not all that lies between them.
        assert 40 < dict(zip(dict(hits), shares, strict=True))["half"] < 80


@pytest.mark.slow
def test_a_search_says_what_was_not_looked_for(quoted: Path, tmp_path: Path) -> None:
    with serve(quoted) as served, browsing(served.url) as ask:
        long = visible(ask.post("/search", data={"q": "words of a text " * 2_000}))
        assert "Shared passages were not looked for. The text has more than 20,000" in long
        assert "not looked for" not in visible(ask.get("/search", params={"q": SHORT}))
    with (
        serve(store_without_passages(tmp_path / "none.db")) as served,
        browsing(served.url) as ask,
    ):
        said = visible(ask.get("/search", params={"q": "no such words"}))
        assert "Shared passages were not looked for. This store has no passage index." in said
        assert "simstore passages build" in said


@pytest.mark.slow
def test_a_store_without_clusters_says_that_nobody_has_looked(quoted: Path) -> None:
    with serve(quoted) as served, browsing(served.url) as ask:
        said = visible(ask.get(document("half")))
        assert "No other document is like it" not in said
        assert "no kept cluster takes in this text yet" in said
        assert "simstore clusters" in said
        overview = visible(drawn(ask))
        assert "No duplicates were found" not in overview
        assert "No clusters are kept." in overview
    with Store.open(quoted) as store:
        store.clusters.build()
    with serve(quoted) as served, browsing(served.url) as ask:
        assert "No other document is like it" in visible(ask.get(document("half")))
        assert "No clusters are kept." not in visible(drawn(ask))
    with Store.open(quoted) as store:
        store.add("new", words(90, 7))
    with serve(quoted) as served, browsing(served.url) as ask:
        assert "no kept cluster takes in this text yet" in visible(ask.get(document("new")))
        assert "Texts that have not been compared yet: 1." in visible(drawn(ask))


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("paper.docx", b"PK\x03\x04 nothing", "it is not a Word document (.docx), or is damaged"),
        ("paper.doc", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "an older Word document"),
        ("paper.pdf", b"My paper", "it is not a PDF file"),
        ("paper.txt", b"", "there is no text in it"),
    ],
)
def test_files_that_cannot_be_read_are_told_of_in_plain_words(
    quoted: Path, name: str, data: bytes, reason: str
) -> None:
    with serve(quoted) as served, browsing(served.url) as ask:
        said = visible(check(ask, "", (name, data)))
        assert reason in said
        assert not re.search(r"[A-Z]\w+(Error|Exception|File)\b|--\w", said), said
