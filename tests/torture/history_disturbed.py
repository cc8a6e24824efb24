"""Steps of a history that end in the middle, or beside what others do."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from served import serve

from simstore.client import Client
from simstore.model import QueryOptions
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.sources.reader import HistoryFields, ReadOptions

from .history_checks import same
from .history_model import Model, Record, Rule
from .history_steps import Interrupted, Steps
from .history_store import OUTCOMES, document_of, is_plain

WEIGHTS: dict[str, int] = {
    "ingest": 30, "requests": 5, "remove": 9, "expire": 4, "refresh": 3, "refresh_interrupted": 2,
    "compact": 9, "reopen": 6, "cluster": 7, "reindex": 4, "move": 3, "export": 2, "rejects": 3,
    "passages": 2, "fsck": 2, "interrupted_ingest": 4,
    "read_again": 4, "listed": 3, "known": 2, "policy": 2, "beside": 3, "served": 0,
}  # fmt: skip


class Disturbed(Steps):
    """Takes steps, disturbed ones among them."""

    def interrupted_ingest(self) -> None:
        """End an ingest in the middle, by an error or by a kill; begin it again."""
        living, chance = self.living, self.chance
        records = [
            one for one in self.records(chance.randint(3, 9), dated=True)
            if is_plain(one.key, one.text)
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
        if done == len(records):
            # To read it once more is another story: a key may stand in it twice.
            living.store.vocabulary.refresh()
            living.refreshed()
            return
        read = ReadOptions(history_fields=HistoryFields("seen", "published"))
        summary = living.store.ingest([str(path)], read=read, options=IngestOptions(**options))
        told = living.model.arrive(records[done:], rule, living.clock.now)
        found = [getattr(summary, name) for name in OUTCOMES]
        same(found, [told.outcomes.count(name) for name in OUTCOMES], "resumed")
        living.ended()

    def _kill_ingest(self, path: Path, options: dict[str, Any], after: int) -> None:
        living = self.living
        child = living.bench.nursery().start(
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
        rows = [(row.key, row.text) for row in living.store.list(with_text=True)]
        revisions = [row.revision for row in living.store.list()]
        noted = sorted((one.key, one.state, one.original) for one in living.store.duplicates.list())
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

    def read_again(self) -> None:
        """Ingest a file once more: news is what others have changed since it was read."""
        living, model = self.living, self.living.model
        if not living.files:
            return
        path, records = self.chance.choice(living.files)
        if not all(one.key in model.docs for one in records):
            return
        living.say(f"read {path.name} again")
        os.utime(path, ns=(living.number(), living.number()))
        read = ReadOptions(history_fields=HistoryFields("seen", "published"))
        options = IngestOptions(from_start=True, on_duplicate="keep")
        summary = living.store.ingest([str(path)], read=read, options=options)
        told = model.arrive(records, Rule(), living.clock.now)
        expected = told.outcomes.count("unchanged"), len(records)
        same((summary.unchanged, summary.document_count), expected, "read again")
        living.ended()

    def beside(self) -> None:
        """Write while another process writes; the order between the two is left to chance."""
        living, model = self.living, self.living.model
        if self.dating == "any":
            return
        others = [
            replace(one, key=f"other {at % 5}")
            for at, one in enumerate(self.records(6, dated=True))
        ]
        others = [one for one in others if is_plain(one.text)]
        own = [self.records(2, dated=True) for _ in range(3)]
        living.say(f"beside: {[(one.key, one.text[:30]) for one in others]}")
        path = living.write(others)
        end = self.chance.choice((self._by_process, self._by_thread))(path)
        for some in own:
            told = model.arrive(some, Rule(), living.clock.now)
            documents = [document_of(one) for one in some]
            summary = living.store.add_many(documents, on_duplicate="keep", batch_documents=1)
            same(summary.added, told.outcomes.count("added"), "added beside another")
            living.store.query("river stone")
        end()
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
            living.store.vocabulary.refresh()
            living.refreshed()

    def _asked_there(self, client: Client) -> None:
        """Compare answers over HTTP with those of the store here."""
        samples = [(f"page {at}", self.texts.text()) for at in range(2)]
        samples = [one for one in samples if is_plain(one[1])]
        options = self.chance.choice(OPTIONS)
        if "simhash" not in self.living.kind.channels:
            options = QueryOptions()
        there, here = (
            [
                (one.key, one.fingerprint, one.too_short, one.matches)
                for one in asked.query_many(samples, options)
            ]
            for asked in (client, self.living.store)
        )
        same(there, here, f"answers there and here by {options}")

    def _by_process(self, path: Path) -> Callable[[], None]:
        """Ingest a file by another process; return what waits for its end."""
        living = self.living
        child = living.bench.nursery().start(
            "ingest", living.bench.folder, place=living.place, names=[str(path)],
            history_fields=["seen", "published"], batch_documents=1, on_duplicate="keep",
        )  # fmt: skip
        assert child.message() == "open", child.wait().errors

        def end() -> None:
            finished = child.wait()
            assert finished.code == 0, finished.errors

        return end

    def _by_thread(self, path: Path) -> Callable[[], None]:
        """Ingest a file by another thread, in this store or another that is open."""
        read = ReadOptions(history_fields=HistoryFields("seen", "published"))
        options = IngestOptions(batch_documents=1, on_duplicate="keep", threads=1)
        store = self.living.asked
        pool = ThreadPoolExecutor(1)
        run = pool.submit(store.ingest, [str(path)], read=read, options=options)

        def end() -> None:
            with pool:
                run.result()

        return end

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
                records = [one for one in records if is_plain(one.key, one.text)]
                shown = [(one.key[:20], one.text[:30], one.seen_at) for one in records]
                living.say(f"client adds {rule} {shown}")
                told = model.arrive(records, rule, living.clock.now)
                documents = [document_of(one) for one in records]
                summary = client.add_many(
                    documents,
                    on_duplicate=rule.mode,
                    min_resemblance=rule.least,
                    radius=rule.radius,
                )
                found = [getattr(summary, name) for name in OUTCOMES]
                same(found, [told.outcomes.count(name) for name in OUTCOMES], "by the client")
            self._asked_there(client)
            same([one.key for one in client.list()], list(model.docs), "documents there")
            keys = self.chance.sample(self.keys, 4)
            same(client.seen(keys), living.store.seen(keys), "seen there and here")
            same(
                list(client.duplicates.list()),
                list(living.store.duplicates.list()),
                "duplicates there",
            )
            plain = [key for key in model.docs if key.isprintable()]
            if plain:
                key = self.chance.choice(plain)
                living.say(f"client removes {key}")
                same(client.remove(key), model.remove([key])[0], "removed by the client")
            server.stop()


OPTIONS = (
    QueryOptions(),
    QueryOptions(radius=0),
    QueryOptions(limit=1),
    QueryOptions(first=True, plan="scan"),
    QueryOptions(collection="north"),
    QueryOptions(where=(("kind", "b"),), verify=False),
    QueryOptions(min_features=0, exclude_self=True),
    QueryOptions(since=1_600_000_000, plan="segments"),
)


def step_of(steps: Disturbed, name: str) -> Callable[[], None]:
    """Return a step by its name."""
    found: Callable[[], None] = getattr(steps, name)
    return found
