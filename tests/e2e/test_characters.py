"""The channel ``characters`` answers alike by store, HTTP and command line."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
import texts
from served import serve

from simstore import Store
from simstore.client import Client
from simstore.errors import InvalidParameter

from .processes import launch

pytestmark = pytest.mark.sqlite

ALL = ("simhash", "minhash", "characters")
SCAN = texts.LIGHTHOUSE.replace("e", "c", 12).replace("rn", "m")
TITLE, ASKED = "Harbour reopens after the winter storm", "Harbour reopens after the summer storm"


def test_store_client_http_and_command_tell_the_same(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    with Store.create(place, channels=ALL) as store:
        store.add_many([("lamp", texts.LIGHTHOUSE), ("bread", texts.BREAD), ("title", TITLE)])
        wanted = [
            (match.key, match.character_resemblance)
            for asked in (SCAN, ASKED)
            for match in store.query(asked, channels=("characters",))
        ]
    assert [key for key, _ in wanted] == ["lamp", "title"]
    with serve(place) as served, Client(served.url) as client:
        answers = [list(client.query(asked, channels=("characters",))) for asked in (SCAN, ASKED)]
        told = [(match.key, match.character_resemblance) for one in answers for match in one]
        body = {"text": SCAN, "channels": ["characters"], "min_character_resemblance": 0.3}
        reply = httpx.post(f"{served.url}/v1/query", json=body).json()
        far = httpx.post(f"{served.url}/v1/query", json={**body, "min_character_resemblance": 0.99})
        with pytest.raises(InvalidParameter, match="from 0 to 1"):
            client.query(SCAN, min_character_resemblance=2)
    assert told == wanted
    (match,) = reply["samples"][0]["matches"]
    assert (match["key"], match["character_resemblance"]) == wanted[0]
    assert far.json()["samples"][0]["matches"] == []
    (tmp_path / "scan.txt").write_text(SCAN, "utf-8")
    done = launch(
        tmp_path, "query", "scan.txt", "--as", "text", "--db", "s.db", "--channels", "characters",
        "--format", "jsonl",
    )  # fmt: skip
    lines = [json.loads(line) for line in done.out.splitlines()]
    found = [one for line in lines for one in line.get("matches", [])]
    shown = [(key, round(share or 0, 4)) for key, share in wanted[:1]]
    assert [(one["key"], one["character_resemblance"]) for one in found] == shown


def test_the_table_says_by_what_a_title_is_judged(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db", channels=ALL) as store:
        store.add("title", TITLE)
    (tmp_path / "asked.txt").write_text(ASKED, "utf-8")
    done = launch(tmp_path, "query", "asked.txt", "--as", "text", "--db", "s.db")
    lines = done.text.splitlines()
    assert lines[1].split()[-1] == "title"
    assert "(of titles those at most twice as long), and titles like them" in done.text
