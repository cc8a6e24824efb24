"""What an ingest spends its processor time on: reading, fingerprinting, writing.

Usage: python benchmarks/shares.py [--quick]
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from corpus import documents
from results import Report, figure, parser

from simstore import Store
from simstore.model import Document
from simstore.services.features.prepare import prepare
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions

Item = TypeVar("Item")
BATCH = 1_000
LINKS = 40


def parts_of(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def write_article_file(path: Path, texts: list[tuple[str, str]]) -> None:
    path.write_text("\f".join(f"{key}\n{text}\n" for key, text in texts), encoding="utf-8")


def write_jsonl(path: Path, texts: list[tuple[str, str]]) -> None:
    lines = (
        json.dumps({"id": key, "text": text, "site": "a.example", "language": "en"})
        for key, text in texts
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def web_page(key: str, text: str) -> bytes:
    """Return a page as sites have them: the text among links, a script and a footer."""
    links = "".join(
        f'<li class="item"><a href="/section-{number}/{key}.html">Section {number}</a></li>'
        for number in range(LINKS)
    )
    words = text.split()
    paragraphs = "".join(f"<p>{' '.join(part)}.</p>\n" for part in parts_of(words, 80))
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>{key}</title><meta property='
        '"article:published_time" content="2026-05-01T12:00:00Z"><script>var a = "b";</script>'
        f"</head><body><nav><ul>{links}</ul></nav><article><h1>{key}</h1>\n{paragraphs}</article>"
        "<footer>Copyright <a href='/imprint'>Imprint</a></footer></body></html>"
    ).encode()


def write_warc(path: Path, texts: list[tuple[str, str]]) -> None:
    with path.open("wb") as file:
        for number, (key, text) in enumerate(texts):
            body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
            body += web_page(key, text)
            head = (
                "WARC/1.0\r\nWARC-Type: response\r\n"
                f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>\r\n"
                f"WARC-Target-URI: https://a.example/{key}\r\nWARC-Date: 2026-05-01T12:00:00Z\r\n"
                f"Content-Type: application/http\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            file.write(head.encode() + body + b"\r\n\r\n")


def spent(step: Callable[[], object]) -> float:
    """Return the processor seconds of a step, of all threads."""
    began = time.process_time()
    step()
    return time.process_time() - began


def main() -> None:
    options = parser(__doc__).parse_args()
    texts = list(documents(500 if options.quick else 10_000))
    rounds = 1 if options.quick else 3
    report = Report(
        "shares",
        "What an ingest is bound by",
        f"{len(texts):,} texts of 600 words, the scheme `web` with both channels, texts kept. "
        "Processor time of all threads, the least of three rounds: reading alone (records to "
        "documents; of pages the main text, links, dates), fingerprinting alone (features, "
        "fingerprints, sketches, compressed texts), and the whole ingest; what is left of it is "
        "writing: SQLite, and passing things on.",
    )
    table = report.table(
        "Shares of the processor time of an ingest",
        ("source", "MB", "documents/s", "reading", "fingerprinting", "writing"),
    )
    writers = {
        "article file": ("article.txt", write_article_file),
        "JSON Lines": ("a.jsonl", write_jsonl),
        "WARC of pages": ("crawl.warc", write_warc),
    }
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        with Store.create(folder / "blank.db") as store:
            opened = store._opened
            with opened.database.read() as connection:
                state = opened.state(connection)
            # What is imported and compiled once is no part of the shares.
            store.add_many(texts[:500])
        for label, (file_name, write) in writers.items():
            path = folder / file_name
            write(path, texts)
            read: list[Document] = []

            def reading(path: Path = path, read: list[Document] = read) -> None:
                read[:] = [
                    one
                    for one in FileSource(str(path), ReadOptions()).records()
                    if isinstance(one, Document)
                ]

            def fingerprinting(read: list[Document] = read) -> None:
                for batch in parts_of(read, BATCH):
                    prepare(batch, state)

            def ingest(path: Path = path) -> None:
                with Store.create(folder / "s.db", synchronous="normal") as store:
                    assert store.ingest([str(path)]).added == len(texts)
                for left in folder.glob("s.db*"):
                    left.unlink()

            least = dict.fromkeys((reading, fingerprinting, ingest), float("inf"))
            for _ in range(rounds):
                for step in least:
                    least[step] = min(least[step], spent(step))
            whole = least[ingest]
            shares = {
                "reading": least[reading] / whole,
                "fingerprinting": least[fingerprinting] / whole,
            }
            shares["writing"] = max(0.0, 1 - sum(shares.values()))
            table.add(
                label,
                figure(path.stat().st_size / 1e6),
                figure(len(texts) / whole),
                *(f"{share:.0%}" for share in shares.values()),
            )
            report.values[label] = shares
    for label in ("article file", "JSON Lines", "WARC of pages"):
        report.target(
            f"{label}: share of reading in an ingest", 0.5, report.values[label]["reading"],
            at_most=True, unit="",
        )  # fmt: skip
    report.finish(options.results)


if __name__ == "__main__":
    main()
