"""The face of the command line: a process a command, JSON on its standard output."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from forked import Finished, nursery

from contract.faces import COUNTS, DOCUMENT, DUPLICATE, KINDS, MATCH, Face, FaceError, picked
from contract.python_faces import (
    QUERY_RUN,
    ROW_COUNTS,
    RUN,
    SEEN,
    STATS,
    VOCABULARY,
    checked,
    compared,
    exported,
    measured,
    upgraded,
    written_rows,
)

# Options whose flag is not their neutral name.
_FLAGS = {
    "resemblance": "min-resemblance",
    "containment": "min-containment",
    "missing_ok": "ignore-missing",
}
# Options of a check that can be switched off.
_SWITCHES = {"sentences"}
# Exit codes of commands that have a result: done, some records rejected, not all seen.
_WITH_RESULT = {0, 5, 7}


class CliFace(Face):
    """``simstore`` commands."""

    _written = 0

    def add(self, key: str, text: str, **options: Any) -> dict[str, Any]:
        counts = self.write([{"key": key, "text": text, **_document(options)}], **options)
        (outcome,) = (name for name in OUTCOMES if counts[name])
        return {"outcome": outcome}

    def write(self, documents: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        # A name of its own: the store remembers how far it has read a file.
        self._written += 1
        path = self.folder / f"documents-{self._written}.jsonl"
        lines = [json.dumps(_record(one), ensure_ascii=False) for one in documents]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        fields = {"key_field": "key", "text_field": "text"}
        for name, field in (("seen_at", "seen"), ("published_at", "published"), ("links", "links")):
            if any(name in one for one in documents):
                fields[f"{field}_field"] = name
        return self.ingest([str(path)], from_start=True, **fields, **options)

    def ingest(self, sources: list[str], stdin: str = "", **options: Any) -> dict[str, Any]:
        found = self._object("ingest", *sources, stdin=stdin.encode(), **options)
        return picked(found, COUNTS)

    def remove(self, keys: list[str], **options: Any) -> dict[str, Any]:
        return {"removed": self._object("remove", *keys, **options)["removed"]}

    def get(self, key: str) -> dict[str, Any]:
        found = picked(self._object("show", key), DOCUMENT)
        if self._object("stats")["text_kept"]:
            text = self._run("show", key, "--text", as_json=False).out
            # The command ends the last line of a text if the text does not.
            found["text"] = text[: found["bytes"]].decode()
            assert text[found["bytes"] :] in (b"", b"\n")
        return found

    def list(self, **options: Any) -> list[str]:
        return [one["key"] for one in self._object("list", **options)]

    def query(self, text: str, key: str | None = None, **options: Any) -> list[Any]:
        if key is None:
            (result,) = self._object("query", "--text", text, **options)
        else:
            (result,) = self._samples({key: text}, options)
        return [picked(match, MATCH) for match in result["matches"]]

    def unknown_fields(self, text: str, where: dict[str, Any]) -> list[str]:
        done = self._run("query", "--text", text, *_words({"where": where}), as_json=False)
        said = "no stored document has the metadata field "
        return [line.removeprefix(said) for line in done.error_lines if line.startswith(said)]

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

    def clusters(self, **options: Any) -> list[Any]:
        found: dict[int, dict[str, Any]] = {}
        for one in self._object("clusters", **options):
            number = self.numbered(one["cluster_id"])
            cluster = found.setdefault(number, {"id": number, "canonical": None, "members": []})
            cluster["members"].append(one["key"])
            if one["role"] == "canonical":
                cluster["canonical"] = one["key"]
        return list(found.values())

    def cluster_of(self, key: str) -> dict[str, Any] | None:
        rows = self._object("clusters", min_size=1)
        for one in rows:
            if one["key"] == key:
                number = one["cluster_id"]
                (canonical,) = (
                    other["key"]
                    for other in rows
                    if other["cluster_id"] == number and other["role"] == "canonical"
                )
                return {
                    "id": self.numbered(number),
                    "canonical": canonical,
                    "resemblance": one["resemblance"],
                }
        return None

    def build_passages(self, **options: Any) -> dict[str, Any]:
        return {"documents": self._object("passages", "build", **options)["document_count"]}

    def check(self, text: str, key: str = "paper.txt", **options: Any) -> dict[str, Any]:
        paper = self._file(key, text)
        options = self._check_options(options)
        (found,) = self._object("check", paper, "--as", "text", "--all-sources", **options)
        return checked(found)

    def _check_options(self, options: dict[str, Any]) -> dict[str, Any]:
        if "template" in options:
            texts = enumerate(options["template"])
            names = [self._file(f"template-{number}.txt", one) for number, one in texts]
            options["template"] = names
        return {name: one for name, one in options.items() if one is not False or name in _SWITCHES}

    def check_mutual(self, papers: dict[str, str], **options: Any) -> list[Any]:
        paths = [self._file(f"{key}.txt", text) for key, text in papers.items()]
        options = self._check_options(options)
        found = self._object("check", *paths, "--as", "text", **options)
        shares = {
            (key, source["key"].removesuffix(".txt")): (source["share"], source["own_share"])
            for key, paper in zip(papers, found, strict=True)
            for source in paper["mutual"]["sources"]
        }
        keys = list(papers)
        return [
            {
                "first": one,
                "second": other,
                "share": share,
                "second_share": shares[other, one][0],
                "own_share": own,
                "second_own_share": shares[other, one][1],
            }
            for (one, other), (share, own) in shares.items()
            if keys.index(one) < keys.index(other)
        ]

    def compare(self, first: str, second: str, **options: Any) -> dict[str, Any]:
        return compared(self._object("compare", first, second, **options))

    def stats(self) -> dict[str, Any]:
        return picked(self._object("stats"), STATS)

    def runs(self, **options: Any) -> list[Any]:
        return [picked(one, RUN) for one in self._object("runs", **options)]

    def run(self, number: int) -> dict[str, Any]:
        found = self._object("runs", "show", str(number))
        return picked(found, RUN) | {"removed_keys": found["removed_keys"]}

    def rejects(self) -> list[Any]:
        names = ("source", "record", "reason")
        return [{name: one[name] for name in names} for one in self._object("rejects")]

    def expire(self, **options: Any) -> dict[str, Any]:
        found = self._object("expire", "--yes", **options)
        return {"removed": found["removed"], "forgotten": found["forgotten"]}

    def export(self, part: str | None = None, **options: Any) -> list[Any]:
        words = [] if part in (None, "all") else [f"--{part}"]
        out = self._run("export", *words, *_words(options), "--format", "jsonl", as_json=False)
        return [exported(line) for line in out.text.splitlines()]

    def vocabulary(self, limit: int | None = None) -> list[Any]:
        words = [] if limit is None else ["--limit", str(limit)]
        found = self._object("vocabulary", "show", *words)
        return [{name: one[name] for name in ("term", "occurrences", "documents")} for one in found]

    def vocabulary_status(self) -> dict[str, Any]:
        return picked(self._object("vocabulary", "status"), VOCABULARY)

    def refresh(self) -> dict[str, Any]:
        return {"switched": self._object("vocabulary", "refresh")["switched"]}

    def create(self, **options: Any) -> dict[str, Any]:
        return {"bits": self._object("init", **options)["bits"]}

    def report(self, run: int | None = None) -> dict[str, Any]:
        self._run("report", *([] if run is None else [str(run)]), as_json=False)
        return {"text": (self.folder / "result.txt").read_text(encoding="utf-8")}

    def query_runs(self) -> list[Any]:
        return [picked(one, QUERY_RUN) for one in self._object("report", "--list")]

    def upgrade(self) -> dict[str, Any]:
        return upgraded(self._object("upgrade"))

    def fsck(self) -> dict[str, Any]:
        found = json.loads(self._run("fsck", "--format", "json", results={0, 6}).text)
        return {"sound": not found}

    def compact(self, *, plain: bool = False) -> dict[str, Any]:
        self._object("compact", *(["--plain"] if plain else []))
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

    def move(self, file: str) -> dict[str, Any]:
        """Export the documents, and ingest them into a new store, which is used from now on."""
        self._run("export", "-o", file, as_json=False)
        self.use_place("moved.db")
        return self.ingest([file])

    def write_at_once(self, batches: list[list[dict[str, Any]]]) -> dict[str, Any]:
        """Ingest each batch by a process of its own, all at once."""
        started = []
        for number, batch in enumerate(batches):
            lines = "".join(f"{json.dumps(one)}\n" for one in batch)
            path = self._file(f"batch-{number}.jsonl", lines)
            words = ["ingest", path, "--db", self.place]
            started.append(nursery().start("simstore", self.folder, words=words))
        return {"codes": [child.wait().code for child in started]}

    def add_token(self, name: str, scope: str, expires: str = "never") -> dict[str, Any]:
        words = ("token", "add", name, "--scope", scope, "--expires", expires)
        return {"token": self._run(*words, as_json=False).text.strip()}

    def tokens(self) -> list[Any]:
        found = self._object("token", "list")
        return [picked(one, {name: name for name in ("name", "scope", "state")}) for one in found]

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
        return {one["key"]: one["known"] for one in found}

    def dedup(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        return self._rows("dedup", inputs, options, db=options.pop("remember", False))

    def filter(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        return self._rows("filter", inputs, options)

    def decontaminate(self, inputs: list[str], **options: Any) -> dict[str, Any]:
        return self._rows("decontaminate", inputs, options, db=False)

    def evaluate(self, pairs: list[list[Any]], method: str, threshold: float) -> dict[str, Any]:
        lines = [f"{one}\t{other}\t{int(same)}\n" for one, other, same in pairs]
        path = self._file("pairs.tsv", "".join(lines))
        return measured(self._object("evaluate", "--pairs", path), method, threshold)

    def _rows(
        self, command: str, inputs: list[str], options: dict[str, Any], *, db: bool = True
    ) -> dict[str, Any]:
        options = {"output": self.new_output(), **options}
        done = self._object(command, *inputs, db=db, **options)
        counts = {"benchmarks": done} if isinstance(done, list) else picked(done, ROW_COUNTS)
        return {**written_rows(self.folder / options["output"]), **counts}

    def _samples(self, samples: dict[str, str], options: dict[str, Any]) -> Any:
        lines = [json.dumps({"key": key, "text": text}) for key, text in samples.items()]
        path = self._file("samples.jsonl", "\n".join(lines) + "\n")
        return self._object("query", path, **options)

    def _file(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def _object(self, *words: str, db: bool = True, stdin: bytes = b"", **options: Any) -> Any:
        done = self._run(*words, *_words(options), "--format", "json", db=db, stdin=stdin)
        return json.loads(done.text)

    def _run(
        self,
        *words: str,
        as_json: bool = True,
        db: bool = True,
        stdin: bytes = b"",
        results: Collection[int] = _WITH_RESULT,
    ) -> Finished:
        place = ["--db", self.place] if db and self.place else []
        done = nursery().simstore(self.folder, *words, *place, stdin=stdin)
        self.shown = {"exit": done.code}
        assert "Traceback" not in done.errors, done.errors
        if done.code in results and (done.out or not as_json):
            return done
        errors = [line for line in done.error_lines if line.startswith("Error: ")]
        assert errors == done.error_lines[-1:], f"{words}: exit {done.code}: {done.errors}"
        assert not done.out, f"{words}: an error, and {done.text!r} on standard output"
        raise FaceError(KINDS[done.code], errors[0])


OUTCOMES = ("added", "updated", "unchanged", "flagged", "skipped", "rejected")


def _words(options: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + _FLAGS.get(name, name).replace("_", "-")
        if name == "where":
            words += [part for field in value.items() for part in (flag, "=".join(map(str, field)))]
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
    rest = {name: value for name, value in document.items() if name != "metadata"}
    return {**document.get("metadata", {}), **rest}
