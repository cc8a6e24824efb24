"""Queries, checks and comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from served import PATIENCE_SECONDS, serve

from simstore import Store

from .asked import TEXT, add, refused


@pytest.mark.parametrize("processes", ["0", "1"])
def test_one_text_and_several_tell_alike_that_some_documents_wait(
    tmp_path: Path, processes: str
) -> None:
    place = tmp_path / "s.db"
    with Store.create(place, scheme="simtool") as store:
        store.add("a", TEXT, refresh=False)

    def told(asked: httpx.Client, text: str) -> list[dict[str, Any]]:
        bodies = ({"text": text}, {"samples": [{"text": text}]}, {"samples": [{"text": text}] * 3})
        found = [asked.post("/v1/query", json=body).json() for body in bodies]
        return [{k: v for k, v in one.items() if k != "samples"} for one in found]

    # Its vocabulary is looked at anew after something was written by the server.
    with (
        serve(place, "--query-processes", processes) as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as asked,
    ):
        long = TEXT + " of " * 100_000
        for text in (TEXT, long):
            one, *several = told(asked, text)
            assert several == [one] * 2
            assert (one["radius"], one["bits"], one["scheme"]) == (3, 64, "simtool/1")
            assert "no generation was made yet" in one["stale"]
        page = asked.get("/search", params={"q": TEXT}).text
        assert "Not every document was looked at: no generation was made yet" in page
        with Store.open(place) as store:
            store.vocabulary.refresh()
        assert [one["stale"] for one in told(asked, TEXT)] == [None] * 3
        assert "Not every document" not in asked.get("/search", params={"q": TEXT}).text


def test_papers_beside_each_other_are_a_report_where_a_page_is_asked_for(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT))
    papers = [{"text": TEXT, "key": "p"}, {"text": f"Mine. {TEXT}", "key": "q"}]
    asked: dict[str, Any] = {"json": {"papers": papers}, "headers": {"Accept": "text/html"}}
    for lang, title in (("en", "2 papers"), ("zh", "2 \u7bc7\u6587\u7ae0")):
        page = ask.post(f"/v1/check/mutual?lang={lang}", **asked)
        assert page.headers["Content-Type"].startswith("text/html")
        assert "script-src" in page.headers["Content-Security-Policy"]
        assert f"<h1>{title}</h1>" in page.text
        # The pair with its place side by side, and the library's document as a source of both.
        assert page.text.count("data-pair=") == 1
        assert page.text.count("<bdi>a</bdi>") >= 2
    none = ask.post("/v1/check/mutual", json={"papers": []}, headers={"Accept": "text/html"})
    refused(none, 422, "MalformedRequest")


def test_a_file_whose_encoding_is_detected_says_so_and_one_in_none_is_refused(
    ask: httpx.Client,
) -> None:
    text = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
    add(ask, ("a", text))
    files = {"file": ("paper.txt", text.encode("gbk"))}
    (found,) = ask.post("/v1/check", files=files).json()["papers"]
    assert (found["text"], found["totals"]["share"]) == (text, 1.0)
    decoding = {"encoding": "gb18030", "is_detected": True, "replaced_bytes": 0}
    assert found["decoding"] == decoding
    report = ask.post("/v1/check", files=files, headers={"Accept": "text/html"}).text
    assert "read as GB18030, which was detected" in report
    odd = {"file": ("odd.txt", b"\xff\xff")}
    told = refused(ask.post("/v1/check", files=odd), 422, "UnreadableSource")
    assert "not UTF-8 at byte 0" in told["detail"]
    (found,) = ask.post("/v1/check", files=odd, data={"encoding": "koi8-r"}).json()["papers"]
    assert (found["text"], found["decoding"]) == ("ЪЪ", None)
    wrong = ask.post("/v1/check", files=odd, data={"encoding": "klingon"})
    refused(wrong, 400, "InvalidParameter")


def test_wrong_forms_are_refused(ask: httpx.Client) -> None:
    file = {"file": ("a.txt", TEXT.encode())}
    for options in (
        {"files": {"other": ("a.txt", b"x")}},
        {"files": file, "data": {"text": "t"}},
        {"files": file, "data": {"options": "{"}},
        {"files": file, "data": {"options": '{"window": "x"}'}},
        {"files": {"options": ("a.txt", b"{}"), "text": (None, "t")}},
        {"files": {**file, "again": ("b.txt", b"x")}},
        {"content": b"nothing", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
        {"content": b"nothing", "headers": {"Content-Type": "multipart/form-data"}},
    ):
        reply = ask.post("/v1/check", **options)  # type: ignore[arg-type]
        assert refused(reply, 422, "MalformedRequest")["place"].startswith("body"), options
