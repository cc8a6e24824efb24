"""The store in numbers, and the filter of what is known."""

from __future__ import annotations

from pathlib import Path

import httpx
from served import serve

from simstore import Store

from .asked import accepting, lines


def test_rejects_come_in_pages_or_as_lines(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("[]\n" * 5, "utf-8")
    with Store.create(tmp_path / "s.db") as store:
        store.ingest([str(tmp_path / "broken.jsonl")])
        expected = [one.reject_id for one in store.rejects.list()]
        assert [one.reject_id for one in store.rejects.list(after=expected[3])] == expected[4:]
    with serve(tmp_path / "s.db") as served, httpx.Client(base_url=served.url) as ask:
        found, sizes, after = [], [], 0
        while after is not None:
            page = ask.get("/v1/rejects", params={"limit": 2, "after": after}).json()
            found += [one["reject_id"] for one in page["rejects"]]
            sizes.append(len(page["rejects"]))
            assert page["more"] == (page["next"] is not None)
            after = page["next"]
        told = lines(ask.get("/v1/rejects", headers=accepting()))
    assert (found, sizes) == (expected, [2, 2, 1])
    assert [one["reject_id"] for one in told] == expected
