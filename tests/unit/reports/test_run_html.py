from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from simstore.cli import main
from simstore.model import Match, QueryRun, SampleResult
from simstore.store import Store

pytest.importorskip("jinja2", reason="needs simstore[check]")

from simstore.reports.run_html import run_report

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
HOSTILE = "<script>alert(1)</script>"


def part_of(page: str) -> dict[str, list[object]]:
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    part: dict[str, list[object]] = json.loads(found[1])["parts"][0]
    return part


def run_of(*samples: SampleResult, stale: str | None = None) -> QueryRun:
    return QueryRun(run_id=7, radius=3, bits=64, scheme="web/1", samples=samples, stale=stale)


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


def test_texts_and_keys_are_text() -> None:
    run = run_of(
        SampleResult(key=HOSTILE, fingerprint="00", matches=(match(HOSTILE, 0.9),)), stale=HOSTILE
    )
    page = run_report(run, lambda _key: HOSTILE, generated_at=0)
    assert HOSTILE not in page
    assert part_of(page)["texts"] == [HOSTILE]


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
