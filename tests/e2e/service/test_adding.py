"""Documents that are sent: one, a batch, the same again, lines."""

from __future__ import annotations

import json

import httpx
import pytest

from .asked import NDJSON, NEAR, OTHER, TEXT, accepting, add, lines, refused

# Documents


@pytest.mark.slow
def test_one_document_is_added_and_found(ask: httpx.Client) -> None:
    reply = ask.post("/v1/documents", json={"key": "a", "text": TEXT})
    assert reply.json() == {
        "documents": [
            {
                "key": "a",
                "outcome": "added",
                "duplicate": None,
                "same_text_as": None,
                "displaced": [],
            }
        ],
        "counts": {"added": 1, "updated": 0, "unchanged": 0, "flagged": 0, "skipped": 0},
        "replayed": False,
        "orphans": [],
        "unflagged": [],
    }
    found = ask.post("/v1/query", json={"text": TEXT}).json()
    assert [match["key"] for match in found["samples"][0]["matches"]] == ["a"]


def test_documents_of_a_batch_are_as_if_one_after_the_other(ask: httpx.Client) -> None:
    done = add(ask, ("a", TEXT), ("b", NEAR), ("a", TEXT), on_duplicate="skip")
    assert [one["outcome"] for one in done["documents"]] == ["added", "skipped", "unchanged"]
    assert done["documents"][1]["duplicate"]["original"] == "a"
    assert add(ask, ("a", OTHER))["counts"]["updated"] == 1


def test_changed_documents_tell_what_they_set_free(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT))
    add(ask, ("b", NEAR), on_duplicate="skip")
    done = add(ask, ("a", OTHER))
    assert (done["orphans"], done["unflagged"]) == (["b"], [])
    add(ask, ("a", TEXT), ("d", OTHER))
    add(ask, ("c", NEAR), on_duplicate="flag")
    lines = [{"key": "a", "text": f"{OTHER} {OTHER}"}, {"key": "b", "text": OTHER + " at last"}]
    reply = ask.post(
        "/v1/documents",
        content="".join(json.dumps(one) + "\n" for one in lines),
        headers={"Content-Type": "application/x-ndjson"},
    )
    last = json.loads(reply.text.splitlines()[-1])
    assert (last["orphans"], last["unflagged"]) == ([], ["c"])


def test_flagged_documents_are_stored_and_named(ask: httpx.Client) -> None:
    done = add(ask, ("a", TEXT), ("b", NEAR), on_duplicate="flag", min_resemblance=0.5)
    assert done["counts"]["flagged"] == 1
    found = ask.get("/v1/duplicates", params={"state": "flagged", "original": "a"}).json()
    assert [one["key"] for one in found["duplicates"]] == ["b"]
    assert found["more"] is False


def test_duplicates_by_distance(ask: httpx.Client) -> None:
    done = add(ask, ("a", TEXT), ("b", NEAR), ("c", OTHER), on_duplicate="skip", radius=64)
    assert done["counts"]["skipped"] == 2
    assert done["documents"][1]["duplicate"]["original"] == "a"
    reply = ask.post(
        "/v1/documents",
        json={"key": "a", "text": TEXT},
        params={"on_duplicate": "skip", "radius": 65},
    )
    refused(reply, 400, "InvalidParameter")


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
    [
        {"on_duplicate": "drop"},
        {"min_resemblance": "1.5"},
        {"min_resemblance": "nan"},
        {"radius": "-1"},
    ],
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


@pytest.mark.slow
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
