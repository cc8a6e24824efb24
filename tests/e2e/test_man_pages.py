"""The man pages, which are made of the commands: one each, that groff has nothing to say of."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .processes import REPOSITORY

MAKER = REPOSITORY / "docs" / "make_man.py"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not MAKER.exists():
        pytest.skip("only a checkout or a source archive has docs/")
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, MAKER, folder], check=True, capture_output=True)
    return {path.stem: path for path in folder.iterdir()}


@pytest.mark.slow
def test_every_command_has_a_page_with_its_parts(pages: dict[str, Path]) -> None:
    assert {"simstore", "simstore-query", "simstore-passages-build", "simtool"} <= set(pages)
    for name, path in pages.items():
        text = path.read_text(encoding="utf-8")
        parts = ["NAME", "SYNOPSIS", "DESCRIPTION"]
        places = [text.index(f".SH {part}\n") for part in parts]
        assert places == sorted(places), name
        assert f".SH NAME\n{name} \\- " in text
    query = pages["simstore-query"].read_text(encoding="utf-8")
    assert '.SH "WHAT TO FIND"' in query
    assert "\\-\\-min\\-resemblance" in query
    assert ".SH EXAMPLES" in query


def test_groff_has_nothing_to_say(pages: dict[str, Path]) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    words = ["groff", "-man", "-ww", "-z", "-Tutf8", "-Kutf8", *map(str, pages.values())]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "preconv" in done.stderr and "not found" in done.stderr:
        pytest.skip("groff is installed without its macros")
    assert (done.returncode, done.stderr) == (0, "")
