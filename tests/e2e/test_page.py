"""The page without a browser: forms, wrong inputs, what is sent with every answer."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from checked_papers import articles, english_paper
from page_stores import (
    HOSTILE,
    LATIN,
    SITES,
    empty_store,
    full_store,
    store_of_fingerprints,
    store_without_texts,
)
from served import PATIENCE_SECONDS, Served, serve

from simstore import Store

HTML = {"Accept": "text/html", "Accept-Language": "en"}
PAGES = ("/", "/search", "/overview", "/runs", "/rejects", "/login")


def browsing(url: str, **headers: str) -> httpx.Client:
    return httpx.Client(
        base_url=url, timeout=PATIENCE_SECONDS, follow_redirects=True, headers=HTML | headers
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(full_store(tmp_path_factory.mktemp("page") / "s.db")) as found:
        yield found


@pytest.fixture
def ask(served: Served) -> Iterator[httpx.Client]:
    with browsing(served.url) as client:
        yield client


def document(key: str, **more: str) -> str:
    address = quote(key, safe="", errors="surrogateescape")
    return "&".join([f"/document?key={address}", *(f"{n}={v}" for n, v in more.items())])


def visible(answer: httpx.Response) -> str:
    """What an answer says, without its marks."""
    text = re.sub(r"<script.*?</script>|<[^>]*>", " ", answer.text, flags=re.DOTALL)
    return " ".join(text.split())


def check(
    ask: httpx.Client, text: str = "", *files: tuple[str, bytes], **fields: str
) -> httpx.Response:
    parts = [("file", (name, io.BytesIO(data))) for name, data in files]
    return ask.post("/check", data={"text": text, **fields}, files=parts or [("file", ("", b""))])


@pytest.mark.slow
def test_styles_and_scripts_are_kept_by_browsers_until_they_change(ask: httpx.Client) -> None:
    page = ask.get("/").text
    places = re.findall(r'"(/static/[^"]+)"', page)
    assert len(places) >= 6
    for place in places:
        answer = ask.get(place)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        tag = answer.headers["etag"]
        assert ask.get(place, headers={"If-None-Match": tag}).status_code == 304
    assert ask.get("/static/page.css").headers["cache-control"] == "no-cache"
    assert ask.get("/static/..%2Froutes.py").status_code == 404


def test_paste_leads_to_a_report_that_can_be_opened_again_saved_and_forgotten(
    ask: httpx.Client,
) -> None:
    text = english_paper().text
    made = check(ask, text.replace("\n", "\r\n"))
    assert made.status_code == 200
    place = made.url.path
    assert re.fullmatch(r"/report/[\w-]{24}", place)
    assert "72.3%" in visible(made)
    assert quote(f"{SITES[0]}/news-en-001", safe="") in made.text
    chinese = ask.get(f"{place}?lang=zh")
    assert "文章查重报告" in chinese.text
    saved = ask.get(f"{place}/file?lang=en")
    assert saved.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert "sha256-" in saved.text
    assert "/document?key=" not in saved.text
    assert "/static/" not in saved.text
    assert ask.post(f"{place}/forget").url.path == "/"
    gone = ask.get(f"{place}?lang=en")
    assert gone.status_code == 404
    assert "no longer here" in gone.text


def test_options_of_the_form_are_heeded(ask: httpx.Client) -> None:
    text = articles()["news-en-001"]
    excluded = check(ask, text, exclude=f"{SITES[0]}/*\n{SITES[1]}/*\n\n")
    assert quote(SITES[0], safe="") not in excluded.text.split('<details class="all"')[0]
    assert "0%" in visible(check(ask, text, exclude="*"))
    strict = check(ask, text, high="1", moderate="1,0", by="window")
    assert "similarity of at least 100%" in visible(strict)


def test_encoding_that_the_form_names_is_heeded_and_an_unknown_one_is_told(
    ask: httpx.Client,
) -> None:
    text = "Die Straßen der Stadt führen über Brücken."
    answer = check(ask, "", ("a.txt", text.encode("latin-1")), encoding="cp1251")
    assert text.encode("latin-1").decode("cp1251") in visible(answer)
    answer = check(ask, "", ("a.txt", text.encode("latin-1")), encoding="windows-1252")
    assert text in visible(answer)
    answer = check(ask, "", ("a.txt", b"x"), encoding="klingon")
    assert answer.status_code == 400
    assert "No encoding is called “klingon”" in visible(answer)


@pytest.mark.slow
def test_several_files_are_one_report_and_what_cannot_be_read_is_told(ask: httpx.Client) -> None:
    text = articles()["science-en-002"].encode()
    made = check(
        ask, "", ("one.txt", text), ("broken.docx", b"PK\x03\x04 nothing"), ("two.txt", text)
    )
    assert made.status_code == 200
    assert "2 papers" in visible(made)
    assert "broken.docx was left out" in visible(made)
    # They are beside each other too, on the page and in the file that is saved.
    saved = ask.get(f"{made.url.path}/file")
    for page in (made, saved):
        assert "Papers beside each other" in visible(page)
        assert page.text.count("data-pair=") == 1


Upload = tuple[str, bytes]
WRONG: list[tuple[dict[str, str], list[Upload], int, str]] = [
    ({"text": " \n\t "}, [], 400, "Paste a text with words in it"),
    ({"text": "\x00\x01<b>\ud83d"}, [], 200, "No stored document"),
    ({"text": "a", "high": "nan"}, [], 400, "has to be a number from 0 to 1"),
    ({"text": "a", "moderate": "x"}, [], 400, "“Moderate from” has to be"),
    ({"text": "a", "high": "0.2"}, [], 400, "Moderate has to be at most high"),
    ({"key": "nobody"}, [], 404, "never seen here"),
    ({}, [("empty.txt", b"")], 422, "empty.txt"),
    ({}, [("broken.pdf", b"%PDF-1.4 nothing")], 422, "broken.pdf"),
    ({}, [("<script>.docx", b"no zip")], 422, "docx"),
    ({}, [(f"{n}.txt", b"words of a paper") for n in range(21)], 400, "20 papers"),
]


def test_wrong_inputs_are_told_on_a_page(ask: httpx.Client) -> None:
    for fields, files, status, said in WRONG:
        text = fields.get("text", "").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        others = {name: value for name, value in fields.items() if name != "text"}
        answer = check(ask, text, *files, **others)
        assert answer.status_code == status, visible(answer)
        assert said in visible(answer).replace("&#34;", '"')
        assert answer.headers["content-type"].startswith("text/html")
        assert "<script>.docx" not in answer.text


@pytest.mark.slow
def test_too_much_is_refused_on_a_page(tmp_path: Path) -> None:
    place = empty_store(tmp_path / "s.db")
    with serve(place, "--body-bytes", "65536") as served, browsing(served.url) as ask:
        assert "up to 65.5 kB" in visible(ask.get("/"))
        answer = check(ask, "many words " * 10_000)
        assert answer.status_code == 413
        assert "may have 65.5 kB at most" in visible(answer)
        assert check(ask, "many words " * 4_000).status_code == 200


def test_search_finds_keys_passages_and_whole_documents(ask: httpx.Client) -> None:
    bridge = articles()["news-en-001"]
    by_key = ask.get("/search", params={"q": f"{SITES[0]}/bridge"})
    assert "By its key" in by_key.text
    skipped = ask.get("/search", params={"q": f"{SITES[2]}/copies/bridge"})
    assert "skipped as a duplicate" in skipped.text
    sentence = "Divers inspecting its central pier last autumn found that the lower ring had worn"
    found = ask.post("/search", data={"q": sentence})
    assert found.url.path == "/search"
    assert found.url.params["q"] == sentence
    assert quote(f"{SITES[0]}/news-en-001", safe="") in found.text
    assert "Text in document 100%" in visible(found)
    whole = ask.post("/search", data={"q": bridge})
    assert "100%" in visible(whole)
    # It has no address of its own.
    assert not whole.url.query
    nothing = visible(ask.get("/search", params={"q": "qwerty uiop"}))
    for said in ("Nothing found", "No document has this key", "8 words"):
        assert said in nothing
    for odd in (HOSTILE, "\x00", " ", "*", "%", "a" * 3_000):
        assert ask.get("/search", params={"q": odd}).status_code == 200


@pytest.mark.parametrize("key", [LATIN])
def test_a_document_of_any_key_is_reached_by_links(ask: httpx.Client, key: str) -> None:
    answer = ask.get(document(key))
    assert answer.status_code == 200
    assert "Fingerprint" in answer.text
    # And from there it is checked.
    form = re.search(r'name="key" value="([^"]*)"', answer.text)
    assert form is not None
    made = ask.post("/check", data={"key": form[1]}, files=[("file", ("", b""))])
    assert made.status_code == 200
    assert ask.get(f"{answer.url.raw_path.decode()}&lang=zh").status_code == 200


def test_a_story_tells_versions_relatives_cluster_and_original(ask: httpx.Client) -> None:
    said = visible(ask.get(document(f"{SITES[0]}/bridge")))
    for part in (
        "First seen 2026-01-25 06:00", "Documents like it", "same cluster", "Versions", "present",
        "by the date of the crawl", "The original of those like it",
    ):  # fmt: skip
        assert part in said, part
    copied = visible(ask.get(document(f"{SITES[2]}/copies/bridge")))
    assert "Not stored: skipped as a duplicate" in copied
    assert "Duplicate of" in copied
    assert "Links to" in visible(ask.get(document(f"{SITES[1]}/wire/bridge")))


def test_many_rejects_come_in_pages_and_a_long_text_is_cut(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("nonsense\n" * 120)
    with Store.create(tmp_path / "s.db") as store:
        store.ingest([str(tmp_path / "bad.jsonl")])
        store.add("long", "Some words of a text that goes on.\n\n" * 1_000 + "The end of it.")
    with serve(tmp_path / "s.db") as served, browsing(served.url) as ask:
        first, last = (visible(ask.get(f"/rejects?from={place}")) for place in (0, 100))
        assert "1–50 of 120" in first
        assert "record 119" in first
        assert "101–120 of 120" in last
        assert "record 0" in last
        assert "The first 20,000 of" in visible(ask.get(document("long")))
        assert "The end of it." not in ask.get(document("long")).text
        assert "The end of it." in ask.get(document("long", text="whole")).text
        # Not every search is complete, which the page says.
        said = visible(ask.get("/search", params={"q": "no such words"}))
        assert "Shared passages were not looked for. This store has no passage index." in said


def test_what_is_not_there_is_told_in_the_readers_language(ask: httpx.Client) -> None:
    for path, said in (
        ("/nowhere", "There is no such page"),
        ("/report/none", "This report is no longer here"),
        (document("nobody <b>"), "No such document"),
        ("/document", "No such document"),
    ):
        answer = ask.get(path)
        assert answer.status_code == 404
        assert said in answer.text
        assert "<b>" not in answer.text
    assert "没有这个页面" in ask.get("/nowhere", headers={"Accept-Language": "zh"}).text
    assert ask.post("/").status_code == 405
    # Programs get what programs read.
    told = ask.get("/nowhere", headers={"Accept": "application/json"})
    assert told.headers["content-type"] == "application/problem+json"
    told = ask.get("/v1/documents/nobody")
    assert told.headers["content-type"] == "application/problem+json"


def test_overview_runs_and_rejects_tell_of_the_store(ask: httpx.Client) -> None:
    answer = ask.get("/overview")
    # Not where the store lies on the server.
    assert "s.db" in visible(answer)
    assert "/s.db" not in answer.text
    runs = visible(ask.get("/runs"))
    assert "finished" in runs
    assert "crawl-2026-05.jsonl" in runs
    rejects = ask.get("/rejects")
    assert "not JSON" in visible(rejects)
    assert "<b>bold</b>" not in rejects.text
    assert "\u202e" not in rejects.text
    for odd in ("-1", "x", "9" * 50, "4", "٣"):
        assert ask.get("/rejects", params={"from": odd}).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "said"),
    [
        (empty_store, "The store is empty."),
        (store_without_texts, "This store keeps no texts and has no passage index"),
    ],
)
def test_a_store_that_cannot_check_says_what_to_do(
    tmp_path: Path, made: Callable[[Path], Path], said: str
) -> None:
    with serve(made(tmp_path / "s.db")) as served, browsing(served.url) as ask:
        assert said in visible(ask.get("/"))
        for path in PAGES:
            assert ask.get(path).status_code == 200
        found = ask.post("/search", data={"q": articles()["news-en-001"]})
        assert found.status_code == 200
        assert ("news-en-001" in found.text) == (made is not empty_store)
        answer = check(ask, "some words")
        assert answer.status_code == (200 if made is empty_store else 404)
        if made is not empty_store:
            assert "passage index" in visible(answer)


def test_a_store_of_fingerprints_alone_says_that_it_has_no_documents(tmp_path: Path) -> None:
    place = store_of_fingerprints(tmp_path / "s.db")
    with serve(place) as served, browsing(served.url) as ask:
        assert "1,999 fingerprints that were made elsewhere" in visible(ask.get("/"))
        assert "1,999 fingerprints" in visible(ask.get("/overview"))
        for path in ("/runs", "/rejects"):
            assert ask.get(path).status_code == 200
        assert "there is nothing to search" in visible(ask.get("/search?q=a"))
        assert ask.get("/search").status_code == 400
        assert ask.get(document("a")).status_code == 404
        assert "no passage index" in visible(check(ask, "some words"))


@pytest.mark.slow
def test_without_a_token_every_page_leads_to_where_one_is_given(tmp_path: Path) -> None:
    place = full_store(tmp_path / "s.db")
    with Store.open(place) as store:
        secret = store.tokens.add("reader", "read")
        other = store.tokens.add("other", "write")
    with serve(place) as served, browsing(served.url) as ask:
        asked = document(LATIN)
        answer = ask.get(asked)
        assert answer.url.path == "/login"
        assert 'type="password"' in answer.text
        there = re.search(r'name="next" value="([^"]*)"', answer.text)
        assert there is not None
        for wrong in ("", "sst_wrong", secret[:-1], secret.upper()):
            refused = ask.post("/login", data={"token": wrong, "next": "/"}, headers=own(served))
            assert refused.status_code == 401
            assert 'role="alert"' in refused.text
            assert wrong == "" or wrong not in refused.text
        signed = ask.post(
            "/login", data={"token": secret, "next": there[1].replace("&amp;", "&")},
            headers=own(served),
        )  # fmt: skip
        assert signed.url.raw_path.decode() == asked
        assert "Sign out" in signed.text
        cookie = next(one for one in ask.cookies.jar if "session" in one.name)
        assert secret not in str(cookie.value)
        assert cookie.has_nonstandard_attr("HttpOnly")
        made = ask.post("/check", data={"text": "words"}, files=[("file", ("", b""))],
                        headers=own(served))  # fmt: skip
        assert made.url.path.startswith("/report/")
        # Another's report is not theirs, whoever knows its name.
        with browsing(served.url) as them:
            them.post("/login", data={"token": other, "next": "/"}, headers=own(served))
            assert them.get(made.url.path).status_code == 404
        foreign = ask.post(
            "/check", data={"text": "words"}, headers={"Origin": "http://evil.example"}
        )
        assert foreign.status_code == 403
        assert ask.post("/logout", headers=own(served)).url.path == "/login"
        assert ask.get("/").url.path == "/login"


def own(served: Served) -> dict[str, str]:
    return {"Origin": served.url}
