"""The HTML report in a real browser: what a reader sees, does, and cannot be harmed by."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import pytest

from simstore.model import CheckedPaper, Match, QueryRun, SampleResult
from simstore.model.check import CheckedPassage, Copy
from simstore.reports.check_html import html_report
from simstore.reports.run_html import run_report
from tests.checked_papers import (
    articles,
    checked,
    chinese_paper,
    english_paper,
    long_paper,
    summed,
)

from .browsers import FAINT_TEXT, Visit, launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

REPOSITORY = Path(__file__).resolve().parents[2]
IMAGES = REPOSITORY / "docs" / "images"
MADE = 1_780_000_000
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><b>bold</b> & \u202e <!--"
LONG = 5_000


def hostile_paper() -> CheckedPaper:
    text = f"{HOSTILE}. Plain words follow."
    whole = (0, len(HOSTILE), 0, len(HOSTILE))
    copy = Copy(0, len(HOSTILE), HOSTILE, 1, 0, len(HOSTILE), 1.0, "text", (whole,), HOSTILE)
    passage = CheckedPassage(0, len(HOSTILE), 1.0, "high", 0)
    return summed(HOSTILE, HOSTILE, text, (passage,), (copy,), {HOSTILE: HOSTILE})


def astral_paper() -> CheckedPaper:
    """Characters of two UTF-16 units stand before and within the passages."""
    text = "😀😀 𠀀𠀁 before it all. The 😀 old bridge of the town will be closed again in May."
    source = "𠀀 It is said: The 😀 old bridge of the town was closed in May."
    return checked("astral", None, text, {"source": source}, {})


def query_run() -> QueryRun:
    matches = (
        Match("news-en-002", 1, 2, ("simhash", "minhash"), 0.9, 0.95, 0.94, "text"),
        Match("gone", 3, 9, ("minhash",), 0.55, 0.6, 0.7, "sketch"),
    )
    samples = (
        SampleResult("sample-01", "00", matches),
        SampleResult("sample-02", "00", matches[1:]),
        SampleResult(HOSTILE, "00", (), too_short=True),
    )
    return QueryRun(3, 3, 64, "web/1", samples * 4)


def made() -> dict[str, Callable[[], str]]:
    english, chinese = english_paper, chinese_paper
    return {
        "en": lambda: html_report([english()], generated_at=MADE),
        "zh": lambda: html_report([chinese()], lang="zh", generated_at=MADE),
        "both": lambda: html_report([english(), chinese()], generated_at=MADE),
        "hostile": lambda: html_report([hostile_paper()], generated_at=MADE),
        "astral": lambda: html_report([astral_paper()], generated_at=MADE),
        "long": lambda: html_report([long_paper(LONG)], generated_at=MADE),
        "positions": lambda: html_report(
            [checked("p", None, articles()["news-en-001"], articles(), {}, with_text=False)],
            generated_at=MADE,
        ),
        "nothing": lambda: html_report([checked("n", None, "My own.", {}, {})], generated_at=MADE),
        "run": lambda: run_report(query_run(), articles().get, generated_at=MADE),
        "run-zh": lambda: run_report(query_run(), articles().get, lang="zh", generated_at=MADE),
    }


NAMES = tuple(made())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Of this module only: while it lives, its thread has a running event loop.
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("pages")

    def page(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(made()[name](), encoding="utf-8")
        return path

    return page


Open = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser, pages: Callable[[str], Path]) -> Iterator[Open]:
    visits: list[Visit] = []

    def go(name: str, **options: Any) -> Visit:
        visits.append(Visit(browser, pages(name), **options))
        return visits[-1]

    yield go
    for one in visits:
        one.close()


def sides(page: Page) -> list[str]:
    return page.locator(".panel .pair .words").all_text_contents()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_opens_without_a_complaint_or_a_request_and_every_text_has_contrast(
    visit: Open, name: str, scheme: str
) -> None:
    page = visit(name, color_scheme=scheme).page
    if name == "long":
        # Enough of it to see every colour.
        page.evaluate(
            "document.querySelectorAll('.text p:nth-child(n + 20)').forEach(e => e.remove())"
        )
    for opener in page.locator("details > summary").all():
        opener.click()
    for details in page.locator("details.all").all():
        details.locator(".row").first.wait_for()
    if page.locator(".p").count():
        page.locator(".p").first.click()
    seen, faint = page.evaluate(FAINT_TEXT, 4.5)
    assert seen > 15
    assert faint == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_sources_and_classes_stand_out(visit: Open, scheme: str) -> None:
    page = visit("en", color_scheme=scheme).page
    page.evaluate(
        """() => {
          const style = getComputedStyle(document.documentElement);
          const made = [];
          for (const ink of [...Array(12).keys()].map((n) => `s${n}`).concat("high", "moderate"))
            for (const ground of ["sheet", "ground"]) made.push([ink, ground]);
          document.body.replaceChildren(...made.map(([ink, ground]) => {
            const p = document.createElement("p");
            p.textContent = `${ink} on ${ground}`;
            p.style.color = style.getPropertyValue(`--${ink}`);
            p.style.background = style.getPropertyValue(`--${ground}`);
            return p;
          }));
        }"""
    )
    # WCAG 2.2, success criterion 1.4.11: what is no text.
    assert page.evaluate(FAINT_TEXT, 3.0) == [28, []]


def test_click_shows_the_source_beside_the_passage(visit: Open) -> None:
    paper = english_paper()
    page = visit("en").page
    assert "Select a marked passage" in page.locator(".panel").inner_text()
    first = next(one for one in paper.passages if one.copy is not None)
    assert first.copy is not None
    copy = paper.copies[first.copy]
    page.locator(".p").first.click()
    own, source = sides(page)
    assert own == paper.text[first.start : first.end]
    assert source == copy.source_text
    assert "Swing bridge at Alderwick" in page.locator(".panel .origin").inner_text()
    panel = page.locator(".panel").bounding_box()
    text = page.locator(".text").bounding_box()
    assert panel is not None
    assert text is not None
    assert panel["x"] >= text["x"] + text["width"]
    page.locator(".p").first.click()
    assert page.locator(".panel .pair").count() == 0


@pytest.mark.parametrize(
    ("name", "paper"), [("en", english_paper), ("zh", chinese_paper), ("astral", astral_paper)]
)
def test_words_are_aligned_one_by_one(
    visit: Open, name: str, paper: Callable[[], CheckedPaper]
) -> None:
    held = paper()
    page = visit(name).page
    selected = [one for one in held.passages if one.copy is not None]
    spans = page.locator(".p")
    assert spans.count() == len(selected) > 0
    for number, passage in enumerate(selected):
        spans.nth(number).click()
        assert passage.copy is not None
        copy = held.copies[passage.copy]
        own, source = sides(page)
        assert own == held.text[passage.start : passage.end]
        assert source == copy.source_text
        left, right = page.locator(".panel .pair .words").all()
        for side, text in ((left, held.text), (right, copy.source_text or "")):
            for same in side.locator("mark.same").all():
                twins = page.locator(f'[data-twin="{same.get_attribute("data-twin")}"]')
                assert twins.count() == 2
                one, other = twins.all_text_contents()
                assert one.split() == other.split()
                assert one in text or other in text
        told = sum(
            min(b[1], passage.end) - max(b[0], passage.start)
            for b in copy.blocks
            if b[0] < passage.end and b[1] > passage.start
        )
        assert sum(map(len, left.locator("mark.same").all_text_contents())) == told


def test_resting_the_pointer_previews_and_a_click_keeps(visit: Open) -> None:
    page = visit("en").page
    page.locator(".p").nth(3).hover()
    page.locator(".panel .pair").wait_for()
    hovered = sides(page)
    page.locator(".p").nth(5).click()
    kept = sides(page)
    assert kept != hovered
    page.locator(".p").nth(3).hover()
    page.wait_for_function("new Promise((done) => setTimeout(() => done(true), 200))")
    assert sides(page) == kept


def test_another_source_of_a_passage_and_its_whole_stretch_can_be_seen(visit: Open) -> None:
    page = visit("en").page
    page.locator(".p").first.click()
    assert page.locator(".also button").count() == 2
    page.locator(".also button").nth(1).click()
    assert page.locator(".also button").nth(1).get_attribute("aria-current") == "true"
    assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"
    assert page.locator(".panel .origin .badge").inner_text() == "2"


def test_all_of_it_works_by_keyboard(visit: Open) -> None:
    page = visit("en").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    stops = 0
    while "p " not in page.evaluate("document.activeElement.className"):
        page.keyboard.press("Tab")
        stops += 1
        assert stops < 10
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.id") == "p0-1"
    page.keyboard.press("Enter")
    assert page.locator(".p").nth(1).get_attribute("aria-pressed") == "true"
    assert sides(page)[0] == page.locator(".p").nth(1).text_content()
    page.keyboard.press("End")
    last = page.locator(".p").last
    assert sides(page)[0] == last.text_content()
    # The passages are one stop: the next one is in the panel.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.panel') !== null")
    page.keyboard.press("Enter")
    assert sides(page)[0] == page.locator(".p").nth(page.locator(".p").count() - 2).text_content()
    page.keyboard.press("Escape")
    assert page.locator(".panel .pair").count() == 0
    assert "p " in page.evaluate("document.activeElement.className")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.id") == "p0-0"


@pytest.mark.parametrize("name", ["en", "zh", "both", "run"])
def test_a_screen_reader_is_told_what_is_what(visit: Open, name: str) -> None:
    page = visit(name).page
    levels = [int(tag[1]) for tag in page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => h.tagName)")]  # fmt: skip
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for drawing in page.locator("svg[role=img]").all():
        assert len(drawing.get_attribute("aria-label") or "") > 20
    assert page.evaluate(
        "[...document.querySelectorAll('body svg:not(svg svg)')]"
        ".every((drawing) => drawing.matches('[role=img], [aria-hidden=true]'))"
    )
    page.locator(".p").first.click()
    panel = page.locator(".panel").first
    assert panel.get_attribute("aria-live") == "polite"
    assert panel.get_attribute("aria-label")
    for button in page.locator("button").all():
        assert button.get_attribute("aria-label") or button.inner_text().strip()
    marks = page.get_by_role("button").filter(has=page.locator("xpath=self::span"))
    assert marks.count() == page.locator(".p").count()
    assert all("%" in (one.get_attribute("title") or "") for one in marks.all())


def test_classes_are_told_apart_without_colour(visit: Open) -> None:
    page = visit("en").page
    style = "(e) => getComputedStyle(e).borderBottomStyle"
    kinds = ("high", "moderate", "excluded")
    lines = [page.locator(f".p.{kind}").first.evaluate(style) for kind in kinds]
    assert lines == ["solid", "dashed", "double"]
    for kind, line in zip(kinds, lines, strict=True):
        assert page.locator(f".legend .key-{kind}").evaluate(style) == line
    assert (
        page.locator(".bars .fill-moderate")
        .evaluate("(e) => getComputedStyle(e).fill")
        .startswith("url")
    )


def test_a_paper_with_script_is_shown_and_not_run(visit: Open) -> None:
    page = visit("hostile").page
    assert page.title().startswith(HOSTILE)
    assert page.locator("h1").text_content() == HOSTILE
    assert page.locator(".p").first.text_content() == HOSTILE
    page.locator(".p").first.click()
    assert sides(page) == [HOSTILE, HOSTILE]
    page.locator("details.all summary").click()
    page.locator(".row").first.wait_for()
    assert page.locator(".row .words").all_text_contents()[:2] == [HOSTILE, HOSTILE]
    assert page.locator("img, main b:not(.badge):not(.legend b)").count() == 0


def test_the_page_allows_no_script_but_its_own(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    one = Visit(browser, pages("en"))
    one.page.evaluate(
        "document.head.append(Object.assign(document.createElement('script'),"
        " { textContent: 'window.ran = true' }))"
    )
    one.page.evaluate("fetch('http://127.0.0.1:9/').catch(() => {})")
    assert one.page.evaluate("window.ran") is None
    assert all(
        "Content Security Policy" in said for said in one.complaints if "fetch" not in said.lower()
    )
    one.context.close()


def test_a_store_without_texts_shows_places(visit: Open) -> None:
    page = visit("positions").page
    assert "The store keeps no text" in page.locator(".notice").inner_text()
    page.locator(".p").first.click()
    assert "Common runs in the source: " in sides(page)[1]


@pytest.mark.parametrize("name", ["en", "zh", "run"])
def test_prints_with_every_stretch_beside_its_source(visit: Open, name: str) -> None:
    pypdf = pytest.importorskip("pypdf", reason="needs simstore[office]")
    page = visit(name, color_scheme="dark").page
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4", print_background=True)))
    found = "".join(sheet.extract_text() for sheet in printed.pages)
    # Letters that are printed as one ligature count as themselves.
    text = "".join(normalize("NFKC", found).split())
    assert len(printed.pages) > 1
    for said in page.locator(".method dd").all_text_contents():
        assert "".join(normalize("NFKC", said).split())[:40] in text
    if name == "en":
        assert text.count("Thispaper") == len(english_paper().copies)
    assert not page.evaluate("document.querySelector('details.all').open")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".panel").is_visible()


@pytest.mark.parametrize("name", NAMES)
def test_a_narrow_screen_never_scrolls_sideways(visit: Open, name: str) -> None:
    one = visit(name, viewport={"width": 320, "height": 640})
    assert not one.is_too_wide()
    for opener in one.page.locator("details > summary").all():
        opener.click()
    if one.page.locator(".p").count():
        one.page.locator(".p").first.click()
        sheet = one.page.locator(".panel.open").bounding_box()
        assert sheet is not None
        assert sheet["y"] + sheet["height"] == pytest.approx(640, abs=1)
        one.page.locator(".steps button").last.click()
        assert not one.page.locator(".panel").first.is_visible()
    assert not one.is_too_wide()


def test_two_hundred_pages_cost_few_nodes_until_they_are_asked_for(visit: Open) -> None:
    page = visit("long").page
    marks = page.locator(".p").count()
    assert marks == LONG // 2
    nodes = page.evaluate("document.querySelectorAll('*').length")
    sources = page.locator(".sources tbody tr").count()
    assert nodes < marks + 14 * sources + 1_000
    assert page.evaluate("document.querySelectorAll('.pair').length") == 0
    assert page.evaluate("document.querySelectorAll('.bars path').length") <= 3
    assert (
        page.locator(".text p").first.evaluate("(e) => getComputedStyle(e).contentVisibility")
        == "auto"
    )
    page.locator(".p").first.click()
    page.locator("details.all summary").click()
    page.locator(".row").first.wait_for()
    assert page.locator(".row").count() == 100
    page.get_by_role("button", name="Show more").click()
    assert page.locator(".row").count() == 200


def test_the_chart_leads_to_its_place(visit: Open) -> None:
    page = visit("long").page
    chart = page.locator(".bars").bounding_box()
    assert chart is not None
    page.locator(".bars").click(position={"x": chart["width"] * 0.75, "y": 20})
    place = int(page.evaluate("document.activeElement.id").split("-")[1])
    assert place == pytest.approx(0.75 * LONG / 2, rel=0.05)
    assert sides(page)[0] == page.evaluate("document.activeElement.textContent")


def test_without_script_the_text_and_its_sources_can_be_read(visit: Open) -> None:
    page = visit("en", java_script_enabled=False).page
    assert page.locator("noscript").is_visible() or "script" in page.inner_text(".reading")
    assert page.locator(".p").first.is_visible()
    assert "news-en-001" in (page.locator(".p").first.get_attribute("title") or "")


def test_a_sample_shows_the_documents_near_it(visit: Open) -> None:
    page = visit("run").page
    page.locator(".p").first.click()
    panel = page.locator(".panel")
    assert panel.locator(".match").count() == 2
    said = panel.locator(".match").first.inner_text()
    for words in ("news-en-002", "90%", "95%", "simhash + minhash", "Swing bridge at Alderwick"):
        assert words in said
    assert "estimated from sketches" in panel.locator(".match").nth(1).inner_text()
    page.keyboard.press("ArrowRight")
    assert panel.locator(".match").count() == 1


@pytest.mark.skipif("SIMSTORE_TEST_IMAGES" not in os.environ, reason="set SIMSTORE_TEST_IMAGES")
@pytest.mark.parametrize(
    ("image", "name", "scheme"), [("report-light", "en", "light"), ("report-dark", "zh", "dark")]
)
def test_pictures_of_the_readme(visit: Open, image: str, name: str, scheme: str) -> None:
    page = visit(name, color_scheme=scheme, viewport={"width": 1280, "height": 900}).page
    page.locator(".p.moderate").nth(1).click()
    page.screenshot(path=IMAGES / f"{image}.png", full_page=True)
    assert (IMAGES / f"{image}.png").stat().st_size > 50_000
