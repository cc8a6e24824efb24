"""Metrics."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import httpx
import pytest
from served import REPOSITORY, serve

from simstore import Store, __version__

from .asked import NEAR, OTHER, TEXT, add

PAGE = REPOSITORY / "docs" / "reference" / "metrics.md"


@pytest.mark.slow
def test_metrics_tell_of_requests_and_of_the_store(tmp_path: Path) -> None:
    with (
        serve(tmp_path / "s.db", "--figures-seconds", "0") as served,
        httpx.Client(base_url=served.url) as asked,
    ):
        add(asked, ("a", TEXT), ("b", NEAR), ("c", OTHER), on_duplicate="skip")
        asked.post("/v1/query", json={"text": TEXT})
        asked.get("/v1/nothing")
        reply = asked.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    told = dict(line.rsplit(" ", 1) for line in reply.text.splitlines() if not line.startswith("#"))
    assert told['simstore_http_requests_total{method="POST",route="/v1/query",status="200"}'] == "1"
    assert told['simstore_http_requests_total{method="GET",route="unknown",status="404"}'] == "1"
    query = '{method="POST",route="/v1/query"'
    assert told[f"simstore_http_request_seconds_count{query}}}"] == "1"
    assert told[f'simstore_http_request_seconds_bucket{query},le="+Inf"}}'] == "1"
    assert float(told[f"simstore_http_request_seconds_sum{query}}}"]) > 0
    assert told['simstore_documents_total{outcome="added"}'] == "2"
    assert told['simstore_documents_total{outcome="skipped"}'] == "1"
    assert told["simstore_samples_total"] == "1"
    assert told["simstore_store_documents"] == "2"
    assert told['simstore_store_tail{of="fingerprints"}'] == "2"
    assert told['simstore_store_tail{of="sketches"}'] == "2"
    assert told['simstore_store_duplicates{state="skipped"}'] == "1"
    assert told["simstore_store_fresh"] == "1"
    assert told["simstore_write_queue_documents"] == "0"
    assert told["simstore_writer_up"] == "1"
    assert told["simstore_query_processes"] == "1"
    assert told["simstore_http_requests_in_flight"] == "1"
    # Each metric says once what it is, before its values.
    names = [line.split()[2] for line in reply.text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    python = platform.python_version()
    labels = f'version="{__version__}",scheme="web/1",dialect="sqlite",python="{python}"'
    assert told[f"simstore_build_info{{{labels}}}"] == "1"


@pytest.mark.skipif(not PAGE.is_file(), reason="only a checkout has docs/")
def test_the_page_of_metrics_lists_each_with_its_type_labels_and_help(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db", scheme="simtool", policy="frozen") as store:
        store.add_many([("a", TEXT), ("b", NEAR)])
        store.vocabulary.refresh()
    with (
        serve(tmp_path / "s.db", "--figures-seconds", "0") as served,
        httpx.Client(base_url=served.url) as ask,
    ):
        add(ask, ("c", OTHER), on_duplicate="keep")
        ask.get("/v1/nothing")
        told = ask.get("/metrics").text
    helps = dict(re.findall(r"^# HELP (\w+) (.+)$", told, re.MULTILINE))
    kinds = dict(re.findall(r"^# TYPE (\w+) (.+)$", told, re.MULTILINE))
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.+) \|$", PAGE.read_text("utf-8"), re.M)
    assert {name: (kind, text) for name, kind, _, text in rows} == {
        name: (kinds[name], helps[name]) for name in helps
    }
    for name, kind, labels, _ in rows:
        shown = re.search(rf"^{name}(?:_count)?\{{(.*?)\}} ", told, re.MULTILINE)
        # What has not happened yet has no value.
        if shown is not None and kind != "histogram":
            assert re.findall(r'(\w+)="', shown[1]) == re.findall(r"`(\w+)`", labels), name
