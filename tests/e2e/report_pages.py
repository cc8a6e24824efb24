"""Reports to be opened in a browser, by name."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from checked_papers import (
    articles,
    checked,
    chinese_paper,
    english_paper,
    long_paper,
    summed,
)

from simstore import Store
from simstore.model import CheckedPaper, CheckOptions, Match, MutualCheck, QueryRun, SampleResult
from simstore.model.check import CheckedPassage, Copy
from simstore.reports.check_html import html_report
from simstore.reports.run_html import run_report

MADE = 1_780_000_000
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><b>bold</b> & \u202e <!--"
LONG = 5_000


def hostile_paper() -> CheckedPaper:
    text = f"{HOSTILE}. Plain words follow."
    whole = (0, len(HOSTILE), 0, len(HOSTILE))
    copy = Copy(
        start=0,
        end=len(HOSTILE),
        source_key=HOSTILE,
        source_document_id=1,
        source_start=0,
        source_end=len(HOSTILE),
        similarity=1.0,
        evidence="text",
        blocks=(whole,),
        source_text=HOSTILE,
    )
    passage = CheckedPassage(start=0, end=len(HOSTILE), similarity=1.0, kind="high", copy=0)
    return summed(HOSTILE, HOSTILE, text, (passage,), (copy,), {HOSTILE: HOSTILE})


def astral_paper() -> CheckedPaper:
    """Characters of two UTF-16 units stand before and within the passages."""
    text = "😀😀 𠀀𠀁 before it all. The 😀 old bridge of the town will be closed again in May."
    source = "𠀀 It is said: The 😀 old bridge of the town was closed in May."
    return checked("astral", None, text, {"source": source}, {})


def class_texts() -> dict[str, str]:
    """Essays with chapters that copy articles of the examples, and one another."""
    held = articles()
    parts = {key: body.split("\n\n")[1:] for key, body in held.items()}
    own = [
        "Nobody asked me to count lanterns, but I did so for a whole winter and kept the list.",
        "Orchards behind the mill belong to a cousin whose patience with visitors is remarkable.",
        "When thimbles were still made of brass my grandmother lost three of them in a week.",
        "Walnut trees drop their leaves late, which the sweepers of our square never forgive them.",
        "A harbour without gulls would be quieter, and I doubt that anybody here would like that.",
    ]
    bridge, bread, ferry = parts["news-en-001"], parts["science-en-002"], parts["news-en-005"]
    return {
        "anna.txt": "\n\n".join((
            own[0], "1 Bridges", bridge[0], own[1], f"\u201c{bridge[1]}\u201d", "2 Bread", bread[0],
            bread[1], "3 My own", own[2], own[3],
        )),
        "ben.txt": "\n\n".join(("1 Ferries", ferry[0], own[2], "2 Own words", own[3], own[4])),
        "carla.txt": "\n\n".join((own[1][:40], bread[1])),
        "dora.txt": own[1],
    }  # fmt: skip


@cache
def class_check(exclude: tuple[str, ...] = ()) -> tuple[list[CheckedPaper], MutualCheck]:
    """What a real check of the class says, without some of the sources."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "articles.db") as store,
    ):
        store.passages.build()
        store.add_many(articles().items())
        options = CheckOptions(exclude=exclude, exclude_quotations=True)
        texts = list(class_texts().items())
        return list(store.check_many(texts, options)), store.check_mutual(texts, options)


def class_report() -> str:
    papers, mutual = class_check()
    return html_report(papers, generated_at=MADE, mutual=mutual)


def query_run() -> QueryRun:
    matches = (
        Match(
            key="news-en-002",
            distance=1,
            document_id=2,
            channels=("simhash", "minhash"),
            resemblance=0.9,
            containment=0.95,
            containment_reverse=0.94,
            basis="text",
        ),
        Match(
            key="gone",
            distance=3,
            document_id=9,
            channels=("minhash",),
            resemblance=0.55,
            containment=0.6,
            containment_reverse=0.7,
            basis="sketch",
        ),
    )
    samples = (
        SampleResult(key="sample-01", fingerprint="00", matches=matches),
        SampleResult(key="sample-02", fingerprint="00", matches=matches[1:]),
        SampleResult(key=HOSTILE, fingerprint="00", matches=(), too_short=True),
    )
    return QueryRun(run_id=3, radius=3, bits=64, scheme="web/1", samples=samples * 4)


def made() -> dict[str, Callable[[], str]]:
    english, chinese = english_paper, chinese_paper
    return {
        "en": lambda: html_report([english()], generated_at=MADE),
        "zh": lambda: html_report([chinese()], lang="zh", generated_at=MADE),
        "both": lambda: html_report([english(), chinese()], generated_at=MADE),
        "hostile": lambda: html_report([hostile_paper()], generated_at=MADE),
        "astral": lambda: html_report([astral_paper()], generated_at=MADE),
        "long": lambda: html_report([long_paper(LONG)], generated_at=MADE),
        "positions": lambda: html_report(
            [checked("p", None, articles()["news-en-001"], articles(), {}, with_text=False)],
            generated_at=MADE,
        ),
        "nothing": lambda: html_report([checked("n", None, "My own.", {}, {})], generated_at=MADE),
        "class": class_report,
        "run": lambda: run_report(query_run(), articles().get, generated_at=MADE),
        "run-zh": lambda: run_report(query_run(), articles().get, lang="zh", generated_at=MADE),
    }


NAMES = tuple(made())
