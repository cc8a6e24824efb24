"""The service, asked as a client asks it: every route, right and wrong."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from served import PATIENCE_SECONDS, Served, serve

from simstore import Store
from simstore.reports.known_filter import KnownFilter

TEXT = (
    "A crawler fetches pages, remembers which of them it has seen, and asks the store whether "
    "another page says the same in other words before it keeps the page for good."
)
NEAR = TEXT.replace("for good", "for ever")
OTHER = (
    "Bread needs flour, water, salt and time; the oven does the rest, and a stone keeps the heat "
    "that the crust wants in its first minutes."
)
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("serve") / "s.db"
    with Store.create(place) as store:
        store.build_passages()
    with serve(place) as found:
        yield found


@pytest.fixture(scope="module")
def ask(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as client:
        yield client


@pytest.fixture(autouse=True)
def empty(ask: httpx.Client) -> None:
    """Each test begins with an empty store."""
    keys = [one["key"] for one in lines(ask.get("/v1/documents", headers=accepting()))]
    # What was skipped has no document.
    keys += [one["key"] for one in lines(ask.get("/v1/duplicates", headers=accepting()))]
    for start in range(0, len(keys), 1_000):
        part = keys[start : start + 1_000]
        done = ask.post("/v1/remove", json={"keys": part, "missing_ok": True})
        assert done.status_code == 200, done.text


def accepting() -> dict[str, str]:
    return {"Accept": "application/x-ndjson"}


def lines(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in reply.text.splitlines()]


def add(ask: httpx.Client, *documents: tuple[str, str], **parameters: Any) -> dict[str, Any]:
    body = {"documents": [{"key": key, "text": text} for key, text in documents]}
    reply = ask.post("/v1/documents", json=body, params=parameters)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def refused(reply: httpx.Response, status: int, title: str) -> dict[str, Any]:
    assert reply.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = reply.json()
    assert (reply.status_code, told["status"], told["title"]) == (status, status, title), told
    assert told["type"] == f"urn:simstore:{title}"
    assert told["request_id"] == reply.headers["x-request-id"]
    assert told["detail"].isprintable()
    assert isinstance(told["exit_code"], int)
    return told


# Adding documents


def test_one_document_is_added_and_found(ask: httpx.Client) -> None:
    reply = ask.post("/v1/documents", json={"key": "a", "text": TEXT})
    assert reply.json() == {
        "documents": [{"key": "a", "outcome": "added", "duplicate": None, "same_text_as": None}],
        "counts": {"added": 1, "updated": 0, "unchanged": 0, "flagged": 0, "skipped": 0},
        "replayed": False,
    }
    found = ask.post("/v1/query", json={"text": TEXT}).json()
    assert [match["key"] for match in found["samples"][0]["matches"]] == ["a"]


def test_documents_of_a_batch_are_as_if_one_after_the_other(ask: httpx.Client) -> None:
    done = add(ask, ("a", TEXT), ("b", NEAR), ("a", TEXT), on_duplicate="skip")
    assert [one["outcome"] for one in done["documents"]] == ["added", "skipped", "unchanged"]
    assert done["documents"][1]["duplicate"]["original"] == "a"
    assert add(ask, ("a", OTHER))["counts"]["updated"] == 1


def test_flagged_documents_are_stored_and_named(ask: httpx.Client) -> None:
    done = add(ask, ("a", TEXT), ("b", NEAR), on_duplicate="flag", min_resemblance=0.5)
    assert done["counts"]["flagged"] == 1
    found = ask.get("/v1/duplicates", params={"state": "flagged", "original": "a"}).json()
    assert [one["key"] for one in found["duplicates"]] == ["b"]
    assert found["more"] is False


def test_fields_of_a_document_are_kept(ask: httpx.Client) -> None:
    given = {
        "key": "a", "text": TEXT, "title": "A title", "collection": "web",
        "metadata": {"lang": "en", "deep": [1, {"x": None}]},
        "seen_at": "2026-05-01T12:00:00Z", "published_at": 1_700_000_000, "links": ["b"],
    }  # fmt: skip
    assert ask.post("/v1/documents", json=given).status_code == 200
    found = ask.get("/v1/documents/a", params={"with_text": 1}).json()
    assert {name: found[name] for name in ("title", "collection", "metadata", "text")} == {
        name: given[name] for name in ("title", "collection", "metadata", "text")
    }
    assert found["first_seen"] == 1_700_000_000


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("{", "body"),
        ("[]", "body"),
        ("null", "body"),
        ('{"key": "a"}', "body"),
        ('{"key": 1, "text": "t"}', "body"),
        ('{"key": "a", "text": "t", "strange": 1}', "body"),
        ('{"key": "a", "text": "t", "seen_at": "yesterday"}', "body.seen_at"),
        ('{"key": "a", "text": "t", "seen_at": 1e30}', "body.seen_at"),
        ('{"key": "a", "text": "t", "metadata": NaN}', "body"),
        ('{"documents": {}}', "body"),
        ('{"documents": [], "more": 1}', "body"),
        ('{"documents": [{"key": "a", "text": "t"}, {"text": "t"}]}', "body.documents[1]"),
        ("[" * 100_000, "body"),
        (b"\xff\xfe{", "body"),
    ],
)
def test_malformed_documents_are_refused_with_the_place(
    ask: httpx.Client, body: str | bytes, place: str
) -> None:
    reply = ask.post("/v1/documents", content=body, headers={"Content-Type": "application/json"})
    assert refused(reply, 422, "MalformedRequest")["place"] == place


def test_nothing_of_a_batch_is_stored_where_one_is_wrong(ask: httpx.Client) -> None:
    body = {"documents": [{"key": "a", "text": TEXT}, {"key": "", "text": OTHER}]}
    refused(ask.post("/v1/documents", json=body), 400, "InvalidParameter")
    assert ask.get("/v1/documents").json()["documents"] == []


def test_half_a_character_becomes_the_sign_for_it(ask: httpx.Client) -> None:
    for text in ("\\ud800", "\\udc80"):
        body = f'{{"key": "{text}", "text": "{text}"}}'
        assert ask.post("/v1/documents", content=body).status_code == 200
        (found,) = ask.get("/v1/documents?with_text=1").json()["documents"]
        assert (found["key"], found["text"]) == ("\ufffd", "\ufffd")


def test_bodies_of_another_kind_are_refused(ask: httpx.Client) -> None:
    for path in ("/v1/documents", "/v1/query", "/v1/seen", "/v1/check", "/v1/compare"):
        reply = ask.post(path, content=b"a=b", headers={"Content-Type": "text/plain"})
        assert refused(reply, 415, "UnsupportedMedia")["kind"] == "text/plain"


@pytest.mark.parametrize(
    "parameters",
    [{"on_duplicate": "drop"}, {"min_resemblance": "1.5"}, {"min_resemblance": "nan"}],
)
def test_parameters_out_of_range_are_refused(ask: httpx.Client, parameters: dict[str, str]) -> None:
    reply = ask.post("/v1/documents", json={"key": "a", "text": TEXT}, params=parameters)
    told = refused(reply, 422, "MalformedRequest")
    assert told["place"].startswith("query.")


# The same request again


def test_a_named_request_is_done_once(ask: httpx.Client) -> None:
    body, name = {"key": "a", "text": TEXT}, {"Idempotency-Key": "once-1"}
    first = ask.post("/v1/documents", json=body, headers=name).json()
    assert ask.delete("/v1/documents/a").json()["removed"] == 1
    again = ask.post("/v1/documents", json=body, headers=name).json()
    assert again == first | {"replayed": True}
    assert ask.get("/v1/documents/a").status_code == 404


def test_a_name_is_for_one_request(ask: httpx.Client) -> None:
    name = {"Idempotency-Key": "once-2"}
    ask.post("/v1/documents", json={"key": "a", "text": TEXT}, headers=name)
    for method, path, options in (
        ("POST", "/v1/documents", {"json": {"key": "b", "text": TEXT}}),
        ("POST", "/v1/documents?on_duplicate=skip", {"json": {"key": "a", "text": TEXT}}),
        ("POST", "/v1/remove", {"json": {"keys": ["a"]}}),
        ("DELETE", "/v1/documents/a", {}),
    ):
        reply = ask.request(method, path, headers=name, **options)
        assert refused(reply, 409, "IdempotencyConflict")["key"] == "once-2"


@pytest.mark.parametrize("name", ["", "a b", "x" * 256])
def test_a_wrong_name_is_refused(ask: httpx.Client, name: str) -> None:
    reply = ask.post(
        "/v1/documents", json={"key": "a", "text": TEXT}, headers={"Idempotency-Key": name}
    )
    assert refused(reply, 422, "MalformedRequest")["place"] == "header.Idempotency-Key"


# Lines


def test_lines_are_answered_in_their_order(ask: httpx.Client) -> None:
    given = [
        json.dumps({"key": "a", "text": TEXT}),
        "nonsense",
        "",
        json.dumps({"key": "b", "text": NEAR}),
        json.dumps({"key": "", "text": OTHER}),
        json.dumps({"key": "c", "text": OTHER}),
    ]
    reply = ask.post("/v1/documents?on_duplicate=skip", content="\n".join(given), headers=NDJSON)
    *found, last = lines(reply)
    told = [(one.get("key"), one.get("outcome"), one.get("line")) for one in found]
    assert told == [
        ("a", "added", None), (None, None, 2), ("b", "skipped", None), (None, None, 5),
        ("c", "added", None),
    ]  # fmt: skip
    assert found[1]["error"]["title"] == "MalformedRequest"
    assert found[1]["error"]["place"] == "line 2"
    assert last["counts"] == {
        "added": 2, "updated": 0, "unchanged": 0, "flagged": 0, "skipped": 1, "rejected": 2,
    }  # fmt: skip
    assert {one["key"] for one in ask.get("/v1/documents").json()["documents"]} == {"a", "c"}


def test_many_lines_are_all_stored(ask: httpx.Client) -> None:
    count = 3_000
    given = "".join(
        json.dumps({"key": f"{n}", "text": f"{TEXT} {n} {n * n}"}) + "\n" for n in range(count)
    )
    *found, last = lines(ask.post("/v1/documents", content=given, headers=NDJSON))
    assert [one["key"] for one in found] == [str(n) for n in range(count)]
    assert last["counts"]["added"] == count
    everything = lines(ask.get("/v1/documents", headers=accepting()))
    assert [one["key"] for one in everything] == [str(n) for n in range(count)]


def test_no_lines_are_no_documents(ask: httpx.Client) -> None:
    (last,) = lines(ask.post("/v1/documents", content=b"", headers=NDJSON))
    assert set(last["counts"].values()) == {0}


# Looking at documents


KEYS = [
    "plain", "a/b/c", "/leading", "with blank", "字", "100%", "a?b=c#d", "..", "a//b", "caf\udce9",
    "x" * 500, "seen", "\x01", "two\nlines\n",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_any_key_can_be_asked_for_and_removed(ask: httpx.Client, key: str) -> None:
    data = key.encode("utf-8", "surrogateescape")
    given: dict[str, Any] = {"key": key, "text": TEXT}
    if "\udce9" in key:
        given = {"key": "shown", "key_base64": "Y2Fm6Q==", "text": TEXT}
    done = ask.post("/v1/documents", json=given)
    assert done.status_code == 200, done.text
    # Dots alone would be taken for folders by clients.
    path = "/v1/documents/" + quote(data, safe="").replace("..", "%2E%2E")
    found = ask.get(path)
    assert found.status_code == 200, found.text
    assert found.json()["key"] in (key, "caf\\xe9")
    assert ask.get(path, params={"story": 1}).json()["state"] == "stored"
    assert ask.delete(path).json()["removed"] == 1
    told = refused(ask.get(path), 404, "DocumentNotFound")
    assert told["exit_code"] == 3
    refused(ask.delete(path), 404, "DocumentNotFound")


def test_documents_come_in_pages(ask: httpx.Client) -> None:
    add(ask, *((f"{n}", f"{TEXT} {n}") for n in range(5)))
    found, after = [], 0
    while after is not None:
        page = ask.get("/v1/documents", params={"limit": 2, "after": after}).json()
        assert len(page["documents"]) <= 2
        found += [one["key"] for one in page["documents"]]
        assert page["more"] is (page["next"] is not None)
        after = page["next"]
    assert found == ["0", "1", "2", "3", "4"]


def test_documents_of_a_collection(ask: httpx.Client) -> None:
    ask.post("/v1/documents", json={"key": "a", "text": TEXT, "collection": "x"})
    ask.post("/v1/documents", json={"key": "b", "text": OTHER})
    for options in ({}, {"headers": accepting()}):
        reply = ask.get("/v1/documents", params={"collection": "x", "with_text": 1}, **options)
        listed = lines(reply) if options else reply.json()["documents"]
        assert [(one["key"], one["text"]) for one in listed] == [("a", TEXT)]


@pytest.mark.parametrize(
    "asked", ["limit=0", "limit=x", "after=-1", "after=1e9", f"after={1 << 64}"]
)
def test_wrong_pages_are_refused(ask: httpx.Client, asked: str) -> None:
    refused(ask.get(f"/v1/documents?{asked}"), 422, "MalformedRequest")


def test_story_of_a_document(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", TEXT))
    found = ask.get("/v1/documents/b", params={"story": 1, "original": "prefer:^b"}).json()
    assert (found["original"], [one["key"] for one in found["relatives"]]) == ("b", ["a"])
    reply = ask.get("/v1/documents/b", params={"story": 1, "original": "nobody"})
    refused(reply, 400, "InvalidParameter")


def test_seen_tells_of_each_key(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", NEAR), on_duplicate="skip")
    found = ask.post("/v1/seen", json={"keys": ["b", "nobody", "a"]}).json()["seen"]
    assert [one and one["state"] for one in found] == ["skipped", None, "stored"]
    refused(ask.post("/v1/seen", json={"keys": "a"}), 422, "MalformedRequest")
    refused(ask.post("/v1/seen", json={}), 422, "MalformedRequest")


def test_removal_takes_all_or_nothing(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", NEAR), ("c", OTHER), on_duplicate="skip")
    refused(ask.post("/v1/remove", json={"keys": ["a", "x"]}), 404, "DocumentNotFound")
    assert ask.get("/v1/documents/a").status_code == 200
    done = ask.post("/v1/remove", json={"keys": ["a", "x", "a"], "missing_ok": True}).json()
    assert (done["removed"], done["orphans"]) == (1, ["b"])


# Asking


def test_samples_are_answered_in_their_order(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", OTHER))
    body = {"samples": [{"key": "x", "text": OTHER}, {"text": NEAR}], "radius": 10}
    found = ask.post("/v1/query", json=body).json()
    assert [one["key"] for one in found["samples"]] == ["x", ""]
    matches = [[match["key"] for match in one["matches"]] for one in found["samples"]]
    assert matches == [["b"], ["a"]]
    assert (found["radius"], found["bits"], found["scheme"], found["stale"]) == (
        10, 64, "web/1", None,
    )  # fmt: skip


def test_options_of_a_query_hold(ask: httpx.Client) -> None:
    ask.post("/v1/documents", json={"key": "a", "text": TEXT, "metadata": {"lang": "en"}})
    ask.post("/v1/documents", json={"key": "b", "text": TEXT})

    def keys(**options: Any) -> list[str]:
        reply = ask.post("/v1/query", json={"text": TEXT, **options})
        assert reply.status_code == 200, reply.text
        return [match["key"] for match in reply.json()["samples"][0]["matches"]]

    assert keys() == ["a", "b"]
    assert keys(limit=1) == ["a"]
    assert keys(where=[["lang", "en"]]) == ["a"]
    assert keys(collection="none") == []
    assert keys(min_containment=1.0, likeness=True) == ["a", "b"]
    assert keys(since=10**18) == []


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"radius": 65}, 400),
        ({"radius": -1}, 400),
        ({"radius": 10**30}, 400),
        ({"limit": 0}, 400),
        ({"plan": "magic"}, 400),
        ({"min_resemblance": 2}, 400),
        ({"channels": ["smell"]}, 400),
        ({"radius": "3"}, 422),
        ({"radius": True}, 422),
        ({"where": [["a"]]}, 422),
        ({"samples": []}, 422),
        ({"since": 10**30}, 400),
        ({"since": 10**400}, 400),
    ],
)
def test_wrong_options_of_a_query_are_refused(
    ask: httpx.Client, options: dict[str, Any], status: int
) -> None:
    reply = ask.post("/v1/query", json={"text": TEXT, **options})
    refused(reply, status, "InvalidParameter" if status == 400 else "MalformedRequest")


def test_neither_text_nor_samples_is_refused(ask: httpx.Client) -> None:
    refused(ask.post("/v1/query", json={}), 422, "MalformedRequest")


def test_papers_are_checked(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", OTHER))
    paper = f"Some words of my own come first, as they should. {TEXT}"
    for body in ({"text": paper}, {"papers": [{"text": paper, "key": "p", "title": "P"}]}):
        (found,) = ask.post("/v1/check", json=body).json()["papers"]
        assert [source["key"] for source in found["sources"]] == ["a"]
        assert found["totals"]["high"] == 1
    (found,) = ask.post("/v1/check", json={"stored": "a"}).json()["papers"]
    assert (found["key"], found["sources"]) == ("a", [])
    body = {"text": paper, "options": {"exclude": ["a"]}}
    assert ask.post("/v1/check", json=body).json()["papers"][0]["totals"]["high"] == 0


def test_a_file_is_checked(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT))
    page = f"<html><title>Mine</title><body><p>{TEXT}</p></body></html>"
    reply = ask.post(
        "/v1/check",
        files={"file": ("paper.html", page.encode(), "text/html")},
        data={"options": json.dumps({"high": 0.9})},
    )
    (found,) = reply.json()["papers"]
    assert (found["high"], [source["key"] for source in found["sources"]]) == (0.9, ["a"])


def test_a_report_is_a_page_that_may_run_its_own_script_alone(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT))
    headers = {"Accept": "text/html"}
    reply = ask.post("/v1/check?lang=zh", json={"text": TEXT}, headers=headers)
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert '<html lang="zh' in reply.text
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


@pytest.mark.parametrize(
    ("body", "status", "title"),
    [
        ({}, 422, "MalformedRequest"),
        ({"text": "a", "stored": "b"}, 422, "MalformedRequest"),
        ({"text": "a", "options": {"high": 7}}, 400, "InvalidParameter"),
        ({"text": "a", "options": {"what": 7}}, 422, "MalformedRequest"),
        ({"stored": "nobody"}, 404, "DocumentNotFound"),
    ],
)
def test_wrong_checks_are_refused(
    ask: httpx.Client, body: dict[str, Any], status: int, title: str
) -> None:
    refused(ask.post("/v1/check", json=body), status, title)


def test_wrong_forms_are_refused(ask: httpx.Client) -> None:
    file = {"file": ("a.txt", TEXT.encode())}
    for options in (
        {"files": {"other": ("a.txt", b"x")}},
        {"files": file, "data": {"text": "t"}},
        {"files": file, "data": {"options": "{"}},
        {"files": file, "data": {"options": '{"window": "x"}'}},
        {"files": {"options": ("a.txt", b"{}"), "text": (None, "t")}},
        {"files": {**file, "again": ("b.txt", b"x")}},
        {"content": b"nothing", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
        {"content": b"nothing", "headers": {"Content-Type": "multipart/form-data"}},
    ):
        reply = ask.post("/v1/check", **options)  # type: ignore[arg-type]
        assert refused(reply, 422, "MalformedRequest")["place"].startswith("body"), options


def test_texts_are_compared(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT))
    given = {"document": {"key": "mine", "text": NEAR}}
    found = ask.post("/v1/compare", json={"first": {"key": "a"}, "second": given}).json()
    assert (found["first"]["name"], found["second"]["name"], found["similar"]) == (
        "a", "mine", True,
    )  # fmt: skip
    body: dict[str, Any] = {"first": {"key": "nobody"}, "second": given}
    refused(ask.post("/v1/compare", json=body), 404, "DocumentNotFound")
    for first in ({}, {"key": "a", **given}):
        reply = ask.post("/v1/compare", json={"first": first, "second": given})
        assert refused(reply, 422, "MalformedRequest")["place"] == "body.first"
    for options in ({"filter_counters": 1 << 28}, {"bits": [64] * 1_000}):
        body = {"first": {"key": "a"}, "second": given, "options": options}
        refused(ask.post("/v1/compare", json=body), 413, "TooLarge")


# Clusters, figures, the filter


def test_clusters_are_told(served: Served, ask: httpx.Client, tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([("a", TEXT), ("b", NEAR), ("c", OTHER)])
        store.keep_clusters(min_resemblance=0.5)
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
        assert (summary["cluster_count"], summary["largest_count"]) == (2, 2)
        assert asked.get("/v1/clusters/merges").json() == {
            "merges": [],
            "more": False,
            "next": None,
        }
        refused(asked.get("/v1/clusters/99"), 404, "NotFound")
        refused(asked.get(f"/v1/clusters/{10**30}"), 404, "NotFound")
        refused(asked.get("/v1/clusters/x"), 422, "MalformedRequest")
        refused(asked.get("/v1/clusters/of", params={"key": "x"}), 404, "DocumentNotFound")


def paged(ask: httpx.Client, path: str, name: str, **asked: Any) -> list[Any]:
    """Return the items of a list that is fetched page by page, as ``next`` says."""
    found: list[Any] = []
    after = None
    while True:
        given = asked if after is None else {**asked, "after": after}
        page = ask.get(path, params=given).json()
        assert len(page[name]) <= asked["limit"]
        assert page["more"] is (page["next"] is not None)
        found += page[name]
        after = page["next"]
        if after is None:
            return found


def test_clusters_come_in_pages(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        given = [(f"{n}", f"{word} " * 30) for n, word in enumerate("abcdefg")]
        store.add_many([*given, *((f"{key} again", text) for key, text in given)])
        store.keep_clusters(min_resemblance=0.5)
        # Some end, others have one document.
        store.remove("1", "1 again", "2", "2 again", "6")
        store.keep_clusters()
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


def test_the_store_in_numbers(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", TEXT))
    found = ask.get("/v1/stats").json()
    assert (found["document_count"], found["distinct_contents"]) == (2, 1)
    assert ask.get("/v1/scheme").json()["scheme"] == "web/1"
    assert ask.get("/v1/rejects").json() == {"rejects": [], "more": False}
    assert ask.get("/v1/runs", params={"limit": 1}).json()["runs"][0]["state"] == "running"
    assert ask.get("/v1/query-runs").json() == {"runs": []}
    refused(ask.get("/v1/runs", params={"limit": 0}), 422, "MalformedRequest")


def test_the_filter_knows_the_keys_and_has_a_tag(ask: httpx.Client, tmp_path: Path) -> None:
    add(ask, ("a", TEXT), ("b", OTHER))
    reply = ask.get("/v1/filter")
    path = tmp_path / "known"
    path.write_bytes(reply.content)
    assert KnownFilter.load(path).knows_keys(["a", "b", "c"]).tolist() == [True, True, False]
    assert KnownFilter.load(path).knows_text(TEXT)
    tag = reply.headers["etag"]
    for held in (tag, f'"other", {tag}', f"W/{tag}"):
        again = ask.get("/v1/filter", headers={"If-None-Match": held})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    # Other parameters are another filter.
    other = ask.get("/v1/filter?of=keys", headers={"If-None-Match": tag})
    assert (other.status_code, other.headers["etag"] != tag) == (200, True)
    for change in (lambda: add(ask, ("c", NEAR)), lambda: ask.delete("/v1/documents/a")):
        change()
        new = ask.get("/v1/filter", headers={"If-None-Match": tag})
        assert (new.status_code, new.headers["etag"] != tag) == (200, True)
        tag = new.headers["etag"]
    path.write_bytes(new.content)
    assert KnownFilter.load(path).knows_keys(["a", "b", "c"]).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("of=smell", 422), ("of=keys&of=keys&of=keys", 422), ("false_positive_rate=0", 422),
        ("false_positive_rate=nan", 422), ("capacity=0", 422), ("of=keys&of=keys", 400),
        ("capacity=1", 400), ("capacity=10000000000", 422), ("false_positive_rate=1e-300", 400),
        ("false_positive_rate=5e-324", 400),
    ],
)  # fmt: skip
def test_wrong_filters_are_refused(ask: httpx.Client, asked: str, status: int) -> None:
    add(ask, ("a", TEXT), ("b", OTHER))
    title = "InvalidParameter" if status == 400 else "MalformedRequest"
    refused(ask.get(f"/v1/filter?{asked}"), status, title)


# The service itself


def test_health_and_readiness(ask: httpx.Client) -> None:
    assert ask.get("/healthz").json() == {"status": "ok"}
    assert ask.get("/readyz").json() == {"status": "ready"}


def test_errors_have_one_shape_everywhere(ask: httpx.Client) -> None:
    told = refused(ask.get("/v1/nothing"), 404, "RouteNotFound")
    assert told["path"] == "/v1/nothing"
    reply = ask.put("/v1/query")
    assert refused(reply, 405, "MethodNotAllowed")["allowed"] == "POST"
    assert reply.headers["allow"] == "POST"
    refused(ask.post("/v1/stats"), 405, "MethodNotAllowed")
    for path, allowed in (("/v1/documents", "GET, POST"), ("/v1/documents/a/b", "DELETE, GET")):
        assert ask.request("OPTIONS", path).headers["allow"] == allowed
        assert refused(ask.put(path), 405, "MethodNotAllowed")["allowed"] == allowed
    refused(ask.get("/v1/documents/"), 404, "DocumentNotFound")


@pytest.mark.parametrize("path", ["/", "/healthz", "/v1/documents", "/v1/stats", "/v1/documents/a"])
def test_head_is_answered_as_get_is(ask: httpx.Client, path: str) -> None:
    add(ask, ("a", TEXT))
    whole, head = ask.get(path), ask.head(path)
    assert head.status_code == whole.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == whole.headers["content-type"]
    refused_head = ask.head("/v1/documents/nobody")
    assert (refused_head.status_code, refused_head.content) == (404, b"")
    assert ask.head("/v1/query").status_code == 405


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/v1/documents?limt=5", "limt"),
        ("GET", "/v1/documents/a?with-text=1", "with-text"),
        ("POST", "/v1/documents?on_dupicate=skip", "on_dupicate"),
        ("POST", "/v1/query?radius=3", "radius"),
        ("DELETE", "/v1/documents/a?missing_ok=1", "missing_ok"),
        ("GET", "/v1/stats?", None),
    ],
)
def test_parameters_that_are_not_known_are_refused(
    ask: httpx.Client, method: str, path: str, name: str | None
) -> None:
    add(ask, ("a", TEXT))
    reply = ask.request(method, path, json={"key": "b", "text": NEAR} if method == "POST" else None)
    if name is None:
        assert reply.status_code == 200
        return
    assert refused(reply, 422, "MalformedRequest")["place"] == f"query.{name}"
    assert [one["key"] for one in ask.get("/v1/documents").json()["documents"]] == ["a"]


@pytest.mark.parametrize("coding", ["gzip", "zstd", "br", "gzip, identity", "GZIP"])
@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_compressed_bodies_are_refused_as_such(ask: httpx.Client, coding: str, kind: str) -> None:
    body = gzip.compress(json.dumps({"key": "a", "text": TEXT}).encode())
    headers = {"Content-Type": kind, "Content-Encoding": coding}
    reply = ask.post("/v1/documents", content=body, headers=headers)
    assert "Content-Encoding" in refused(reply, 415, "UnsupportedMedia")["detail"]
    form = {"Content-Type": "multipart/form-data; boundary=x", "Content-Encoding": coding}
    refused(ask.post("/v1/check", content=body, headers=form), 415, "UnsupportedMedia")
    plain = {"Content-Type": "application/json", "Content-Encoding": "identity"}
    body = json.dumps({"key": "a", "text": TEXT}).encode()
    assert ask.post("/v1/documents", content=body, headers=plain).status_code == 200


def test_lines_take_no_name(ask: httpx.Client) -> None:
    body = json.dumps({"key": "a", "text": TEXT})
    headers = {**NDJSON, "Idempotency-Key": "lines-1"}
    reply = ask.post("/v1/documents", content=body, headers=headers)
    assert refused(reply, 422, "MalformedRequest")["place"] == "header.Idempotency-Key"


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
    assert told["simstore_http_requests_in_flight"] == "1"
    # Each metric says once what it is, before its values.
    names = [line.split()[2] for line in reply.text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


def test_metrics_tell_of_the_drift(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db", scheme="simtool", policy="frozen") as store:
        store.add_many([("a", TEXT), ("b", NEAR)])
        store.refresh()
    with (
        serve(tmp_path / "s.db", "--figures-seconds", "0") as served,
        httpx.Client(base_url=served.url) as asked,
    ):
        before = asked.get("/metrics").text
        add(asked, ("c", OTHER * 3))
        after = asked.get("/metrics").text
    assert 'simstore_vocabulary_drift{of="ranks"} 0.0' in before
    assert 'simstore_vocabulary_drift{of="ranks"}' in after
    assert 'simstore_vocabulary_drift{of="ranks"} 0.0' not in after
    assert 'simstore_vocabulary_drift{of="fingerprints"}' in after
