"""Random histories of a store against a plain model that shares no code with the package.

After each step the store is compared with the model; at the end ``fsck`` has nothing to say, and
a store that was made of what is left, in one batch, says the same.
"""

from __future__ import annotations

import contextlib
import importlib
import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from forked import close_nursery, nursery
from postgres_servers import running_server

from simstore import Store, compiled
from simstore.index.passages import PASSAGES
from simstore.model import QueryOptions
from simstore.services.clusters.cluster import ClusterOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice

from . import history_checks as checks
from .campaign import Campaign, Place
from .history_disturbed import WEIGHTS, Disturbed, step_of
from .history_model import Rule
from .history_steps import Steps, in_one_batch
from .history_store import Bench, Kind, Living, clock_of, make_texts, simtool_of
from .history_values import Values

BITS = (1, 3, 8, 15, 16, 17, 32, 33, 48, 63, 64, 64, 64, 65, 96, 100, 127, 128, 128)
# What is set for speed and may change no answer: module, name, and values besides its own.
KNOBS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("index.tuning", "COLUMN_FINGERPRINTS", (1, 8)),
    ("index.tuning", "TAIL_FINGERPRINTS", (0, 1, 5)),
    ("services.channels.pack_fingerprints", "BATCH_FINGERPRINTS", (1, 2, 5)),
    ("services.channels.pack_sketches", "_DROP_PAGES", (1, 7)),
    ("services.generations.refresh", "BATCH_DOCUMENTS", (1, 3)),
    ("services.generations.refresh", "_DROP_ROWS", (1, 5)),
    ("services.maintenance.reindex", "BATCH_DOCUMENTS", (1, 3)),
    ("services.fsck.documents", "BATCH_DOCUMENTS", (1, 3)),
    ("services.removal.remove", "BATCH_DOCUMENTS", (1, 2)),
    ("services.clusters.stored_clusters", "BATCH_TEXTS", (1, 2, 3)),
    ("services.clusters.stored_clusters", "_ORDERED_TEXTS", (1, 3)),
    ("services.clusters.read", "_PAGE_CLUSTERS", (1, 2)),
    ("services.clusters.stored_clusters", "_WRITTEN_ROWS", (1, 2)),
    ("services.clusters.stored_clusters", "_ASKED_STARS", (1, 2)),
    ("services.clusters.distinct_texts", "_PAGE_DOCUMENTS", (1, 3)),
    ("search.star_search", "_BLOCK_TEXTS", (1, 4)),
    ("search.star_search", "TOLD_PAIRS", (1, 4)),
    ("services.clusters.compared_texts", "_READ_TEXTS", (1, 4)),
    ("services.duplicates.comparison", "_HELD_TEXTS", (1, 3)),
    ("services.clusters.verified_edges", "_BLOCK_TEXT_PAIRS", (1, 4)),
    ("index.tuning", "GONE_SHARE", (1, 100)),
    ("services.open_store.open_store", "_SHINGLE_BYTES", (8, 320)),
    ("services.query.verify", "_BATCH_DOCUMENTS", (1, 2)),
    ("services.query.query", "BATCH_SAMPLES", (1, 2)),
    ("index.tuning", "TAIL_EACH", (0, 1_000_000)),
    ("services.channels.fingerprint_index", "_CROWDED_ROWS", (0, 2)),
    ("index.pages", "ROW_BYTES", (42, 84)),
    ("index.tuning", "PAGE_ENTRIES", (2, 5)),
    ("index.postings", "_LEAST_LEVEL_BITS", (1, 3)),
    ("index.hamming", "_QUERIES", (1, 3)),
    ("services.channels.sketch_search", "_FEW_KEYS", (0, 1_000)),
    ("index.tuning", "TAIL_SKETCHES", (0, 3)),
    ("index.tail", "_SMALL_ENTRIES", (1, 100)),
    ("services.channels.sketch_search", "_BLOCK_SKETCHES", (1, 2)),
    ("services.channels.sketch_search", "_BLOCK_PAIRS", (1, 4)),
    ("services.duplicates.duplicates", "_PAGE", (1, 2)),
    ("services.statistics.show", "_PAGE", (1, 3)),
    ("services.removal.expire", "_READ_NUMBERS", (1, 2)),
    ("services.export.export", "_PAGE_KEYS", (1, 2)),
    ("services.open_store.open_store", "_REMEMBERED_TERMS", (0, 5)),
    ("services.check.passage_index", "BATCH_DOCUMENTS", (1, 3)),
    ("storage.passages", "TAIL_TEXTS", (1, 5)),
    ("storage.passages", "PASSAGES", (replace(PASSAGES, most_runs=1),)),
    ("index.tuning", "MERGED_ENTRIES", (4, 50, 200)),
)


class Histories(Campaign):
    """Random histories against a plain model."""

    title = "random histories against a plain model"
    unit = "histories"
    # Seeds up to 23: none of them compiles kernels, which takes half a minute.
    slice_rounds = 23
    full_cases = 1_000

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        # That of all tests, whoever made it.
        self.held.callback(close_nursery)
        self._server: Any = None
        self._no_server = ""

    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        chance = random.Random(seed)
        on_postgres = seed % 12 == 5
        # Eight of each 32, so that a slice has none.
        is_compiled = seed % 32 >= 24
        if on_postgres and self._postgres() is None:
            return {"histories": 0, f"left out: {self._no_server}": 1}
        bench = Bench(folder, nursery, self._places(folder, on_postgres=on_postgres))
        with ExitStack() as stack:
            stack.enter_context(_kernels(is_compiled=is_compiled))
            stack.enter_context(_knobs(chance))
            if on_postgres:
                stack.callback(self._drop_schemas, seed)
            self._seed = seed
            history = Values(bench, chance) if seed % 8 == 3 else _made(bench, chance)
            try:
                with clock_of(history.clock) if isinstance(history, Living) else _nothing():
                    history.run() if isinstance(history, Values) else live(history)
            except Exception as error:
                trail = "\n".join(f"  {at}. {step}" for at, step in enumerate(history.trail, 1))
                about = history.kind if isinstance(history, Living) else history.bits
                raise AssertionError(f"{about}\n{trail}\n{error}") from error
            finally:
                history.close()
        counts = bench.counts | {"histories": 1}
        counts["on PostgreSQL"] = int(on_postgres)
        counts["with Numba"] = int(is_compiled)
        counts["steps"] = len(history.trail)
        return counts

    def _postgres(self) -> Any:
        """Return a server that runs; None: there can be none."""
        if self._server is None and not self._no_server:
            import pytest

            try:
                self._server = self.held.enter_context(running_server())
                self._database = self._server.make_database()
            except (pytest.skip.Exception, OSError, RuntimeError) as error:
                self._no_server = f"no PostgreSQL ({str(error)[:60]})"
        return self._server

    def _places(self, folder: Path, *, on_postgres: bool) -> Any:
        def place(name: str) -> str:
            if not on_postgres:
                return str(folder / f"{name}.db")
            schema = f"h{self._seed}_{name.replace('-', '_')}"
            self._server.execute(f"CREATE SCHEMA {schema}", database=self._database)
            return str(self._server.url(self._database, schema=schema))

        self._seed = int(folder.name.rpartition("-")[2])
        return place

    def _drop_schemas(self, seed: int) -> None:
        rows = self._server.execute(
            f"SELECT nspname FROM pg_namespace WHERE nspname LIKE 'h{seed}\\_%'",
            database=self._database,
        )
        for (name,) in rows:
            self._server.execute(f"DROP SCHEMA {name} CASCADE", database=self._database)


def _made(bench: Bench, chance: random.Random) -> Living:
    """Return a store of a kind by chance, with nothing in it."""
    bits = chance.choice(BITS)
    if chance.random() < 0.25:
        scheme = simtool_of(bench.folder, chance, bits)
        channels = chance.choice((("simhash", "minhash"), ("simhash",)))
        return Living(
            bench, chance, Kind(scheme, channels, policy=chance.choice(("live", "frozen")))
        )
    some = chance.random() < 0.4
    scheme = SchemeChoice(
        "web",
        bits,
        weights=chance.choice(("log-tf", "tf", "uniform", "tf-idf")) if some else None,
        tie=chance.choice((None, "one")) if some else None,
        feature_hash=chance.choice((None, "blake2b", "md5", "poly1000003")) if some else None,
        case=chance.choice((None, "keep")),
        accents=chance.choice((None, "strip")),
        shingle=chance.choice((None, None, 2)),
    )
    follows = scheme.weights == "tf-idf"
    text = chance.random() < 0.85
    channels = chance.choice(
        (("simhash", "minhash"), ("simhash", "minhash"), ("simhash",), ("minhash",))
    )
    if follows and "simhash" not in channels:
        channels = ("simhash",)
    return Living(
        bench,
        chance,
        Kind(
            scheme,
            channels,
            text=text,
            vocabulary=follows or chance.random() < 0.8,
            policy=chance.choice(("live", "live", "frozen")),
            rule=_rule(chance) if text else Rule(),
        ),
    )


def _rule(chance: random.Random) -> Rule:
    """Return what a store is told at first to do with duplicates."""
    return chance.choice((Rule(), Rule(), Rule("flag", 0.9), Rule("skip", 1.0), Rule("flag")))


def live(living: Living) -> None:
    """Take the steps of a history, comparing after each; then compare all at once."""
    chance = living.chance
    texts = make_texts(chance)
    steps = Disturbed(living, texts, chance.choice(("none", "rising", "rising", "any")))
    names = list(WEIGHTS)
    # Some steps more often than others, and not the same in each history.
    weights = [WEIGHTS[name] * chance.choice((0, 1, 1, 3)) for name in names]
    weights[0] = WEIGHTS["ingest"]
    served = chance.random() < 0.03
    steps.ingest()
    for _ in range(chance.randint(8, 30)):
        step_of(steps, chance.choices(names, weights)[0])()
        checks.holds_what_was_put_in(living)
        if chance.random() < 0.5:
            checks.answers(living, texts)
        if chance.random() < 0.2:
            checks.clusters(living)
        if chance.random() < 0.25:
            checks.listings(living)
        if chance.random() < 0.3:
            checks.seen_as_told(living, chance.sample(steps.keys, 5))
    if served:
        steps.served()
        checks.holds_what_was_put_in(living)
    checks.seen_as_told(living, steps.keys)
    checks.missing_is_said(living, "never given")
    if living.kind.follows_corpus:
        steps.refresh()
    checks.clusters(living)
    if steps.kept is not None:
        checks.kept_clusters(living, *steps.kept)
    checks.same(living.store.maintenance.fsck(), [], "fsck")
    _is_as_one_batch(living, steps, [texts.text() for _ in range(4)])


def _is_as_one_batch(living: Living, steps: Steps, samples: list[str]) -> None:
    """Compare the store with one that was made of what is left, in one batch."""
    place = living.bench.make_place("batch")
    with in_one_batch(living, place, steps.kept) as other:
        checks.same(
            _said(living, living.store, samples), _said(living, other, samples), "one batch"
        )
        checks.same(other.maintenance.fsck(), [], "fsck of one batch")
        if steps.kept is not None:
            checks.same(_stars(living.store), _stars(other), "kept clusters of one batch")


def _stars(store: Store) -> list[Any]:
    return sorted(
        (one.key, [(m.key, m.resemblance, m.distance, m.basis) for m in one.members])
        for one in store.clusters.list(1)
    )


def _said(living: Living, store: Store, samples: list[str]) -> list[Any]:
    """Return what a store says, without numbers and dates of its own."""
    kind = living.kind
    rows: list[Any] = [
        (
            row.key, row.digest, row.title, row.collection, dict(row.metadata), row.first_seen,
            row.last_seen, row.fingerprint, row.duplicate_of, row.token_count,
        )
        for row in store.list()
    ]  # fmt: skip
    if kind.vocabulary:
        rows += sorted(
            (one.term, one.document_count, one.total_count) for one in store.vocabulary.terms()
        )
    for at, options in enumerate((QueryOptions(), QueryOptions(radius=kind.bits))):
        for result in store.query_many([(text[:9], text) for text in samples], options):
            rows.append((at, result.key, result.fingerprint, result.too_short))
            rows += [
                (
                    m.key, m.distance, m.channels, m.resemblance, m.containment,
                    m.containment_reverse, m.basis,
                )
                for m in result.matches
            ]  # fmt: skip
    if kind.text:
        rows += [
            (p.first, p.second, p.resemblance) if hasattr(p, "first") else str(p)
            for p in store.evaluate.exact_pairs(0.4)
        ]
    if kind.text or "minhash" in kind.channels:
        rows += [
            (one.key, [(m.key, m.resemblance, m.distance, m.likeness) for m in one.members])
            for one in store.clusters.once(ClusterOptions()).clusters
        ]
    return rows


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _kernels(*, is_compiled: bool) -> Iterator[None]:
    """Use the compiled forms from the first byte on, or never."""
    if is_compiled:
        compiled.enable(0.0)
    else:
        compiled.disable()
    try:
        yield
    finally:
        compiled.enable()


@contextmanager
def _knobs(chance: random.Random) -> Iterator[None]:
    """Set some of what may change no answer."""
    with contextlib.ExitStack() as stack:
        if chance.random() < 0.8:
            share = chance.choice((0.2, 0.6))
            for module, name, values in KNOBS:
                if chance.random() < share:
                    where = importlib.import_module(f"simstore.{module}")
                    assert hasattr(where, name), f"{module} has no {name}"
                    stack.enter_context(mock.patch.object(where, name, chance.choice(values)))
        yield
