"""The main text of pages: the same in any template, and no text lost where there is no article."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pydoc_data.topics import topics

import pytest
from resiliparse.parse.html import HTMLTree

from simstore import Store
from simstore.sources.main_text import EXTRACTOR, main_text
from simstore.sources.web_pages import Page, read_page

from .page_layouts import NO_ARTICLES, only_divs, semantic

LEAST_WORDS = 150
CHINESE = [
    "本报讯记者昨日从市交通委员会获悉，今年内全市将新增公交专用道一百五十公里，届时早晚高峰公交车的运行速度将提高两成。",
    "据介绍，新增的专用道主要分布在四环路以及东西向的主要干道上，其中一部分路段将全天禁止社会车辆驶入。",
    "市民王先生表示，每天上班在路上要花一个多小时，如果公交能够快一些，他愿意把私家车留在家里。",
    "专家认为，仅仅依靠增加专用道还不够，还需要优化换乘，缩短等待的时间，才能吸引更多的人乘坐公共交通。",
]
ENGLISH = [
    "The harbour master said that the ferries would run from Monday, after three weeks of storms.",
    "Nobody on the islands had gone hungry, since the bakers had stored flour in the autumn.",
    "A school class from the mainland that was to stay for a week has now been there for a month.",
    "Their teacher told us that they had learnt to mend nets, to milk goats and to bake bread.",
    "The council wants to build a longer pier, so that larger boats can land in rough weather.",
]
SHORT = [f"{word} number {n}" for n, word in enumerate(("Oak", "Elm", "Ash", "Fir", "Yew", "Box"))]


def words(text: str) -> str:
    return "".join(re.findall(r"\w", text))


def articles() -> Iterator[tuple[str, list[str]]]:
    """Yield texts of Python's own reference, in pieces of some 150 to 250 words."""
    for name, text in sorted(topics.items()):
        paragraphs: list[str] = []
        number = 0
        for one in re.split(r"\n\s*\n", text):
            paragraph = " ".join(one.split())
            if len(paragraph.split()) >= 8:
                paragraphs.append(paragraph)
            if sum(len(part.split()) for part in paragraphs) >= LEAST_WORDS:
                yield f"{name} {number}", paragraphs
                paragraphs = []
                number += 1


@pytest.mark.slow
def test_one_text_in_two_templates_is_found_and_is_nearly_the_same() -> None:
    known = list(articles())[:120]
    assert len(known) == 120
    first, second = {}, {}
    for number, (title, paragraphs) in enumerate(known):
        others = [_teaser(said[0]) for _, said in known[number + 1 : number + 7]]
        first[title] = _text(semantic(title, paragraphs, others))
        second[title] = _text(only_divs(title, paragraphs, others))
    with Store(":memory:") as store:
        store.add_many(first)
        found = alike = 0
        for title, text in second.items():
            pairs = {match.key: match for match in store.query(text)}
            found += title in pairs
            alike += title in pairs and (pairs[title].resemblance or 0) >= 0.8
    assert found >= 0.97 * len(known)
    assert alike >= 0.9 * len(known)


def _teaser(paragraph: str) -> tuple[str, str]:
    """Return a title and the beginning of a text, as sites show what else there is to read."""
    return " ".join(paragraph.split()[-5:]), paragraph[:160].rpartition(" ")[0] + " …"


def _text(markup: str) -> str:
    page = read_page(markup, "main", None)
    assert isinstance(page, Page)
    return page.text


def test_what_stands_around_an_article_goes() -> None:
    for paragraphs in (CHINESE, ENGLISH):
        for template in (semantic, only_divs):
            others = [
                (f"Title of text {n}", f"Some words on text {n}, and more.") for n in range(5)
            ]
            markup = template("The title of it all", paragraphs, others)  # type: ignore[operator]
            page = read_page(markup, "main", None)
            assert isinstance(page, Page), (paragraphs, template)
            assert page.text == "\n".join(paragraphs), (paragraphs, template)
            assert page.metadata["extractor"] == EXTRACTOR, (paragraphs, template)
            everything = read_page(markup, "all", None)
            assert isinstance(everything, Page), (paragraphs, template)
            assert "views" in everything.text, (paragraphs, template)
            assert re.fullmatch(
                r"resiliparse [\d.]+, all text", everything.metadata["extractor"]
            ), (paragraphs, template)


def test_text_of_a_page_that_is_no_article_is_kept() -> None:
    for items in (CHINESE, SHORT):
        for name in NO_ARTICLES:
            kept = words(_text(NO_ARTICLES[name](items)))
            lost = [item for item in items if words(item) not in kept]
            assert not lost, (items, name)


def test_code_and_tables_in_figures_are_kept_and_captions_of_pictures_are_not() -> None:
    paragraphs = "".join(f"<p>{one}</p>" for one in ENGLISH * 2)
    page = (
        f"<body><main>{paragraphs}<figure><pre>mod front_of_house {{ }}</pre></figure>"
        f"<figure><img src=a.png><figcaption>A pier in fog</figcaption></figure>{paragraphs}"
        "<p>And that was all that was said of it on that day, by anybody.</p></main></body>"
    )
    kept = _text(page)
    assert "mod front_of_house" in kept
    assert "A pier in fog" not in kept


def test_text_depends_on_the_page_alone() -> None:
    page = semantic("A title", ENGLISH, [("Another", "text")] * 3)
    before = _text(page)
    for name in NO_ARTICLES:
        _text(NO_ARTICLES[name](CHINESE))
    assert _text(page) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * 10_000 + "text " * 100 + "</div>" * 10_000,
        "<div>" * 490 + f"<p>{ENGLISH[0]}</p>" * 20_000,
        "<p>a <b>b" * 100_000,
        "<ul>" + "<li><a href=x>link</a> and some words" * 60_000 + "</ul>",
        "<table>" * 400 + "<tr><td>cell" * 40_000,
        f"<div class='{'related-' * 100_000}'>text</div>" * 10,
        "<p>" + "...\"" * 500_000,
        "<p>x</p>" * 100_000,
        "",
        "<body>",
    ],
    ids=[
        "deep", "paragraphs", "unclosed", "links", "tables", "names", "dots", "many", "nothing",
        "body",
    ],
)  # fmt: skip
def test_hostile_markup_takes_bounded_time(markup: str) -> None:
    started = time.process_time()
    page = read_page(markup, "main", None)
    assert isinstance(page, Page | str)
    # Seconds of the processor on a slow machine; a square of the length would take hours.
    assert time.process_time() - started < 30


def test_page_without_paragraphs_has_no_main_text() -> None:
    assert main_text(HTMLTree.parse("<ul><li>one<li>two</ul>")) is None
    assert main_text(HTMLTree.parse("")) is None
