"""The release tool refuses what is not ready, and says what to do."""

from __future__ import annotations

import shutil
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from simstore import __version__

REPOSITORY = Path(__file__).resolve().parents[2]
TOOL = REPOSITORY / "tools" / "release.py"

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="only a checkout has the release tool")


@pytest.fixture
def tool(tmp_path: Path) -> dict[str, Any]:
    """The tool in a copy of what it reads, of which this version is a release."""
    for name in ("tools/release.py", "simstore/version.py", "CITATION.cff"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(f"## [Unreleased]\n\n## [{__version__}] - 2026-11-24\n")
    return run_path(str(tmp_path / "tools" / "release.py"))


def test_version_changelog_citation_and_tag_that_agree_are_accepted(tool: dict[str, Any]) -> None:
    assert tool["told_version"]() == __version__
    tool["check_texts"](__version__, f"v{__version__}")
    tool["check_texts"](__version__, None)


def test_another_tag_is_refused(tool: dict[str, Any]) -> None:
    with pytest.raises(tool["Wrong"], match=f"tag v{__version__}"):
        tool["check_texts"](__version__, "v9.9.9")


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CITATION.cff"])
def test_a_file_that_tells_another_version_is_refused(
    name: str, tool: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(path.read_text(encoding="utf-8").replace(__version__, "9.9.9"))
    with pytest.raises(tool["Wrong"], match=name):
        tool["check_texts"](__version__, None)


def test_a_version_that_is_none_is_refused(tmp_path: Path, tool: dict[str, Any]) -> None:
    (tmp_path / "simstore" / "version.py").write_text('__version__ = "next"\n')
    with pytest.raises(tool["Wrong"], match=r"version\.py"):
        tool["told_version"]()
