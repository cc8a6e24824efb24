"""The HTML report in a real browser: what a reader does, and sees then."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from checked_papers import chinese_paper, english_paper

from simstore.model import CheckedPaper

from .browsers import Visit, sides
from .report_pages import LONG, astral_paper

pytestmark = pytest.mark.browser

Open = Callable[..., Visit]


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


def test_a_store_without_texts_shows_places(visit: Open) -> None:
    page = visit("positions").page
    assert "The store keeps no text" in page.locator(".notice").inner_text()
    page.locator(".p").first.click()
    assert "Common runs in the source: " in sides(page)[1]


def test_the_chart_leads_to_its_place(visit: Open) -> None:
    page = visit("long").page
    chart = page.locator(".bars").bounding_box()
    assert chart is not None
    page.locator(".bars").click(position={"x": chart["width"] * 0.75, "y": 20})
    place = int(page.evaluate("document.activeElement.id").split("-")[1])
    assert place == pytest.approx(0.75 * LONG / 2, rel=0.05)
    assert sides(page)[0] == page.evaluate("document.activeElement.textContent")


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
