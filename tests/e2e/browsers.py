"""A real browser for pages that are files, and what is measured in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    # Containers share little memory.
    "--disable-dev-shm-usage",
)  # fmt: skip

FAINT_TEXT = Path(__file__).with_name("faint_text.js").read_text(encoding="utf-8")


@contextmanager
def launched() -> Iterator[Browser]:
    """Yield a browser; skip where there is none, or nothing to drive it."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs simstore[browser]")
    place = os.environ.get("SIMSTORE_TEST_BROWSER") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    if place is None:
        pytest.skip("no browser: apt-get install chromium, or SIMSTORE_TEST_BROWSER names one")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=place, args=list(ARGUMENTS))
        yield browser
        browser.close()


class Visit:
    """A page that is open, and all that it complained of or asked for."""

    def __init__(self, browser: Browser, path: Path, **options: Any) -> None:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        self.context = browser.new_context(**options)
        # A busy machine is slow; what is looked for comes all the same.
        self.context.set_default_timeout(120_000)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.path = path
        self.page.goto(path.as_uri())

    def close(self) -> None:
        """Leave; nothing may have been complained of, and nothing but the page asked for."""
        self.context.close()
        assert self.complaints == []
        assert self.requests == [self.path.as_uri()]

    def is_too_wide(self) -> bool:
        """Return whether the page has to be scrolled sideways."""
        width: bool = self.page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
        return width


def sides(page: Page) -> list[str]:
    """Return what the panel shows of the paper and of the source."""
    return page.locator(".panel .pair .words").all_text_contents()
