"""Duplicates by characters are told alike by store, HTTP and command line."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
import texts
from misspelt import misspelt
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


def test_rows_of_a_file_are_deduplicated_with_and_without_a_store(tmp_path: Path) -> None:
    worse = misspelt(texts.LIGHTHOUSE, 0.05, 1)
    rows = [("lamp", texts.LIGHTHOUSE), ("scan", worse), ("title", TITLE), ("title too", ASKED)]
    lines = [json.dumps({"id": key, "text": text}) + "\n" for key, text in rows]
    (tmp_path / "rows.jsonl").write_text("".join(lines), "utf-8")
    by = ("--channels", "characters")

    def kept(name: str) -> list[str]:
        made = (tmp_path / name).read_text("utf-8").splitlines()
        return [json.loads(line)["id"] for line in made]

    launch(tmp_path, "dedup", "rows.jsonl", "-o", "words.jsonl")
    assert kept("words.jsonl") == ["lamp", "scan", "title", "title too"]
    launch(tmp_path, "dedup", "rows.jsonl", "-o", "alone.jsonl", *by)
    assert kept("alone.jsonl") == ["lamp", "title", "title too"]
    # The store is made, with the channel.
    launch(tmp_path, "dedup", "rows.jsonl", "-o", "stored.jsonl", *by, "--db", "s.db")
    assert kept("stored.jsonl") == kept("alone.jsonl")
    again = launch(tmp_path, "dedup", "rows.jsonl", "-o", "again.jsonl", *by, "--db", "s.db")
    assert again.code == 0
    assert kept("again.jsonl") == []
    few = ("--min-character-resemblance", "0.9", "--short-texts")
    launch(tmp_path, "dedup", "rows.jsonl", "-o", "close.jsonl", *by, *few)
    assert kept("close.jsonl") == ["lamp", "scan", "title", "title too"]


def test_a_threshold_of_the_other_runs_is_told_its_name(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db", channels=ALL) as store:
        store.add("lamp", texts.LIGHTHOUSE)
    (tmp_path / "scan.txt").write_text(SCAN, "utf-8")
    store_of = ("--db", "s.db")
    of_words = ("--min-character-resemblance", "0.4")
    for words, told in (
        (("query", "scan.txt", *store_of, "--channels", "characters", "--min-resemblance", "0.4"),
         "give --min-character-resemblance instead"),
        (("clusters", *store_of, *of_words), "the threshold is --min-resemblance"),
        (("ingest", "scan.txt", *store_of, "--on-duplicate", "flag", *of_words),
         "the threshold is --min-resemblance"),
        (("dedup", "scan.txt", "-o", "o/", *of_words), "the threshold is --min-resemblance"),
        (("spark", "dedup", "scan.txt", "-o", "o", *of_words),
         "the threshold is --min-resemblance"),
    ):  # fmt: skip
        done = launch(tmp_path, *words)
        assert done.code == 2, words
        assert told in done.errors, words
    ingest = ("ingest", "scan.txt", "--as", "text", *store_of, "--on-duplicate", "flag")
    by = ("--channels", "characters", "--min-character-resemblance")
    assert "1 flagged" in launch(tmp_path, *ingest, *by, "0.3").text
    clusters = ("clusters", *store_of, *by)
    assert "scan.txt" in launch(tmp_path, *clusters, "0.3").text
    close = launch(tmp_path, *clusters, "0.99")
    assert close.code == 0
    assert "scan.txt" not in close.text
