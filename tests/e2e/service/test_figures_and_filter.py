"""The store in numbers, and the filter of what is known."""

from __future__ import annotations

from pathlib import Path

import httpx
from served import serve

from simstore import Store
from simstore.known_filter import KnownFilter

from .asked import NEAR, OTHER, TEXT, accepting, add, lines, refused


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


def test_the_filter_knows_the_keys_and_has_a_tag(ask: httpx.Client, tmp_path: Path) -> None:
    add(ask, ("a", TEXT), ("b", OTHER))
    reply = ask.get("/v1/known-keys")
    path = tmp_path / "known"
    path.write_bytes(reply.content)
    assert KnownFilter.load(path).knows_keys(["a", "b", "c"]).tolist() == [True, True, False]
    assert KnownFilter.load(path).knows_text(TEXT)
    tag = reply.headers["etag"]
    for held in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = ask.get("/v1/known-keys", headers={"If-None-Match": held})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    # Other parameters are another filter.
    other = ask.get("/v1/known-keys?of=keys", headers={"If-None-Match": tag})
    assert (other.status_code, other.headers["etag"] != tag) == (200, True)
    for change in (lambda: add(ask, ("c", NEAR)), lambda: ask.delete("/v1/documents/a")):
        change()
        new = ask.get("/v1/known-keys", headers={"If-None-Match": tag})
        assert (new.status_code, new.headers["etag"] != tag) == (200, True)
        tag = new.headers["etag"]
    path.write_bytes(new.content)
    assert KnownFilter.load(path).knows_keys(["a", "b", "c"]).tolist() == [False, True, True]


def test_wrong_filters_are_refused(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", OTHER))
    malformed = ("of=smell", "false_positive_rate=nan", "capacity=0", "capacity=10000000000")
    for asked in malformed:
        refused(ask.get(f"/v1/known-keys?{asked}"), 422, "MalformedRequest")
    wrong = ("of=keys&of=keys", "capacity=1", "false_positive_rate=5e-324", "capacity=1000001")
    for asked in wrong:
        refused(ask.get(f"/v1/known-keys?{asked}"), 400, "InvalidParameter")
    assert len(ask.get("/v1/known-keys?capacity=1000000").content) < 10_000_000
