"""The pipeline in a real Scrapy, in processes of its own, against a real server on the loopback."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from forked import PATIENCE_SECONDS

from simstore import Store

from .processes import until
from .states import assert_sound
from .test_check_insert import WORDS

pytestmark = pytest.mark.scrapy
SPIDER = Path(__file__).with_name("harbour_spider.py")
PIPELINE = "simstore.integrations.scrapy.DedupPipeline"


def text_of(name: str, *, changed: int = 0) -> str:
    """Return 80 words; of texts that differ in one or two, the resemblance is above 0.8."""
    words = random.Random(name).choices(WORDS, k=80)
    for place in range(changed):
        words[10 + place] = f"x{place}"
    return " ".join(words)


def nothing(path: str) -> None:
    """Do nothing before a path is answered."""


class Site:
    """Pages that a thread serves; what is asked for is noted.

    Attributes:
        pages: Path to text; they can be changed between crawls.
        asked: Paths in the order in which they were asked for.
        before: Called with each path before it is answered.
    """

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.asked: list[str] = []
        self.before: Callable[[str], Any] = nothing
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                site.before(self.path)
                body = site.body(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write((body or "").encode())

            def log_message(self, format: str, *values: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def body(self, path: str) -> str | None:
        if path == "/":
            return "".join(f"<a href='{page}'>{page}</a>" for page in self.pages)
        text = self.pages.get(path)
        if text is None:
            return None
        return f"<title>Page {path}</title><p>{text}</p>" if text else "<title>Empty</title>"

    def url(self, path: str) -> str:
        return f"{self.address}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Crawl:
    """A process that runs the spider."""

    def __init__(
        self, site: Site, folder: Path, *, kind: str, python: tuple[str, ...], **settings: Any
    ) -> None:
        for name in ("items.jsonl", "stats.json"):
            (folder / name).unlink(missing_ok=True)
        settings = {"ITEM_PIPELINES": json.dumps({PIPELINE: 300})} | settings
        settings.setdefault("CONCURRENT_REQUESTS", 1)
        given = [word for name in settings for word in ("-s", f"{name}={settings[name]}")]
        arguments = ["-a", f"start={site.address}/", "-a", "stats=stats.json", "-a", f"kind={kind}"]
        self._folder = folder
        self.log_file = folder / "crawl.log"
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable, *python, "-m", "scrapy", "runspider", str(SPIDER),
                    "-O", "items.jsonl", *arguments, *given,
                ],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )  # fmt: skip

    @property
    def log(self) -> str:
        return self.log_file.read_text("utf-8")

    def wait(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    @property
    def items(self) -> list[dict[str, Any]]:
        path = self._folder / "items.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]

    @property
    def paths(self) -> list[str]:
        """Paths of the pages whose items came through."""
        return ["/" + item["url"].rpartition("/")[2] for item in self.items]

    @property
    def counts(self) -> dict[str, int]:
        """What the pipeline counted."""
        stats = json.loads((self._folder / "stats.json").read_text("utf-8"))
        return {
            name.removeprefix("simstore/"): count
            for name, count in stats.items()
            if name.startswith("simstore/")
        }


Crawler = Callable[..., Crawl]


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


@pytest.fixture
def start(site: Site, tmp_path: Path) -> Iterator[Crawler]:
    """Start a crawl; it ends with the test at the latest."""
    pytest.importorskip("scrapy", reason="needs the extra scrapy")
    begun: list[Crawl] = []

    def started(
        *, kind: str = "dict", db: str | None = "crawl.db", python: tuple[str, ...] = (),
        **settings: Any,
    ) -> Crawl:  # fmt: skip
        named = {} if db is None else {"SIMSTORE_DB": db}
        begun.append(Crawl(site, tmp_path, kind=kind, python=python, **named, **settings))
        return begun[-1]

    yield started
    for crawl in begun:
        crawl.process.kill()
        crawl.process.wait()


@pytest.fixture
def crawled(start: Crawler) -> Crawler:
    """Crawl to the end."""

    def run(**options: Any) -> Crawl:
        crawl = start(**options)
        assert crawl.wait() == 0, crawl.log
        assert "Traceback" not in crawl.log
        assert "ScrapyDeprecationWarning" not in crawl.log
        return crawl

    return run


def keys(folder: Path) -> list[str]:
    with Store.open(folder / "crawl.db", read_only=True) as store:
        return ["/" + document.key.rpartition("/")[2] for document in store]


def test_duplicates_are_dropped_and_a_second_crawl_knows_the_first(
    site: Site, crawled: Crawler, tmp_path: Path
) -> None:
    site.pages = {
        "/ferry": text_of("ferry"),
        "/ferry-print": text_of("ferry", changed=1),
        "/ferry-copy": text_of("ferry"),
        "/bridge": text_of("bridge"),
        "/market": text_of("market"),
        "/empty": "",
    }
    first = crawled()
    # What is not looked up does not wait for what is.
    assert sorted(first.paths) == ["/bridge", "/empty", "/ferry", "/market"]
    assert first.counts == {"added": 3, "dropped": 2, "rejected": 1}
    assert keys(tmp_path) == ["/ferry", "/bridge", "/market"]
    for copy in ("/ferry-print", "/ferry-copy"):
        assert f"Dropped: {site.url(copy)} is a duplicate of {site.url('/ferry')} " in first.log
    assert "(resemblance 1.000, the same text)" in first.log
    assert first.log.count("no text: none of the fields text") == 1
    assert "SIMSTORE_TEXT_FIELD is 'text'" in first.log
    with Store.open(tmp_path / "crawl.db") as store:
        assert store.get(site.url("/ferry")).title == "Page /ferry"

    site.pages |= {
        "/bridge": text_of("bridge again"),
        "/market-print": text_of("market", changed=2),
        "/harbour": text_of("harbour"),
    }
    second = crawled()
    assert sorted(second.paths) == ["/bridge", "/empty", "/ferry", "/harbour", "/market"]
    assert second.counts == {
        "added": 1, "updated": 1, "unchanged": 2, "dropped": 3, "rejected": 1,
    }  # fmt: skip
    assert f"{site.url('/market-print')} is a duplicate of {site.url('/market')} " in second.log
    assert keys(tmp_path) == ["/ferry", "/bridge", "/market", "/harbour"]
    assert_sound(tmp_path / "crawl.db")


def test_only_what_changed_comes_through_on_request_and_fields_of_other_names_reach_the_store(
    site: Site, crawled: Crawler, tmp_path: Path
) -> None:
    site.pages = {name: text_of(name) for name in ("/ferry", "/bridge")}
    settings = {"SIMSTORE_DROP_UNCHANGED": "True", "SIMSTORE_KEY_FIELD": "title",
                "SIMSTORE_TITLE_FIELD": "url", "SIMSTORE_COLLECTION": "harbour"}  # fmt: skip
    assert crawled(**settings).counts == {"added": 2}
    site.pages["/bridge"] = text_of("bridge again")
    second = crawled(**settings)
    assert second.paths == ["/bridge"]
    assert second.counts == {"updated": 1, "unchanged": 1, "dropped": 1}
    assert "Page /ferry is stored with this text already" in second.log
    with Store.open(tmp_path / "crawl.db") as store:
        ferry = store.get("Page /ferry")
        assert (ferry.title, ferry.collection) == (site.url("/ferry"), "harbour")


@pytest.mark.parametrize("kind", ["dataclass", "plain"])
def test_flagged_items_come_through_and_name_their_original_where_they_have_room(
    site: Site, crawled: Crawler, tmp_path: Path, kind: str
) -> None:
    site.pages = {"/ferry": text_of("ferry"), "/ferry-print": text_of("ferry", changed=1)}
    crawl = crawled(kind=kind, SIMSTORE_ACTION="flag")
    assert crawl.paths == ["/ferry", "/ferry-print"]
    assert crawl.counts == {"added": 1, "flagged": 1}
    original, copy = crawl.items
    assert original.get("simstore_duplicate_of") is None
    has_room = kind != "plain"
    assert copy.get("simstore_duplicate_of") == (site.url("/ferry") if has_room else None)
    if has_room:
        assert 0.8 <= copy["simstore_resemblance"] < 1
    assert ("PlainItem has no field simstore_duplicate_of" in crawl.log) is not has_room
    assert keys(tmp_path) == ["/ferry", "/ferry-print"]


def test_what_came_through_before_a_kill_is_stored(
    site: Site, start: Crawler, crawled: Crawler, tmp_path: Path
) -> None:
    site.pages = {f"/{number}": text_of(str(number)) for number in range(6)}
    reached, go_on = threading.Event(), threading.Event()

    def hold(path: str) -> None:
        if path == "/4":
            reached.set()
            assert go_on.wait(PATIENCE_SECONDS)

    site.before = hold
    crawl = start()
    assert reached.wait(PATIENCE_SECONDS)
    until(lambda: len(keys(tmp_path)) == 4, "four documents")
    crawl.process.kill()
    crawl.wait()
    go_on.set()
    site.before = nothing
    assert_sound(tmp_path / "crawl.db")
    again = crawled()
    assert again.counts == {"unchanged": 4, "added": 2}
    assert len(again.paths) == 6


def test_a_store_that_another_process_writes_to_holds_up_no_download(
    site: Site, crawled: Crawler, tmp_path: Path
) -> None:
    Store.create(tmp_path / "crawl.db").close()
    site.pages = {f"/{number}": text_of(str(number)) for number in range(5)}
    with closing(
        sqlite3.connect(tmp_path / "crawl.db", isolation_level=None, check_same_thread=False)
    ) as writer:
        lock = threading.Lock()

        def release(path: str) -> None:
            with lock:
                if path == "/":
                    writer.execute("BEGIN IMMEDIATE")
                elif set(site.asked) >= set(site.pages) and writer.in_transaction:
                    writer.execute("ROLLBACK")

        site.before = release
        assert crawled().counts == {"added": 5}
    assert len(keys(tmp_path)) == 5


def test_a_setting_that_cannot_be_used_stops_the_crawl_before_it_begins(
    site: Site, start: Crawler
) -> None:
    crawl = start(SIMSTORE_ACTION="dorp")
    # The exit code is Scrapy's affair: 0 before 2.14.
    crawl.wait()
    assert "SIMSTORE_ACTION 'dorp': choose one of drop, flag, keep" in crawl.log
    assert site.asked == []


def test_a_file_that_is_no_store_stops_the_crawl(
    site: Site, start: Crawler, tmp_path: Path
) -> None:
    (tmp_path / "crawl.db").write_text("these are notes, and they stay as they are\n" * 100)
    crawl = start()
    crawl.wait()
    assert "crawl.db cannot be opened" in crawl.log
    assert site.asked == []


def test_without_a_store_the_crawl_goes_on_without_the_pipeline(
    site: Site, crawled: Crawler, tmp_path: Path
) -> None:
    site.pages = {"/ferry": text_of("ferry"), "/ferry-copy": text_of("ferry")}
    crawl = crawled(db=None)
    assert f"Disabled {PIPELINE}: SIMSTORE_DB names no store" in crawl.log
    assert (crawl.paths, crawl.counts) == (["/ferry", "/ferry-copy"], {})
