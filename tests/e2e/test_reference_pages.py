"""docs/reference/api.md, http.md and tables.md say what the program says."""

from __future__ import annotations

import importlib.util
import sqlite3
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
from public_names import NAMES

from simstore import Store
from simstore.storage.tables import RECORD_VIEWS

pytest.importorskip("fastapi", reason="pip install '.[server]': a page is of its OpenAPI document")
GENERATOR = Path(__file__).resolve().parents[2] / "docs" / "make_reference.py"
REMEDY = "run: python docs/make_reference.py"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    if not GENERATOR.is_file():
        pytest.skip("only a checkout or a source archive has docs/")
    specification = importlib.util.spec_from_file_location("make_reference", GENERATOR)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["api.md", "http.md", "tables.md"])
def test_the_page_is_what_the_program_says(generator: ModuleType, name: str) -> None:
    (made,) = (text for path, text in generator.pages().items() if path.name == name)
    written = (GENERATOR.parent / "reference" / name).read_text(encoding="utf-8")
    assert written == made, REMEDY


def test_the_page_of_the_api_names_everything_public(generator: ModuleType) -> None:
    named = [name for names in generator.public_names().values() for name in names]
    assert sorted(named) == sorted(name for name in NAMES if not name.startswith("__"))


def test_columns_of_the_views_for_people_are_those_of_a_store(
    generator: ModuleType, tmp_path: Path
) -> None:
    Store.create(tmp_path / "s.db").close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        for name in RECORD_VIEWS:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
            assert [column for column, _, _ in generator.RECORD_COLUMNS[name]] == columns
