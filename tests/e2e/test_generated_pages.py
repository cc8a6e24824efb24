"""Pages of docs/reference that are made of the program say what the program says."""

from __future__ import annotations

import importlib.util
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
from forked import Nursery
from public_names import METHODS, NAMES

from simstore import Store
from simstore.errors import StoreNotFound
from simstore.storage.tables import RECORD_VIEWS

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="only a checkout has docs/")


def generator(name: str) -> ModuleType:
    """Import a script of docs/ that makes pages."""
    if name == "make_reference":
        pytest.importorskip("fastapi", reason="a page is made of the OpenAPI document")
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_api_page_lists_every_method_of_a_namespace() -> None:
    written = (DOCS / "reference/api.md").read_text(encoding="utf-8")
    names = [re.sub(r"\.[A-Z]\w*\.", ".", name) for name in METHODS]
    assert len(names) > 50
    assert [name for name in names if f"`store.{name}`" not in written] == []


def test_command_reference_is_what_the_commands_say() -> None:
    made = generator("make_commands")
    written = made.TARGET.read_text(encoding="utf-8")
    version = made.click_version()
    if f"(click {version})" not in written:
        pytest.skip(f"click {version} lays out help differently from the click that wrote the file")
    assert written == made.reference(), "run: python docs/make_commands.py"


def test_command_reference_names_every_command_and_option() -> None:
    made = generator("make_commands")
    written = made.TARGET.read_text(encoding="utf-8")
    parts = (section.partition("\n") for section in written.split("\n## ")[1:])
    sections = {path: text for path, _, text in parts}
    contexts = dict(made.all_commands())
    assert list(sections) == list(contexts)
    for path, context in contexts.items():
        for parameter in context.command.params:
            names = parameter.opts if parameter.param_type_name == "option" else []
            assert [name for name in names if name not in sections[path]] == [], path
    page = (DOCS / "how-to/which-command.md").read_text(encoding="utf-8")
    named = {found.split()[1] for found in re.findall(r"`(simstore [a-z][^`]*)`", page)}
    assert named - {"help"} == {path.split()[1] for path in contexts if " " in path}


def test_reference_pages_are_what_the_program_says() -> None:
    made = generator("make_reference")
    for path, text in made.pages().items():
        written = (DOCS / "reference" / path.name).read_text(encoding="utf-8")
        assert written == text, f"{path.name}: run: python docs/make_reference.py"


def test_the_page_of_the_api_names_everything_public() -> None:
    made = generator("make_reference")
    named = [name for names in made.public_names().values() for name in names]
    assert sorted(named) == sorted(name for name in NAMES if not name.startswith("__"))


def test_columns_of_the_views_for_people_are_those_of_a_store(tmp_path: Path) -> None:
    made = generator("make_reference")
    Store.create(tmp_path / "s.db").close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        for name in RECORD_VIEWS:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
            assert [column for column, _, _ in made.RECORD_COLUMNS[name]] == columns


def test_the_page_of_errors_has_each_kind_under_the_heading_it_links_to() -> None:
    made = generator("make_errors")
    written = made.TARGET.read_text(encoding="utf-8")
    assert written == made.reference(), "run: python docs/make_errors.py"
    headings = {line.lower() for line in written.splitlines()}
    for kind in made.kinds():
        path, _, anchor = kind.__new__(kind).page.partition("#")
        assert REPOSITORY / path == made.TARGET
        assert f"## {anchor}" in headings


def test_a_command_that_fails_links_to_its_error_if_more_is_requested(
    nursery: Nursery, tmp_path: Path
) -> None:
    page = StoreNotFound("none.db").page
    assert len(nursery.simstore(tmp_path, "list").error_lines) == 1
    assert nursery.simstore(tmp_path, "-v", "list").error_lines[1:] == [f"see {page}"]
    told = json.loads(nursery.simstore(tmp_path, "--log-json", "list").errors)
    assert (told["exit_code"], told["page"]) == (3, page)
