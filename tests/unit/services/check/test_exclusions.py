"""What does not count in a check: templates, quotations, own work, small sources and matches."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")

from simstore import Store
from simstore.reports.check_html import html_report
from simstore.reports.check_lines import render_jsonl, total_facts

RIVER = (
    "The river rises in the hills behind the old quarry and falls slowly to the sea. "
    "Every spring the ferrymen paint their boats before the first of the travellers arrive."
)
FORM = (
    "Assignment 3\n\nDescribe in your own words how the town council decided about the new "
    "bridge, and who was against it.\n\nName:\n"
)
OWN = "These words are mine and were written by nobody else before this very morning. "


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "s.db") as made:
        made.passages.build()
        yield made


def test_a_few_words_between_lines_of_a_form_are_no_copy(store):
    lines = [f"Question {n} asks for the name of river number {n} in the east." for n in range(5)]
    filled = "\n".join(f"{line}\nthe blue one" for line in lines)
    store.add("other", filled)
    assert store.check(filled).totals.share == 1.0
    paper = store.check(filled, template=["\n".join(lines)])
    assert (paper.totals.share, paper.sources) == (0.0, ())


def test_what_is_excluded_is_in_table_json_and_report(store):
    store.add("other paper", FORM + OWN)
    store.add("river", RIVER)
    paper = store.check(
        f"{FORM}Bob says “{RIVER}” in his paper.", template=[FORM], exclude_quotations=True
    )
    count = sum(one.characters for one in paper.excluded)
    told = {one.reason: one.characters for one in paper.excluded}
    line = f"{count} characters do not count: template {told['template']}, quotations "
    assert dict(total_facts(paper))["excluded"] == line + str(told["quotation"])
    record = json.loads(b"".join(render_jsonl([paper])))
    assert [(one["reason"], one["start"]) for one in record["excluded"]] == [
        (one.reason, one.start) for one in paper.excluded
    ]
    page = html_report([paper], generated_at=0)
    assert '<span class="out" title="template, not counted">Assignment 3</span>' in page
    assert '<span class="out" title="quotation, not counted">“The river' in page
    assert f"{count} characters do not count: template {told['template']}" in page
    assert "个字符不计入：模板" in html_report([paper], lang="zh", generated_at=0)


def test_a_source_tells_title_author_date_and_address(store):
    store.add(
        "https://example.org/river",
        RIVER,
        title="The river",
        metadata={"author": {"name": "Ann Lee"}},
        published_at="2020-03-04",
    )
    (source,) = store.check(OWN + RIVER).sources
    assert (source.title, source.author, source.date) == ("The river", "Ann Lee", "2020-03-04")
    assert source.url == "https://example.org/river"
    page = html_report([store.check(OWN + RIVER)], generated_at=0)
    assert "<bdi>Ann Lee, 2020-03-04</bdi>" in page
