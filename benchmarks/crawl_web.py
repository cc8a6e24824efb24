"""The web that ``crawl.py`` crawls: sites, their pages, and what happens to them in a day."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
FIRST_DAY = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
# Days after which a portal copies no more.
NEWS_DAYS = 3

Kind = Literal["press", "portal", "mirror"]
Source = Literal["own", "moved", "copy", "mirror"]
Edit = Literal["light", "heavy"]

_HOSTS = (
    "alderwick", "fennel", "withy", "cooper", "harbour", "lantern", "orchard", "quarry",
    "saltmarsh", "tidegate", "upland", "viaduct", "weir", "yardarm", "barley", "causeway",
)  # fmt: skip
_DOMAINS = ("example", "test", "invalid")
_NUMBERS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "nineteen", "thirty", "forty", "sixty", "ninety",
)  # fmt: skip
_NUMBER = re.compile(rf"\b(?:{'|'.join(_NUMBERS)}|[0-9]+(?:[.,][0-9]+)*)\b")
_SENTENCE_END = re.compile(r'(?<=[.!?])\s+(?=["A-Z])')


@dataclass(frozen=True)
class Settings:
    """How large a web, and for how long.

    Attributes:
        days: Days of the crawl.
        sites: Sites; of ten, five are press, four portals, one is a mirror.
        pages: Pages a site has on the first day.
        seed: Of all that is drawn.
    """

    days: int = 30
    sites: int = 20
    pages: int = 60
    seed: int = 1


@dataclass(eq=False)
class Page:
    """A page as it is on the web at the moment."""

    url: str
    title: str
    sentences: list[str]
    born: int
    published: datetime.date | None = None
    kind: Source = "own"
    original: str | None = None
    edit: Edit | None = None
    links: tuple[str, ...] = ()
    text: str = ""


@dataclass(eq=False)
class Site:
    """A host with its pages; the crawler comes every ``interval`` days."""

    host: str
    kind: Kind
    writer: Writer
    tells_dates: bool
    interval: int
    mirrors: Site | None = None
    pages: dict[str, Page] = field(default_factory=dict)
    # What a mirror shows tomorrow.
    shown: dict[str, Page] = field(default_factory=dict)

    def url(self, name: str) -> str:
        return f"https://{self.host}/{name}"


class Writer:
    """Writes sentences in the manner of the example texts of one language."""

    def __init__(self, texts: Iterable[str], comma: str, full_stop: str, joint: str) -> None:
        self.comma, self.full_stop, self.joint = comma, full_stop, joint
        clauses: dict[str, None] = {}
        for text in texts:
            for sentence in _SENTENCE_END.split(text) if joint else text.split(full_stop):
                plain = sentence.replace('"', "").strip().rstrip(".!?")
                for clause in plain.split(comma):
                    if len(clause.strip()) > 4:
                        clauses[clause.strip()] = None
        self.clauses = list(clauses)
        self.words = sorted({w for c in clauses for w in (c.split() if joint else c)})

    def sentence(self, chance: random.Random) -> str:
        """Return a sentence of two to four clauses; English numbers are drawn anew."""
        parts = chance.sample(self.clauses, chance.choice((2, 2, 3, 4)))
        made = self.comma.join(parts) + self.full_stop
        made = _NUMBER.sub(lambda _: chance.choice(_NUMBERS), made)
        return made[0].upper() + made[1:]

    def reworded(self, sentence: str, chance: random.Random) -> str:
        """Return a sentence with one of its words, or characters, changed."""
        words = sentence.split(" ") if self.joint else list(sentence)
        # The last one holds the full stop.
        words[chance.randrange(max(len(words) - 1, 1))] = chance.choice(self.words)
        return self.joint.join(words)


class Web:
    """All sites, as they are at the moment."""

    def __init__(self, settings: Settings, chance: random.Random) -> None:
        self.chance = chance
        self.settings = settings
        self.sites: list[Site] = []
        self.names = 0
        writers = _writers()
        for number in range(settings.sites):
            turn = number % 10
            kind: Kind = "press" if turn % 2 == 0 else "mirror" if turn == 9 else "portal"
            host = f"{_HOSTS[number % len(_HOSTS)]}-{number}.{_DOMAINS[number % 3]}"
            site = Site(
                host,
                kind,
                writers[1 if turn in (4, 5) else 0],
                tells_dates=kind == "press" and turn % 4 == 0,
                interval=(1, 2, 1, 3, 1, 2, 5, 1, 3, 2)[turn],
            )
            if kind == "mirror":
                site.mirrors = self.sites[number - 5]
            self.sites.append(site)
        for site in self.sites:
            for _ in range(settings.pages if site.kind != "mirror" else 0):
                self.write(site, 0)
        for site in self.sites:
            self.mirror(site)
        for site in self.sites:
            self.mirror(site)

    def live_a_day(self, day: int) -> None:
        """Let everything happen that happens in a day."""
        chance, pages = self.chance, self.settings.pages
        for site in self.sites:
            if site.kind == "mirror":
                continue
            alive = list(site.pages.values())
            some = chance.sample(alive, min(len(alive), max(pages // 15, 3)))
            # A third each day: edited, moved, gone; so that no page suffers two of them at once.
            for turn, page in enumerate(some):
                (self.edit, self.move, self.vanish)[turn % 3](site, page)
            for _ in range(max(pages // 30, 1)):
                self.write(site, day)
        news = [
            (page, site)
            for site in self.sites
            if site.kind == "press"
            for page in site.pages.values()
            if 0 < day - page.born <= NEWS_DAYS and page.kind == "own"
        ]
        for site in self.sites:
            mine = [page for page, source in news if source.writer is site.writer]
            if site.kind == "portal" and mine:
                for page in chance.sample(mine, min(len(mine), max(pages // 30, 1))):
                    self.copy(site, page, day)
        for site in self.sites:
            self.mirror(site)

    def write(self, site: Site, day: int) -> None:
        chance = self.chance
        sentences = [site.writer.sentence(chance) for _ in range(chance.randint(14, 30))]
        title = sentences[0].split(site.writer.comma)[0]
        page = Page(self.new_url(site, day), title, sentences, day)
        if site.tells_dates:
            # Pages of the first day are older than the crawl.
            before = chance.randint(1, 200) if day == 0 else 0
            page.published = (FIRST_DAY + (day - before) * DAY).date()
        self.put(site, page)

    def copy(self, site: Site, page: Page, day: int) -> None:
        """Take a page over, unless this site has it already."""
        if any(one.original == page.url for one in site.pages.values()):
            return
        chance = self.chance
        sentences = list(page.sentences)
        edit: Edit = "light" if chance.random() < 0.7 else "heavy"
        if edit == "light":
            for place in chance.sample(range(len(sentences)), chance.randint(0, 2)):
                sentences[place] = site.writer.reworded(sentences[place], chance)
        else:
            count = max(len(sentences) // 6, 1)
            for place in chance.sample(range(len(sentences)), count):
                sentences[place] = site.writer.sentence(chance)
        made = Page(
            self.new_url(site, day), page.title, sentences, day,
            kind="copy", original=page.url, edit=edit,
        )  # fmt: skip
        if chance.random() < 0.7:
            made.links = (page.url,)
        if chance.random() < 0.5:
            made.published = (FIRST_DAY + day * DAY).date()
        self.put(site, made)

    def edit(self, site: Site, page: Page) -> None:
        place = self.chance.randrange(len(page.sentences))
        page.sentences[place] = site.writer.sentence(self.chance)
        self.put(site, page)

    def move(self, site: Site, page: Page) -> None:
        del site.pages[page.url]
        moved = Page(
            self.new_url(site, page.born), page.title, page.sentences, page.born,
            page.published, "moved", page.url, None, page.links,
        )  # fmt: skip
        self.put(site, moved)

    def vanish(self, site: Site, page: Page) -> None:
        del site.pages[page.url]

    def mirror(self, site: Site) -> None:
        """Let a mirror show what its site showed the day before."""
        if site.mirrors is None:
            return
        site.pages, site.shown = site.shown, {}
        for page in site.mirrors.pages.values():
            url = page.url.replace(site.mirrors.host, site.host)
            made = Page(url, page.title, [], page.born, kind="mirror", original=page.url)
            made.text, made.links = page.text, page.links
            site.shown[url] = made

    def put(self, site: Site, page: Page) -> None:
        """Put a page up, in the layout of the site: a line above, paragraphs, a line below."""
        joint = site.writer.joint
        paragraphs = [
            joint.join(page.sentences[start : start + 5])
            for start in range(0, len(page.sentences), 5)
        ]
        page.text = "\n\n".join([f"{page.title}\n{site.host}", *paragraphs, f"© {site.host}"])
        site.pages[page.url] = page

    def new_url(self, site: Site, day: int) -> str:
        self.names += 1
        return site.url(f"{day:02}/{self.names:06}")


def _writers() -> tuple[Writer, Writer]:
    """Return a writer of English and one of Chinese."""
    english, chinese = [], []
    for name in ("article.txt", "sample.txt"):
        for page in (EXAMPLES / name).read_text(encoding="utf-8").split("\f"):
            body = page.strip().partition("\n")[2]
            paragraphs = [part.replace("\n", " ") for part in body.split("\n\n")]
            if body.isascii():
                english += paragraphs
            else:
                chinese += [part.replace(" ", "") for part in paragraphs]
    return Writer(english, ", ", ".", " "), Writer(chinese, "，", "。", "")
