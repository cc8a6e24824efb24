"""The steps of a history: what is done to a store, by chance."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from served import serve

from simstore import Store
from simstore.client import Client
from simstore.errors import DocumentNotFound, ReindexInProgress
from simstore.model import Document, Idempotency, RemoveRequest, WriteRequest
from simstore.services.arriving.ingest import IngestOptions, Observer
from simstore.services.telling.export import ExportOptions
from simstore.services.upkeep.choose import SchemeChoice
from simstore.sources.fields import HistoryFields
from simstore.sources.reader import ReadOptions
from simstore.store import copy_store, upgrade

from . import history_checks
from .history_checks import same
from .history_model import Model, Record, Rule
from .history_store import Kind, Living
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
        elif dating == "any":
            modes.remove("skip")
        self._modes = self.chance.choice((modes, modes[:1], modes[1:]))

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
        mode = chance.choice(self._modes)
        if mode == "keep":
            return Rule()
        if "simhash" in kind.channels and chance.random() < 0.35:
            radius = chance.choice((0, 1, 3, min(kind.bits, 12), kind.bits))
            least = chance.choice((None, 0.3, 0.6, 0.9))
            return Rule(mode, least, min(radius, kind.bits))
        least = chance.choice((None, 0.7, 0.75, 0.85, 1.0))
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
            name = Idempotency("one", f"request {living.number()}", b"digest")
            documents = tuple(
                Document(
                    one.key, one.text, one.title, one.collection, one.metadata,
                    seen_at=one.seen_at, published_at=one.published_at,
                )
                for one in records
            )  # fmt: skip
            requests.append(
                WriteRequest(
                    documents,
                    rule.mode,
                    rule.least,
                    radius=rule.radius,
                    idempotency=name,
                )
            )
            given.append((records, rule))
        living.say(f"requests {given}")
        with living.store.writer() as writer:
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
            some = [one for one in requests if isinstance(one, WriteRequest)]
            if some:
                (again,) = writer.commit(writer.prepare([writer.checked(some[0])]))
                assert again.replayed, "a request that was done is done again"
        if living.kind.follows_corpus:
            living.store.refresh()
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
        self.living.store.refresh(force=self.chance.random() < 0.3)
        self.living.refreshed()

    def refresh_interrupted(self) -> None:
        """End a refresh in the middle, and open the store anew."""
        if not self.living.kind.follows_corpus:
            return
        self.living.say("refresh, interrupted")

        def interrupt(_done: int, _total: int) -> None:
            raise Interrupted

        try:
            self.living.store.refresh(force=True, on_progress=interrupt)
        except Interrupted:
            self.living.reopen()
        else:
            self.living.refreshed()

    def pack(self) -> None:
        living, chance = self.living, self.chance
        what = chance.choice(("pack", "unpack", "compact", "bands", "fingerprints pack"))
        living.say(what)
        packable = living.kind.bits in (64, 128) and "simhash" in living.kind.channels
        if what == "unpack" and packable:
            living.store.unpack()
        elif what == "compact":
            living.store.compact()
        elif what == "bands" and "minhash" in living.kind.channels:
            living.model.bands = chance.choice(LAYOUTS)
            living.store.compact(living.model.bands)
        else:
            living.store.pack(fingerprints=packable or chance.random() < 0.5)

    def reopen(self) -> None:
        resident = self.chance.choice((None, True, False))
        self.living.say(f"reopen resident={resident}")
        self.living.reopen(resident=resident)
        if self.chance.random() < 0.4:
            self.living.store.warm()

    def cluster(self) -> None:
        """Keep clusters, or make them anew by another rule, or forget them."""
        living, chance = self.living, self.chance
        if not living.has_generation:
            return
        if self.kept is None or chance.random() < 0.15:
            least, policy = chance.choice((0.3, 0.5, 0.8)), chance.choice(("first", "longest"))
            self.kept = least, policy
            living.say(f"keep clusters {self.kept}")
            living.store.keep_clusters(min_resemblance=least, policy=policy, rebuild=True)
        elif chance.random() < 0.1:
            living.say("drop clusters")
            assert living.store.drop_clusters()
            self.kept = None
            return
        living.say("bring clusters up to date")
        history_checks.kept_clusters(living, *self.kept)

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
        interrupted = chance.random() < 0.5
        living.say(f"reindex {new}, {interrupted=}")

        def interrupt(_done: int, _total: int) -> None:
            if interrupted:
                raise Interrupted

        try:
            living.store.reindex(new.scheme, channels=new.channels, on_progress=interrupt)
        except Interrupted:
            self._between_schemes()
            if chance.random() < 0.4:
                living.say("abort")
                living.store.abort_reindex()
                return
            living.say("resume")
            living.store.reindex(resume=True)
        living.changed_kind(new)
        self._read_bands()

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
        shown = self.living.store.statistics().bands
        if shown:
            many, few = shown.replace("×", "x").split("x")
            self.living.model.bands = int(many), int(few)

    def move(self) -> None:
        """Go on with a backup, or with a copy at a place of whatever kind."""
        living, bench = self.living, self.living.bench
        other = bench.make_place(f"moved-{living.number()}")
        living.say(f"move to {other}")
        if "://" in living.place or "://" in other or self.chance.random() < 0.5:
            living.store.close()
            copy_store(living.place, other)
        else:
            living.store.backup(other)
        living.store.close()
        living.place = other
        living.reopen()
        before, after, backup = upgrade(living.place)
        same((before, backup), (after, None), "upgrade of a store that needs none")

    def export(self) -> None:
        """Write all documents to a file, and compare what it says."""
        living = self.living
        path = living.bench.folder / f"out-{living.number()}.jsonl"
        living.say("export")
        summary = living.store.export(path, ExportOptions())
        same(summary.document_count, len(living.model.docs), "exported documents")
        rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        found = [(row.get("text"), row["first_seen"], row["last_seen"]) for row in rows]
        plain = all("key" in row and "text" in row for row in rows)
        if plain:
            expected = [
                (held.record.text, held.first_seen, held.last_seen)
                for held in living.model.docs.values()
            ]
            same([row[0] for row in found], [row[0] for row in expected], "exported texts")

    def rejects(self) -> None:
        """Ingest a file with lines that are no documents; forget them, or not."""
        living, chance = self.living, self.chance
        bad = [chance.choice(BAD_LINES) for _ in range(chance.randint(1, 3))]
        records = [
            one
            for one in self.records(3)
            if not any(0xD800 <= ord(c) < 0xE000 for c in one.text + one.key)
        ]
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
            same(living.store.clear_rejections(), living.model.rejected, "rejections forgotten")
            living.model.rejected = 0
        living.ended()

    def passages(self) -> None:
        """Make a passage index, or drop it: fsck compares it with the texts."""
        living = self.living
        if not living.kind.text:
            return
        if living.store.passage_status() is None:
            living.say("build passages")
            living.store.build_passages()
        elif self.chance.random() < 0.3:
            living.say("drop passages")
            living.store.drop_passages()

    def fsck(self) -> None:
        self.living.say("fsck")
        same(self.living.store.fsck(), [], "fsck")

    # What ends in the middle, and what others do.

    def interrupted_ingest(self) -> None:
        """End an ingest in the middle, by an error or by a kill; begin it again."""
        living, chance = self.living, self.chance
        records = [
            one for one in self.records(chance.randint(3, 9), dated=True)
            if not any(0xD800 <= ord(c) < 0xE000 for c in one.text + one.key)
        ]  # fmt: skip
        if not records:
            return
        rule = self.rule()
        path = living.write(records)
        size, after = chance.randint(1, 3), chance.randint(1, 3)
        by_kill = chance.random() < 0.25
        shown = [(one.key[:20], one.text[:30], one.seen_at) for one in records]
        living.say(f"interrupted {rule} batches of {size}, after {after}, {by_kill=}: {shown}")
        options: dict[str, Any] = {
            "batch_documents": size, "on_duplicate": rule.mode, "min_resemblance": rule.least,
            "radius": rule.radius, "threads": 1,
        }  # fmt: skip
        before = copy.deepcopy((living.model.docs, living.model.noted))
        (self._kill_ingest if by_kill else self._fail_ingest)(path, options, after)
        living.bench.count("kills" if by_kill else "interruptions")
        done = self._done_of(records, rule, before)
        living.say(f"{done} were done")
        read = ReadOptions(history_fields=HistoryFields("seen", "published"))
        summary = living.store.ingest([str(path)], read=read, options=IngestOptions(**options))
        told = living.model.arrive(records[done:], rule, living.clock.now)
        if done < len(records):
            found = [getattr(summary, name) for name in ("added", "updated", "unchanged")]
            expected = [told.outcomes.count(name) for name in ("added", "updated", "unchanged")]
            same(found, expected, "resumed")
        living.ended()

    def _kill_ingest(self, path: Path, options: dict[str, Any], after: int) -> None:
        living = self.living
        child = living.bench.nursery.start(
            "ingest", living.bench.folder, place=living.place, names=[str(path)],
            history_fields=["seen", "published"], **options,
        )  # fmt: skip
        assert child.message() == "open", child.wait().errors
        for _ in range(after):
            if (child.message() or "done").startswith("done"):
                break
        child.kill()

    def _fail_ingest(self, path: Path, options: dict[str, Any], after: int) -> None:
        commits = iter(range(1, 1_000))

        def interrupt(_state: Any) -> None:
            if next(commits) == after:
                raise Interrupted

        read = ReadOptions(history_fields=HistoryFields("seen", "published"))
        try:
            self.living.store.ingest(
                [str(path)], read=read, options=IngestOptions(**options),
                observer=Observer(on_progress=interrupt),
            )  # fmt: skip
        except Interrupted:
            return

    def _done_of(self, records: Sequence[Record], rule: Rule, before: Any) -> int:
        """Return how many records were stored, whole batches of them; the model goes along."""
        living = self.living
        rows = [(row.key, row.text) for row in living.store.documents(with_text=True)]
        revisions = [row.revision for row in living.store.documents()]
        noted = sorted((one.key, one.state, one.original) for one in living.store.duplicates())
        (source,) = [
            one for one in self._positions() if one[0].endswith(f"given-{living._numbers}.jsonl")
        ] or [("", 0)]
        done = source[1]
        living.model.docs, living.model.noted = copy.deepcopy(before)
        living.model.arrive(records[:done], rule, living.clock.now)
        model: Model = living.model
        same(
            (rows, revisions, noted),
            (
                [(k, h.record.text if living.kind.text else None) for k, h in model.docs.items()],
                [held.revision for held in model.docs.values()],
                sorted((key, one.state, one.original) for key, one in model.noted.items()),
            ),
            f"what an ingest that ended after {done} records has left",
        )
        return done

    def _positions(self) -> list[tuple[str, int]]:
        with self.living.store._opened.database.read() as connection:
            rows = connection.exec_driver_sql("SELECT name, position FROM source").fetchall()
        return [
            (bytes(name).decode() if not isinstance(name, str) else name, position)
            for name, position in rows
        ]

    def beside(self) -> None:
        """Write while another process writes; the order between the two is left to chance."""
        living, model = self.living, self.living.model
        if self.dating == "any":
            return
        others = [
            replace(one, key=f"other {at % 5}")
            for at, one in enumerate(self.records(6, dated=True))
        ]
        others = [one for one in others if not any(0xD800 <= ord(c) < 0xE000 for c in one.text)]
        own = [self.records(2, dated=True) for _ in range(3)]
        living.say(f"beside: {[(one.key, one.text[:30]) for one in others]}")
        path = living.write(others)
        child = living.bench.nursery.start(
            "ingest", living.bench.folder, place=living.place, names=[str(path)],
            history_fields=["seen", "published"], batch_documents=1, on_duplicate="keep",
        )  # fmt: skip
        assert child.message() == "open", child.wait().errors
        for some in own:
            told = model.arrive(some, Rule(), living.clock.now)
            documents = [
                Document(
                    one.key, one.text, one.title, one.collection, one.metadata,
                    seen_at=one.seen_at, published_at=one.published_at,
                )
                for one in some
            ]  # fmt: skip
            summary = living.store.add_many(documents, on_duplicate="keep", batch_documents=1)
            same(summary.added, told.outcomes.count("added"), "added beside another")
            living.store.query("river stone")
        finished = child.wait()
        assert finished.code == 0, finished.errors
        model.arrive(others, Rule(), living.clock.now)
        order = [row.key for row in living.store]
        same(sorted(order), sorted(model.docs), "keys of two writers")
        for is_other in (False, True):
            mine = [key for key in model.docs if key.startswith("other ") == is_other]
            same(
                [key for key in order if key.startswith("other ") == is_other],
                mine, "the order of one of two writers",
            )  # fmt: skip
        model.docs = {key: model.docs[key] for key in order}
        living.bench.count("writers beside")
        if living.kind.follows_corpus:
            living.store.refresh()
            living.refreshed()

    def served(self) -> None:
        """Do some of it over HTTP."""
        living, model = self.living, self.living.model
        if living.kind.follows_corpus or self.dating == "any":
            return
        living.say("serve")
        living.bench.count("servers")
        with serve(living.place, create=False) as server, Client(server.url) as client:
            for _ in range(self.chance.randint(1, 3)):
                rule, records = self.rule(), self.records(self.chance.randint(1, 5), dated=True)
                records = [
                    one
                    for one in records
                    if not any(0xD800 <= ord(c) < 0xE000 for c in one.text + one.key)
                ]
                shown = [(one.key[:20], one.text[:30], one.seen_at) for one in records]
                living.say(f"client adds {rule} {shown}")
                told = model.arrive(records, rule, living.clock.now)
                documents = [
                    Document(
                        one.key, one.text, one.title, one.collection, one.metadata,
                        seen_at=one.seen_at, published_at=one.published_at,
                    )
                    for one in records
                ]  # fmt: skip
                summary = client.add_many(
                    documents,
                    on_duplicate=rule.mode,
                    min_resemblance=rule.least,
                    radius=rule.radius,
                )
                found = {
                    name: getattr(summary, name)
                    for name in ("added", "updated", "unchanged", "flagged", "skipped")
                }
                expected = {name: told.outcomes.count(name) for name in found}
                same(found, expected, "by the client")
            texts = [self.texts.text() for _ in range(2)]
            texts = [text for text in texts if not any(0xD800 <= ord(c) < 0xE000 for c in text)]
            there, here = (
                [
                    one.matches
                    for one in asked.query_many([(str(at), text) for at, text in enumerate(texts)])
                ]
                for asked in (client, living.store)
            )
            same(there, here, "answers there and here")
            same([one.key for one in client.documents()], list(model.docs), "documents there")
            plain = [key for key in model.docs if key.isprintable()]
            if plain:
                key = self.chance.choice(plain)
                living.say(f"client removes {key}")
                same(client.remove(key), model.remove([key])[0], "removed by the client")
            server.stop()


WEIGHTS: dict[str, int] = {
    "ingest": 30, "requests": 5, "remove": 9, "expire": 4, "refresh": 3, "refresh_interrupted": 2,
    "pack": 9, "reopen": 6, "cluster": 7, "reindex": 4, "move": 3, "export": 2, "rejects": 3,
    "passages": 2, "fsck": 2, "interrupted_ingest": 4, "beside": 1, "served": 0,
}  # fmt: skip


def step_of(steps: Steps, name: str) -> Callable[[], None]:
    """Return a step by its name."""
    found: Callable[[], None] = getattr(steps, name)
    return found


def in_one_batch(living: Living, place: str, kept: tuple[float, str] | None) -> Store:
    """Make a store of the documents that are left, in one batch."""
    store = living.create(place, living.kind)
    store.add_many(
        (
            Document(
                key, held.record.text, held.record.title, held.record.collection,
                held.record.metadata, seen_at=held.last_seen, published_at=held.first_seen,
            )
            for key, held in living.model.docs.items()
        ),
        threads=1,
    )  # fmt: skip
    if "minhash" in living.kind.channels:
        store.compact(living.model.bands)
    if living.kind.follows_corpus:
        store.refresh()
    if kept is not None:
        store.keep_clusters(min_resemblance=kept[0], policy=kept[1])
    return store


__all__ = ["WEIGHTS", "Interrupted", "Kind", "SchemeChoice", "Steps", "in_one_batch", "step_of"]
