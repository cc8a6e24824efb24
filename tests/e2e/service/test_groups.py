"""Clusters and duplicates, and the pages that they come in."""

from __future__ import annotations

from pathlib import Path

import httpx
from served import serve

from simstore import Store

from .asked import NEAR, TEXT, accepting, add, lines, paged, refused


def test_clusters_come_in_pages(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        given = [(f"{n}", f"{word} " * 30) for n, word in enumerate("abcdefg")]
        store.add_many([*given, *((f"{key} again", text) for key, text in given)])
        store.clusters.build(min_resemblance=0.5)
        # Some end, others have one document.
        store.remove("1", "1 again", "2", "2 again", "6")
        store.clusters.build()
    with serve(tmp_path / "s.db") as other, httpx.Client(base_url=other.url) as ask:
        for min_size, count in ((1, 5), (2, 4)):
            size = {"min_size": min_size}
            whole = lines(ask.get("/v1/clusters", params=size, headers=accepting()))
            assert len(whole) == count
            for limit in (2, count):
                assert paged(ask, "/v1/clusters", "clusters", limit=limit, **size) == whole
        ended = lines(ask.get("/v1/clusters/merges", headers=accepting()))
        assert len(ended) == 2
        assert paged(ask, "/v1/clusters/merges", "merges", limit=1) == ended
        after = ask.get("/v1/clusters", params={"limit": 3}).json()["next"]
        asked = {"after": after}
        whole = lines(ask.get("/v1/clusters", headers=accepting()))
        assert lines(ask.get("/v1/clusters", params=asked, headers=accepting())) == whole[3:]


def test_duplicates_come_in_pages_whatever_their_keys(ask: httpx.Client) -> None:
    add(ask, ("z original", TEXT))
    keys = ["a", "a/b?c=d&e", "ключ 字", "a\x00b", "+", "%2B", "x" * 3_000]
    many = {"documents": [{"key": key, "text": NEAR} for key in keys]}
    many["documents"].append({"key": "?", "key_base64": "/wA=", "text": NEAR})
    done = ask.post("/v1/documents", params={"on_duplicate": "skip"}, json=many)
    assert done.json()["counts"]["skipped"] == 8
    whole = lines(ask.get("/v1/duplicates", headers=accepting()))
    assert len(whole) == 8
    for asked in ({"limit": 1}, {"limit": 3, "original": "z original"}):
        assert paged(ask, "/v1/duplicates", "duplicates", **asked) == whole
    # What comes and goes between two pages is neither shown twice nor hides another.
    first = ask.get("/v1/duplicates", params={"limit": 3}).json()
    ask.post("/v1/remove", json={"keys": [first["duplicates"][-1]["key"]], "missing_ok": True})
    rest = ask.get("/v1/duplicates", params={"after": first["next"]}).json()
    assert rest["duplicates"] == whole[3:]


def test_cursors_that_no_page_gave_are_refused(ask: httpx.Client) -> None:
    wrong = ["x", "c!", "YQ=x", "k%ff", "k字"]
    for path in ("/v1/clusters", "/v1/clusters/merges", "/v1/duplicates"):
        for after in (*wrong, *([] if path == "/v1/duplicates" else ["-1", "9" * 60])):
            refusal = refused(ask.get(path, params={"after": after}), 422, "MalformedRequest")
            assert refusal["place"] == "query.after"
