"""How fast web archives and pages are read: ``python benchmarks/reading_web.py FOLDER``.

FOLDER holds pages (``.html``, below it too), as packages ship in their documentation. They are put
into web archives by warcio, which are read by simstore, FastWARC and warcio; their main text is
taken by simstore (with title, links and date) and by resiliparse alone. Processor time, best of
several, the candidates one after the other in each round.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fastwarc.warc import ArchiveIterator as FastIterator
from resiliparse.extract.html2text import extract_plain_text
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from simstore.sources.reader import ReadRequest
from simstore.sources.warc import framed_records, parse_response, plain_body
from simstore.sources.web_pages import read_page
from simstore.store import Store

ADDRESS = "https://e.example/"
_LONGEST = 1 << 20


def make_archive(pages: list[bytes], *, packed: bool = False) -> bytes:
    """Return a web archive of responses."""
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=packed)
    for number, page in enumerate(pages):
        http = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        writer.write_record(
            writer.create_warc_record(
                f"{ADDRESS}{number}",
                "response",
                payload=io.BytesIO(page),
                length=len(page),
                http_headers=http,
            )
        )
    return stream.getvalue()


def of_ours(archive: bytes) -> int:
    request = ReadRequest("archive")
    size = 0
    for record in framed_records(io.BufferedReader(io.BytesIO(archive)), request):
        response = parse_response(record.content)
        assert response is not None
        size += len(plain_body(response, None))
    return size


def of_fastwarc(archive: bytes) -> int:
    return sum(len(record.reader.read()) for record in FastIterator(io.BytesIO(archive)))


def of_warcio(archive: bytes) -> int:
    records = ArchiveIterator(io.BytesIO(archive))
    return sum(len(record.content_stream().read()) for record in records)


def best(steps: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the least processor seconds of each step."""
    found = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            began = time.process_time()
            step()
            found[name] = min(found[name], time.process_time() - began)
    return found


def ingest(archive: bytes) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crawl.warc"
        path.write_bytes(archive)
        with Store.create(Path(folder) / "s.db", synchronous="normal") as store:
            return store.ingest([str(path)]).document_count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    paths = sorted(given.folder.rglob("*.html"))[: given.pages]
    pages = [path.read_bytes() for path in paths if path.stat().st_size <= _LONGEST]
    archive = make_archive(pages)
    texts = [page.decode("utf-8", "replace") for page in pages]
    print(f"{len(pages)} pages, {len(archive) / 1e6:.1f} MB")
    steps: dict[str, Callable[[], object]] = {
        "records: simstore": lambda: of_ours(archive),
        "records: FastWARC": lambda: of_fastwarc(archive),
        "records: warcio": lambda: of_warcio(archive),
        "main text: simstore": lambda: [read_page(text, "main", ADDRESS) for text in texts],
        "main text: resiliparse": lambda: [
            extract_plain_text(text, main_content=True) for text in texts
        ],
        "ingest: simstore": lambda: ingest(archive),
    }
    for name, seconds in best(steps, given.rounds).items():
        print(f"{name:24}{len(archive) / seconds / 1e6:10.0f} MB/s{len(pages) / seconds:10.0f} /s")


if __name__ == "__main__":
    main()
