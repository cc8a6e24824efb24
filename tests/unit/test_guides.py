"""The guides for developers name only what is there."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
GUIDES = ("CONTRIBUTING.md", "docs/explanation/architecture.md")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:[\w.]+/)+(?:[\w.]+\.(?:py|md|mako|toml|html|c))?")
SYMBOL = re.compile(r"`(\w+)(?:\(\))?` (?:in|of) `([\w/]+\.py)`")

pytestmark = pytest.mark.skipif(
    not (REPOSITORY / "CONTRIBUTING.md").exists(), reason="the guides are not beside the tests"
)


def paths(text: str) -> set[str]:
    """Return the paths of files and folders that stand between back quotes."""
    words = (word for code in CODE.findall(text) for word in code.split())
    return {word for word in words if PATH.fullmatch(word) and not re.search("NAME|NNNN", word)}


@pytest.mark.parametrize("name", GUIDES)
def test_each_path_is_there(name: str) -> None:
    found = paths((REPOSITORY / name).read_text(encoding="utf-8"))
    assert len(found) > 5
    missing = [
        path
        for path in sorted(found)
        if not (REPOSITORY / path).exists() and not (REPOSITORY / "simstore" / path).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("name", GUIDES)
def test_each_module_is_there(name: str) -> None:
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    for module in re.findall(r"`(simstore(?:\.[a-z_]\w*)+)`", text):
        if module != "simstore.readers":  # a group of entry points
            assert find_spec(module) is not None, module


@pytest.mark.parametrize("name", GUIDES)
def test_each_symbol_is_in_the_file_that_is_named_with_it(name: str) -> None:
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    for symbol, path in SYMBOL.findall(text):
        full = REPOSITORY / path
        full = full if full.exists() else REPOSITORY / "simstore" / path
        assert re.search(rf"\b{symbol}\b", full.read_text(encoding="utf-8")), (symbol, path)


def test_each_decision_has_a_number_of_its_own_and_a_topic() -> None:
    text = (REPOSITORY / "docs/explanation/decisions.md").read_text(encoding="utf-8")
    topics = re.split(r"^## ", text, flags=re.MULTILINE)
    assert "\n### " not in topics[0]
    numbers = re.findall(r"^### (\d+)\. \S", text, re.MULTILINE)
    assert len(numbers) == len(set(numbers)) == len(re.findall(r"^### ", text, re.MULTILINE))
    referred = re.findall(r"decision (\d+)", text)
    assert len(referred) > 3
    assert set(referred) <= set(numbers)


def test_the_house_shows_each_folder() -> None:
    text = (REPOSITORY / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    house = text.split("```")[1]
    for above, indent in (("simstore", 2), ("simstore/services", 4)):
        shown = set(re.findall(rf"^ {{{indent}}}(\w+)/ ", house, re.MULTILINE))
        there = {path.parent.name for path in (REPOSITORY / above).glob("*/__init__.py")}
        assert shown == there


def test_each_path_of_the_continuous_integration_is_there() -> None:
    script = REPOSITORY / ".ci" / "run"
    if not script.exists():
        pytest.skip("the script is not beside the tests")
    named = re.findall(r"\btests/[\w./]+", script.read_text(encoding="utf-8"))
    assert len(named) > 3
    assert [name for name in named if not (REPOSITORY / name).exists()] == []


def test_folders_of_unit_tests_mirror_the_package() -> None:
    tests = REPOSITORY / "tests" / "unit"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert len(folders) > 20
    tested = (REPOSITORY / "simstore", REPOSITORY)
    assert [name for name in folders if not any((one / name).is_dir() for one in tested)] == []
    # What has a folder of its subject in the services has one here.
    modules = {path.stem for path in (REPOSITORY / "simstore" / "services").glob("*.py")}
    loose = {path.stem.removeprefix("test_") for path in (tests / "services").glob("test_*.py")}
    assert loose <= modules
