"""Commands, option names and output fields of the mission, in one place.

A rename in the program changes this module, not the tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forked import Finished, nursery

# Options whose command line form is not ``--name-with-hyphens``.
OPTIONS = {"bits": "-M", "read_as": "--as", "output": "-o"}
_EXPLAINED = re.compile(
    r"^(?P<sample>.+?): (?P<plan>.+?), (?P<probes>[\d,]+) probes?, (?P<candidates>[\d,]+) candidate"
)
_DATA = re.compile(r'<script type="application/json"[^>]*>(.*?)</script>', re.DOTALL)
_MARK = re.compile(r'<span class="p (\w+)"[^>]*title="[^"]*\] ([^"]+)">([^<]*)</span>')
_COLOR = re.compile(r"--(high|moderate): (#\w{6})")
_BARS = re.compile(r'<path class="fill-(?:high|moderate)" d="([^"]*)"')
_BAR = re.compile(r"M([\d.]+) 100\.00V([\d.]+)H([\d.]+)V100\.00z")

Record = Mapping[str, Any]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Match:
    """A stored document near a sample."""

    key: str
    distance: int
    resemblance: float | None
    containment: float | None
    channels: frozenset[str]


@dataclass(frozen=True)
class Answer:
    """The result of a query for one sample, with the work that was counted."""

    fingerprint: int
    too_short: bool
    matches: list[Match]
    plan: str
    probes: int
    candidates: int

    @property
    def near(self) -> list[tuple[str, int]]:
        """Keys and distances in the order of the result."""
        return [(match.key, match.distance) for match in self.matches]

    @property
    def keys(self) -> list[str]:
        return [match.key for match in self.matches]


@dataclass(frozen=True)
class Passage:
    """A passage of a checked paper; ``source`` is None if there is none."""

    start: int
    end: int
    kind: str
    similarity: float
    source: str | None


@dataclass(frozen=True)
class Checked:
    """The result of a check of one paper."""

    copied: int
    characters: int
    identical: int
    sources: list[str]
    case_sources: list[str]
    cases: list[tuple[int, int]]
    passages: list[Passage]
    verified_by: str


@dataclass(frozen=True)
class Report:
    """The report of one paper for the browser.

    Attributes:
        marks: Class, source and text of each marked passage.
        colors: Colour of each class.
        bars: The chart: begin, end and height of each bar, as shares of the text and of 1.
        beside: Text of the source that is shown beside each copied stretch.
    """

    marks: list[tuple[str, str, str]]
    colors: dict[str, str]
    bars: list[tuple[float, float, float]]
    beside: list[str]


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Return options as words of a command line."""
    words: list[str] = []
    for name, value in options.items():
        option = OPTIONS.get(name, "--" + name.replace("_", "-"))
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is True else [option, str(one)]
    return words


@dataclass
class Folder:
    """A folder in which commands run, each in a process of its own."""

    path: Path
    written: int = field(default=0)

    def write(self, name: str, content: str | bytes) -> str:
        """Write a file; return its name."""
        data = content.encode() if isinstance(content, str) else content
        (self.path / name).write_bytes(data)
        return name

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def records(self, records: Iterable[Record]) -> str:
        """Write records as JSON Lines; return the name of the new file."""
        self.written += 1
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        return self.write(f"records-{self.written}.jsonl", "".join(lines))

    def run(self, *words: str, code: int = 0, stdin: str = "", **options: Any) -> Finished:
        """Run ``simstore``; fail unless it ends with the exit code ``code``."""
        line = [*words, *words_of(options)]
        done = nursery().simstore(self.path, *line, stdin=stdin.encode())
        assert done.code == code, (line, done.code, done.text, done.errors)
        return done

    def rows(self, *words: str, code: int = 0, **options: Any) -> list[dict[str, Any]]:
        """Run a command; return the objects that it prints, one a line."""
        done = self.run(*words, code=code, format="jsonl", **options)
        return [json.loads(line) for line in done.text.splitlines()]

    def known(self, file: str, *keys: str, code: int = 0) -> list[bool]:
        """Return whether keys are known to a known-keys filter."""
        return [row["known"] for row in self.rows("seen", *keys, known_keys=file, code=code)]

    def simtool(self, *words: object, code: int = 0) -> Finished:
        """Run the course tool; fail unless it ends with the exit code ``code``."""
        done = nursery().run("simtool", self.path, words=[str(word) for word in words])
        assert done.code == code, (words, done.code, done.errors)
        return done

    def store(self, *records: Record, name: str = "store.db", **options: Any) -> Store:
        """Make a store of records; options are those of its scheme and of the ingest."""
        store = Store(self, name)
        if records:
            store.add(*records, **options)
        else:
            store.run("init", **options)
        return store

    def given(self, *values: int, bits: int = 64, name: str = "given.db") -> Store:
        """Make a store of fingerprints alone."""
        store = Store(self, name)
        store.run("init", fingerprints_only=True, bits=bits)
        if values:
            store.add_fingerprints(*values, bits=bits)
        return store

    def compare(self, one: str, two: str, **options: Any) -> dict[str, dict[str, Any]]:
        """Compare two texts; return measures by algorithm, and the counts of both texts."""
        names = [self.write("a.txt", one), self.write("b.txt", two)]
        return _comparison(self.rows("compare", *names, **options))


@dataclass(frozen=True)
class Store:
    """A store in a folder."""

    folder: Folder
    name: str

    @property
    def path(self) -> Path:
        return self.folder.path / self.name

    def run(self, *words: str, **options: Any) -> Finished:
        return self.folder.run(*words, db=self.name, **options)

    def rows(self, *words: str, **options: Any) -> list[dict[str, Any]]:
        return self.folder.rows(*words, db=self.name, **options)

    def add(self, *records: Record, **options: Any) -> dict[str, int]:
        """Ingest records; return the counts of outcomes."""
        return self.ingest(self.folder.records(records), **options)

    def ingest(self, *sources: str, **options: Any) -> dict[str, int]:
        """Ingest files; return the counts of outcomes."""
        (summary,) = self.rows("ingest", *sources, **options)
        names = ("added", "updated", "unchanged", "flagged", "skipped", "rejected")
        return {name: summary[name] for name in names if summary[name]}

    def query(self, *samples: Record, **options: Any) -> dict[str, Answer]:
        """Query with records; return an answer by the key of each."""
        return self.query_files(self.folder.records(samples), **options)

    def query_text(self, text: str, **options: Any) -> Answer:
        """Query with one text."""
        return self.query({"id": "sample", "text": text}, **options)["sample"]

    def query_files(self, *sources: str, **options: Any) -> dict[str, Answer]:
        """Query with the documents of files."""
        done = self.run("query", *sources, format="jsonl", explain=True, **options)
        work = {
            found["sample"]: found for found in map(_EXPLAINED.match, done.error_lines) if found
        }
        answers = {}
        for line in done.text.splitlines():
            row = json.loads(line)
            counted = work[row["sample"]]
            answers[row["sample"]] = Answer(
                int(row["fingerprint"], 16),
                row["too_short"],
                [
                    Match(
                        m["key"],
                        m["distance"],
                        m["resemblance"],
                        m["containment"],
                        frozenset(m["channels"]),
                    )
                    for m in row["matches"]
                ],
                counted["plan"],
                *(int(counted[name].replace(",", "")) for name in ("probes", "candidates")),
            )
        return answers

    def documents(self) -> list[dict[str, Any]]:
        """Return all documents in order."""
        return self.rows("list")

    def keys(self) -> list[str]:
        return [document["key"] for document in self.documents()]

    def fingerprints(self) -> dict[str, int]:
        """Return the fingerprint of each key."""
        return {row["key"]: int(row["fingerprint"], 16) for row in self.documents()}

    def story(self, key: str, **options: Any) -> dict[str, Any]:
        """Return the original of a document, when it was seen, and its versions."""
        (row,) = self.rows("show", key, **options)
        story: dict[str, Any] = row["story"]
        return story

    def vocabulary(self) -> list[tuple[str, int, int, int | None]]:
        """Return term, occurrences, documents and rank of the features."""
        rows = self.rows("vocabulary", "show", limit=1000)
        return [(r["term"], r["occurrences"], r["documents"], r["rank"]) for r in rows]

    def states(self, *keys: str, code: int = 0) -> dict[str, tuple[str, str | None]]:
        """Return state and original of keys."""
        rows = self.rows("seen", *keys, code=code)
        return {row["key"]: (row["state"], row.get("original")) for row in rows}

    def duplicates(self) -> dict[str, tuple[str, str, int]]:
        """Return state, original and distance of each recorded duplicate."""
        rows = self.rows("duplicates")
        return {row["key"]: (row["state"], row["original"], row["distance"]) for row in rows}

    def clusters(self, **options: Any) -> list[list[str]]:
        """Return the keys of each cluster, its canonical document first."""
        found: dict[int, list[str]] = {}
        for row in self.rows("clusters", **options):
            keys = found.setdefault(row["cluster_id"], [])
            keys.insert(0 if row["role"] == "canonical" else len(keys), row["key"])
        return list(found.values())

    def unique(self) -> dict[str, int]:
        """Count what an export of one document a cluster writes and leaves out."""
        found: dict[str, int] = json.loads(
            self.run("export", unique=True, dry_run=True, format="json").text
        )
        return found

    def texts(self, **options: Any) -> dict[str, str]:
        """Return the exported texts by key."""
        rows = self.run("export", **options).text.splitlines()
        return {row["key"]: row["text"] for row in map(json.loads, rows)}

    def compare(self, one: str, two: str, **options: Any) -> dict[str, dict[str, Any]]:
        """Compare two stored documents."""
        return _comparison(self.rows("compare", one, two, **options))

    def check(self, paper: str, **options: Any) -> Checked:
        """Check a paper."""
        (row,) = self.rows("check", self.folder.write("paper.txt", paper), **options)
        copies = row["copies"]
        return Checked(
            row["totals"]["copied"],
            row["totals"]["characters"],
            row["totals"]["identical"],
            [source["key"] for source in row["sources"]],
            [case["source"] for case in row["cases"]],
            [(case["start"], case["end"]) for case in row["cases"]],
            [
                Passage(
                    p["start"],
                    p["end"],
                    p["kind"],
                    p["similarity"],
                    None if p["copy"] is None else copies[p["copy"]]["source"],
                )
                for p in row["passages"]
            ],
            row["verified_by"],
        )

    def check_many(self, papers: Mapping[str, str], **options: Any) -> str:
        """Check papers at once; return what is printed, an object a line."""
        names = [self.folder.write(f"{name}.txt", text) for name, text in papers.items()]
        return self.run("check", *names, format="jsonl", no_mutual=True, **options).text

    def report(self, paper: str) -> Report:
        """Check a paper; read the report for the browser."""
        self.run("check", self.folder.write("paper.txt", paper), output="report.html", force=True)
        page = self.folder.read("report.html").decode()
        chart = page.partition('class="bars')[2].partition("</figure>")[0]
        return Report(
            _MARK.findall(page),
            # Of each class the colour by day; that by night follows.
            {name: color for name, color in reversed(_COLOR.findall(page))},
            sorted(
                (float(left) / 1000, float(right) / 1000, 1 - float(top) / 100)
                for path in _BARS.findall(chart)
                for left, top, right in _BAR.findall(path)
            ),
            [
                _beside(paper, copy)
                for copy in json.loads(_DATA.findall(page)[-1])["parts"][0]["copies"]
            ],
        )

    def evaluate(self, pairs: Iterable[Pair], **options: Any) -> dict[tuple[str, float], Any]:
        """Judge the store by labelled pairs; return (precision, recall) by method and threshold."""
        rows = self.rows("evaluate", pairs=self.labels(pairs), all=True, **options)
        return {
            (row["method"], row["threshold"]): (row["precision"], row["recall"])
            for row in rows
            if row["kind"] == "point" and row["against"] == "labels"
        }

    def advice(self, pairs: Iterable[Pair]) -> str:
        """Judge the store by labelled pairs; return what is advised."""
        return self.run("evaluate", pairs=self.labels(pairs)).errors

    def labels(self, pairs: Iterable[Pair]) -> str:
        return self.folder.write("pairs.tsv", "".join(f"{a}\t{b}\n" for a, b in pairs))

    def add_fingerprints(self, *values: int, bits: int = 64) -> int:
        """Add fingerprints; return how many were new."""
        lines = "".join(f"{value:0{-(-bits // 4)}x}\n" for value in values)
        (row,) = self.rows("fingerprints", "add", "-", stdin=lines)
        added: int = row["added"]
        return added

    def near(self, value: int, bits: int = 64, **options: Any) -> list[tuple[int, int, list[str]]]:
        """Return stored fingerprints near a value: value, distance, and keys of its documents."""
        rows = self.rows("fingerprints", "near", f"{value:0{-(-bits // 4)}x}", **options)
        return [(int(r["fingerprint"], 16), r["distance"], r["documents"]) for r in rows]

    def pairs(self, **options: Any) -> list[tuple[int, int, int]]:
        """Return all pairs of fingerprints within a radius."""
        rows = self.rows("fingerprints", "pairs", **options)
        return [(int(r["left"], 16), int(r["right"], 16), r["distance"]) for r in rows]


def _comparison(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["algorithm"]: row["values"] for row in rows}


def _beside(paper: str, copy: list[Any]) -> str:
    """Put the source of a copied stretch together as the report's script does."""
    places, pieces = copy[7], list(copy[8])
    for number in range(len(places) // 4):
        # 0: the same as in the paper.
        if pieces[2 * number + 1] == 0:
            pieces[2 * number + 1] = paper[places[4 * number] : places[4 * number + 1]]
    return "".join(pieces)
