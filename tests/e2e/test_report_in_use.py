"""The HTML report in a real browser: what a reader does, and sees then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from checked_papers import chinese_paper

from simstore.model import CheckedPaper
from simstore.reports.html_page import percent

from .browsers import Visit, sides
from .report_pages import LONG, astral_paper, class_check, class_texts

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

Open = Callable[..., Visit]


@pytest.mark.parametrize(("name", "paper"), [("zh", chinese_paper), ("astral", astral_paper)])
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


def test_all_of_it_works_by_keyboard(visit: Open) -> None:
    page = visit("en").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    stops = 0
    while "p " not in page.evaluate("document.activeElement.className"):
        page.keyboard.press("Tab")
        stops += 1
        assert stops < 20
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


def figures(page: Page, part: int = 0) -> dict[str, str]:
    """The totals that the page shows of a paper."""
    found = {}
    for place in page.locator(f"#part-{part} [data-of]").all():
        shown = place.locator("span").first if place.locator("span").count() else place
        found[place.get_attribute("data-of") or ""] = shown.inner_text()
    return found


def totals_of(paper: CheckedPaper) -> dict[str, str]:
    totals = paper.totals
    return {
        "share": percent(totals.share),
        "word_for_word": percent(totals.identical_share),
        "without_quotations": percent(totals.share_without_quotations),
        "largest": percent(totals.largest_source_share),
        "high": f"{totals.high:,}",
        "moderate": f"{totals.moderate:,}",
        "none": f"{totals.none:,}",
    }


def test_without_a_source_the_totals_are_those_of_a_check_without_it(visit: Open) -> None:
    """The page counts again by itself; a store that is asked anew says the same."""
    (paper, *_), _ = class_check()
    page = visit("class").page
    assert len(paper.sources) > 1
    before = figures(page)
    assert before.items() >= totals_of(paper).items()
    keys = [
        row.get_attribute("data-source") for row in page.locator("#part-0 tr[data-source]").all()
    ]
    first = sorted(paper.sources, key=lambda one: (one.order is None, one.order or 0))
    aside: list[str] = []
    for number in (keys[0], keys[-1]):
        assert number is not None
        page.locator(f"#part-0 tr[data-source='{number}'] input").uncheck()
        aside.append(first[int(number) - 1].key)
        (wanted, *_), _ = class_check(tuple(aside))
        assert wanted.totals.share < paper.totals.share
        assert figures(page).items() >= totals_of(wanted).items()
        shares = page.locator("#part-0 .chapters td.share span").all_inner_texts()
        assert shares == [percent(one.share) for one in wanted.chapters]
        told = page.locator("#part-0 [data-of=characters] small").inner_text()
        assert told == f"{wanted.totals.copied:,} of them copied"
    notice = page.locator("#part-0 .aside")
    assert notice.is_visible()
    assert f"With all sources: {percent(paper.totals.share)}" in notice.inner_text()
    # Other papers keep theirs.
    assert not page.locator("#part-1 .aside").is_visible()
    page.get_by_role("button", name="Count all again").click()
    assert figures(page) == before
    assert not notice.is_visible()


def test_a_passage_whose_source_is_put_aside_has_its_next_best_one(visit: Open) -> None:
    page = visit("en").page
    page.locator(".p").first.click()
    assert page.locator(".panel .origin .badge").inner_text() == "1"
    page.locator("tr[data-source='1'] input").uncheck()
    assert page.locator(".panel .origin .badge").inner_text() == "2"
    assert page.locator(".p").first.get_attribute("data-n") == "2"
    page.locator("tr[data-source='2'] input").uncheck()
    assert page.locator(".p").first.get_attribute("data-n") is None
    assert page.locator(".p").first.get_attribute("class") == "p excluded"


def test_two_papers_stand_side_by_side_and_lead_to_each_other(visit: Open) -> None:
    papers, mutual = class_check()
    texts = class_texts()
    page = visit("class").page
    assert len(mutual.pairs) == page.locator(".pairs tbody tr").count() == 3
    for number, pair in enumerate(mutual.pairs):
        opener = page.locator("td[data-pair] button").nth(number)
        opener.click()
        columns = page.locator("#two .column")
        assert columns.locator("h4").all_inner_texts() == [pair.first_key, pair.second_key]
        for column, key in zip(columns.all(), (pair.first_key, pair.second_key), strict=True):
            assert column.locator(".words").text_content() == texts[key]
        left, right = (column.locator("mark").all_text_contents() for column in columns.all())
        assert " ".join("".join(left).split()) == " ".join("".join(right).split())
        copied = "".join("".join(left).split())
        assert len(copied) == pair.identical
        page.locator("#two mark").first.press("Enter")
        assert page.locator("#two mark.twin").count() >= 2
        page.locator("#two .steps button").click()
        assert not page.locator("#two").is_visible()
        assert page.evaluate("document.activeElement.closest('[data-pair]') !== null")
    matrix = page.locator(".matrix tbody td").all_inner_texts()
    assert len(matrix) == len(papers) ** 2
    assert sum(bool(cell) for cell in matrix) == 2 * len(mutual.pairs)


def test_a_store_without_texts_shows_places(visit: Open) -> None:
    page = visit("positions").page
    assert "The store keeps no text" in page.locator(".notice").first.inner_text()
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
