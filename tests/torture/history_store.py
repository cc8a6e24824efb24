"""A store and its model under one hand: each operation changes both, by one surface or another."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import oracle
from click.testing import CliRunner, Result
from forked import Nursery

from simstore import Store
from simstore.cli import main
from simstore.errors import counted
from simstore.model import Document, IngestSummary, Policy, QueryOptions
from simstore.search.coverage import coverage
from simstore.services.ingest.ingest import IngestOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.services.open_store import open_store
from simstore.sources.reader import HistoryFields, ReadOptions

from .history_model import Model, Record, Rule, Told
from .plain_texts import Recipe, Texts

OUTCOMES = ("added", "updated", "unchanged", "flagged", "skipped")
# What the store's clock says at first.
BEGINNING = 1_600_000_000
KEEP = Rule()
STOPWORDS = b"the of\na"


class Clock:
    """The module ``time`` as the store sees it: seconds since 1970 are those of the history."""

    def __init__(self) -> None:
        self.now = BEGINNING

    def time(self) -> float:
        return float(self.now)

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


@contextmanager
def clock_of(history_clock: Clock) -> Iterator[None]:
    """Let the store go by a clock."""
    assert isinstance(open_store.time, ModuleType)
    with mock.patch.object(open_store, "time", history_clock):
        yield


@dataclass(frozen=True)
class Kind:
    """A store's scheme and options.

    Attributes:
        scheme: ``web`` or ``simtool``, with options.
        channels: By which it looks.
        text: It keeps texts.
        vocabulary: It counts features.
        policy: ``live`` or ``frozen``.
        rule: What is done with duplicates where nothing is said.
    """

    scheme: SchemeChoice
    channels: tuple[str, ...] = ("simhash", "minhash")
    text: bool = True
    vocabulary: bool = True
    policy: Policy = "live"
    rule: Rule = KEEP

    @property
    def is_simtool(self) -> bool:
        return self.scheme.name == "simtool"

    @property
    def bits(self) -> int:
        return self.scheme.bits or 64

    @property
    def follows_corpus(self) -> bool:
        return self.is_simtool or "idf" in (self.scheme.weights or "")

    @property
    def recipe(self) -> Recipe:
        return Recipe(
            self.scheme.case == "keep",
            self.scheme.accents == "strip",
            self.scheme.shingle or 1,
            0 if self.is_simtool else 8,
            frozenset(STOPWORDS.decode().split()) if self.is_simtool else None,
        )


@dataclass
class Bench:
    """What a history works with.

    Attributes:
        folder: All of its files are in it.
        nursery: Returns what forks processes.
        make_place: Returns where another store may be: a path or a URL.
    """

    folder: Path
    nursery: Callable[[], Nursery]
    make_place: Callable[[str], str]
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


class Living:
    """A store that lives through a history, beside its model."""

    def __init__(self, bench: Bench, chance: random.Random, kind: Kind) -> None:
        self.bench, self.chance, self.kind = bench, chance, kind
        self.clock = Clock()
        self.trail: list[str] = []
        self.other: Store | None = None
        # Files whose documents came by them, and have not left since.
        self.files: list[tuple[Path, Sequence[Record]]] = []
        self._numbers = 0
        self.resident = False
        self.place = bench.make_place("store")
        self._rows: list[bytes] = []
        self._vector: list[bytes] | None = None
        self._known: dict[str, int | None] = {}
        self.has_generation = not kind.follows_corpus
        self._changed = False
        self.store = self.create(self.place, kind)
        self.model = self._model()

    @property
    def is_verifiable(self) -> bool:
        """Whether there is something to tell a resemblance by."""
        return self.kind.text or "minhash" in self.kind.channels

    # Making and opening.

    def create(self, place: str, kind: Kind) -> Store:
        return Store.create(
            place,
            scheme=kind.scheme,
            channels=kind.channels,
            policy=kind.policy,
            text=kind.text,
            vocabulary=kind.vocabulary,
            on_duplicate=kind.rule.mode,
            min_resemblance=kind.rule.least,
            radius=kind.rule.radius,
            synchronous="normal",
        )

    @property
    def asked(self) -> Store:
        """The store, or another of the same place that was opened long ago."""
        return self.chance.choice((self.store, self.other or self.store))

    def close(self) -> None:
        """Close all that is open."""
        self.store.close()
        if self.other is not None:
            self.other.close()
            self.other = None

    def open_another(self, *, resident: bool) -> None:
        """Open the store once more; what one writes, the other has to see."""
        if self.other is None:
            self.other = Store.open(self.place, synchronous="normal", resident=resident)

    def reopen(self, *, resident: bool | None = None) -> None:
        """Close the store and open it, in memory or not."""
        self.store.close()
        if resident is not None:
            self.resident = resident
        self.store = Store.open(self.place, synchronous="normal", resident=self.resident)

    def changed_kind(self, kind: Kind) -> None:
        """Note that the store has another scheme now."""
        self.kind = kind
        docs, noted, rejected = self.model.docs, self.model.noted, self.model.rejected
        self._known.clear()
        self.model = self._model()
        self.model.docs, self.model.noted, self.model.rejected = docs, noted, rejected
        self._vector = None
        self.has_generation = True
        self.refreshed()

    def _model(self) -> Model:
        kind = self.kind
        if kind.is_simtool and kind.scheme.hash_table:
            table = Path(kind.scheme.hash_table).read_bytes()
            self._rows = oracle.hash_rows(table, kind.scheme.features or 0, kind.bits)
        return Model(kind.recipe, kind.bits, kind.channels, self._fingerprint, self._covers)

    def _covers(self, one: str, other: str) -> bool:
        opened = self.store._opened
        with opened.database.read() as connection:
            form = opened.state(connection).scheme.normalization
        return coverage(other, [one], form).is_complete

    def number(self) -> int:
        """Return another number each time."""
        self._numbers += 1
        return self._numbers

    def say(self, what: str) -> None:
        """Note a step, for the story of a fault."""
        self.trail.append(what)

    # Fingerprints.

    def refreshed(self) -> None:
        """Note that a generation was made of what is stored now."""
        if self.kind.follows_corpus:
            self._known.clear()
            self.has_generation = True
        if self.kind.is_simtool:
            bodies = [_body(held.record.text) for held in self.model.docs.values()]
            stop = oracle.stop_words(STOPWORDS)
            self._vector = oracle.feature_vector(bodies, stop, self.kind.scheme.features or 0)

    def ended(self, *, refresh: bool = True, is_ingest: bool = True) -> None:
        """Note that an ingest or a removal has ended, which may refresh the store."""
        self._changed = self._changed or bool(self.model.docs)
        is_first = is_ingest and not self.has_generation
        if refresh and self._changed and (self.kind.policy == "live" or is_first):
            self.refreshed()

    def _fingerprint(self, text: str) -> int | None:
        if "simhash" not in self.kind.channels or not self.has_generation:
            return None
        if self.kind.is_simtool:
            if self._vector is None:
                return None
            return oracle.fingerprint(_body(text), self._vector, self._rows, self.kind.bits)
        if text not in self._known:
            # The recipe of the fingerprints is the store's; what is near is the model's.
            options = QueryOptions(channels=("simhash",), verify=False, plan="scan")
            (answer,) = self.store.query_many([("", text)], options)
            self._known[text] = int(answer.fingerprint, 16) if answer.fingerprint else None
        return self._known[text]

    # What comes and leaves.

    def ingest(self, records: Sequence[Record], rule: Rule, *, refresh: bool = True) -> None:
        """Give records to the store by some surface; compare what it says."""
        surface = self._surface(records)
        self.clock.now += self.chance.choice((0, 1, 60, 86_400))
        shown = [(one.key[:20], one.text[:30], one.seen_at) for one in records]
        self.say(f"{surface} {rule} refresh={refresh} at {self.clock.now}: {shown}")
        told = self.model.arrive(records, rule, self.clock.now)
        summary = getattr(self, f"_by_{surface}")(records, rule, refresh)
        self.bench.count(f"by {surface}")
        self._compare(summary, told, surface)
        # One by one, nothing is no ingest.
        self.ended(refresh=refresh and (surface != "each" or bool(records)))

    def _surface(self, records: Sequence[Record]) -> str:
        choices = ["many", "many", "each"]
        if all(is_plain(one.key, one.text) for one in records):
            choices += ["file", "file", "command"]
        return self.chance.choice(choices)

    def _options(self, rule: Rule, refresh: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"refresh": refresh}
        if rule != self.kind.rule or self.chance.random() < 0.5:
            found |= {
                "on_duplicate": rule.mode, "min_resemblance": rule.least, "radius": rule.radius
            }  # fmt: skip
        return found

    def _by_many(self, records: Sequence[Record], rule: Rule, refresh: bool) -> IngestSummary:
        return self.store.add_many(
            [document_of(one) for one in records],
            threads=self.chance.choice((1, 2)),
            batch_documents=self.chance.choice((1, 2, 3, 1_000)),
            **self._options(rule, refresh),
        )

    def _by_each(self, records: Sequence[Record], rule: Rule, refresh: bool) -> list[str]:
        return [
            self.store.add(
                one.key, one.text, title=one.title, collection=one.collection,
                metadata=one.metadata, seen_at=one.seen_at, published_at=one.published_at,
                **self._options(rule, refresh and at == len(records) - 1),
            )
            for at, one in enumerate(records)
        ]  # fmt: skip

    def _by_file(self, records: Sequence[Record], rule: Rule, refresh: bool) -> IngestSummary:
        path = self.write(records)
        if rule.mode == "keep" and len({one.key for one in records}) == len(records):
            self.files.append((path, records))
        options = IngestOptions(
            threads=self.chance.choice((1, 2)),
            batch_documents=self.chance.choice((1, 2, 1_000)),
            **self._options(rule, refresh),
        )
        read = ReadOptions(history_fields=HistoryFields("seen", "published"))
        return self.store.ingest([str(path)], read=read, options=options)

    def _by_command(self, records: Sequence[Record], rule: Rule, refresh: bool) -> str:
        words = ["ingest", "--seen-field", "seen", "--published-field", "published"]
        words += ["--on-duplicate", rule.mode]
        words += [] if rule.least is None else ["--min-resemblance", str(rule.least)]
        words += [] if rule.radius is None else ["--radius", str(rule.radius)]
        words += [] if refresh else ["--no-refresh"]
        result = self.command(*words, str(self.write(records)))
        return result.stdout

    def write(self, records: Sequence[Record], bad: Sequence[bytes] = ()) -> Path:
        """Write records to a new file of JSON Lines, with lines that are none among them."""
        lines = []
        for one in records:
            fields = {"key": one.key, "text": one.text, **one.metadata}
            given = {
                "title": one.title, "collection": one.collection, "seen": one.seen_at,
                "published": one.published_at,
            }  # fmt: skip
            fields |= {name: value for name, value in given.items() if value is not None}
            as_ascii = self.chance.random() < 0.5
            lines.append(json.dumps(fields, ensure_ascii=as_ascii).encode())
        for line in bad:
            lines.insert(self.chance.randint(0, len(lines)), line)
        path = self.bench.folder / f"given-{self.number()}.jsonl"
        path.write_bytes(b"\n".join(lines) + b"\n" * self.chance.randint(0, 1))
        return path

    def command(self, *words: str, code: int = 0, stdin: bytes = b"") -> Result:
        """Run a command line on the store, in this process; it has to end with a code."""
        given = [words[0], "--db", self.place, *words[1:]]
        result = CliRunner().invoke(main, given, input=stdin)
        if result.exit_code != code:
            raise AssertionError(
                f"{given} ended with {result.exit_code}: {result.output[-600:]}"
            ) from result.exception
        self.bench.count("commands")
        return result

    def _compare(self, summary: IngestSummary | list[str] | str, told: Told, how: str) -> None:
        """Raise unless the store says of an ingest what the model says."""
        expected: dict[str, Any] = {name: told.outcomes.count(name) for name in OUTCOMES}
        if isinstance(summary, list):
            assert summary == told.outcomes, f"{how}: {summary}, not {told.outcomes}"
            return
        if isinstance(summary, str):
            always = f"{expected['added']} added, {expected['updated']} updated, "
            always += f"{expected['unchanged']} unchanged, "
            assert summary.startswith(always), f"{how}: {summary!r}, not {expected}"
            for name in ("flagged", "skipped"):
                if expected[name]:
                    assert f", {expected[name]} {name}" in summary, f"{summary!r}, not {expected}"
            assert f" {counted(told.exact, 'exact duplicate')}, 0 rejected" in summary, (
                summary,
                told,
            )
            return
        found = {name: getattr(summary, name) for name in OUTCOMES}
        expected |= {
            "identical_texts": told.exact, "orphaned": len(told.orphaned),
            "unflagged": len(told.unflagged), "rejected": 0,
            "displaced": told.displaced, "uncovered": len(told.uncovered),
        }  # fmt: skip
        found |= {name: getattr(summary, name) for name in list(expected)[len(OUTCOMES) :]}
        assert found == expected, f"{how}: {found}, not {expected}: {told}"


def document_of(one: Record) -> Document:
    """Return a record as the package takes it."""
    return Document(
        one.key, one.text, title=one.title, collection=one.collection, metadata=one.metadata,
        seen_at=one.seen_at, published_at=one.published_at,
    )  # fmt: skip


def simtool_of(folder: Path, chance: random.Random, bits: int) -> SchemeChoice:
    """Return a scheme ``simtool`` with a table and stop words of its own, in files."""
    features = chance.choice((1, 3, 8, 30))
    table, stop = folder / f"rows-{bits}", folder / "stop"
    rows = ("".join(chance.choice("01") for _ in range(128)) for _ in range(features))
    table.write_text("\n".join(rows))
    stop.write_bytes(STOPWORDS)
    return SchemeChoice("simtool", bits, features, hash_table=str(table), stopwords=str(stop))


def is_plain(*texts: str) -> bool:
    """Return whether texts hold no bytes that are no UTF-8: files and servers take no others."""
    return not any(0xD800 <= ord(one) < 0xE000 for text in texts for one in text)


def _body(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def make_texts(chance: random.Random) -> Texts:
    """Return a source of texts."""
    return Texts(chance, undecoded=chance.random() < 0.3)
