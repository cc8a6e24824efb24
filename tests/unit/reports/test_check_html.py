from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from checked_papers import articles, checked, chinese_paper, english_paper, long_paper, summed
from hypothesis import strategies as st

from simstore.errors import InvalidParameter, MissingExtra
from simstore.model import CheckedPaper, CheckOptions, MutualCheck, MutualPair
from simstore.model.check import CheckedPassage, Copy
from simstore.reports import html_page
from simstore.reports.check_data import settings_text
from simstore.reports.html_page import Library, in_script, percent, shown
from simstore.reports.html_words import all_words

pytest.importorskip("jinja2", reason="needs simstore[check]")

from simstore.reports.check_html import html_report, paragraphs_of
from simstore.store import Store

ENGLISH, CHINESE = all_words("en"), all_words("zh")
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \u2028 <!-- \x00\x1b[31m"
)


class Reader(HTMLParser):
    """What a page consists of: tags, attributes, and the text of the body."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "path", "line", "rect", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, object] = json.loads(found[1])
    return data


def report(*papers: CheckedPaper, lang: str = "en") -> str:
    return html_report(papers, lang=lang, generated_at=1_780_000_000)  # type: ignore[arg-type]


def hostile_paper() -> CheckedPaper:
    text = f"{HOSTILE}. Plain words follow here."
    copy = Copy(
        start=0,
        end=len(HOSTILE),
        source_key=HOSTILE,
        source_document_id=1,
        source_start=0,
        source_end=len(HOSTILE),
        similarity=1.0,
        evidence="text",
        blocks=((0, len(HOSTILE), 0, len(HOSTILE)),),
        source_text=HOSTILE,
    )
    passage = CheckedPassage(start=0, end=len(HOSTILE), similarity=1.0, kind="high", copy=0)
    return summed(HOSTILE, HOSTILE, text, (passage,), (copy,), {HOSTILE: HOSTILE})


def test_both_languages_say_the_same_things() -> None:
    assert list(ENGLISH) == list(CHINESE)
    for name, said in ENGLISH.items():
        assert said.count("{}") == CHINESE[name].count("{}"), name
        assert said.strip()
        assert CHINESE[name].strip()


def test_an_unknown_language_and_no_paper_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="'fr'"):
        report(english_paper(), lang="fr")
    with pytest.raises(InvalidParameter, match="at least one paper"):
        report()


def test_a_page_needs_nothing_but_itself() -> None:
    page = report(english_paper(), chinese_paper())
    reader = read(page)
    for tag, attributes in reader.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "form", "base"), tag
        assert not {"src", "srcset", "style", "action"} & attributes.keys(), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert str(attributes.get("href", "#")).startswith("#")
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<script") == 2


def test_a_paper_with_script_shows_it_as_text() -> None:
    page = report(hostile_paper())
    reader = read(page)
    assert [tag for tag, _ in reader.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in reader.tags]
    said = "".join(reader.texts["span"])
    assert HOSTILE.replace("\x00", "␀").replace("\x1b", "␛") in said
    part = data_of(page)["parts"][0]  # type: ignore[index]
    assert part["text"].startswith(shown(HOSTILE))
    assert said_by_source(part, part["copies"][0]) == shown(HOSTILE)


def said_by_source(part: dict[str, Any], row: list[Any]) -> str:
    """What the source of a copy says, as the script reads it."""
    flat = row[7]
    return "".join(
        part["text"][flat[2 * at - 2] : flat[2 * at - 1]] if piece == 0 else piece
        for at, piece in enumerate(row[8])
    )


def test_the_text_of_a_paper_stands_in_the_page_once_and_whole() -> None:
    for paper in (english_paper(), chinese_paper(), long_paper(200, 9)):
        reader = read(report(paper))
        said = "".join(reader.texts["p"] + reader.texts["span"])
        for passage in paper.passages:
            assert paper.text[passage.start : passage.end] in said or passage.copy is None
        blocks = re.findall(r'<p dir="auto">(.*?)</p>', report(paper), re.DOTALL)
        words = re.sub(r"<[^>]*>", "", "\n".join(blocks))
        from html import unescape

        assert unescape(words).split() == paper.text.split()


def test_passages_carry_their_class_source_and_similarity() -> None:
    paper = english_paper()
    marks = [given for tag, given in read(report(paper)).tags if given.get("role") == "button"]
    selected = [one for one in paper.passages if one.copy is not None]
    keys = [source.key for source in paper.sources]
    assert len(marks) == len(selected)
    for given, passage in zip(marks, selected, strict=True):
        assert passage.copy is not None
        kind = "excluded" if passage.excluded else passage.kind.replace("none", "low")
        assert given["class"] == f"p {kind}"
        assert given["data-n"] == str(keys.index(paper.copies[passage.copy].source_key) + 1)
        assert percent(passage.similarity) in str(given["title"])
    assert {"p high", "p moderate", "p excluded"} <= {given["class"] for given in marks}


def test_data_give_spans_and_blocks_as_they_are() -> None:
    paper = english_paper()
    part = data_of(report(paper))["parts"][0]  # type: ignore[index]
    assert part["text"] == paper.text
    for row, copy in zip(part["copies"], paper.copies, strict=True):
        assert row[:2] + row[3:5] == [copy.start, copy.end, copy.source_start, copy.source_end]
        assert row[7] == [place for block in copy.blocks for place in block]
        assert said_by_source(part, row) == copy.source_text


def test_a_long_paper_of_many_sources_makes_a_small_page() -> None:
    """150,000 characters, each of 2,000 sentences in twelve documents: at most 2.5 MB."""
    one = long_paper(2_000, 300)
    half = [copy for copy in one.copies if copy.similarity == 1]
    every = tuple(
        replace(copy, source_key=f"{copy.source_key}-{again}")
        for copy in half
        for again in range(12)
    )
    numbers = {copy.start: 12 * at for at, copy in enumerate(half)}
    passages = tuple(
        replace(each, copy=numbers.get(each.start), others=tuple(
            (numbers[each.start] + again, 1.0) for again in range(1, 12)
        ) if each.start in numbers else ())
        for each in one.passages
    )  # fmt: skip
    paper = summed("k", None, one.text, passages, every, {})
    assert len(paper.text) > 150_000
    assert len(every) > 6_000
    assert len(report(paper).encode()) < 2_500_000


def foot_of(page: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>([^<]*)</dt><dd><bdi>(.*?)</bdi>", page))


def test_the_foot_names_date_library_version_settings_and_the_report() -> None:
    options = CheckOptions(high=0.9, exclude=("mine-*", "old"), exclude_quotations=True)
    library = Library(
        name="news.db", document_count=1_234, last_run=(7, 86_400), settings=settings_text(options)
    )
    paper = english_paper()

    def made(one: CheckedPaper = paper, told: Library = library, at: int = 0) -> dict[str, str]:
        return foot_of(html_report([one], generated_at=at, compared_with=told))

    foot = made()
    assert foot["Made"].startswith("1970-01-01 00:00")
    assert foot["Library"].startswith(
        "news.db: 1,234 documents. Last changed by ingest run 7, 1970"
    )
    assert foot["Settings"] == "high: 0.9; exclude: mine-* old; exclude quotations"
    assert foot["Version"].startswith("simstore ")
    assert re.fullmatch("([0-9A-F]{4}-){2}[0-9A-F]{4}", foot["Report number"])
    others = [
        made(at=1),
        made(replace(paper, text=paper.text + " ")),
        made(told=replace(library, document_count=1_235)),
        made(replace(paper, totals=replace(paper.totals, copied=1))),
    ]
    assert len({foot["Report number"], *(one["Report number"] for one in others)}) == 5
    assert made() == foot
    plain = made(told=Library(name="n", document_count=0, settings=settings_text(CheckOptions())))
    assert plain["Settings"] == ENGLISH["default_settings"]
    assert ENGLISH["never_changed"] in plain["Library"]


def class_of(count: int) -> tuple[list[CheckedPaper], MutualCheck]:
    """Papers of which each has a stretch of the next one, the last of none."""
    base = english_paper()
    papers = [replace(base, key=f"{n}.txt", title=f"Essay <{n}>") for n in range(count)]
    beside = []
    pairs = []
    for number, paper in enumerate(papers):
        sources, copies = [], []
        if number + 1 < count:
            sources = [replace(base.sources[0], key=f"{number + 1}.txt", document_id=number + 1)]
            copies = [
                replace(
                    base.copies[0],
                    source_key=f"{number + 1}.txt",
                    source_document_id=number + 1,
                )
            ]
            pairs.append(
                MutualPair(
                    first=number,
                    second=number + 1,
                    first_key="",
                    second_key="",
                    share=base.sources[0].share,
                    second_share=0.0,
                    own_share=0.125,
                    second_own_share=0.0,
                    characters=1_234,
                    identical=1_000,
                    identical_share=0.25,
                    cases=1,
                )
            )
        beside.append(replace(paper, sources=tuple(sources), copies=tuple(copies), cases=()))
    return papers, MutualCheck(papers=tuple(beside), pairs=tuple(pairs))


def test_a_class_begins_with_a_table_its_pairs_and_a_matrix() -> None:
    papers, mutual = class_of(4)
    page = html_report(papers, generated_at=0, mutual=mutual)
    share = percent(mutual.pairs[0].own_share)
    pairs = page[page.index('class="pairs"') :].partition("</table>")[0]
    assert pairs.count("<tr>") == 1 + 3
    assert re.findall(r'#part-(\d)"><bdi>([^<]*)', pairs)[:2] == [
        ("0", "Essay &lt;0&gt;"), ("1", "Essay &lt;1&gt;"),
    ]  # fmt: skip
    assert pairs.count(f"<span>{share}</span>") == 3
    assert "1,234" in pairs
    matrix = page[page.index('class="matrix"') :].partition("</table>")[0]
    assert matrix.count('class="self"') == 4
    assert len(re.findall(r'<td class="m\d">\d+</td>', matrix)) == 3
    data = data_of(page)["pairs"]
    copy = mutual.papers[0].copies[0]
    flat = [place for block in copy.blocks for place in block]
    ends = [copy.start, copy.end, copy.source_start, copy.source_end]
    assert data[0] == [0, 1, [[*ends, *flat]]]  # type: ignore[index]
    assert page.index('class="papers"') < page.index('class="pairs"') < page.index('id="part-0"')


def test_without_text_the_page_says_so() -> None:
    held = {"one": "The ferry will not sail before Saturday, the office said this morning."}
    paper = checked("p", None, held["one"], held, {}, with_text=False)
    page = report(paper)
    assert f'<p class="notice">{ENGLISH["positions"]}</p>' in page
    assert data_of(page)["parts"][0]["copies"][0][8] is None  # type: ignore[index]
    assert data_of(page)["parts"][0]["copies"][0][6] == "anchors"  # type: ignore[index]
    assert '"notice">The store' not in report(checked("p", None, held["one"], held, {}))


def test_an_empty_paper_has_a_report() -> None:
    assert "0%" in report(summed("empty", None, "", (), (), {}))


def test_percent_never_rounds_up_to_all() -> None:
    for share, text in [
        (0, "0%"),
        (1, "100%"),
        (0.9999, "99.9%"),
        (0.374, "37.4%"),
        (0.5, "50%"),
        (0.0004, "0%"),
    ]:
        assert percent(share) == text


def test_shown_keeps_every_place() -> None:
    text = "".join(map(chr, range(0x300))) + "\ud800\udfff😀"
    assert len(shown(text)) == len(text)
    assert shown("tab\tline\n") == "tab\tline\n"
    shown(text).encode()


def test_in_script_can_end_no_element() -> None:
    text = in_script({"a": "</script><!--&\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--&\u2028"}


def method_of(page: str) -> list[str]:
    return re.findall(
        r"<dd>(.*?)</dd>",
        page[page.index('class="method"') :].partition("</section>")[0],
        re.DOTALL,
    )


@pytest.mark.parametrize("keep_text", [True, False])
def test_a_real_check_is_told_in_chinese_to_its_last_sentence(
    keep_text: bool, tmp_path: Path
) -> None:
    pytest.importorskip("rapidfuzz", reason="needs simstore[check]")
    with Store.create(tmp_path / "s.db", text=keep_text) as store:
        store.passages.build()
        store.add_many(articles().items())
        paper = store.check(chinese_paper().text)
    page = report(paper, lang="zh")
    assert len(method_of(page)) == 3
    for said in method_of(page):
        assert not re.search("[a-z]{3} [a-z]{3}", said), said
    numbers = re.findall(r"\d+", paper.method + paper.guarantee)
    assert numbers == re.findall(r"\d+", "".join(method_of(page)[:2]))
    assert ("positions" in paper.verified_by) == (not keep_text)


def test_without_jinja_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    html_page.page_template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"needs the extra 'check': "):
        report(english_paper())


# A line that another one follows without a blank line between them.
WITHIN = re.compile(r"^[^\n]*\S[^\n]*$(?=\n[^\S\n]*\S)", re.MULTILINE)


@hypothesis.given(
    st.lists(st.sampled_from(["", " ", "\t", "a" * 30, "b c " * 15, "d" * 101]), max_size=12)
)
def test_lines_are_joined_where_most_of_them_are_full(lines: list[str]) -> None:
    text = "\n".join(lines)
    lengths = [len(line) for line in WITHIN.findall(text)]
    full = sum(45 <= length <= 100 for length in lengths)
    paragraphs, joined = paragraphs_of(text)
    assert joined == (bool(lengths) and full >= 0.7 * len(lengths))
    assert "".join("".join(paragraphs).split()) == "".join(text.split())


def test_a_line_of_a_million_characters_is_one_paragraph() -> None:
    # It took the square of its length.
    assert paragraphs_of("many words " * 100_000) == (["many words " * 100_000], False)
