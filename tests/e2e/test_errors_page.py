"""Each kind of error has its place in docs/reference/errors.md, and errors link to it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from forked import Nursery

from simstore.errors import StoreNotFound

REPOSITORY = Path(__file__).resolve().parents[2]
GENERATOR = REPOSITORY / "docs" / "make_errors.py"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    if not GENERATOR.is_file():
        pytest.skip("only a checkout or a source archive has docs/")
    specification = importlib.util.spec_from_file_location("make_errors", GENERATOR)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_page_is_what_the_errors_say(generator: ModuleType) -> None:
    written = generator.TARGET.read_text(encoding="utf-8")
    assert written == generator.reference(), "run: python docs/make_errors.py"


def test_each_error_links_to_a_heading_of_the_page(generator: ModuleType) -> None:
    lines = generator.TARGET.read_text(encoding="utf-8").splitlines()
    for kind in generator.kinds():
        path, _, anchor = kind.__new__(kind).page.partition("#")
        assert REPOSITORY / path == generator.TARGET
        assert [line for line in lines if line.lower() == f"## {anchor}"], anchor


def test_a_command_that_fails_links_to_it_where_more_is_asked_for(
    nursery: Nursery, tmp_path: Path
) -> None:
    page = StoreNotFound("none.db").page
    assert len(nursery.simstore(tmp_path, "list").error_lines) == 1
    assert nursery.simstore(tmp_path, "-v", "list").error_lines[1:] == [f"see {page}"]
    told = json.loads(nursery.simstore(tmp_path, "--log-json", "list").errors)
    assert (told["exit_code"], told["page"]) == (3, page)
