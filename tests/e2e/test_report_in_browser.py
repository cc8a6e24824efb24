"""The HTML report in a real browser: what it shows to whom, and cannot be harmed by."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

import pytest
from checked_papers import english_paper

from simstore.reports.html_page import percent

from .browsers import FAINT_TEXT, Visit, sides
from .report_pages import HOSTILE, LONG

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
Open = Callable[..., Visit]


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
    # What is measured is not always enough.
    assert len(page.evaluate(FAINT_TEXT, 20.9)[1]) == 28


def test_the_shares_in_the_panel_are_all_of_one_thing(visit: Open) -> None:
    """A passage and a source have one similarity, however much of the stretch is shown."""
    paper = english_paper()
    selected = [one for one in paper.passages if one.copy is not None]
    number = next(n for n, one in enumerate(selected) if one.others and one.similarity < 1)
    passage = selected[number]
    copies = [(passage.copy, passage.similarity), *passage.others]
    page = visit("en").page
    page.locator(".p").nth(number).click()
    panel = page.locator(".panel")
    listed = panel.locator(".also button")

    def said() -> tuple[str, list[str]]:
        shares = [text.rpartition(" ")[2] for text in listed.all_inner_texts()]
        return panel.locator(".verdict strong").inner_text(), [s.split()[-1] for s in shares]

    assert said() == (percent(passage.similarity), [percent(share) for _, share in copies])
    assert panel.locator(".verdict small").inner_text() == "of this passage"
    listed.nth(1).click()
    assert said()[0] == percent(copies[1][1])
    assert panel.locator(".verdict .tag").inner_text() == (
        "High" if copies[1][1] >= 0.8 else "Moderate" if copies[1][1] >= 0.5 else "Slight"
    )


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


def chinese_fonts() -> str:
    """Return the names of the fonts with Chinese characters; nothing where there are none."""
    lister = shutil.which("fc-list")
    return subprocess.check_output([lister, ":lang=zh"], text=True) if lister else ""


@pytest.mark.parametrize("name", ["en", "zh"])
def test_prints_with_a_legend_of_every_source_and_numbers_of_pages(visit: Open, name: str) -> None:
    pypdf = pytest.importorskip("pypdf", reason="needs simstore[office]")
    if name == "zh" and not chinese_fonts():
        pytest.skip("needs a font with Chinese characters (Debian's fonts-wqy-zenhei)")
    page = visit(name, color_scheme="dark").page
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4", print_background=True)))
    found = "".join(sheet.extract_text() for sheet in printed.pages)
    # Letters that are printed as one ligature count as themselves.
    text = "".join(normalize("NFKC", found).split())
    assert len(printed.pages) > 1
    for said in page.locator(".method dd").all_text_contents():
        assert "".join(normalize("NFKC", said).split())[:40] in text
    if name == "en":
        assert "Thispaper" not in text
        assert all("".join(source.key.split()) in text for source in english_paper().sources)
    for number, sheet in enumerate(printed.pages, 1):
        assert f"{number}/{len(printed.pages)}" in "".join(sheet.extract_text().split())
    assert not page.evaluate("document.querySelector('details.all').open")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".panel").is_visible()


def test_a_long_paper_prints_on_a_page_of_2000_characters_at_most(visit: Open) -> None:
    pypdf = pytest.importorskip("pypdf", reason="needs simstore[office]")
    page = visit("long").page
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4", print_background=True)))
    data = json.loads(page.locator("#data").text_content() or "")
    assert len(printed.pages) <= len(data["parts"][0]["text"]) / 2_000
    text = "".join("".join(sheet.extract_text().split()) for sheet in printed.pages)
    names = page.locator("[data-source] bdi").all_text_contents()
    assert len(names) > 100
    assert all(name in text for name in names)
    assert not page.evaluate("document.querySelector('details.others').open")


@pytest.mark.parametrize("name", ["zh", "class", "run"])
def test_a_narrow_screen_never_scrolls_sideways(visit: Open, name: str) -> None:
    one = visit(name, viewport={"width": 320, "height": 640})
    assert not one.is_too_wide()
    for opener in one.page.locator("details > summary").all():
        opener.click()
    for opener in one.page.locator("td[data-pair] button").all()[:1]:
        opener.click()
        assert not one.is_too_wide()
    if one.page.locator(".p").count():
        one.page.locator(".p").first.click()
        sheet = one.page.locator(".panel.open").bounding_box()
        assert sheet is not None
        assert sheet["y"] + sheet["height"] == pytest.approx(640, abs=1)
        one.page.locator(".steps button").last.click()
        assert not one.page.locator(".panel").first.is_visible()
    assert not one.is_too_wide()


@pytest.mark.parametrize("width", [760, 960, 1300])
def test_names_have_room_at_any_width(visit: Open, width: int) -> None:
    one = visit("class", viewport={"width": width, "height": 640})
    assert not one.is_too_wide()
    for cell in one.page.locator(":is(.sources, .papers, .pairs) tbody th").all():
        box = cell.bounding_box()
        assert box is None or box["width"] >= 120, cell.inner_text()


def test_two_hundred_pages_cost_few_nodes_until_they_are_asked_for(visit: Open) -> None:
    page = visit("long").page
    marks = page.locator(".p").count()
    assert marks == LONG // 2
    nodes = page.evaluate("document.querySelectorAll('*').length")
    sources = page.locator(".sources tbody tr").count()
    others = page.locator(".legend-of-others li").count()
    assert others > 100
    assert nodes < marks + 14 * sources + 4 * others + 1_000
    assert page.evaluate("document.querySelectorAll('.pair').length") == 0
    assert page.evaluate("document.querySelectorAll('.bars path').length") <= 3
    assert (
        page.locator(".text p").first.evaluate("(e) => getComputedStyle(e).contentVisibility")
        == "auto"
    )
    page.locator(".p").first.click()
    page.locator("details.all summary").press("Enter")
    page.locator(".row").first.wait_for()
    assert page.locator(".row").count() == 100
    page.get_by_role("button", name="Show more").press("Enter")
    assert page.locator(".row").count() == 200


def test_without_script_the_text_and_its_sources_can_be_read(visit: Open) -> None:
    page = visit("en", java_script_enabled=False).page
    assert page.locator("noscript").is_visible() or "script" in page.inner_text(".reading")
    assert page.locator(".p").first.is_visible()
    assert "news-en-001" in (page.locator(".p").first.get_attribute("title") or "")


@pytest.mark.skipif(
    "SIMSTORE_TEST_IMAGES" not in os.environ, reason="SIMSTORE_TEST_IMAGES asks for new pictures"
)
@pytest.mark.parametrize(
    ("image", "name", "scheme", "selected"),
    [
        ("report-class", "class", "light", None),
        ("report-numbers", "en", "light", None),
        ("report-passages", "en", "light", 12),
        ("report-chinese-dark", "zh", "dark", 4),
    ],
)
def test_pictures_of_the_documentation(
    visit: Open, image: str, name: str, scheme: str, selected: int | None
) -> None:
    page = visit(name, color_scheme=scheme, viewport={"width": 1280, "height": 920}).page
    if name == "class":
        page.locator("td[data-pair] button").first.click()
        page.evaluate("scrollTo(0, 0)")
    if selected is not None:
        page.locator("#text-0").evaluate("(text) => text.previousElementSibling.scrollIntoView()")
        page.locator(".p").nth(selected).click()
    page.screenshot(path=IMAGES / f"{image}.png")
    assert (IMAGES / f"{image}.png").stat().st_size > 50_000
