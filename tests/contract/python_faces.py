"""The faces ``Store`` and ``Client``: the same calls on a file and on a server."""

from __future__ import annotations

import dataclasses
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from served import serve

import simstore
from contract.faces import COUNTS, DOCUMENT, DUPLICATE, MATCH, Face, picked, renamed


class PythonFace(Face):
    """The methods that ``Store`` and ``Client`` share."""

    opened: Any

    def add(self, key: str, text: str, **options: Any) -> dict[str, Any]:
        return {"outcome": str(self.opened.add(key, text, **renamed(options)))}

    def write(self, documents: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        summary = self.opened.add_many(documents, **renamed(options))
        return picked(summary, COUNTS)

    def ingest(self, sources: list[str], **options: Any) -> dict[str, Any]:
        if "as" in options:
            options["format"] = options.pop("as")
        return picked(self.opened.ingest(sources, **renamed(options)), COUNTS)

    def remove(self, keys: list[str], **options: Any) -> dict[str, Any]:
        return {"removed": self.opened.remove(*keys, **options)}

    def get(self, key: str) -> dict[str, Any]:
        return picked(self.opened.get(key), DOCUMENT)

    def list(self, **options: Any) -> list[str]:
        return [document.key for document in self.opened.list(**options)]

    def query(self, text: str, key: str | None = None, **options: Any) -> list[Any]:
        options = _query_options(options)
        if key is None:
            return [picked(match, MATCH) for match in self.opened.query(text, **options)]
        (result,) = self.opened.query_many({key: text}, **options)
        return [picked(match, MATCH) for match in result]

    def query_many(self, samples: dict[str, str], **options: Any) -> dict[str, list[str]]:
        run = self.opened.query_many(samples, **_query_options(options))
        return {result.key: [match.key for match in result] for result in run}

    def seen(self, keys: list[str]) -> dict[str, Any]:
        found = self.opened.seen(keys)
        return {
            key: {"state": "unknown"} if one is None else picked(one, SEEN)
            for key, one in zip(keys, found, strict=True)
        }

    def seen_text(self, text: str) -> list[Any]:
        return [picked(one, SEEN) for one in self.opened.seen(text=text) or ()]

    def duplicates(self, **options: Any) -> list[Any]:
        found = self.opened.duplicates.list(**_of_original(options))
        return [picked(one, DUPLICATE) for one in found]

    def clusters(self, **options: Any) -> list[Any]:
        return [
            {"canonical": one.key, "members": [member.key for member in one.members]}
            for one in self.opened.clusters.list(**options)
        ]

    def cluster_of(self, key: str) -> dict[str, Any] | None:
        place = self.opened.clusters.of(key)
        if place is None:
            return None
        return {"canonical": place.canonical_key, "resemblance": place.member.resemblance}

    def check(self, text: str, **options: Any) -> dict[str, Any]:
        return checked(_plain(self.opened.check(text, **options)))

    def check_mutual(self, papers: dict[str, str], **options: Any) -> list[Any]:
        return [
            {"first": one.first_key, "second": one.second_key, "share": one.share}
            for one in self.opened.check_mutual(papers, **options).pairs
        ]

    def compare(self, first: str, second: str, **options: Any) -> dict[str, Any]:
        found = self.opened.compare(first, second, **options)
        return compared(_plain(one) for one in found.measurements)

    def stats(self) -> dict[str, Any]:
        return picked(self.opened.stats(), STATS)

    def runs(self) -> list[Any]:
        return [picked(one, RUN) for one in self.opened.runs.ingest()]

    def rejects(self) -> list[Any]:
        return [
            {"source": one.rejection.source, "record": one.rejection.position,
             "reason": one.rejection.reason}
            for one in self.opened.rejects.list()
        ]  # fmt: skip


class StoreFace(PythonFace):
    """``simstore.Store`` on a file, and the functions beside it."""

    def __init__(self, place: str, folder: Path) -> None:
        super().__init__(place, folder)
        self.opened = simstore.Store.open(place)

    def close(self) -> None:
        self.opened.close()

    def build_clusters(self, **options: Any) -> dict[str, Any]:
        return picked(self.opened.clusters.build(**renamed(options)), CLUSTERS)

    def build_passages(self, **options: Any) -> dict[str, Any]:
        return picked(self.opened.passages.build(**options), {"documents": "document_count"})

    def expire(self, **options: Any) -> dict[str, Any]:
        found = self.opened.expire(**options)
        return {"removed": found.removed, "forgotten": found.forgotten}

    def export(self, **options: Any) -> list[Any]:
        target = self.folder / "exported.jsonl"
        self.opened.export(target, force=True, **options)
        return [picked(json.loads(line), DOCUMENT) for line in target.open(encoding="utf-8")]

    def vocabulary(self, limit: int | None = None) -> list[Any]:
        return [
            {"term": one.term, "occurrences": one.total_count, "documents": one.document_count}
            for one in self.opened.vocabulary.terms(limit)
        ]

    def vocabulary_status(self) -> dict[str, Any]:
        return picked(self.opened.vocabulary.status(), VOCABULARY)

    def refresh(self) -> dict[str, Any]:
        return {"switched": self.opened.vocabulary.refresh().switched}

    def fsck(self) -> list[str]:
        return [one.problem for one in self.opened.maintenance.fsck()]

    def compact(self) -> dict[str, Any]:
        self.opened.maintenance.compact()
        return {}

    def reindex(self, **options: Any) -> dict[str, Any]:
        from simstore.options import SchemeChoice

        self.opened.maintenance.reindex(SchemeChoice("web", **options))
        return {}

    def backup(self, target: str) -> dict[str, Any]:
        self.opened.maintenance.backup(target)
        return {}

    def restore(self, source: str, *, replace: bool = False) -> dict[str, Any]:
        self.opened.close()
        simstore.restore_store(source, self.place, replace=replace)
        self.opened = simstore.Store.open(self.place)
        return {}

    def add_token(self, name: str, scope: str) -> dict[str, Any]:
        return {"token": self.opened.tokens.add(name, scope)}

    def tokens(self) -> list[Any]:
        return [
            picked(one, {"name": "name", "scope": "scope"}) for one in self.opened.tokens.list()
        ]

    def revoke_token(self, name: str) -> dict[str, Any]:
        self.opened.tokens.revoke(name)
        return {}

    def add_fingerprints(self, values: list[int]) -> dict[str, Any]:
        return {"added": self.opened.fingerprints.add(values)}

    def remove_fingerprints(self, values: list[int]) -> dict[str, Any]:
        return {"removed": self.opened.fingerprints.remove(values)}

    def near(self, value: int, radius: int) -> list[Any]:
        with self.opened.fingerprints.reader() as reader:
            return [[found, distance] for found, distance in reader.near(value, radius=radius)]

    def known_keys(self, asked: list[str]) -> dict[str, bool]:
        known = self.opened.filters.known()
        return {key: key in known for key in asked}

    def dedup(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        target = self.folder / "deduped.jsonl"
        simstore.dedup_rows(inputs, target, force=True, **renamed(options))
        return {"rows": [json.loads(line) for line in target.open(encoding="utf-8")]}

    def filter(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        rows = [json.loads(line) for name in inputs for line in (self.folder / name).open()]
        return {"rows": self.opened.filter(rows, **renamed(options))}


class ClientFace(PythonFace):
    """``simstore.Client``, and a real server in a process of its own."""

    def __init__(self, place: str, folder: Path) -> None:
        super().__init__(place, folder)
        self._stack = ExitStack()
        served = self._stack.enter_context(serve(place))
        self.opened = self._stack.enter_context(simstore.Client(served.url))

    def close(self) -> None:
        self._stack.close()


SEEN = {"state": "state", "original": "original", "key": "key"}
STATS = {
    "documents": "document_count",
    "texts": "distinct_contents",
    "scheme_bits": "bits",
    "flagged": "flagged_count",
    "skipped": "skipped_count",
    "rejects": "reject_count",
    "on_duplicate": "on_duplicate",
    "text_kept": "text_kept",
}
RUN = {
    name: name
    for name in ("kind", "state", "added", "updated", "unchanged", "flagged", "skipped",
                 "rejected", "removed")
}  # fmt: skip
CLUSTERS = {"clusters": "cluster_count", "waiting": "waiting_count"}
VOCABULARY = {"fresh": "fresh", "policy": "policy", "terms": "term_count"}


def checked(paper: dict[str, Any]) -> dict[str, Any]:
    """Return what a check found, under neutral names, from its JSON."""
    sources = {one["key"]: one["share"] for one in paper["sources"]}
    return {
        "share": paper["totals"]["share"],
        "copied": paper["totals"]["copied"],
        "characters": paper["totals"]["characters"],
        "sources": sources,
        "source_keys": list(sources),
        "passages": [one["kind"] for one in paper["passages"]],
        "excluded": [one["excluded"] for one in paper["passages"]],
        "warnings": [one["kind"] for one in paper["warnings"]],
    }


def compared(measurements: Any) -> dict[str, Any]:
    """Return the values of each algorithm of a comparison by its name."""
    return {one["algorithm"].replace("-", "_"): one["values"] for one in measurements}


def _plain(record: Any) -> dict[str, Any]:
    return dataclasses.asdict(record)


def _query_options(options: dict[str, Any]) -> dict[str, Any]:
    options = renamed(options)
    if "where" in options:
        options["where"] = tuple(options["where"].items())
    return options


def _of_original(options: dict[str, Any]) -> dict[str, Any]:
    if "of" in options:
        options["original"] = options.pop("of")
    return options
