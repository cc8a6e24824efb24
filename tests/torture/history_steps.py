"""The steps of a history: what is done to a store, by chance."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from simstore import Store
from simstore.errors import DocumentNotFound, ReindexInProgress
from simstore.model import Document, Policy, RemoveRequest, WriteRequest
from simstore.services.export.export import ExportOptions
from simstore.services.ingest.ingest import IngestOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.sources.reader import HistoryFields, ReadOptions
from simstore.store import upgrade_store

from . import history_checks
from .history_checks import same
from .history_model import Record, Rule, digest_of
from .history_store import Kind, Living, document_of, is_plain, simtool_of
from .plain_texts import KEYS, ODD_KEYS, Texts

LAYOUTS = ((42, 3), (32, 4), (25, 5), (16, 8))
TITLES = (None, None, "A title", "Ein Titel", "题", "\0 title", "")
COLLECTIONS = (None, None, "north", "south", "no\0rth", "")
METADATA: tuple[dict[str, Any], ...] = (
    {}, {}, {"kind": "a"}, {"kind": "b"}, {"kind": "b", "deep": {"list": [1, None, "x"]}},
    {"n": 1}, {"n": 1.0}, {"n": True}, {"big": 2**70}, {"float": 1e-7}, {"é": "\0"},
)  # fmt: skip
BAD_LINES = (
    b"{", b"[]", b'{"key": "", "text": "x"}', b'{"key": "x"}',
    b'{"key": "x", "text": 7}', b"\x00\x80", b'{"key": "x", "text": "y", "seen": "never"}',
)  # fmt: skip


class Interrupted(Exception):
    """Stands for what ends an operation in the middle."""


class Steps:
    """Takes steps with a store and its model.

    Args:
        living: The store.
        texts: Where texts come from.
        dating: ``none``: records have no date; ``rising``: each a later one; ``any``.
    """

    def __init__(self, living: Living, texts: Texts, dating: str) -> None:
        self.living, self.texts, self.dating = living, texts, dating
        self.chance = living.chance
        some = [*KEYS, *ODD_KEYS] if self.chance.random() < 0.3 else list(KEYS)
        self.keys = [f"page {at}" for at in range(8)] + self.chance.sample(some, 8)
        self.kept: tuple[float, str] | None = None
        self._date = 1_500_000_000
        modes = ["keep", "keep", "flag", "skip"]
        if not living.kind.text:
            modes = ["keep"]
        self._modes = self.chance.choice((modes, modes[:1], modes[-2:]))

    # What is given.

    def records(self, count: int | None = None, *, dated: bool = False) -> list[Record]:
        """Return some documents."""
        count = self.chance.randint(0, 7) if count is None else count
        return [self._record(dated=dated) for _ in range(count)]

    def _record(self, *, dated: bool) -> Record:
        chance = self.chance
        key = chance.choice(self.keys)
        text = self.texts.text()
        held = self.living.model.docs.get(key)
        if held is not None and chance.random() < 0.15:
            return replace(held.record, seen_at=self._seen_at(dated=dated))
        if held is not None and chance.random() < 0.1:
            text = held.record.text
        published = None
        if chance.random() < 0.15 and self.dating != "none":
            published = self._date + chance.randint(-10_000_000, 200)
        return Record(
            key, text, chance.choice(TITLES), chance.choice(COLLECTIONS),
            chance.choice(METADATA), self._seen_at(dated=dated), published,
        )  # fmt: skip

    def _seen_at(self, *, dated: bool) -> int | None:
        chance = self.chance
        if self.dating == "any":
            self._date = 1_500_000_000 + chance.randrange(12) * 86_400
            return self._date if dated or chance.random() < 0.8 else None
        self._date += chance.choice((0, 1, 3_600, 86_400))
        # Where some records have none, the dates have to go on from the store's clock.
        self._date = max(self._date, self.living.clock.now)
        self.living.clock.now = self._date
        return self._date if dated or (self.dating == "rising") else None

    def rule(self) -> Rule:
        """Return what is done with duplicates now."""
        chance, model, kind = self.chance, self.living.model, self.living.kind
        usual = kind.rule
        is_told = usual.mode == "keep" or model.is_certain(usual.least or 0.8)
        if chance.random() < 0.3 and is_told and (usual.mode != "skip" or "skip" in self._modes):
            return usual
        mode = chance.choice(self._modes)
        if mode == "keep":
            return Rule()
        if "simhash" in kind.channels and chance.random() < 0.35:
            radius = chance.choice((0, 1, 3, min(kind.bits, 12), kind.bits))
            least = chance.choice((None, 0.3, 0.6, 0.9))
            return Rule(mode, least, min(radius, kind.bits))
        least = chance.choice((None, 0.7, 0.75, 0.85, 1.0))
        if least is None and (usual.least is not None or usual.radius is not None):
            # What a duplicate is, is as the store was made.
            least = usual.least
        if not model.is_certain(0.8 if least is None else least):
            least = 1.0
        return Rule(mode, least)

    # Steps.

    def ingest(self) -> None:
        self.living.ingest(self.records(), self.rule(), refresh=self.chance.random() < 0.8)

    def requests(self) -> None:
        """Write by a writer that stays open: requests of many in one transaction."""
        living, chance, model = self.living, self.chance, self.living.model
        requests: list[Any] = []
        given: list[Any] = []
        for _ in range(chance.randint(1, 4)):
            if chance.random() < 0.25 and model.docs:
                keys = tuple(chance.sample(list(model.docs), 1))
                requests.append(RemoveRequest(keys, missing_ok=True))
                given.append(keys)
                continue
            rule = self.rule()
            records = self.records(chance.randint(1, 3))
            documents = tuple(map(document_of, records))
            requests.append(WriteRequest(documents, rule.mode, rule.least, radius=rule.radius))
            given.append((records, rule))
        living.say(f"requests {given}")
        living.files.clear()
        with living.store.runs.writer() as writer:
            checked = [writer.checked(one) for one in requests]
            replies = writer.commit(writer.prepare(checked))
            for one, reply in zip(given, replies, strict=True):
                assert not isinstance(reply, BaseException), reply
                if isinstance(one[0], str):
                    count, _ = model.remove(one)
                    same(reply.removed, count, "removed by request")
                else:
                    told = model.arrive(one[0], one[1], living.clock.now)
                    same([o.outcome for o in reply.outcomes], told.outcomes, "by request")
        if living.kind.follows_corpus:
            living.store.vocabulary.refresh()
            living.refreshed()

    def remove(self) -> None:
        living, chance, model = self.living, self.chance, self.living.model
        there = [*model.docs, *(k for k, one in model.noted.items() if k not in model.docs)]
        keys = chance.sample(there, min(chance.randint(1, 4), len(there)))
        absent = [key for key in self.keys if key not in there][:1] if chance.random() < 0.3 else []
        refresh = chance.random() < 0.8
        living.say(f"remove {keys} {absent} refresh={refresh}")
        if absent:
            try:
                living.store.remove(*keys, *absent)
            except DocumentNotFound:
                history_checks.holds_what_was_put_in(living)
            else:
                raise AssertionError(f"{absent} is not there, and was removed")
        if not keys:
            return
        living.files.clear()
        count, told = model.remove(keys)
        orphaned: list[str] = []
        unflagged: list[str] = []
        if all(key.isprintable() for key in keys) and chance.random() < 0.3:
            words = ["remove", *([] if refresh else ["--no-refresh"]), "--ignore-missing", "--"]
            result = living.command(*words, *keys, *absent)
            assert f"{count} removed" in result.output, result.output
        else:
            found = living.store.remove(
                *keys, *keys, *absent, missing_ok=True, refresh=refresh,
                on_orphan=orphaned.append, on_unflagged=unflagged.append,
            )  # fmt: skip
            same(found, count, "removed")
            same(sorted(orphaned), sorted(told.orphaned), "orphaned by removal")
            same(sorted(unflagged), sorted(told.unflagged), "flagged no more by removal")
        living.ended(refresh=refresh, is_ingest=False)

    def expire(self) -> None:
        living, chance, model = self.living, self.chance, self.living.model
        if not model.docs:
            return
        since = chance.choice([held.last_seen for held in model.docs.values()])
        since += chance.choice((0, 0, 1))
        collection = chance.choice((None, None, "north"))
        living.say(f"expire {since} {collection}")
        dry = living.store.expire(not_seen_since=since, collection=collection, dry_run=True)
        held_before = set(model.docs)
        living.files.clear()
        removed, forgotten, told = model.expire(since, collection)
        same((dry.removed, dry.forgotten), (removed, forgotten), "would expire")
        summary = living.store.expire(
            not_seen_since=since, collection=collection,
            batch_documents=chance.choice((1, 2, 100)),
        )  # fmt: skip
        same((summary.removed, summary.forgotten), (removed, forgotten), "expired")
        same(sorted(summary.orphans), sorted(told.orphaned), "orphaned by expiry")
        same(summary.unflagged, len(told.unflagged & held_before), "flagged no more by expiry")
        living.ended(is_ingest=False)

    def refresh(self) -> None:
        self.living.say("refresh")
        self.living.store.vocabulary.refresh(force=self.chance.random() < 0.3)
        self.living.refreshed()

    def refresh_interrupted(self) -> None:
        """End a refresh in the middle, and open the store anew."""
        if not self.living.kind.follows_corpus:
            return
        self.living.say("refresh, interrupted")

        def interrupt(_done: int, _total: int) -> None:
            raise Interrupted

        try:
            self.living.store.vocabulary.refresh(force=True, on_progress=interrupt)
        except Interrupted:
            self.living.reopen()
        else:
            self.living.refreshed()

    def compact(self) -> None:
        living, chance = self.living, self.chance
        what = chance.choice(("compact", "plain", "bands"))
        living.say(what)
        # Of places that were read only some are remembered.
        living.files.clear()
        if what == "bands" and "minhash" in living.kind.channels:
            living.model.bands = chance.choice(LAYOUTS)
            living.store.maintenance.compact(living.model.bands)
        else:
            living.store.maintenance.compact(plain=what == "plain")

    def reopen(self) -> None:
        resident = self.chance.choice((None, True, False))
        self.living.say(f"reopen resident={resident}")
        self.living.reopen(resident=resident)
        if self.chance.random() < 0.5:
            self.living.open_another(resident=self.chance.random() < 0.5)
        if self.chance.random() < 0.4:
            self.living.store.maintenance.warm()

    def cluster(self) -> None:
        """Keep clusters, or make them anew by another rule, or forget them."""
        living, chance = self.living, self.chance
        if not living.has_generation or not living.is_verifiable:
            return
        if self.kept is None or chance.random() < 0.15:
            least, policy = chance.choice((0.3, 0.5, 0.8)), chance.choice(("first", "longest"))
            self.kept = least, policy
            living.say(f"keep clusters {self.kept}")
            living.store.clusters.build(min_resemblance=least, policy=policy, rebuild=True)
        elif chance.random() < 0.1:
            living.say("drop clusters")
            assert living.store.clusters.drop()
            self.kept = None
            return
        living.say("bring clusters up to date")
        history_checks.kept_clusters(living, *self.kept)
        if chance.random() < 0.3:
            path = living.bench.folder / f"unique-{living.number()}.jsonl"
            found = living.store.export(path, ExportOptions("unique", min_resemblance=self.kept[0]))
            stars = len(list(living.store.clusters.list(1)))
            same(
                (found.document_count, found.dropped_count),
                (stars, len(living.model.docs) - stars),
                "one a cluster, and the rest",
            )

    def reindex(self) -> None:
        """Make another scheme's fingerprints, interrupted or not."""
        living, chance, kind = self.living, self.chance, self.living.kind
        if not kind.text:
            return
        new = replace(kind, scheme=replace(kind.scheme, bits=chance.choice((16, 40, 64, 100, 128))))
        if not kind.is_simtool:
            new = replace(
                new,
                scheme=replace(new.scheme, weights=chance.choice(("log-tf", "tf", "uniform"))),
                channels=chance.choice((("simhash", "minhash"), ("simhash",), ("minhash",))),
            )
        if chance.random() < 0.3:
            new = self._other_scheme()
        interrupted = chance.random() < 0.5
        living.say(f"reindex {new}, {interrupted=}")

        def interrupt(_done: int, _total: int) -> None:
            if interrupted:
                raise Interrupted

        try:
            living.store.maintenance.reindex(
                new.scheme, channels=new.channels, on_progress=interrupt
            )
        except Interrupted:
            self._between_schemes()
            if chance.random() < 0.4:
                living.say("abort")
                living.store.maintenance.abort_reindex()
                return
            living.say("resume")
            living.store.maintenance.reindex(resume=True)
        living.changed_kind(new)
        self._read_bands()

    def _other_scheme(self) -> Kind:
        """Return a kind of the other scheme, as far as the store can have it."""
        living, kind = self.living, self.living.kind
        bits = self.chance.choice((16, 64, 100))
        if kind.is_simtool:
            return replace(kind, scheme=SchemeChoice("web", bits), channels=("simhash", "minhash"))
        if not kind.vocabulary:
            return replace(kind, scheme=replace(kind.scheme, bits=bits), channels=("simhash",))
        scheme = simtool_of(living.bench.folder, self.chance, bits)
        return replace(kind, scheme=scheme, channels=("simhash", "minhash"))

    def policy(self) -> None:
        """Let the store refresh itself, or not."""
        living = self.living
        policy: Policy = self.chance.choice(("live", "frozen"))
        living.say(f"policy {policy}")
        living.store.vocabulary.set_policy(policy)
        living.kind = replace(living.kind, policy=policy)

    def _between_schemes(self) -> None:
        """While a reindex is under way, nothing is written, and answers go on."""
        living = self.living
        if self.chance.random() < 0.5:
            living.reopen()
        try:
            living.store.add("page 0", "something new")
        except ReindexInProgress:
            pass
        else:
            raise AssertionError("written to while it was reindexed")
        history_checks.holds_what_was_put_in(living)
        history_checks.answers(living, self.texts)

    def _read_bands(self) -> None:
        shown = self.living.store.stats().bands
        if shown:
            many, few = shown.replace("×", "x").split("x")
            self.living.model.bands = int(many), int(few)

    def move(self) -> None:
        """Go on with a backup of a file."""
        living = self.living
        if "://" in living.place:
            return
        other = str(living.bench.folder / f"moved-{living.number()}.db")
        living.say(f"move to {other}")
        living.store.maintenance.backup(other)
        living.close()
        living.place = other
        living.reopen()
        done = upgrade_store(living.place)
        before, after, backup = done.revision_before, done.revision_after, done.backup
        same((before, backup), (after, None), "upgrade of a store that needs none")

    def export(self) -> None:
        """Write all documents to a file; what is read from it is the same store again."""
        living, model = self.living, self.living.model
        path = living.bench.folder / f"out-{living.number()}.jsonl"
        living.say("export")
        summary = living.store.export(path, ExportOptions())
        same(summary.document_count, len(model.docs), "exported documents")
        if not living.kind.text:
            return
        place = str(living.bench.folder / f"again-{living.number()}.db")
        with living.create(place, living.kind) as again:
            options = IngestOptions(on_duplicate="keep")
            again.ingest([str(path)], read=ReadOptions(format="jsonl"), options=options)
            same(
                [
                    (
                        row.key, row.text, row.title, row.collection, dict(row.metadata),
                        row.first_seen, row.last_seen,
                    )
                    for row in again.list(with_text=True)
                ],
                [
                    (
                        key, one.record.text, one.record.title, one.record.collection,
                        dict(one.record.metadata), one.first_seen, one.last_seen,
                    )
                    for key, one in model.docs.items()
                ],
                "exported and ingested again",
            )  # fmt: skip

    def listed(self) -> None:
        """Compare what commands print with what the store says."""
        living, model = self.living, self.living.model
        living.say("list")
        out = living.command("list", "--format", "jsonl").stdout
        rows = [json.loads(line) for line in out.split("\n") if line]
        expected_digests = [digest_of(key, one.record.text) for key, one in model.docs.items()]
        same([row["digest"] for row in rows], expected_digests, "listed digests")
        held = [one.record.text for one in model.docs.values() if is_plain(one.record.text)]
        samples = [("sample", text) for text in held[-3:] if text.strip()]
        if not samples or not living.has_generation:
            return
        path = living.write([Record(f"s{at}", text) for at, (_, text) in enumerate(samples)])
        out = living.command("query", "--no-record", "--format", "jsonl", str(path)).stdout
        found = [json.loads(line) for line in out.split("\n") if line]
        expected = living.store.query_many([(f"s{at}", t) for at, (_, t) in enumerate(samples)])
        same(
            [[(m["distance"], m["resemblance"] or 0.0) for m in one["matches"]] for one in found],
            [
                [(m.distance, round(m.resemblance or 0.0, 4)) for m in one.matches]
                for one in expected
            ],
            "matches that a command prints",
        )

    def rejects(self) -> None:
        """Ingest a file with lines that are no documents; forget them, or not."""
        living, chance = self.living, self.chance
        bad = [chance.choice(BAD_LINES) for _ in range(chance.randint(1, 3))]
        records = [one for one in self.records(3) if is_plain(one.key, one.text)]
        living.say(f"rejects {bad} among {[(one.key, one.text[:30]) for one in records]}")
        told = living.model.arrive(records, Rule(), living.clock.now)
        read = ReadOptions(history_fields=HistoryFields("seen", "published"), format="jsonl")
        path = living.write(records, bad)
        summary = living.store.ingest(
            [str(path)], read=read,
            options=IngestOptions(on_duplicate="keep", batch_documents=chance.choice((1, 100))),
        )  # fmt: skip
        same(summary.rejected, len(bad), f"rejected of {bad}")
        same(summary.document_count, len(told.outcomes), "accepted")
        living.model.rejected += len(bad)
        if chance.random() < 0.4:
            same(living.store.rejects.clear(), living.model.rejected, "rejections forgotten")
            living.model.rejected = 0
        living.ended()

    def passages(self) -> None:
        """Make a passage index, or drop it: fsck compares it with the texts."""
        living = self.living
        if not living.kind.text:
            return
        if living.store.passages.status() is None:
            living.say("build passages")
            living.store.passages.build()
        elif self.chance.random() < 0.3:
            living.say("drop passages")
            living.store.maintenance.compact(drop_passages=True)

    def known(self) -> None:
        """Compare a filter of what is known, which never errs on that."""
        living, model = self.living, self.living.model
        living.say("known filter")
        known = living.asked.filters.known()
        # Orphans should be fetched again, and are not in it.
        skipped = [key for key, noted in model.noted.items() if noted.state == "skipped"]
        keys = [*model.docs, *skipped]
        # An empty text is known by its key alone.
        texts = [text for one in model.docs.values() if (text := one.record.text).strip()]
        same([key for key in keys if not known.knows_key(key)], [], "known keys")
        same([text for text in texts if not known.knows_text(text)], [], "known texts")
        same(living.asked.filters.known_count(), len(set(keys)), "known keys")

    def fsck(self) -> None:
        self.living.say("fsck")
        same(self.living.store.maintenance.fsck(), [], "fsck")


def in_one_batch(living: Living, place: str, kept: tuple[float, str] | None) -> Store:
    """Make a store of the documents that are left, in one batch."""
    store = living.create(place, living.kind)
    store.add_many(
        (
            Document(
                key, held.record.text, title=held.record.title, collection=held.record.collection,
                metadata=held.record.metadata, seen_at=held.last_seen, published_at=held.first_seen,
            )
            for key, held in living.model.docs.items()
        ),
        threads=1,
        on_duplicate="keep",
    )  # fmt: skip
    if "minhash" in living.kind.channels:
        store.maintenance.compact(living.model.bands)
    if living.kind.follows_corpus:
        store.vocabulary.refresh()
    if living.store.passages.status() is not None:
        store.passages.build()
    if kept is not None:
        store.clusters.build(min_resemblance=kept[0], policy=kept[1])
    return store
