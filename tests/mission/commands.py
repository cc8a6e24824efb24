"""Commands, option names and output fields of the mission, in one place.

A rename in the program changes this module, not the tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace as Row
from typing import Any
from urllib.request import urlopen

import pytest
from forked import Finished, nursery
from served import serve

Record = Mapping[str, Any]
Pair = tuple[str, str]

# Options whose form is not ``--name-with-hyphens``, and fields whose names in the output differ.
OPTIONS = {"read_as": "--as"}
FIELDS = {"shingle_count": "shingles", "identical_texts": "exact_duplicates"}
OUTCOMES = ("added", "updated", "unchanged", "flagged", "skipped", "rejected", "exact_duplicates")
_EXPLAINED = re.compile(r"^(.+?): .+?, ([\d,]+) probes?, ([\d,]+) candidate")
_DATA = re.compile(r'<script type="application/json"[^>]*>(.*?)</script>', re.DOTALL)
_MARK = re.compile(r'<span class="p (\w+)"[^>]*title="[^"]*\] ([^"]+)">([^<]*)</span>')
_COLOR = re.compile(r"--(high|moderate): (#\w{6})")
_BARS = re.compile(r'<path class="fill-(?:high|moderate)" d="([^"]*)"')
_BAR = re.compile(r"M([\d.]+) 100\.00V([\d.]+)H([\d.]+)V100\.00z")


def named(value: Any) -> Any:
    """Return JSON objects as rows with attributes, fingerprints as numbers."""
    if isinstance(value, list):
        return [named(one) for one in value]
    if isinstance(value, dict):
        row = Row(**{FIELDS.get(name, name): named(one) for name, one in value.items()})
        for name in {"fingerprint", "left", "right"} & {*vars(row)}:
            setattr(row, name, int(getattr(row, name), 16))
        return row
    return value


@contextmanager
def served(store: Store) -> Iterator[str]:
    """Serve a store; yield the address."""
    pytest.importorskip("fastapi")
    with serve(store.path, create=False) as running:
        yield running.url


def fetched(url: str) -> tuple[str, bytes]:
    """Return type and content of a page."""
    with urlopen(url) as answer:  # noqa: S310 - a server of our own
        return answer.headers["Content-Type"], answer.read()


@dataclass
class Folder:
    """A folder in which commands run, each in a process of its own."""

    path: Path
    written: int = 0

    def write(self, name: str, content: str | bytes) -> str:
        """Write a file; return its name."""
        (self.path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def records(self, records: Iterable[Record]) -> str:
        """Write records as JSON Lines; return the name of the new file."""
        self.written += 1
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        return self.write(f"records-{self.written}.jsonl", "".join(lines))

    def run(self, *words: object, code: int = 0, stdin: str = "", **options: Any) -> Finished:
        """Run ``simstore``; fail unless it ends with the exit code ``code``."""
        line = [str(word) for word in words]
        for name, value in options.items():
            option = OPTIONS.get(name, "--" + name.replace("_", "-"))
            line += [option] if value is True else [option, str(value)]
        done = nursery().simstore(self.path, *line, stdin=stdin.encode())
        assert done.code == code, (line, done.code, done.text, done.errors)
        return done

    def rows(self, *words: object, **options: Any) -> list[Any]:
        """Run a command; return the objects that it prints, one a line."""
        text = self.run(*words, format="jsonl", **options).text
        return [named(json.loads(line)) for line in text.splitlines()]

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

    def texts(self, texts: Mapping[str, str], **options: Any) -> Store:
        """Make a store of texts by their keys."""
        return self.store(*({"id": key, "text": text} for key, text in texts.items()), **options)

    def given(self, *values: int, bits: int = 64) -> Store:
        """Make a store of fingerprints alone."""
        store = self.store(name="given.db", fingerprints_only=True, bits=bits)
        if values:
            store.add_fingerprints(*values, digits=-(-bits // 4))
        return store

    def compare(self, one: str, two: str, **options: Any) -> dict[str, Any]:
        """Compare two texts; return the measures of each algorithm."""
        names = [self.write("a.txt", one), self.write("b.txt", two)]
        return {row.algorithm: row.values for row in self.rows("compare", *names, **options)}

    def known(self, file: str, *keys: str) -> list[bool]:
        """Return whether keys are known to a known-keys filter; not all may be."""
        return [row.known for row in self.rows("seen", *keys, known_keys=file, code=7)]


@dataclass(frozen=True)
class Store:
    """A store in a folder."""

    folder: Folder
    name: str

    @property
    def path(self) -> Path:
        return self.folder.path / self.name

    def run(self, *words: object, **options: Any) -> Finished:
        return self.folder.run(*words, db=self.name, **options)

    def rows(self, *words: object, **options: Any) -> list[Any]:
        return self.folder.rows(*words, db=self.name, **options)

    def add(self, *records: Record, **options: Any) -> dict[str, int]:
        """Ingest records; return the counts of outcomes."""
        return self.ingest(self.folder.records(records), **options)

    def ingest(self, *sources: str, **options: Any) -> dict[str, int]:
        """Ingest files; return the counts of outcomes."""
        counts = vars(self.rows("ingest", *sources, **options)[0])
        return {name: counts[name] for name in OUTCOMES if counts[name]}

    def query(self, samples: Mapping[str, str], **options: Any) -> dict[str, Any]:
        """Query with texts; return an answer by the key of each."""
        records = ({"id": key, "text": text} for key, text in samples.items())
        return self.query_files(self.folder.records(records), **options)

    def query_text(self, text: str, **options: Any) -> Any:
        return self.query({"sample": text}, **options)["sample"]

    def query_files(self, *sources: str, **options: Any) -> dict[str, Any]:
        """Query with the documents of files; return an answer by the key of each.

        An answer has matches, their keys and distances as ``near``, and the work that was counted.
        """
        done = self.run("query", *sources, format="jsonl", explain=True, **options)
        work = {found[1]: found for found in map(_EXPLAINED.match, done.error_lines) if found}
        answers = {}
        for answer in (named(json.loads(line)) for line in done.text.splitlines()):
            counted = work[answer.sample]
            answer.probes, answer.candidates = (int(counted[n].replace(",", "")) for n in (2, 3))
            answer.near = [(match.key, match.distance) for match in answer.matches]
            answers[answer.sample] = answer
        return answers

    def documents(self) -> list[Any]:
        return self.rows("list")

    def fingerprints(self) -> dict[str, int]:
        """Return the fingerprint of each key, in order."""
        return {row.key: row.fingerprint for row in self.documents()}

    def story(self, key: str, **options: Any) -> Any:
        return self.rows("show", key, **options)[0].story

    def vocabulary(self) -> list[tuple[str, int, int, int | None]]:
        """Return term, occurrences, documents and rank of the features."""
        rows = self.rows("vocabulary", "show", limit=1000)
        return [(row.term, row.occurrences, row.documents, row.rank) for row in rows]

    def clusters(self, **options: Any) -> list[tuple[str, str]]:
        """Return key and role of the members of clusters."""
        return [(row.key, row.role) for row in self.rows("clusters", **options)]

    def unique(self, least: float) -> dict[str, int]:
        """Count what an export without near-duplicates writes and leaves out."""
        wanted = {"unique": True, "min_resemblance": least}
        text = self.run("export", **wanted, dry_run=True, format="json").text
        found: dict[str, int] = json.loads(text)
        return found

    def check(self, paper: str, **options: Any) -> Any:
        """Check a paper; passages have the key of their source, and cases their places."""
        (found,) = self.rows("check", self.folder.write("paper.txt", paper), **options)
        for passage in found.passages:
            passage.place = (passage.start, passage.end)
            passage.source = None if passage.copy is None else found.copies[passage.copy].source
        found.keys = [source.key for source in found.sources]
        found.places = [(case.start, case.end, case.source) for case in found.cases]
        return found

    def report(self, paper: str) -> Row:
        """Check a paper; read the report for the browser.

        It has class, source and text of the marked passages, the colour of each class, begin, end
        and height of the bars of its chart as shares, and the source beside each copied stretch.
        """
        self.run("check", self.folder.write("paper.txt", paper), output="report.html", force=True)
        page = self.folder.read("report.html").decode()
        chart = page.partition('class="bars')[2].partition("</figure>")[0]
        bars = [bar for path in _BARS.findall(chart) for bar in _BAR.findall(path)]
        return Row(
            marks=_MARK.findall(page),
            # The colours by day; those by night follow.
            colors=dict(reversed(_COLOR.findall(page))),
            bars=sorted((float(a) / 1000, float(b) / 1000, 1 - float(h) / 100) for a, h, b in bars),
            beside=[
                _beside(paper, copy[7], copy[8])
                for copy in json.loads(_DATA.findall(page)[-1])["parts"][0]["copies"]
            ],
        )

    def evaluate(self, pairs: Iterable[Pair], **options: Any) -> dict[tuple[str, float], Any]:
        """Judge by labelled pairs; return (precision, recall) by method and threshold."""
        rows = self.rows("evaluate", pairs=self.labels(pairs), all=True, **options)
        return {(row.method, row.threshold): (row.precision, row.recall) for row in rows}

    def labels(self, pairs: Iterable[Pair]) -> str:
        return self.folder.write("pairs.tsv", "".join(f"{a}\t{b}\n" for a, b in pairs))

    def add_fingerprints(self, *values: int, digits: int = 16) -> int:
        """Add fingerprints; return how many were new."""
        lines = "".join(f"{value:0{digits}x}\n" for value in values)
        added: int = self.rows("fingerprints", "add", "-", stdin=lines)[0].added
        return added

    def near(self, value: int, digits: int = 16, **options: Any) -> list[tuple[int, int]]:
        """Return the stored fingerprints near a value, and their distances."""
        rows = self.rows("fingerprints", "near", f"{value:0{digits}x}", **options)
        return [(row.fingerprint, row.distance) for row in rows]


def _beside(paper: str, places: list[int], pieces: list[Any]) -> str:
    """Put the source of a copied stretch together as the report's script does."""
    for number in range(len(places) // 4):
        # 0: the same as in the paper.
        if pieces[2 * number + 1] == 0:
            pieces[2 * number + 1] = paper[places[4 * number] : places[4 * number + 1]]
    return "".join(pieces)
