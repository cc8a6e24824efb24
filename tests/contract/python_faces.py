"""The faces ``Store`` and ``Client``: the same calls on a file and on a server."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import simstore
from contract.faces import COUNTS, DOCUMENT, DUPLICATE, MATCH, Face, ServedFace, picked, renamed
from contract.making import create_store
from simstore.types import LabelledPair, Labels, ReadOptions


class PythonFace(Face):
    """The methods that ``Store`` and ``Client`` share."""

    @cached_property
    def opened(self) -> Any:
        """The opened store, or a client of its server."""
        raise NotImplementedError

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
        options = renamed(options)
        if key is None:
            return [picked(match, MATCH) for match in self.opened.query(text, **options)]
        (result,) = self.opened.query_many({key: text}, **options)
        return [picked(match, MATCH) for match in result]

    def unknown_fields(self, text: str, where: dict[str, Any]) -> list[str]:
        return list(self.opened.query_many([text], where=where).unknown_fields)

    def query_many(self, samples: dict[str, str], **options: Any) -> dict[str, list[str]]:
        run = self.opened.query_many(samples, **renamed(options))
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
            {
                "id": self.numbered(one.cluster_id),
                "canonical": one.key,
                "members": [member.key for member in one.members],
            }
            for one in self.opened.clusters.list(**options)
        ]

    def cluster_of(self, key: str) -> dict[str, Any] | None:
        place = self.opened.clusters.of(key)
        if place is None:
            return None
        return {
            "id": self.numbered(place.cluster_id),
            "canonical": place.canonical_key,
            "resemblance": place.member.resemblance,
        }

    def filter(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        lines = [line for name in inputs for line in self.read(name)["text"].splitlines()]
        rows = [json.loads(line) for line in lines]
        return {"rows": list(self.opened.filter(rows, **renamed(options)))}

    def check(self, text: str, **options: Any) -> dict[str, Any]:
        return checked(_plain(self.opened.check(text, **check_options(options))))

    def check_mutual(self, papers: dict[str, str], **options: Any) -> list[Any]:
        found = self.opened.check_mutual(papers, **check_options(options))
        return mutual_pairs((_plain(one) for one in found.pairs), list(papers))

    def compare(self, first: str, second: str, **options: Any) -> dict[str, Any]:
        found = self.opened.compare(first, second, **options)
        return compared(_plain(one) for one in found.measurements)

    def stats(self) -> dict[str, Any]:
        return picked(self.opened.stats(), STATS)

    def runs(self, **options: Any) -> list[Any]:
        return [picked(one, RUN) for one in self.opened.runs.ingest(**options)]

    def run(self, number: int) -> dict[str, Any]:
        found = self.opened.runs.show(number)
        return picked(found.run, RUN) | {"removed_keys": list(found.removed_keys)}

    def rejects(self) -> list[Any]:
        return [
            {"source": one.rejection.source, "record": one.rejection.position,
             "reason": one.rejection.reason}
            for one in self.opened.rejects.list()
        ]  # fmt: skip

    def known_keys(self, asked: list[str]) -> dict[str, bool]:
        known = self.opened.filters.known()
        return {key: known.knows_key(key) for key in asked}


class StoreFace(PythonFace):
    """``simstore.Store`` on a file, and the functions beside it."""

    @cached_property
    def opened(self) -> Any:
        return simstore.Store.open(self.place)

    def close(self) -> None:
        if "opened" in vars(self):
            vars(self).pop("opened").close()

    def build_clusters(self, **options: Any) -> dict[str, Any]:
        return picked(self.opened.clusters.build(**renamed(options)), CLUSTERS)

    def build_passages(self, **options: Any) -> dict[str, Any]:
        return picked(self.opened.passages.build(**options), {"documents": "document_count"})

    def expire(self, **options: Any) -> dict[str, Any]:
        found = self.opened.expire(**options)
        return {"removed": found.removed, "forgotten": found.forgotten}

    def export(self, **options: Any) -> list[Any]:
        target = self.folder / "exported.jsonl"
        self.opened.export(target, replace=True, **renamed(options))
        with target.open(encoding="utf-8") as lines:
            return [exported(line) for line in lines]

    def vocabulary(self, limit: int | None = None) -> list[Any]:
        return [
            {"term": one.term, "occurrences": one.total_count, "documents": one.document_count}
            for one in self.opened.vocabulary.terms(limit)
        ]

    def vocabulary_status(self) -> dict[str, Any]:
        return picked(self.opened.vocabulary.status(), VOCABULARY)

    def refresh(self) -> dict[str, Any]:
        return {"switched": self.opened.vocabulary.refresh().switched}

    def create(self, **options: Any) -> dict[str, Any]:
        create_store(self.folder / "store.db", options)
        return {"bits": self.opened.stats().bits}

    def query_runs(self) -> list[Any]:
        return [picked(one, QUERY_RUN) for one in self.opened.runs.query()]

    def upgrade(self) -> dict[str, Any]:
        return upgraded(_plain(simstore.upgrade_store(self.place)))

    def fsck(self) -> dict[str, Any]:
        return {"sound": not self.opened.maintenance.fsck()}

    def compact(self, *, plain: bool = False) -> dict[str, Any]:
        self.opened.maintenance.compact(plain=plain)
        return {}

    def reindex(self, **options: Any) -> dict[str, Any]:
        from simstore.types import SchemeChoice

        self.opened.maintenance.reindex(SchemeChoice("web", **options))
        return {}

    def backup(self, target: str) -> dict[str, Any]:
        self.opened.maintenance.backup(target)
        return {}

    def restore(self, source: str, *, replace: bool = False) -> dict[str, Any]:
        self.close()
        simstore.restore_store(source, self.place, replace=replace)
        return {}

    def move(self, file: str) -> dict[str, Any]:
        """Export the documents, and ingest them into a new store, which is used from now on."""
        self.opened.export(file)
        self.use_place("moved.db")
        create_store(self.folder / "moved.db", {})
        return self.ingest([file])

    def list_while(self, verb: str, **arguments: Any) -> list[str]:
        """Begin to read the documents, run a verb in another process, read the rest."""
        documents = self.opened.list()
        found = [next(documents).key]
        self.elsewhere(verb, **arguments)
        return found + [document.key for document in documents]

    def add_token(self, name: str, scope: str, expires: str | None = None) -> dict[str, Any]:
        return {"token": self.opened.tokens.add(name, scope, expires)}

    def tokens(self) -> list[Any]:
        now = int(time.time())
        return [
            {"name": one.name, "scope": one.scope, "state": one.state(now)}
            for one in self.opened.tokens.list()
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

    def dedup(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        options = renamed({"output": self.new_output(), **options})
        read = {name: options.pop(name) for name in ("key_field", "text_field") if name in options}
        options["replace"] = options.pop("force", False)
        target = self.folder / options.pop("output")
        if options.pop("remember", False):
            options["store"] = self.opened
        done = simstore.dedup_rows(inputs, target, read=ReadOptions(**read), **options)
        return {**written_rows(target), **picked(done, ROW_COUNTS)}

    def evaluate(self, pairs: list[list[Any]], method: str, threshold: float) -> dict[str, Any]:
        labels = Labels(pairs=[LabelledPair(one, other, same) for one, other, same in pairs])
        found = self.opened.evaluate.run(labels)
        return measured((_plain(point) for point in found.points), method, threshold)


class ClientFace(PythonFace, ServedFace):
    """``simstore.Client``, and a real server in a process of its own."""

    @cached_property
    def opened(self) -> Any:
        return self._stack.enter_context(simstore.Client(self.url, token=self.token))

    def use_token(self, name: str) -> dict[str, Any]:
        vars(self).pop("opened", None)
        return super().use_token(name)


SEEN = {name: name for name in ("state", "original", "key", "first_seen", "last_seen")}
STATS = {
    "documents": "document_count",
    "texts": "distinct_contents",
    "scheme": "scheme",
    "scheme_bits": "bits",
    "flagged": "flagged_count",
    "skipped": "skipped_count",
    "packed_fingerprints": "packed_fingerprints",
    "rejects": "reject_count",
    "on_duplicate": "on_duplicate",
    "text_kept": "text_kept",
}
RUN = {
    name: name
    for name in ("kind", "state", "added", "updated", "unchanged", "flagged", "skipped",
                 "rejected", "removed")
}  # fmt: skip
QUERY_RUN = {"samples": "sample_count", "matches": "match_count", "radius": "radius"}
CLUSTERS = {"clusters": "cluster_count", "waiting": "waiting_count"}
ROW_COUNTS = {name: name for name in ("read", "kept", "dropped", "rejected", "most_differing")}
VOCABULARY = {"fresh": "fresh", "policy": "policy", "terms": "term_count"}


def checked(paper: dict[str, Any]) -> dict[str, Any]:
    """Return what a check found, under neutral names, from its JSON."""
    sources = {one["key"]: one["share"] for one in paper["sources"]}
    return {
        "share": paper["totals"]["share"],
        "copied": paper["totals"]["copied"],
        "identical": paper["totals"]["identical"],
        "characters": paper["totals"]["characters"],
        "sources": sources,
        "source_keys": list(sources),
        "passages": [one["kind"].replace("none", "neither") for one in paper["passages"]],
        "excluded": [one["excluded"] for one in paper["passages"]],
        "not_counted": {one["reason"]: one["characters"] for one in paper["excluded"]},
        "warnings": [one["kind"] for one in paper["warnings"]],
    }


def check_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a check, whose ``sentences`` says whether changed ones are found."""
    if "sentences" in options:
        sentences = options.pop("sentences")
        options["channels"] = ["anchors", "sentences"] if sentences else ["anchors"]
    return options


def mutual_pairs(pairs: Any, keys: list[str]) -> list[Any]:
    """Return pairs of papers with the share of each, by the order in which papers were given."""
    found = []
    for one in pairs:
        shares = {one["first_key"]: one["share"], one["second_key"]: one["second_share"]}
        own = {one["first_key"]: one["own_share"], one["second_key"]: one["second_own_share"]}
        first, second = sorted(shares, key=keys.index)
        found.append(
            {
                "first": first,
                "second": second,
                "share": shares[first],
                "second_share": shares[second],
                "own_share": own[first],
                "second_own_share": own[second],
            }
        )
    return found


def measured(points: Any, method: str, threshold: float) -> dict[str, Any]:
    """Return precision, recall and F1 of a method at a threshold."""
    (point,) = (
        one for one in points if (one.get("method"), one.get("threshold")) == (method, threshold)
    )
    return picked(point, {name: name for name in ("precision", "recall", "f1")})


def written_rows(path: Path) -> dict[str, Any]:
    """Return the rows of an output, and its content."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return {"text": text, "rows": list(csv.DictReader(io.StringIO(text)))}
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {"text": text, "rows": rows}


def exported(line: str) -> dict[str, Any]:
    """Return a line of an export; what a document has not, the line leaves out."""
    absent = dict.fromkeys(("text", "title", "collection", "metadata"))
    return picked(absent | json.loads(line), DOCUMENT)


def compared(measurements: Any) -> dict[str, Any]:
    """Return the values of each algorithm of a comparison by its name."""
    return {one["algorithm"].replace("-", "_"): one["values"] for one in measurements}


def upgraded(summary: dict[str, Any]) -> dict[str, Any]:
    """Return whether an upgrade changed a store, and the name of its backup."""
    after = summary.get("revision_after", summary.get("revision"))
    return {"changed": summary["revision_before"] != after, "backup": summary["backup"]}


def _plain(record: Any) -> dict[str, Any]:
    return dataclasses.asdict(record)


def _of_original(options: dict[str, Any]) -> dict[str, Any]:
    if "of" in options:
        options["original"] = options.pop("of")
    return options
