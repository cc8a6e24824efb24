"""docs/reference/commands.md says what the commands say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
GENERATOR = REPOSITORY / "docs" / "make_commands.py"
REMEDY = "docs/reference/commands.md is out of date; run: python docs/make_commands.py"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    if not GENERATOR.is_file():
        pytest.skip("only a checkout or a source archive has docs/")
    specification = importlib.util.spec_from_file_location("make_commands", GENERATOR)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_command_reference_is_what_the_commands_say(generator: ModuleType) -> None:
    written = generator.TARGET.read_text(encoding="utf-8")
    version = generator.click_version()
    if f"(click {version})" not in written:
        pytest.skip(f"click {version} lays out help otherwise than the click that wrote the file")
    assert written == generator.reference(), REMEDY


def test_page_which_command_names_every_command_and_no_other(generator: ModuleType) -> None:
    page = (REPOSITORY / "docs/how-to/which-command.md").read_text(encoding="utf-8")
    named = {found.split()[1] for found in re.findall(r"`(simstore [a-z][^`]*)`", page)}
    commands = {path.split()[1] for path, _ in generator.all_commands() if " " in path}
    assert named - {"help"} == commands


def test_command_reference_names_every_command_and_option(generator: ModuleType) -> None:
    sections: dict[str, str] = {}
    for section in generator.TARGET.read_text(encoding="utf-8").split("\n## ")[1:]:
        path, _, text = section.partition("\n")
        sections[path] = text
    contexts = dict(generator.all_commands())
    assert list(sections) == list(contexts), REMEDY
    for path, context in contexts.items():
        for parameter in context.command.params:
            names = parameter.opts if parameter.param_type_name == "option" else []
            missing = [name for name in names if name not in sections[path]]
            assert not missing, f"{path}: {missing}; {REMEDY}"
