from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from simstore.cli import main
from simstore.model import Match, QueryRun, SampleResult
from simstore.store import Store

pytest.importorskip("jinja2", reason="needs simstore[check]")

from simstore.reports.run_html import likeness_of, run_report

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
HOSTILE = "<script>alert(1)</script>"


def part_of(page: str) -> dict[str, list[object]]:
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    part: dict[str, list[object]] = json.loads(found[1])["parts"][0]
    return part


def run_of(*samples: SampleResult, stale: str | None = None) -> QueryRun:
    return QueryRun(run_id=7, radius=3, bits=64, scheme="web/2", samples=samples, stale=stale)


def match(key: str, share: float | None, distance: int | None = 3) -> Match:
    return Match(
        key=key,
        distance=distance,
        document_id=1,
        channels=("simhash",),
        resemblance=share,
        containment=share,
        containment_reverse=share,
        basis="text",
    )


def test_samples_are_classed_by_their_nearest_document() -> None:
    run = run_of(
        SampleResult(key="a", fingerprint="00", matches=(match("x", 0.3), match("y", 0.9))),
        SampleResult(key="b", fingerprint="00", matches=(match("x", 0.6),)),
        SampleResult(key="c", fingerprint="00", matches=(match("x", 0.1),)),
        SampleResult(key="d", fingerprint="00", matches=(), too_short=True),
    )
    page = run_report(run, {"x": "the text of x"}.get, generated_at=0)
    part = part_of(page)
    assert [row[1:3] for row in part["samples"]] == [  # type: ignore[index]
        [0.9, "high"], [0.6, "moderate"], [0.1, "none"], [0.0, "none"],
    ]  # fmt: skip
    assert part["sources"] == ["x", "y"]
    assert part["texts"] == ["the text of x", None]
    assert re.findall(r'class="p (\w+)"', page) == ["high", "moderate", "low"]
    assert '<strong data-of="share">25%</strong>' in page
    assert "too short to judge" in page


def test_without_verification_the_distance_estimates_the_cosine() -> None:
    assert likeness_of(match("x", None, 16), 64) == pytest.approx(math.cos(math.pi / 4))
    assert likeness_of(match("x", None, 40), 64) == 0
    assert likeness_of(match("x", None, None), 64) == 0
    assert (
        likeness_of(
            Match(
                key="x", distance=9, document_id=1, channels=(), resemblance=0.2, containment=0.7
            ),
            64,
        )
        == 0.7
    )


def test_texts_and_keys_are_text() -> None:
    run = run_of(
        SampleResult(key=HOSTILE, fingerprint="00", matches=(match(HOSTILE, 0.9),)), stale=HOSTILE
    )
    page = run_report(run, lambda _key: HOSTILE, generated_at=0)
    assert HOSTILE not in page
    assert part_of(page)["texts"] == [HOSTILE]


def test_long_documents_are_shown_by_their_beginning() -> None:
    run = run_of(SampleResult(key="a", fingerprint="00", matches=(match("x", 0.9),)))
    (text,) = part_of(run_report(run, lambda _key: "word\n" * 9_000, generated_at=0))["texts"]
    assert len(str(text)) < 700
    assert str(text).endswith("…")


def test_an_empty_run_has_a_report() -> None:
    assert "No sample has a stored document near it." in run_report(
        run_of(), lambda _key: None, generated_at=0
    )


def test_report_writes_a_page_of_the_last_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in ("ingest -q", "query -q"):
        name = "article.txt" if line.startswith("ingest") else "sample.txt"
        done = CliRunner().invoke(main, [*line.split(), str(EXAMPLES / name)])
        assert done.exit_code == 0, done.output
    with Store.open("simstore.db") as store:
        store.remove("news-en-001")
        matched = [one.key for sample in store.report().samples for one in sample.matches]
    done = CliRunner().invoke(main, ["report", "--format", "html", "--lang", "zh"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "result.html").read_text(encoding="utf-8")
    part = part_of(page)
    assert sorted(part["sources"]) == sorted(set(matched))  # type: ignore[type-var]
    texts = dict(zip(part["sources"], part["texts"], strict=True))
    assert texts["news-en-001"] is None
    assert str(texts["news-en-002"]).startswith("Swing bridge at Alderwick")
    assert '<html lang="zh-Hans">' in page
    assert not (tmp_path / "result.txt").exists()
    done = CliRunner().invoke(main, ["report", "--format", "html", "-o", "-"])
    assert done.stdout.startswith("<!doctype html>")
