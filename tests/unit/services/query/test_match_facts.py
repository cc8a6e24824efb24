"""Matches tell title, author, date and address of their documents, wherever they are shown."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from simstore import Store
from simstore.model import QueryRun
from simstore.reports.formats import RENDERERS
from simstore.reports.run_html import run_report

TEXT = "The last ferry to the island leaves at nine in the evening, and nobody waits for it."
ADDRESS = "https://gazette.example/ferry"
FACTS = ("The ferry", "Ann Lee, Bo Chen", "2025-03-01", ADDRESS)


@pytest.fixture
def store(tmp_path: Path):
    with Store.create(tmp_path / "s.db") as store:
        told = {"author": ["Ann Lee", "Bo Chen"], "date": "2025-03-01", "url": ADDRESS}
        store.add("plain", f"{TEXT} It never did.", on_duplicate="keep")
        store.add("told", TEXT, title="The ferry", metadata=told, on_duplicate="keep")
        store.add(ADDRESS, f"{TEXT} Never.", on_duplicate="keep")
        yield store


def facts_of(run: QueryRun) -> dict[str, tuple[str | None, ...]]:
    return {one.key: (one.title, one.author, one.date, one.url) for one in run.samples[0].matches}


def test_a_match_tells_what_its_document_tells_and_its_key_where_that_is_an_address(store) -> None:
    run = store.query_many([("sample", TEXT)])
    told = {"told": FACTS, "plain": (None,) * 4, ADDRESS: (None, None, None, ADDRESS)}
    assert facts_of(run) == told
    assert {one.key: one.author for one in store.query(TEXT)}["told"] == FACTS[1]


def test_a_recorded_run_tells_of_the_documents_that_are_still_there(store) -> None:
    run = store.query_many([("sample", TEXT)], record=True)
    assert facts_of(store.report(run.run_id)) == facts_of(run)
    store.remove("told")
    assert facts_of(store.report(run.run_id)) == {**facts_of(run), "told": (None,) * 4}


def test_every_format_tells_it(store) -> None:
    run = store.query_many([("sample", TEXT)])
    record = json.loads(b"".join(RENDERERS["jsonl"](run.samples)))
    names = ("title", "author", "date", "url")
    (found,) = [one for one in record["matches"] if one["key"] == "told"]
    assert tuple(found[name] for name in names) == FACTS
    rows = csv.DictReader(io.StringIO(b"".join(RENDERERS["csv"](run.samples)).decode()))
    (row,) = [one for one in rows if one["key"] == "told"]
    assert tuple(row[name] for name in names) == FACTS
    page = run_report(run, lambda _key: TEXT, generated_at=0)
    assert "Ann Lee, Bo Chen, 2025-03-01" in page
    assert "<bdi>The ferry</bdi>" in page
