"""The documentation site builds without a warning and shows what was made of the program."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from public_names import NAMES

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(
        not (REPOSITORY / "mkdocs.yml").exists(), reason="only a checkout has docs/"
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="pip install -e '.[docs]' builds the site")
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_of_docs_is_built(site: Path) -> None:
    for path in REPOSITORY.glob("docs/**/*.md"):
        page = site / path.relative_to(REPOSITORY / "docs").with_suffix(".html")
        assert page.is_file(), page


def test_reference_has_every_public_name_path_and_table(site: Path) -> None:
    from simstore.server.app import create_app
    from simstore.storage.tables import metadata

    names = [name for name in NAMES if not name.startswith("__")]
    shown = (site / "reference/api.html").read_text(encoding="utf-8")
    assert [name for name in names if not re.search(rf">{name}<", shown)] == []
    shown = (site / "reference/http.html").read_text(encoding="utf-8")
    paths = create_app(site / "none.db").openapi()["paths"]
    assert [path for path in paths if f"<code>{path}</code>" not in shown] == []
    shown = (site / "reference/tables.html").read_text(encoding="utf-8")
    assert [name for name in metadata.tables if f'id="{name}"' not in shown] == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = re.compile(
        r"""<(?:script|img|iframe)[^>]*\ssrc=["']?https?:|<link[^>]*rel=["']?(?:stylesheet|preconnect)["']?[^>]*https?:"""
    )
    for page in site.glob("**/*.html"):
        assert fetched.search(page.read_text(encoding="utf-8")) is None, page


def test_search_finds_words_inside_chinese_sentences(site: Path) -> None:
    pytest.importorskip("jieba")
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    assert "zh" in index["config"]["lang"]
    # A blank of no width stands where jieba parts two words.
    text = "".join(entry["text"] for entry in index["docs"])
    assert re.search("[\u4e00-\u9fff]\u200b[\u4e00-\u9fff]", text)
