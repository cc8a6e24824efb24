"""Duplicates by characters are told alike by store, HTTP and command line."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
import texts
from served import serve

from simstore import Store
from simstore.client import Client

from .processes import launch
from .test_characters import ALL, ASKED, SCAN, TITLE

pytestmark = pytest.mark.sqlite


def test_store_client_http_and_command_act_on_the_same_copies(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with Store.create(place, channels=ALL) as store:
        store.add_many([("lamp", texts.LIGHTHOUSE), ("bread", texts.BREAD), ("title", TITLE)])
    asked = {"on_duplicate": "skip", "channels": "characters"}
    with serve(place) as served, Client(served.url) as client:
        where = f"{served.url}/v1/documents"
        given = [{"key": "http", "text": SCAN}, {"key": "http title", "text": ASKED}]
        one = httpx.post(where, params=asked, json={"documents": given}).json()
        lines = "".join(json.dumps({**body, "key": f"line {body['key']}"}) + "\n" for body in given)
        ndjson = {"content-type": "application/x-ndjson"}
        many = httpx.post(where, params=asked, content=lines, headers=ndjson).text.splitlines()
        mixed = httpx.post(where, params={**asked, "channels": "minhash,characters"}, json=given[0])
        by_client = client.add("client", SCAN, on_duplicate="skip", channels=("characters",))
        outcome = client.add(
            "title too", ASKED, on_duplicate="skip", channels=("characters",), short_texts=True
        )
    assert [found["outcome"] for found in one["documents"]] == ["skipped", "added"]
    # The first title is stored by now, and this is its text.
    assert [json.loads(line).get("outcome") for line in many[:2]] == ["skipped", "skipped"]
    assert (mixed.status_code, by_client, outcome) == (400, "skipped", "skipped")
    (tmp_path / "scan.txt").write_text(SCAN, "utf-8")
    words = ["ingest", "scan.txt", "--as", "text", "--db", "s.db", "--on-duplicate"]
    assert "1 flagged" in launch(tmp_path, *words, "flag", "--channels", "characters").text
    assert launch(tmp_path, *words, "flag", "--short-texts").code == 2
    shown = launch(
        tmp_path, "clusters", "--db", "s.db", "--channels", "characters", "--format", "csv"
    )
    assert "lamp" in shown.text
    assert "scan.txt" in shown.text
    assert "title" not in shown.text
    assert "a member reaches a resemblance of 0.5 of characters" in shown.errors
    assert "1 is too short to judge" not in shown.errors
