"""The page in a real browser: what a person does with a paper in hand, and sees then."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from checked_papers import chinese_paper, english_paper
from page_stores import HOSTILE, LATIN, SITES, empty_store, full_store
from served import Served, serve

from simstore import Store

from .browsers import sides

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
BRIDGE = f"/document?key={quote(f'{SITES[0]}/bridge', safe='')}"
ODD = [f"/document?key={quote(key, safe='', errors='surrogateescape')}" for key in (HOSTILE, LATIN)]
PAGES = ("/", "/search?q=The+span+dropped+nearly+four+centimetres+towards+the+fish+quay+whenever",
         BRIDGE, *ODD, "/overview", "/runs", "/rejects", "/login", "/search?q=nothing")  # fmt: skip


TALL = {"viewport": {"width": 1280, "height": 1480}}
CHINESE_DARK = {"locale": "zh-CN", "color_scheme": "dark"}


class Sitting:
    """A browser at a served page, and all that it complained of or asked for."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        options.setdefault("locale", "en-GB")
        self.context = browser.new_context(**options)
        # A busy machine is slow; what is looked for comes all the same.
        self.context.set_default_timeout(120_000)
        self.page: Page = self.context.new_page()
        self.url = url
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def go(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def close(self) -> None:
        """Leave; nothing may have been complained of, nor asked for elsewhere."""
        self.context.close()
        assert self.complaints == []
        assert [one for one in self.requests if not one.startswith((self.url, "blob:"))] == []


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(full_store(tmp_path_factory.mktemp("page") / "simstore.db")) as found:
        yield found


@pytest.fixture
def sit(browser: Browser, served: Served) -> Iterator[Callable[..., Sitting]]:
    sittings: list[Sitting] = []

    def down(url: str = "", **options: Any) -> Sitting:
        sittings.append(Sitting(browser, url or served.url, **options))
        return sittings[-1]

    yield down
    for one in sittings:
        one.close()


Sit = Callable[..., Sitting]


def is_too_wide(page: Page) -> bool:
    wide: bool = page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )
    return wide


def drop(page: Page, name: str, data: bytes) -> None:
    """Drop a file on the page, as a browser tells of it."""
    page.evaluate(
        """([name, bytes]) => {
          const carried = new DataTransfer();
          carried.items.add(new File([new Uint8Array(bytes)], name));
          for (const kind of ["dragenter", "dragover", "drop"])
            document.querySelector("h1").dispatchEvent(
              new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
        }""",
        [name, list(data)],
    )


def focused(page: Page) -> Locator:
    return page.locator(":focus")


def tab_to(page: Page, wanted: str) -> None:
    """Press Tab until what is wanted has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"{wanted} is never reached")


def test_paste_leads_to_a_report_and_a_click_opens_a_passage(sit: Sit) -> None:
    page = sit().go("/")
    page.locator("#text").fill(english_paper().text)
    assert page.locator(".counted").inner_text() == "2,339 characters"
    page.get_by_role("button", name="Check", exact=True).click()
    page.wait_for_url("**/report/*")
    assert page.locator(".overall strong").inner_text() == "72.3%"
    page.locator(".p").first.click()
    own, source = sides(page)
    assert own == page.locator(".p").first.text_content()
    assert "iron swing bridge" in source
    # The source is a document of the store: its story is a click away.
    page.locator(".panel .origin a").click()
    page.wait_for_url("**/document?key=*")
    assert "Swing bridge at Alderwick" in page.locator("h1").inner_text()
    page.go_back()
    assert page.locator(".overall strong").inner_text() == "72.3%"


def test_a_dropped_word_file_is_checked(sit: Sit) -> None:
    docx = pytest.importorskip("docx", reason="needs python-docx")
    made, data = docx.Document(), io.BytesIO()
    for paragraph in english_paper().text.split("\n\n"):
        made.add_paragraph(paragraph.replace("\n", " "))
    made.save(data)
    page = sit().go("/")
    assert not page.get_by_role("button", name="Without these files").is_visible()
    drop(page, "small-crossings.docx", data.getvalue())
    assert page.evaluate("document.querySelector('#file').files[0].name") == "small-crossings.docx"
    assert page.get_by_role("button", name="Without these files").is_visible()
    assert focused(page).inner_text() == "Check"
    page.keyboard.press("Enter")
    page.wait_for_url("**/report/*")
    assert "small-crossings.docx" in page.locator("article header").inner_text()
    assert page.locator(".p.high").count() > 5


def test_a_file_that_is_too_large_is_told_of_before_it_is_sent(sit: Sit) -> None:
    page = sit().go("/")
    page.evaluate("document.querySelector('form.check').dataset.mostBytes = '10'")
    page.locator("#text").fill("more than ten bytes")
    page.get_by_role("button", name="Check", exact=True).click()
    assert "32 MB at most" in page.locator(".wrong").inner_text()
    assert page.url.endswith("/")


def test_a_wrong_token_is_told_and_a_good_one_leads_on(sit: Sit, tmp_path: Path) -> None:
    place = empty_store(tmp_path / "s.db")
    with Store.open(place) as store:
        store.add("a key", "The words of a document that is stored under a key.")
        secret = store.tokens.add("reader", "read")
    with serve(place) as guarded:
        sitting = sit(guarded.url)
        page = sitting.page
        sitting.go("/document?key=a%20key")
        assert page.url.startswith(f"{guarded.url}/login?next=")
        assert focused(page).get_attribute("id") == "token"
        page.keyboard.type("sst_wrong")
        page.keyboard.press("Enter")
        page.locator("[role=alert]").wait_for()
        assert "not valid" in page.locator("[role=alert]").inner_text()
        # The browser itself tells of the status.
        assert all("401" in said for said in sitting.complaints)
        sitting.complaints.clear()
        page.keyboard.type(secret)
        page.keyboard.press("Enter")
        page.wait_for_url("**/document?key=a%20key")
        assert page.evaluate("document.cookie").find("session") == -1
        sitting.go("/")
        page.locator("#text").fill("The words of a document that is stored under a key.")
        page.get_by_role("button", name="Check", exact=True).click()
        page.wait_for_url("**/report/*")
        assert page.locator(".overall strong").inner_text() == "100%"
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/login?out=1")
        page.goto(f"{guarded.url}/runs")
        assert "/login" in page.url


def test_the_appearance_follows_the_system(sit: Sit) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    for scheme, colour in (("light", "rgb(251, 250, 248)"), ("dark", "rgb(21, 22, 24)")):
        page = sit(color_scheme=scheme).go("/runs")
        assert page.evaluate(ground) == colour


def test_the_language_follows_the_browser_and_can_be_chosen(sit: Sit) -> None:
    page = sit(locale="zh-CN").go("/")
    assert page.locator("h1").inner_text() == "这些文字，以前在哪里出现过？"
    page.locator("#text").fill(chinese_paper().text)
    page.get_by_role("button", name="查重", exact=True).click()
    page.wait_for_url("**/report/*")
    assert "文章查重报告" in page.locator(".kicker").inner_text()
    page.get_by_role("link", name="English").click()
    page.wait_for_url("**/report/*lang=en")
    assert "Similarity report" in page.locator(".kicker").inner_text()
    page.get_by_role("link", name="Overview").click()
    assert page.locator("h1").inner_text() == "The store"


def test_all_of_it_works_by_keyboard(sit: Sit) -> None:
    page = sit().go("/")
    page.keyboard.press("Tab")
    assert focused(page).get_attribute("class") == "skip"
    page.keyboard.press("Enter")
    assert focused(page).get_attribute("id") == "main"
    tab_to(page, "#text")
    page.keyboard.insert_text(english_paper().text)
    tab_to(page, "#file")
    tab_to(page, "button.main")
    tab_to(page, ".options summary")
    page.keyboard.press("Enter")
    tab_to(page, "input[name=exclude_quotations]")
    page.keyboard.press("Space")
    tab_to(page, "#exclude")
    page.keyboard.press("Shift+Tab")
    page.locator("#text").focus()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/report/*")
    tab_to(page, ".p")
    page.keyboard.press("Enter")
    assert sides(page)[0] == page.locator(".p").first.text_content()
    tab_to(page, ".panel .origin a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/document?key=*")
    tab_to(page, "table a")
    place = focused(page).get_attribute("href") or "none"
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url.endswith(place))
    page.locator("h1").wait_for()


def test_a_narrow_screen_never_scrolls_sideways(sit: Sit) -> None:
    sitting = sit(viewport={"width": 320, "height": 640})
    for path in PAGES:
        page = sitting.go(path)
        for opener in page.locator("details > summary").all():
            opener.click()
        assert not is_too_wide(page), path
    page = sitting.go("/")
    page.locator("#text").fill(english_paper().text)
    page.locator(".check button.main").click()
    page.wait_for_url("**/report/*")
    assert not is_too_wide(page)
    page.locator(".p").first.click()
    assert page.locator(".panel.open .pair").is_visible()
    assert not is_too_wide(page)


def test_without_scripts_a_paper_is_checked_too(sit: Sit) -> None:
    page = sit(java_script_enabled=False).go("/")
    page.locator("#text").fill(english_paper().text)
    page.get_by_role("button", name="Check", exact=True).click()
    page.wait_for_url("**/report/*")
    assert page.locator(".p").first.is_visible()
    assert page.locator("button.print").is_hidden()
    page.get_by_role("link", name="Search").click()
    page.get_by_label("A key, or a text").fill("Anybody curious may watch from the lock gallery,"
                                               " where volunteers explain each stage")  # fmt: skip
    page.get_by_role("button", name="Search").click()
    assert page.locator(".hits .hit").count() >= 2


def test_hostile_keys_and_texts_are_shown_and_not_run(sit: Sit) -> None:
    sitting = sit()
    page = sitting.go(ODD[0])
    assert page.locator("h1").text_content() == HOSTILE
    assert HOSTILE.replace("\u202e", "") in (page.locator(".kept").text_content() or "").replace(
        "\u202e", ""
    )
    page.get_by_role("button", name="Check against the other documents").click()
    page.wait_for_url("**/report/*")
    page.locator(".p").first.click()
    assert page.locator(".panel .pair").is_visible()
    page = sitting.go(f"/search?q={quote(HOSTILE, safe='')}")
    assert page.locator("#q").input_value() == HOSTILE
    page.locator(".hits a").first.click()
    assert page.locator("h1").text_content() == HOSTILE
    page = sitting.go(f"/?lang={quote(HOSTILE)}")
    assert page.locator("img").count() == 0


def test_prints_on_white_without_what_is_only_for_screens(sit: Sit) -> None:
    page = sit(color_scheme="dark").go(BRIDGE)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("header.site").is_visible()
    assert page.locator("h1").is_visible()


@pytest.mark.skipif(
    "SIMSTORE_TEST_IMAGES" not in os.environ, reason="SIMSTORE_TEST_IMAGES asks for new pictures"
)
@pytest.mark.parametrize(
    ("image", "path", "options"),
    [
        ("page-check", "/", {}),
        ("page-report", "check", {}),
        ("page-search", PAGES[1], {}),
        ("page-story", BRIDGE, {}),
        ("page-overview", "/overview", TALL),
        ("page-overview-chinese-dark", "/overview", TALL | CHINESE_DARK),
        ("page-narrow", "/", {"viewport": {"width": 320, "height": 640}}),
    ],
)
def test_pictures_of_the_documentation(
    sit: Sit, image: str, path: str, options: dict[str, Any]
) -> None:
    sitting = sit(**({"viewport": {"width": 1280, "height": 920}} | options))
    page = sitting.go("/" if path == "check" else path)
    if path == "check":
        page.locator("#text").fill(english_paper().text)
        page.locator(".options summary").click()
        page.locator("#exclude").fill("*script*")
        page.get_by_role("button", name="Check", exact=True).click()
        page.wait_for_url("**/report/*")
        page.locator("#text-0").evaluate("(text) => text.previousElementSibling.scrollIntoView()")
        page.locator(".p.moderate").nth(1).click()
    page.screenshot(path=IMAGES / f"{image}.png")
    assert (IMAGES / f"{image}.png").stat().st_size > 15_000
