"""One request must not keep a server from answering others, or from ending."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from served import PATIENCE_SECONDS, serve

from simstore import Store

from .service.asked import NDJSON, TEXT, lines, refused

KEYS = ("a" * 4_000, "b" * 4_000)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add_many((key, TEXT) for key in KEYS)
    return tmp_path / "s.db"


@pytest.mark.slow
def test_an_expression_that_backtracks_without_end_is_answered(place: Path) -> None:
    with (
        serve(place) as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask,
    ):
        found = ask.get(
            f"/v1/documents/{KEYS[1]}", params={"story": 1, "original": "prefer:(.+)+@"}
        )
        assert found.json()["original"] == KEYS[0]
        assert found.json()["reason"].startswith("no key is preferred")
        for rule in ("prefer:(?=a)", r"prefer:(a)\1", "prefer:(", "prefer:" + "x" * 1_001):
            reply = ask.get(f"/v1/documents/{KEYS[0]}", params={"story": 1, "original": rule})
            refused(reply, 400, "InvalidParameter")
        assert ask.get("/healthz").status_code == 200
        assert served.stop() == 0


@pytest.mark.slow
@pytest.mark.parametrize("levels", [64, 950, 100_000])
def test_metadata_that_are_nested_too_deeply_are_refused_and_writing_goes_on(
    tmp_path: Path, levels: int
) -> None:
    deep = "[" * levels + "]" * levels
    given = f'{{"key": "deep", "text": "{TEXT}", "metadata": {{"n": {deep}}}}}'
    just = given.replace(deep, "[" * 63 + "]" * 63)
    with (
        serve(tmp_path / "s.db") as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask,
    ):
        refused(ask.post("/v1/documents", content=given), 422, "MalformedRequest")
        first, second, last = lines(
            ask.post("/v1/documents", content=f"{given}\n{just}\n", headers=NDJSON)
        )
        assert first["error"]["title"] == "MalformedRequest"
        assert second["outcome"] == "added"
        assert last["counts"]["rejected"] == 1
        assert ask.get("/v1/documents/deep").json()["metadata"] == json.loads(just)["metadata"]
        long = {"key": "long", "text": TEXT, "metadata": {"n": "x" * (1 << 20)}}
        refused(ask.post("/v1/documents", json=long), 422, "MalformedRequest")
        for body in (deep, f'{{"text": {deep}}}', f'{{"papers": {deep}}}', f'{{"keys": {deep}}}'):
            for path in ("/v1/query", "/v1/check", "/v1/seen", "/v1/compare", "/v1/remove"):
                refused(ask.post(path, content=body), 422, "MalformedRequest")
        assert ask.get("/readyz").status_code == 200
        assert served.stop() == 0
        assert not any("Traceback" in line for line in served.lines)
