"""No style of the page around a report that a server shows reaches into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from checked_papers import english_paper
from page_stores import full_store
from served import Served, serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

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


def test_no_style_of_the_page_around_it_reaches_into_a_report(
    browser: Browser, served: Served
) -> None:
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(served.url)
    page.locator("#text").fill(english_paper().text)
    page.get_by_role("button", name="Check", exact=True).click()
    page.wait_for_url("**/report/*")
    # Open what is closed, every stretch too, as print does.
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.locator(".row").first.wait_for(state="attached")
    page.locator(".p").first.click()
    sheets, *reached = page.evaluate(REACHED)
    assert sheets == 1
    assert reached == []
    context.close()
