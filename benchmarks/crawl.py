"""A seeded crawl of a small web: pages come, change, move, are copied, and vanish.

Usage: python benchmarks/crawl.py FOLDER [--days N] [--sites N] [--pages N] [--seed N]

Writes ``day-01.jsonl`` and so on, one JSON record a fetched page: ``url``, ``text``, ``collection``
(the host), ``crawled``, ``links``, and on some sites ``published``. The texts are made of the
sentences of ``examples/``, cut at commas and joined anew. The same numbers give the same files,
byte for byte. Standard library only.

A site is of a kind:

- *press* writes pages of its own; they get edited, move to another URL, or go;
- *portal* writes some, and copies new ones of the press within three days: a few words edited, or
  some sentences rewritten; most of its copies link to the original, half tell a date;
- *mirror* shows, since the day before, what another site showed, byte for byte.

The crawler fetches all pages of a site every so many days, by site. So it may meet a copy before
the original, or never see a version.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crawl_web import DAY, FIRST_DAY, Edit, Page, Settings, Site, Source, Web

State = Literal["new", "changed", "unchanged"]


@dataclass(frozen=True)
class Fetched:
    """A page as the crawler got it, and what is true of it.

    Attributes:
        crawled: When it was fetched.
        published: The date that the page tells, if it does.
        links: URLs on the page.
        state: By what the crawler got from this URL before.
        kind: Where the text is from: written here, moved here, copied, mirrored.
        original: URL of the page that it was taken from; for ``moved`` the former URL.
        edit: How a copy was edited.
    """

    url: str
    text: str
    host: str
    crawled: datetime.datetime
    published: datetime.date | None
    links: tuple[str, ...]
    state: State
    kind: Source
    original: str | None
    edit: Edit | None

    def record(self) -> dict[str, Any]:
        """Return what the crawler writes down; the truth about it is not in there."""
        made: dict[str, Any] = {
            "url": self.url,
            "text": self.text,
            "collection": self.host,
            "crawled": self.crawled.isoformat().replace("+00:00", "Z"),
            "links": list(self.links),
        }
        if self.published is not None:
            made["published"] = self.published.isoformat()
        return made


@dataclass(frozen=True)
class Day:
    """One day of the crawl.

    Attributes:
        number: From 1 on.
        fetched: Pages in the order of fetching.
        live: URLs of all pages that are on the web this day, fetched or not.
    """

    number: int
    fetched: tuple[Fetched, ...]
    live: frozenset[str]

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"day-{self.number:02}.jsonl"


def crawl(settings: Settings | None = None) -> Iterator[Day]:
    """Yield the days of a crawl."""
    settings = settings or Settings()
    chance = random.Random(settings.seed)
    web = Web(settings, chance)
    known: dict[str, str] = {}
    for number in range(settings.days):
        if number:
            web.live_a_day(number)
        fetched = []
        for place, site in enumerate(web.sites):
            if number % site.interval:
                continue
            # The sites one after the other over the day, a second a page.
            clock = FIRST_DAY + (number + place / len(web.sites)) * DAY
            clock = clock.replace(microsecond=0)
            for page in site.pages.values():
                clock += datetime.timedelta(seconds=1)
                before = known.get(page.url)
                state: State = (
                    "unchanged" if before == page.text else "changed" if before else "new"
                )
                known[page.url] = page.text
                fetched.append(_fetched(site, page, clock, state))
        live = frozenset(url for site in web.sites for url in site.pages)
        yield Day(number + 1, tuple(fetched), live)


def _fetched(site: Site, page: Page, clock: datetime.datetime, state: State) -> Fetched:
    made = (page.url, page.text, site.host, clock, page.published, page.links, state)
    return Fetched(*made, page.kind, page.original, page.edit)


def write_days(folder: Path, settings: Settings | None = None) -> Iterator[Day]:
    """Write the file of each day into a folder, and yield the day once its file is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for day in crawl(settings):
        lines = [json.dumps(page.record(), ensure_ascii=False) for page in day.fetched]
        (folder / day.name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        yield day


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    for name, value in (("days", 30), ("sites", 20), ("pages", 60), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"[default: {value}]")
    given = vars(parser.parse_args())
    folder = given.pop("folder")
    for day in write_days(folder, Settings(**given)):
        print(f"{day.name}: {len(day.fetched):,} pages of {len(day.live):,}")


if __name__ == "__main__":
    main()
