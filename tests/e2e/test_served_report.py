"""The report that a server shows is the one that is saved as a file: on a screen and in print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from checked_papers import english_paper
from page_stores import full_store
from served import Served, serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

# Of each: whether it is shown, what it says, and where it stands in the report.
BOXES = """() => {
  const parts = ".hero, .hero strong, .classes dd, .tiles > div, .charts figure, .sources tr, "
    + ".reading, .legend li, .text, .text p, .p, .panel, .all, .row, .row > .head, .pair > div, "
    + ".pair .words, .method dd";
  const base = document.querySelector("header.page").getBoundingClientRect().top;
  return [...document.querySelectorAll(parts)].map((part) => {
    const box = part.getBoundingClientRect();
    const shown = getComputedStyle(part).display;
    const place = [box.left, box.top - base, box.width, box.height].map(Math.round);
    return [part.className, part.textContent.trim(), shown, ...(shown === "none" ? [] : place)];
  });
}"""
# Elements of the report that a rule of the frame around it reaches.
REACHED = """() => {
  const rules = (list) => [...list].flatMap((one) => [one, ...rules(one.cssRules ?? [])]);
  const own = [...document.styleSheets].filter((sheet) => /frame|page/.test(sheet.href));
  const within = ({ selectorText }) => selectorText
    && [...document.querySelectorAll(selectorText)].some((one) => one.closest(".report *"));
  return [own.length, ...own.flatMap((sheet) => rules(sheet.cssRules))
    .filter(within).map((rule) => rule.selectorText)];
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(full_store(tmp_path_factory.mktemp("report") / "simstore.db")) as found:
        yield found


@pytest.fixture
def both(browser: Browser, served: Served, tmp_path: Path) -> Iterator[tuple[Page, Page]]:
    """One report as it is served, and as it is saved."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(served.url)
    page.locator("#text").fill(english_paper().text)
    page.get_by_role("button", name="Check", exact=True).click()
    page.wait_for_url("**/report/*")
    with page.expect_download() as coming:
        page.get_by_role("link", name="Save as a file").click()
    coming.value.save_as(tmp_path / "report.html")
    saved = context.new_page()
    saved.goto((tmp_path / "report.html").as_uri())
    yield page, saved
    context.close()


def spread(page: Page) -> None:
    """Open what is closed; every stretch too, as print does."""
    page.bring_to_front()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.locator(".row").first.wait_for(state="attached")
    # A browser lays out what is far from the view when it likes to.
    page.evaluate(
        "for (const one of document.querySelectorAll('.row, .text p'))"
        " one.style.contentVisibility = 'visible'"
    )


def boxes(page: Page) -> list[list[Any]]:
    """Return the boxes of a page once it is laid out: two frames in a row have the same."""
    page.bring_to_front()
    found: list[list[Any]] = []
    for _ in range(100):
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        before, found = found, page.evaluate(BOXES)
        if found == before:
            break
    return found


def columns(page: Page) -> list[tuple[float, float]]:
    """Width of each column of a stretch beside its source, and of their row."""
    found: list[tuple[float, float]] = page.evaluate(
        """() => [...document.querySelectorAll(".row .pair > div")].map((one) => [
          one.getBoundingClientRect().width, one.closest(".row").getBoundingClientRect().width])"""
    )
    return found


def test_a_served_report_looks_like_the_saved_one(both: tuple[Page, Page]) -> None:
    page, saved = both
    for one in both:
        spread(one)
    for width in (1280, 700, 360):
        for one in both:
            one.set_viewport_size({"width": width, "height": 900})
        assert boxes(page) == boxes(saved)
        found = columns(page)
        assert len(found) >= 10
        assert all(wide >= row / 3 for wide, row in found)


def test_no_style_of_the_page_around_it_reaches_into_a_report(both: tuple[Page, Page]) -> None:
    page, _ = both
    spread(page)
    page.locator(".p").first.click()
    sheets, *reached = page.evaluate(REACHED)
    assert sheets == 1
    assert reached == []
