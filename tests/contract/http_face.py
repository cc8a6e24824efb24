"""The face HTTP: plain requests to a real server, without the client's code."""

from __future__ import annotations

import json
from functools import cached_property
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

import httpx

from contract.faces import (
    COUNTS,
    DOCUMENT,
    DUPLICATE,
    KINDS,
    MATCH,
    STATUSES,
    FaceError,
    ServedFace,
    picked,
    renamed,
)
from contract.python_faces import (
    RUN,
    SEEN,
    STATS,
    check_options,
    checked,
    compared,
    mutual_pairs,
)
from simstore import KnownFilter

_DOCUMENT_OPTIONS = {"on_duplicate", "min_resemblance", "radius", "channels"}


class HttpFace(ServedFace):
    """Requests to ``simstore serve``."""

    @cached_property
    def _http(self) -> httpx.Client:
        return self._stack.enter_context(httpx.Client(base_url=self.url, timeout=60))

    def request(self, path: str, method: str | None = None, **options: Any) -> dict[str, Any]:
        """Send any request; return its status and its JSON.

        ``accept`` and ``kind`` (of the body) are headers; ``next_page`` continues after the page
        of the last reply, ``if_changed`` sends its ETag.
        """
        method = method or ("POST" if {"json", "content", "data"} & set(options) else "GET")
        headers = options.pop("headers", {})
        for option, name in (("accept", "Accept"), ("kind", "Content-Type")):
            if option in options:
                headers = {**headers, name: options.pop(option)}
        if self.token is not None:
            headers = {"Authorization": f"Bearer {self.token}", **headers}
        if options.pop("if_changed", False):
            headers = {"If-None-Match": self._last.headers["etag"], **headers}
        if options.pop("next_page", False):
            after = self._last.json()["next"]
            options["params"] = {**options.get("params", {}), "after": after}
        reply = self._last = self._http.request(method, path, headers=headers, **options)
        self.shown = {"status": reply.status_code}
        return {"body": _body(reply), "headers": dict(reply.headers)}

    def add(self, key: str, text: str, **options: Any) -> dict[str, Any]:
        reply = self._write({"key": key, "text": text}, options)
        (one,) = reply["documents"]
        return {"outcome": one["outcome"], "same_text_as": one["same_text_as"]}

    def write(self, documents: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        reply = self._write({"documents": documents}, options)
        same = sum(one["same_text_as"] is not None for one in reply["documents"])
        return picked({**reply["counts"], "identical_texts": same, "rejected": 0}, COUNTS)

    def remove(self, keys: list[str], **options: Any) -> dict[str, Any]:
        if len(keys) == 1 and not options:
            reply = self._json("DELETE", f"/v1/documents/{quote(keys[0], safe='')}")
        else:
            reply = self._json("POST", "/v1/remove", json={"keys": keys, **options})
        return {"removed": reply["removed"]}

    def get(self, key: str) -> dict[str, Any]:
        path = f"/v1/documents/{quote(key, safe='')}"
        return picked(self._json("GET", path, params={"with_text": "true"}), DOCUMENT)

    def list(self, **options: Any) -> list[str]:
        found = self._json("GET", "/v1/documents", params=options)
        return [one["key"] for one in found["documents"]]

    def query(self, text: str, key: str | None = None, **options: Any) -> list[Any]:
        sample = {"text": text} if key is None else {"samples": [{"key": key, "text": text}]}
        (result,) = self._query(sample, options)
        return [picked(match, MATCH) for match in result["matches"]]

    def query_many(self, samples: dict[str, str], **options: Any) -> dict[str, list[str]]:
        given = [{"key": key, "text": text} for key, text in samples.items()]
        found = self._query({"samples": given}, options)
        return {one["key"]: [match["key"] for match in one["matches"]] for one in found}

    def seen(self, keys: list[str]) -> dict[str, Any]:
        found = self._json("POST", "/v1/seen", json={"keys": keys})["seen"]
        return {
            key: {"state": "unknown"} if one is None else picked(one, SEEN)
            for key, one in zip(keys, found, strict=True)
        }

    def seen_text(self, text: str) -> list[Any]:
        digest = blake2b(text.encode(), digest_size=16).hexdigest()
        found = self._json("POST", "/v1/seen", json={"digest": digest})["seen"]
        return [picked(one, SEEN) for one in found]

    def known_keys(self, asked: list[str]) -> dict[str, bool]:
        known = KnownFilter.from_bytes(self._http.get("/v1/known-keys").content)
        return {key: known.knows_key(key) for key in asked}

    def duplicates(self, **options: Any) -> list[Any]:
        if "of" in options:
            options["original"] = options.pop("of")
        found = self._json("GET", "/v1/duplicates", params=options)
        return [picked(one, DUPLICATE) for one in found["duplicates"]]

    def clusters(self, **options: Any) -> list[Any]:
        found = self._json("GET", "/v1/clusters", params=options)
        return [
            {
                "id": self.numbered(one["cluster_id"]),
                "canonical": one["key"],
                "members": [member["key"] for member in one["members"]],
            }
            for one in found["clusters"]
        ]

    def cluster_of(self, key: str) -> dict[str, Any] | None:
        place = self._json("GET", "/v1/clusters/of", params={"key": key})["place"]
        if place is None:
            return None
        return {
            "id": self.numbered(place["cluster_id"]),
            "canonical": place["canonical_key"],
            "resemblance": place["member"]["resemblance"],
        }

    def check(self, text: str, key: str = "", **options: Any) -> dict[str, Any]:
        paper = {"text": text} if not key else {"papers": [{"key": key, "text": text}]}
        body = {**paper, "options": check_options(options)}
        found = self._json("POST", "/v1/check", json=body)
        return checked(found["papers"][0])

    def check_mutual(self, papers: dict[str, str], **options: Any) -> list[Any]:
        given = [{"key": key, "text": text} for key, text in papers.items()]
        body = {"papers": given, "options": check_options(options)}
        pairs = self._json("POST", "/v1/check/mutual", json=body)["pairs"]
        return mutual_pairs(pairs, list(papers))

    def compare(self, first: str, second: str, **options: Any) -> dict[str, Any]:
        body = {"first": {"key": first}, "second": {"key": second}, "options": options}
        return compared(self._json("POST", "/v1/compare", json=body)["measurements"])

    def stats(self) -> dict[str, Any]:
        return picked(self._json("GET", "/v1/stats"), STATS)

    def runs(self) -> list[Any]:
        return [picked(one, RUN) for one in self._json("GET", "/v1/runs")["runs"]]

    def run(self, number: int) -> dict[str, Any]:
        found = self._json("GET", f"/v1/runs/{number}")
        return picked(found["run"], RUN) | {"removed_keys": found["removed_keys"]}

    def rejects(self) -> list[Any]:
        found = [one["rejection"] for one in self._json("GET", "/v1/rejects")["rejects"]]
        return [
            {"source": one["source"], "record": one["position"], "reason": one["reason"]}
            for one in found
        ]

    def _write(self, body: dict[str, Any], options: dict[str, Any]) -> Any:
        options = renamed(options)
        params = {name: options.pop(name) for name in _DOCUMENT_OPTIONS & set(options)}
        if "channels" in params:
            params["channels"] = ",".join(params["channels"])
        return self._json("POST", "/v1/documents", json={**body, **options}, params=params)

    def _query(self, body: dict[str, Any], options: dict[str, Any]) -> Any:
        options = renamed(options)
        if "where" in options:
            options["where"] = list(options["where"].items())
        return self._json("POST", "/v1/query", json={**body, **options})["samples"]

    def unknown_fields(self, text: str, where: dict[str, Any]) -> list[str]:
        body = {"text": text, "where": list(where.items())}
        return self._json("POST", "/v1/query", json=body)["unknown_fields"]

    def _json(self, method: str, path: str, **options: Any) -> Any:
        reply = self.request(path, method, **options)
        status = self.shown["status"]
        if status < 400:
            return reply["body"]
        problem = reply["body"]
        kind = "denied" if status in STATUSES["denied"] else KINDS[problem["exit_code"]]
        assert status in STATUSES[kind], f"status {status} for an error of kind {kind}"
        assert problem["status"] == status
        assert reply["headers"]["content-type"].startswith("application/problem+json")
        raise FaceError(kind, problem["detail"], status)


def _body(reply: httpx.Response) -> Any:
    if not reply.content:
        return None
    kind = reply.headers.get("content-type", "")
    if "ndjson" in kind:
        return [json.loads(line) for line in reply.text.splitlines()]
    return reply.json() if "json" in kind else reply.text
