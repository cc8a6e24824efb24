r"""How well main text is found, by marks made by reading, and how fast.

Usage: python benchmarks/main_text.py [--lines FOLDER] [--articles FOLDER]

The folder of ``--articles`` holds pages with their article bodies, as scrapinghub's
article-extraction-benchmark has them: ``ground-truth.json`` and ``ID.html.gz``. The measure is
theirs: words by ``\w+``, multisets of 4-word shingles, precision and recall of each page averaged
over the pages, F1 of the two means.

The folder of ``--lines`` holds the pages that newspaper4k keeps for its tests (``tests/data/html``
of its source distribution, 0.9.6). Their visible text was read as lines, and each line marked: of
the article, or of what stands around it. Titles, bylines, captions, comments of readers and teasers
within the text are marked as neither, since people differ about them. No extractor had a part in
the marking but for the cutting into lines, which the comparison does not look at: a line is found
where its letters and digits stand in a tool's answer, whatever stands between them.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from resiliparse.extract.html2text import extract_plain_text

from simstore.sources.encoding_detection import decoded
from simstore.sources.encodings import declared_encoding
from simstore.sources.web_pages import read_page

# Fewer letters and digits may stand anywhere by chance; of Han, kana and the like, each says more.
LEAST, LEAST_WIDE = 15, 8
FIRST_WIDE = "\u0e00"


@dataclass(frozen=True)
class Marks:
    """Lines of the visible text of a page, from 0: ranges of which both ends belong.

    Attributes:
        main: Lines of the article.
        neither: Lines that count for nothing; all others stand around the article.
    """

    main: str
    neither: str


PAGES = {
    "autoindustria": Marks("125-133", "106-107 124-124 134-134 140-140"),
    "chinese_article_001": Marks("38-48", "0-2 31-33 49-50 57-57"),
    "cleveland.com1": Marks("209-221", "202-208 222-222"),
    "cnn_001": Marks(
        "149-151 154-170 172-178 180-210 212-219", "141-148 152-153 171-171 179-179 211-211"
    ),
    "cnn_002": Marks(
        "227-232 234-244 246-251 253-257 259-288", "141-149 233-233 245-245 252-252 258-258"
    ),
    "fox13now_001": Marks("81-94 96-111", "74-80 95-95 112-114"),
    "japanese_article": Marks("213-213", "177-178 214-214"),
    "latvian_article": Marks("77-82", "73-76"),
    "spanish_article": Marks("75-78", "58-60 72-74 79-79 92-135"),
    "thai_article": Marks("28-30 33-34", "26-27 31-32 35-35 73-75"),
    "time_001": Marks("63-66 68-72 74-80", "59-62 67-67 73-73 90-90"),
    "wired_001": Marks("37-43 57-58 72-77 91-95", "2-2 36-36 44-45 59-60 78-79 104-104"),
    "yna_co_kr": Marks("143-151", "80-80 140-142 152-155 175-176"),
}  # fmt: skip


def lines_of(ranges: str) -> set[int]:
    """Return the numbers of the lines in ranges."""
    found: set[int] = set()
    for one in ranges.split():
        first, _, last = one.partition("-")
        found.update(range(int(first), int(last) + 1))
    return found


def plain(text: str) -> str:
    """Return the letters, marks and digits of a text."""
    return "".join(c for c in text.lower() if c.isalnum() or c > FIRST_WIDE)


def counts(line: str) -> bool:
    return len(line) >= (LEAST_WIDE if line > FIRST_WIDE else LEAST)


def sorted_lines(markup: str, marks: Marks) -> tuple[list[str], list[str]]:
    """Return the lines of the article and those around it, as letters and digits."""
    shown = extract_plain_text(markup, list_bullets=False, alt_texts=False)
    lines = [plain(line) for line in shown.split("\n") if line.strip()]
    main, neither = lines_of(marks.main), lines_of(marks.neither)
    inside = [line for number, line in enumerate(lines) if number in main and counts(line)]
    known = "\n".join(line for number, line in enumerate(lines) if number in main | neither)
    around = [
        line
        for number, line in enumerate(lines)
        if number not in main | neither and counts(line) and line not in known
    ]
    return inside, list(dict.fromkeys(around))


def tools() -> dict[str, Callable[[str], str]]:
    """Return the extractors that are installed."""

    def of_simstore(markup: str) -> str:
        page = read_page(markup, "main", None)
        return page if isinstance(page, str) else page.text

    found: dict[str, Callable[[str], str]] = {
        "simstore": of_simstore,
        "resiliparse, main text": lambda markup: extract_plain_text(markup, main_content=True),
        "resiliparse, all text": lambda markup: extract_plain_text(markup),
    }
    if importlib.util.find_spec("trafilatura"):
        import trafilatura

        for name, chosen in (("trafilatura", {}), ("trafilatura, fast", {"fast": True})):
            found[name] = lambda markup, chosen=chosen: (
                trafilatura.extract(markup, include_comments=False, **chosen) or ""
            )
    if importlib.util.find_spec("readability"):
        from lxml.html import fromstring
        from readability import Document

        found["readability-lxml"] = lambda markup: str(
            fromstring(Document(markup).summary()).text_content()
        )
    if importlib.util.find_spec("selectolax"):
        from selectolax.lexbor import LexborHTMLParser

        def of_selectolax(markup: str) -> str:
            tree = LexborHTMLParser(markup)
            node = tree.css_first("article") or tree.css_first("main") or tree.body
            return node.text() if node else ""

        found["selectolax, article or main"] = of_selectolax
    return found


def shingles(text: str) -> Counter[tuple[str, ...]]:
    found = re.findall(r"\w+", text)
    places = range(max(1, len(found) - 3)) if found else ()
    return Counter(tuple(found[place : place + 4]) for place in places)


def text_of(data: bytes) -> str:
    found = decoded(data, declared=declared_encoding(data))
    return data.decode("utf-8", "replace") if isinstance(found, str) else found.text


def measure_articles(folder: Path) -> None:
    """Print how the extractors do on pages with their article bodies, and how fast they are."""
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    pages = {
        name: text_of(gzip.decompress((folder / f"{name}.html.gz").read_bytes())) for name in truth
    }
    wanted = {name: shingles(one["articleBody"]) for name, one in truth.items()}
    print(f"{len(pages)} pages with their article bodies")
    print(f"{'extractor':28} {'F1':>6} {'precision':>9} {'recall':>7} {'pages/s':>8}")
    for tool, extract in tools().items():
        precision = recall = 0.0
        started = time.process_time()
        answers = {name: extract(markup) for name, markup in pages.items()}
        seconds = time.process_time() - started
        for name, answer in answers.items():
            found, right = shingles(answer), wanted[name]
            both = (found & right).total()
            precision += both / found.total() if found else float(not right)
            recall += both / right.total() if right else 1.0
        precision, recall = precision / len(pages), recall / len(pages)
        f1 = 2 * precision * recall / (precision + recall)
        speed = len(pages) / seconds
        print(f"{tool:28} {f1:6.3f} {precision:9.3f} {recall:7.3f} {speed:8.0f}")


def measure_lines(folder: Path) -> None:
    """Print how the extractors do on pages whose lines are marked."""
    pages = {
        name: (folder / f"{name}.html").read_bytes().decode("utf-8", "replace") for name in PAGES
    }
    marked = {name: sorted_lines(pages[name], marks) for name, marks in PAGES.items()}
    inside, around = (sum(len("".join(one[side])) for one in marked.values()) for side in (0, 1))
    print(f"{len(pages)} pages; letters of articles {inside:,}, around them {around:,}")
    print(f"{'extractor':28} {'recall':>7} {'around':>7} {'F1':>6}  (means of the pages)")
    for name, extract in tools().items():
        recalls, shares, scores = [], [], []
        for page, (main_lines, other_lines) in marked.items():
            answer = plain(extract(pages[page]))
            right = sum(len(line) for line in main_lines if line in answer)
            wrong = sum(len(line) for line in other_lines if line in answer)
            recall = right / sum(map(len, main_lines))
            precision = right / (right + wrong) if right else 0.0
            recalls.append(recall)
            shares.append(wrong / max(1, sum(map(len, other_lines))))
            scores.append(2 * recall * precision / (recall + precision) if right else 0.0)
        means = [sum(values) / len(pages) for values in (recalls, shares, scores)]
        print(f"{name:28} {means[0]:7.2f} {means[1]:7.2f} {means[2]:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=Path)
    parser.add_argument("--articles", type=Path)
    given = parser.parse_args()
    if given.articles is not None:
        measure_articles(given.articles)
    if given.lines is not None:
        measure_lines(given.lines)


if __name__ == "__main__":
    main()
