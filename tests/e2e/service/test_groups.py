"""Clusters and duplicates, and the pages that they come in."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from served import Served, serve

from simstore import Store

from .asked import NEAR, OTHER, TEXT, accepting, add, lines, paged, refused


@pytest.mark.slow
def test_clusters_are_told(served: Served, ask: httpx.Client, tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([("a", TEXT), ("b", NEAR), ("c", OTHER)])
        store.clusters.build(min_resemblance=0.5)
    with serve(tmp_path / "s.db") as other, httpx.Client(base_url=other.url) as asked:
        (found,) = asked.get("/v1/clusters").json()["clusters"]
        assert [member["key"] for member in found["members"]] == ["a", "b"]
        assert lines(asked.get("/v1/clusters", headers=accepting())) == [found]
        assert asked.get(f"/v1/clusters/{found['cluster_id']}").json() == found
        assert len(asked.get("/v1/clusters", params={"min_size": 1}).json()["clusters"]) == 2
        first = asked.get("/v1/clusters", params={"min_size": 1, "limit": 1}).json()
        assert (len(first["clusters"]), first["more"]) == (1, True)
        place = asked.get("/v1/clusters/of", params={"key": "b"}).json()["place"]
        assert (place["canonical_key"], place["cluster_id"]) == ("a", found["cluster_id"])
        summary = asked.get("/v1/clusters/summary", params={"largest": 1}).json()["summary"]
        assert (summary["cluster_count"], summary["largest_count"]) == (1, 2)
        assert asked.get("/v1/clusters/merges").json() == {
            "merges": [],
            "more": False,
            "next": None,
        }
        refused(asked.get("/v1/clusters/99"), 404, "NotFound")
        refused(asked.get(f"/v1/clusters/{10**30}"), 404, "NotFound")
        refused(asked.get("/v1/clusters/x"), 422, "MalformedRequest")
        refused(asked.get("/v1/clusters/of", params={"key": "x"}), 404, "DocumentNotFound")


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
            whole = lines(
                ask.get("/v1/clusters", params={"min_size": min_size}, headers=accepting())
            )
            assert len(whole) == count
            for limit in (1, 2, count, 100):
                assert (
                    paged(ask, "/v1/clusters", "clusters", min_size=min_size, limit=limit) == whole
                )
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
    for limit in (1, 3, 8):
        assert paged(ask, "/v1/duplicates", "duplicates", limit=limit) == whole
        assert (
            paged(ask, "/v1/duplicates", "duplicates", limit=limit, original="z original") == whole
        )
    # What comes and goes between two pages is neither shown twice nor hides another.
    first = ask.get("/v1/duplicates", params={"limit": 3}).json()
    ask.post("/v1/remove", json={"keys": [first["duplicates"][-1]["key"]], "missing_ok": True})
    rest = ask.get("/v1/duplicates", params={"after": first["next"]}).json()
    assert rest["duplicates"] == whole[3:]


@pytest.mark.parametrize(
    "after", ["", "k", "x1", "c!", "c", "kYQ=x", "cYWJj", "k%ff", "cLTE", "c" + "OTk5" * 20, "k字"]
)
def test_cursors_that_no_page_gave_are_refused(ask: httpx.Client, after: str) -> None:
    paths = ["/v1/clusters", "/v1/clusters/merges", "/v1/duplicates"]
    for path in paths[2:] if after.startswith("c") else paths[:2] if after == "k" else paths:
        asked = {"after": after}
        refusal = refused(ask.get(path, params=asked), 422, "MalformedRequest")
        assert refusal["place"] == "query.after"


def test_a_store_without_clusters(ask: httpx.Client) -> None:
    refused(ask.get("/v1/clusters"), 404, "NotFound")
    refused(ask.get("/v1/clusters", headers=accepting()), 404, "NotFound")
    assert ask.get("/v1/clusters/summary").json() == {"summary": None}
