"""The page of mistaken pairs: what it shows, and that texts cannot break out of it."""

from __future__ import annotations

import sys

import pytest

from simstore.errors import MissingExtra
from simstore.reports import html_page
from simstore.reports.mistakes_html import mistakes_page
from simstore.search.agreement import Agreement
from simstore.search.evaluation import Evaluation
from simstore.search.mistakes import MistakeClass, MistakenPair, Mistakes


def pair(first: str, second: str) -> MistakenPair:
    return MistakenPair(
        first=first,
        second=second,
        first_canonical=first,
        second_canonical="hub",
        resemblance=0.25,
        likeness=None,
        distance=None,
        estimate=0.5,
    )


def evaluation(*pairs: MistakenPair, count: int | None = None) -> Evaluation:
    classes = (
        MistakeClass(
            kind="missed",
            reason="the rule said no",
            pair_count=len(pairs) if count is None else count,
            examples=pairs,
        ),
        MistakeClass(kind="wrongly joined", reason="the rule said yes", pair_count=0, examples=()),
    )
    made = Mistakes(
        method="verified", threshold=0.5, counts=Agreement(3, 4, 5), ari=0.625, classes=classes
    )
    return Evaluation(9, 5, (), 0, ("verified",), (), (), made)


def page(found: Evaluation, texts: dict[str, str]) -> str:
    return mistakes_page(found, texts.get, generated_at=0)


def test_texts_and_keys_cannot_break_out() -> None:
    made = page(
        evaluation(pair("<b>key", "\udcff")), {"<b>key": "<script>alert(1)</script>", "\udcff": "x"}
    )
    assert "<script" not in made
    assert "&lt;script&gt;alert(1)&lt;" in made
    assert "<b>key" not in made
    made.encode()
    assert "default-src 'none'; style-src 'sha256-" in made.replace("&#39;", "'")


def test_missing_template_engine_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    html_page.page_template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra):
        page(evaluation(), {})
    html_page.page_template.cache_clear()
