"""A spider that test_scrapy.py runs in processes of their own: a page, an item.

``-a start=URL`` is a page of links; ``-a kind=`` says what the items are; ``-a stats=FILE`` gets
the stats of the crawl.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scrapy


class PlainItem(scrapy.Item):  # type: ignore[misc]
    url = scrapy.Field()
    text = scrapy.Field()
    title = scrapy.Field()


@dataclass
class PageData:
    url: str
    title: str | None = None
    text: str | None = None
    simstore_duplicate_of: str | None = None
    simstore_resemblance: float | None = None


KINDS = {"dict": dict, "plain": PlainItem, "dataclass": PageData}


class HarbourSpider(scrapy.Spider):  # type: ignore[misc]
    name = "harbour"
    # One page after the other, in the order of the links, unless the command line says otherwise.
    custom_settings = {"TELNETCONSOLE_ENABLED": False}  # noqa: RUF012 - as Scrapy has it

    def __init__(self, start: str, stats: str, kind: str = "dict", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [start]
        self._stats = Path(stats)
        self._make = KINDS[kind]

    def parse(self, response: Any) -> Any:
        for place, link in enumerate(response.css("a::attr(href)").getall()):
            yield response.follow(link, self.parse_page, priority=-place)

    def parse_page(self, response: Any) -> Any:
        text = " ".join(response.css("p::text").getall())
        fields = {"url": response.url, "title": response.css("title::text").get()}
        yield self._make(**fields, **({"text": text} if text else {}))

    def closed(self, reason: str) -> None:  # noqa: ARG002
        stats = self.crawler.stats.get_stats()
        self._stats.write_text(json.dumps(stats, default=str), "utf-8")
