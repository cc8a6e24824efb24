"""Days of benchmarks/crawl.py as a web archive: a response of HTTP a page.

Usage: python benchmarks/crawl_warc.py OUTPUT.warc.gz DAY.jsonl ...

Each record is a gzip member of its own, as in the archives of crawlers. Standard library only.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import uuid
from pathlib import Path
from typing import Any

NAMESPACE = uuid.UUID("9c1f9f5e-4a44-4b1c-9a53-0d8c0c1f7e11")


def page(record: dict[str, Any]) -> bytes:
    """Return a page as a server would send it."""
    text = html.escape(record["text"])
    body = (
        f"<!doctype html><html><head><title>{html.escape(record['url'])}</title></head>"
        f"<body><nav><a href='/'>Home</a></nav><main><article><p>{text}</p></article></main>"
        f"</body></html>"
    ).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + body


def warc_record(record: dict[str, Any]) -> bytes:
    """Return a fetched page as a record of an archive."""
    content = page(record)
    number = uuid.uuid5(NAMESPACE, f"{record['url']} {record['crawled']}")
    head = (
        "WARC/1.0\r\n"
        "WARC-Type: response\r\n"
        f"WARC-Record-ID: <urn:uuid:{number}>\r\n"
        f"WARC-Target-URI: {record['url']}\r\n"
        f"WARC-Date: {record['crawled']}\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("days", type=Path, nargs="+")
    given = parser.parse_args()
    count = 0
    with given.output.open("wb") as file:
        for day in given.days:
            for line in day.read_text("utf-8").splitlines():
                file.write(gzip.compress(warc_record(json.loads(line)), mtime=0))
                count += 1
    print(f"{given.output}: {count} pages")


if __name__ == "__main__":
    main()
