"""The face of the command line: a process a command, JSON on its standard output."""

from __future__ import annotations

import json
from typing import Any

from forked import Finished, nursery

from contract.faces import COUNTS, DOCUMENT, DUPLICATE, KINDS, MATCH, Face, FaceError, picked
from contract.python_faces import (
    RUN,
    SEEN,
    STATS,
    VOCABULARY,
    checked,
    compared,
)

# Options whose flag is not their neutral name.
_FLAGS = {"resemblance": "min-resemblance", "containment": "min-containment"}
# Exit codes of commands that have a result: done, some records rejected, not all seen.
_WITH_RESULT = {0, 5, 7}


class CliFace(Face):
    """``simstore`` commands."""

    def add(self, key: str, text: str, **options: Any) -> dict[str, Any]:
        counts = self.write([{"key": key, "text": text, **_document(options)}], **options)
        done = [name for name in OUTCOMES if counts[name]]
        return {"outcome": done[0] if done else "added"}

    def write(self, documents: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        path = self.folder / "documents.jsonl"
        lines = [json.dumps(_record(one), ensure_ascii=False) for one in documents]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        fields = {"key_field": "key", "text_field": "text"}
        for name, field in (("seen_at", "seen"), ("published_at", "published"), ("links", "links")):
            if any(name in one for one in documents):
                fields[f"{field}_field"] = name
        return self.ingest([str(path)], **fields, **options)

    def ingest(self, sources: list[str], **options: Any) -> dict[str, Any]:
        found = self._object("ingest", *sources, "--from-start", **options)
        counts = picked(found, COUNTS)
        # The command line counts stored copies apart from documents that are new otherwise.
        counts["added"] += found["identical_texts"] if not found["flagged"] else 0
        return counts

    def remove(self, keys: list[str], **options: Any) -> dict[str, Any]:
        return {"removed": self._object("remove", *keys, **options)["removed"]}

    def get(self, key: str) -> dict[str, Any]:
        found = picked(self._object("show", key), DOCUMENT)
        if self._object("stats")["text_kept"]:
            text = self._run("show", key, "--text", as_json=False).text
            found["text"] = text.removesuffix("\n")
        return found

    def list(self, **options: Any) -> list[str]:
        return [one["key"] for one in self._object("list", **options)]

    def query(self, text: str, key: str | None = None, **options: Any) -> list[Any]:
        if key is None:
            (result,) = self._object("query", "--text", text, **options)
        else:
            (result,) = self._samples({key: text}, options)
        return [picked(match, MATCH) for match in result["matches"]]

    def query_many(self, samples: dict[str, str], **options: Any) -> dict[str, list[str]]:
        found = self._samples(samples, options)
        return {one["sample"]: [match["key"] for match in one["matches"]] for one in found}

    def seen(self, keys: list[str]) -> dict[str, Any]:
        return {one["key"]: picked(one, SEEN) for one in self._object("seen", *keys)}

    def seen_text(self, text: str) -> list[Any]:
        return [picked(one, SEEN) for one in self._object("seen", "--text", text)]

    def duplicates(self, **options: Any) -> list[Any]:
        return [picked(one, DUPLICATE) for one in self._object("duplicates", **options)]

    def build_clusters(self, **options: Any) -> dict[str, Any]:
        self._object("clusters", **options)
        return {"clusters": len(self.clusters()), "waiting": 0}

    def clusters(self) -> list[Any]:
        found: dict[int, dict[str, Any]] = {}
        for one in self._object("clusters"):
            cluster = found.setdefault(one["cluster_id"], {"canonical": None, "members": []})
            cluster["members"].append(one["key"])
            if one["role"] == "canonical":
                cluster["canonical"] = one["key"]
        return list(found.values())

    def cluster_of(self, key: str) -> dict[str, Any] | None:
        for one in self._object("clusters"):
            if one["key"] == key:
                cluster = next(c for c in self.clusters() if key in c["members"])
                return {"canonical": cluster["canonical"], "resemblance": one["resemblance"]}
        return None

    def build_passages(self, **options: Any) -> dict[str, Any]:
        return {"documents": self._object("passages", "build", **options)["document_count"]}

    def check(self, text: str, **options: Any) -> dict[str, Any]:
        template = options.pop("template", None)
        if template is not None:
            self._file("template.txt", template[0])
            options["template"] = "template.txt"
        paper = self._file("paper.txt", text)
        (found,) = self._object("check", paper, "--as", "text", **options)
        return checked(found)

    def check_mutual(self, papers: dict[str, str], **options: Any) -> list[Any]:
        paths = [self._file(f"{key}.txt", text) for key, text in papers.items()]
        keys = list(papers)
        pairs = []
        for first, paper in enumerate(self._object("check", *paths, "--as", "text", **options)):
            for source in paper["mutual"]["sources"]:
                second = keys.index(source["key"].removesuffix(".txt"))
                if first < second:
                    pairs.append(
                        {"first": keys[first], "second": keys[second], "share": source["share"]}
                    )
        return pairs

    def compare(self, first: str, second: str, **options: Any) -> dict[str, Any]:
        return compared(self._object("compare", first, second, **options))

    def stats(self) -> dict[str, Any]:
        return picked(self._object("stats"), STATS)

    def runs(self) -> list[Any]:
        return [picked(one, RUN) for one in self._object("runs")]

    def rejects(self) -> list[Any]:
        return self._object("rejects", "list")

    def expire(self, **options: Any) -> dict[str, Any]:
        found = self._object("expire", "--yes", **options)
        return {"removed": found["removed"], "forgotten": found["forgotten"]}

    def export(self, part: str | None = None, **options: Any) -> list[Any]:
        words = [] if part is None else [f"--{part}"]
        out = self._run("export", *words, *_words(options), "--format", "jsonl", as_json=False)
        return [picked(json.loads(line), DOCUMENT) for line in out.text.splitlines()]

    def vocabulary(self, limit: int | None = None) -> list[Any]:
        words = ["--all"] if limit is None else ["--limit", str(limit)]
        found = self._object("vocabulary", "show", *words)
        return [{name: one[name] for name in ("term", "occurrences", "documents")} for one in found]

    def vocabulary_status(self) -> dict[str, Any]:
        return picked(self._object("vocabulary", "status"), VOCABULARY)

    def refresh(self) -> dict[str, Any]:
        return {"switched": self._object("vocabulary", "refresh")["switched"]}

    def fsck(self) -> list[str]:
        return [one["problem"] for one in self._object("fsck")]

    def compact(self) -> dict[str, Any]:
        self._object("compact")
        return {}

    def reindex(self, **options: Any) -> dict[str, Any]:
        self._object("reindex", "--scheme", "web", **options)
        return {}

    def backup(self, target: str) -> dict[str, Any]:
        self._object("backup", target)
        return {}

    def restore(self, source: str, *, replace: bool = False) -> dict[str, Any]:
        self._object("restore", source, *(["--force"] if replace else []))
        return {}

    def add_token(self, name: str, scope: str) -> dict[str, Any]:
        words = ("token", "add", name, "--scope", scope, "--expires", "never")
        return {"token": self._run(*words, as_json=False).text.strip()}

    def tokens(self) -> list[Any]:
        found = self._object("token", "list")
        return [{"name": one["name"], "scope": one["scope"]} for one in found]

    def revoke_token(self, name: str) -> dict[str, Any]:
        self._run("token", "revoke", name, as_json=False)
        return {}

    def add_fingerprints(self, values: list[int]) -> dict[str, Any]:
        path = self._file("values.txt", "".join(f"{value:x}\n" for value in values))
        return {"added": self._object("fingerprints", "add", path)["added"]}

    def remove_fingerprints(self, values: list[int]) -> dict[str, Any]:
        path = self._file("values.txt", "".join(f"{value:x}\n" for value in values))
        return {"removed": self._object("fingerprints", "remove", path)["removed"]}

    def near(self, value: int, radius: int) -> list[Any]:
        found = self._object("fingerprints", "near", f"{value:x}", radius=radius)
        return [[int(one["fingerprint"], 16), one["distance"]] for one in found]

    def known_keys(self, asked: list[str]) -> dict[str, bool]:
        self._run("export", "--known-keys", "known.filter", "--force", as_json=False)
        found = self._object("seen", *asked, "--known-keys", "known.filter")
        return {one["key"]: one["state"] == "known" for one in found}

    def dedup(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        return self._rows("dedup", inputs, options)

    def filter(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        return self._rows("filter", inputs, options)

    def decontaminate(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        return self._rows("decontaminate", inputs, options, db=False)

    def _rows(
        self, command: str, inputs: list[str], options: dict[str, Any], *, db: bool = False
    ) -> dict[str, Any]:
        target = self.folder / "rows.jsonl"
        words = [command, *inputs, "-o", str(target), "--force"]
        if command == "filter":
            words += ["--against", self.place]
        self._object(*words, db=db, **options)
        return {"rows": [json.loads(line) for line in target.open(encoding="utf-8")]}

    def _samples(self, samples: dict[str, str], options: dict[str, Any]) -> Any:
        lines = [json.dumps({"key": key, "text": text}) for key, text in samples.items()]
        path = self._file("samples.jsonl", "\n".join(lines) + "\n")
        return self._object("query", path, **options)

    def _file(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def _object(self, *words: str, db: bool = True, **options: Any) -> Any:
        done = self._run(*words, *_words(options), "--format", "json", db=db)
        return json.loads(done.text)

    def _run(self, *words: str, as_json: bool = True, db: bool = True) -> Finished:
        place = ["--db", self.place] if db else []
        done = nursery().simstore(self.folder, *words, *place)
        self.shown = {"exit": done.code}
        assert "Traceback" not in done.errors, done.errors
        if done.code in _WITH_RESULT and (done.out or not as_json):
            return done
        last = done.error_lines[-1] if done.error_lines else ""
        assert last.startswith("Error: "), f"{words}: exit {done.code}: {done.errors}"
        raise FaceError(KINDS[done.code], last)


OUTCOMES = ("added", "updated", "unchanged", "flagged", "skipped", "rejected")


def _words(options: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + _FLAGS.get(name, name).replace("_", "-")
        if name == "where":
            words += [part for field in value.items() for part in (flag, "=".join(field))]
        elif name == "channels":
            words += [flag, ",".join(value)]
        elif isinstance(value, list):
            words += [part for one in value for part in (flag, str(one))]
        elif value is True:
            words.append(flag)
        elif value is False:
            words.append(flag.replace("--", "--no-", 1))
        else:
            words += [flag, str(value)]
    return words


def _document(options: dict[str, Any]) -> dict[str, Any]:
    """Take the fields of a document out of the options of an ingest, and return them."""
    names = ("title", "collection", "metadata", "seen_at", "published_at", "links")
    return {name: options.pop(name) for name in names if name in options}


def _record(document: dict[str, Any]) -> dict[str, Any]:
    return {**document.get("metadata", {}), **document} if "metadata" in document else document
