"""axe-core finds nothing in the report and in the pages of a server, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from checked_papers import english_paper
from page_stores import full_store
from served import Served, serve

from .browsers import Visit
from .report_pages import NAMES
from .test_page_in_browser import CHINESE_DARK, PAGES, Sitting

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
DARK: dict[str, Any] = {"color_scheme": "dark"}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}}
# Those that differ in what a reader meets.
LOOKS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in NAMES if name not in ("long", "astral", "run-zh")),
    *(("class", look) for look in (DARK, PHONE)),
    ("zh", DARK),
]


def findings(page: Page) -> list[str]:
    """Return what axe finds: the rule, what it says, and where."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core")
    found = axe.Axe().run(page).response
    # It has looked at something.
    assert len(found["passes"]) > 10
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found["violations"]
    ]


def unfold(page: Page) -> None:
    """Open what is folded, and the panel of the first passage, where the page has them."""
    for opener in page.locator("details > summary").all():
        if opener.is_visible():
            opener.press("Enter")
    for rows in page.locator("details.all").all():
        rows.locator(".row").first.wait_for()
    if page.locator(".p").count():
        page.locator(".p").first.click()


@pytest.mark.parametrize(("name", "look"), LOOKS)
def test_axe_finds_nothing_in_a_report(
    visit: Callable[..., Visit], name: str, look: dict[str, Any]
) -> None:
    page = visit(name, **look).page
    assert findings(page) == []
    unfold(page)
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_two_papers_side_by_side(
    visit: Callable[..., Visit], scheme: str
) -> None:
    page = visit("class", color_scheme=scheme).page
    page.locator("td[data-pair] button").first.click()
    assert findings(page) == []


@pytest.mark.parametrize("name", ["zh", "class"])
def test_axe_finds_nothing_in_what_is_printed(visit: Callable[..., Visit], name: str) -> None:
    page = visit(name, color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="light")
    assert findings(page) == []


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(full_store(tmp_path_factory.mktemp("page") / "simstore.db")) as found:
        yield found


@pytest.mark.parametrize("options", [{}, CHINESE_DARK], ids=["light", "Chinese and dark"])
@pytest.mark.parametrize("path", [*PAGES, "report"])
def test_axe_finds_nothing_in_a_page_of_a_server(
    browser: Browser, served: Served, path: str, options: dict[str, Any]
) -> None:
    sitting = Sitting(browser, served.url, **options)
    page = sitting.go("/" if path == "report" else path)
    if path == "report":
        page.locator("#text").fill(english_paper().text)
        page.locator("button.main").click()
        page.wait_for_url("**/report/*")
    assert findings(page) == []
    unfold(page)
    assert findings(page) == []
    sitting.close()
