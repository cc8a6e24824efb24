"""``simstore filter``: the same over a server, from several processes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import Nursery
from served import serve

from simstore import Store

TEXT = "The harbour was quiet at dawn, and the first boats came in with the tide of the night."
NEW = "Mix flour, water and salt; let the dough rest for a night; bake it hot and long and dark."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "seen.db") as store:
        store.add("harbour", TEXT)
    rows = [{"id": 1, "text": TEXT}, {"id": 2, "text": NEW}, {"id": 3, "text": f"{TEXT} Yes."}]
    (tmp_path / "day.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


@pytest.mark.slow
@pytest.mark.sqlite("the store is a file beside the rows")
def test_several_processes_and_a_server_give_the_same(nursery: Nursery, folder: Path) -> None:
    words = ["filter", "day.jsonl", "--keep", "known", "--log"]
    with serve(folder / "seen.db") as served:
        started = [
            nursery.start("simstore", folder, words=[*words, f"log{n}", "-o", f"out{n}", *asked])
            for n, asked in enumerate(
                [["--db", "seen.db"], ["--db", "seen.db"], ["--server", served.url]]
            )
        ]
        finished = [child.wait() for child in started]
    assert [done.code for done in finished] == [0, 0, 0], [done.errors for done in finished]
    for name in ("out", "log"):
        assert len({(folder / f"{name}{n}").read_bytes() for n in range(3)}) == 1
    kept = (folder / "day.jsonl").read_bytes().splitlines(keepends=True)
    assert (folder / "out0").read_bytes() == kept[0] + kept[2]


@pytest.mark.sqlite("the store is a file beside the rows")
def test_what_cannot_be_done_is_refused(nursery: Nursery, folder: Path) -> None:
    for words, code, told in (
        (["--db", "none.db", "-o", "out"], 3, "none.db"),
        (["--db", "seen.db", "-o", "seen.db", "--force"], 2, "belongs to the store"),
        (["--db", "seen.db", "-o", "day.jsonl"], 2, "is an input"),
    ):
        done = nursery.simstore(folder, "filter", "day.jsonl", *words)
        assert done.code == code, done.errors
        assert told in done.errors
        assert not (folder / "out").exists()
