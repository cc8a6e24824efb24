"""Sort rows by whether they hold items of benchmarks, and tell what was found of each benchmark."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simstore.errors import InvalidParameter, printable
from simstore.model import LABELS, Document
from simstore.services.dedup.benchmarks import Benchmarks, Hit, Item, is_everywhere
from simstore.services.dedup.gates import Answer, Gate, Known
from simstore.services.dedup.signed_rows import StoredKeys
from simstore.sources.fields import TEXT_REMEDY
from simstore.sources.files import open_sources
from simstore.sources.reader import ReadOptions
from simstore.sources.source import samples_of

COLUMNS = ("contaminated_by", "resemblance", "run")
# Of a row and an item that is shown beside it.
_SNIPPET = 240
# Items that are noted of one row, and examples that are shown of one benchmark.
_MOST_HITS, _EXAMPLES = 50, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationExample:
    """A row that holds an item, side by side.

    Attributes:
        row: Key of the row.
        item: Key of the item.
        found: ``run``, ``whole`` (a short item) or ``resemblance``.
        run: Words, and characters of scripts without blanks, that both have in a row.
        row_text: What the row has.
        item_text: The item, or what it has of it.
    """

    row: str
    item: str
    found: str
    run: int | None
    row_text: str
    item_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkReport:
    """The findings of one benchmark.

    Attributes:
        benchmark: Its name.
        items: Its items.
        hit: Items that some row holds or resembles.
        share: ``hit`` by ``items``, 0 to 1.
        rows: Rows that hold or resemble an item of it.
        too_short: Items of too few words to be looked for.
        everywhere: Items of which rows have only phrases that are everywhere, in rows or items.
        examples: Some rows and items, side by side.
    """

    benchmark: str
    items: int
    hit: int
    share: float
    rows: int
    too_short: int
    everywhere: int
    examples: tuple[ContaminationExample, ...] = ()


def read_items(
    names: Sequence[str], options: ReadOptions, on_empty: Callable[[str], None]
) -> list[Item]:
    """Return the items of benchmarks that are files: each file is a benchmark.

    A benchmark is called as its file without endings, with as many folders before it as tell it
    from others. An item is called by its key, of the field that is named for it where it is there.

    Args:
        names: Files, folders, patterns.
        options: How to read them.
        on_empty: Called with the name of each file that has no item.

    Raises:
        InvalidParameter: An item cannot be read.
    """
    chosen = replace(options, key_field=None)
    sources, _ = open_sources(names, chosen)
    items: list[Item] = []
    called = _called([source.name for source in sources])
    for source, name in zip(sources, called, strict=True):
        count = 0
        for number, record in enumerate(samples_of([source])):
            if not isinstance(record, Document):
                reason = record.reason.replace(TEXT_REMEDY, " (--item-field names the text)")
                raise InvalidParameter(f"{printable(source.name)}, item {number}: {reason}")
            key = _field(record, options.key_field) or record.key
            items.append(Item(name, f"{name}#{key}", record.text))
            count += 1
        if not count:
            on_empty(source.name)
    return items


def _field(record: Document, name: str | None) -> str:
    """Return a field of a record; empty where it has none."""
    held = {**record.metadata, **{label: getattr(record, label) for label in LABELS}}
    value = held.get(name) if name else None
    return "" if value is None else str(value)


def _called(paths: Sequence[str]) -> list[str]:
    """Return what files are called: their names without endings, and folders that tell them apart.

    >>> _called(["bm/mmlu/test.jsonl", "bm/gsm8k/test.jsonl", "bm/arc.jsonl"])
    ['mmlu/test', 'gsm8k/test', 'arc']
    """
    whole = [Path(os.path.abspath(path)) for path in paths]
    stems = [one.with_name(one.name.partition(".")[0] or one.name) for one in whole]
    # Files of one folder may differ in their ending alone.
    alike = Counter(stems)
    parts = [
        (one if alike[stem] > 1 else stem).parts for one, stem in zip(whole, stems, strict=True)
    ]
    taken = [1] * len(paths)
    while True:
        names = [os.path.join(*one[-count:]) for one, count in zip(parts, taken, strict=True)]
        often = Counter(names)
        grown = [
            min(count + 1, len(one)) if often[name] > 1 else count
            for name, one, count in zip(names, parts, taken, strict=True)
        ]
        if grown == taken:
            return names
        taken = grown


@dataclass(slots=True)
class Contamination:
    """Answers which rows hold items, and keeps what is told of the benchmarks.

    Attributes:
        benchmarks: The items.
        resembles: Tells which item each row resembles: its number as a key; None: none is asked.
        reports: What was found of each benchmark, when the run is done.
    """

    benchmarks: Benchmarks
    resembles: Answer | None = None
    reports: list[BenchmarkReport] = field(default_factory=list)

    def gate(self) -> Gate:
        """Return the gate of a run."""
        return Gate(answer=self.answer, columns=COLUMNS, settle=self.settle)

    def answer(self, documents: Sequence[Document]) -> list[Known | None]:
        """Return what each document holds: all hits, before it is known which are everywhere."""
        alike: Sequence[Known | None] = [None] * len(documents)
        if self.resembles is not None:
            alike = self.resembles(documents)
        return [
            self._known(one.text, self.benchmarks.hits(one.text), near)
            for one, near in zip(documents, alike, strict=True)
        ]

    def settle(self, found: dict[int, Known], keys: StoredKeys) -> dict[int, Known]:
        """Leave out what is everywhere in the rows, and make the reports."""
        counts: Counter[int] = Counter()
        for one in found.values():
            counts.update({phrase for hit in one.facts["hits"] for phrase in hit["phrases"]})
        often = {phrase for phrase, count in counts.items() if is_everywhere(count, len(keys))}
        settled: dict[int, Known] = {}
        common: set[int] = set(self.benchmarks.everywhere)
        told: dict[int, list[tuple[int, dict[str, Any]]]] = {}
        for row, one in sorted(found.items()):
            kept = []
            for hit in one.facts["hits"]:
                if hit["phrases"] and often.issuperset(hit["phrases"]):
                    common.add(hit["item"])
                else:
                    kept.append(hit)
                    told.setdefault(hit["item"], []).append((row, hit))
            if kept:
                settled[row] = self._settled(kept)
        self._report(told, common, keys)
        return settled

    def _known(self, text: str, hits: Sequence[Hit], near: Known | None) -> Known | None:
        made: list[dict[str, Any]] = [
            {
                "item": hit.item,
                "found": "whole" if hit.is_whole else "run",
                "run": hit.units,
                "phrases": hit.phrases,
                "resemblance": None,
                "row_text": _cut(text[hit.start : hit.end]),
                "item_text": _cut(
                    self.benchmarks.items[hit.item].text[hit.item_start : hit.item_end]
                ),
            }
            for hit in hits[:_MOST_HITS]
        ]
        if near is not None and all(hit["item"] != int(near.key) for hit in made):
            made.append(
                {
                    "item": int(near.key),
                    "found": "resemblance",
                    "run": None,
                    "phrases": (),
                    "resemblance": near.resemblance,
                    "row_text": _cut(text),
                    "item_text": _cut(self.benchmarks.items[int(near.key)].text),
                }
            )
        return Known("", None, "run", {"hits": made}) if made else None

    def _settled(self, hits: Sequence[dict[str, Any]]) -> Known:
        first, items = hits[0], self.benchmarks.items
        facts = {
            "benchmark": items[first["item"]].benchmark,
            "run": first["run"],
            "row_text": first["row_text"],
            "item_text": first["item_text"],
            "items": [items[hit["item"]].key for hit in hits],
        }
        return Known(items[first["item"]].key, first["resemblance"], first["found"], facts)

    def _report(
        self,
        told: dict[int, list[tuple[int, dict[str, Any]]]],
        common: set[int],
        keys: StoredKeys,
    ) -> None:
        benchmarks = self.benchmarks
        self.reports = []
        for name in benchmarks.names:
            own = [n for n, item in enumerate(benchmarks.items) if item.benchmark == name]
            hit = [n for n in own if n in told]
            examples = [
                ContaminationExample(
                    row=keys.key(told[n][0][0]),
                    item=benchmarks.items[n].key,
                    found=told[n][0][1]["found"],
                    run=told[n][0][1]["run"],
                    row_text=told[n][0][1]["row_text"],
                    item_text=told[n][0][1]["item_text"],
                )
                for n in hit[:_EXAMPLES]
            ]
            self.reports.append(
                BenchmarkReport(
                    benchmark=name,
                    items=len(own),
                    hit=len(hit),
                    share=len(hit) / len(own),
                    rows=len({row for n in hit for row, _ in told[n]}),
                    too_short=sum(n in benchmarks.too_short for n in own),
                    everywhere=sum(n in common and n not in told for n in own),
                    examples=tuple(examples),
                )
            )


def _cut(text: str) -> str:
    return text if len(text) <= _SNIPPET else f"{text[:_SNIPPET]}..."
