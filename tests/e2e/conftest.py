"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import forked
import pytest
from forked import Nursery

from .browsers import Visit, launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def nursery() -> Nursery:
    """A process that forks the processes of all tests."""
    return forked.nursery()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # For a module only: while it lives, its thread has a running event loop.
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("pages")

    def page(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            from .report_pages import made

            path.write_text(made()[name](), encoding="utf-8")
        return path

    return page


@pytest.fixture
def visit(browser: Browser, pages: Callable[[str], Path]) -> Iterator[Callable[..., Visit]]:
    visits: list[Visit] = []

    def go(name: str, **options: Any) -> Visit:
        visits.append(Visit(browser, pages(name), **options))
        return visits[-1]

    yield go
    for one in visits:
        one.close()
