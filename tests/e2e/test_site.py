"""The documentation site builds without a warning and shows what was made of the program."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from public_names import METHODS, NAMES

from simstore import Store

from .browsers import launched

# Words of two languages, and a page that has each.
WORDS = {
    "document": "reference/tables.html",
    "documents": "reference/http.html",
    "duplicate": "how-to/clusters.html",
    "near-duplicates": "how-to/clusters.html",
    "fingerprint": "reference/tables.html",
    "vocabulary": "reference/commands.html",
    "backup": "how-to/operations.html",
    "threshold": "how-to/choose-a-threshold.html",
    "passages": "how-to/passages.html",
    "PostgreSQL": "how-to/postgresql.html",
    "查重": "tutorials/paper.zh.html",
    "论文查重": "tutorials/paper.zh.html",
    "文库": "tutorials/paper.zh.html",
    "句子": "tutorials/paper.zh.html",
    "浏览器": "tutorials/paper.zh.html",
    "文件夹": "tutorials/paper.zh.html",
    "照抄": "tutorials/paper.zh.html",
    "报告": "tutorials/paper.zh.html",
    "仓库": "tutorials/paper.zh.html",
    "格式": "tutorials/paper.zh.html",
}
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
    methods = [name.partition(".") for name in METHODS]
    ids = [f"{getattr(Store, space).__module__}.{name}" for space, _, name in methods]
    assert [name for name in ids if f'id="{name}"' not in shown] == []
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
    assert index["config"]["lang"] == ["en"]
    # A blank of no width stands where jieba parts two words.
    text = "".join(entry["text"] for entry in index["docs"])
    assert re.search("[\u4e00-\u9fff]\u200b[\u4e00-\u9fff]", text)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_words: object) -> None:
        pass


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_search_of_the_site_finds_words_of_two_languages(site: Path) -> None:
    pytest.importorskip("jieba")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with launched() as browser:
            page = browser.new_page()
            page.set_default_timeout(60_000)
            complaints: list[str] = []
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda message: complaints.append(message.text))
            for word, path in WORDS.items():
                page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
                page.click("input.md-search__input")
                page.fill("input.md-search__input", word)
                # Further results are shown when the list is scrolled.
                page.wait_for_selector(".md-search-result__item a")
                shown = page.locator(".md-search-result__meta").inner_text()
                assert "matching document" in shown, word
                links = page.locator(".md-search-result__item > a").evaluate_all(
                    "links => links.map(one => new URL(one.href).pathname.slice(1))"
                )
                assert path in links, (word, links)
            assert complaints == []
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            page.click("input.md-search__input")
            page.fill("input.md-search__input", "xylophonist")
            page.wait_for_function(
                "document.querySelector('.md-search-result__meta').innerText.includes('No ')"
            )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
