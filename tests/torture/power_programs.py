"""The programs that are recorded while they write: made by chance from a seed."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import second_migration
from e2e import corpora

from simstore import Document, Store
from simstore.services.maintenance.scheme_choice import SchemeChoice

from .power_steps import STORE, Job, Step, Texts, command

DAY = 86_400
SCHEMES: dict[str, SchemeChoice] = {
    "web": SchemeChoice("web"),
    "web 128": SchemeChoice("web", bits=128),
    "web 100": SchemeChoice("web", bits=100),
    "web idf": SchemeChoice("web", weights="tf-idf"),
    "simtool": SchemeChoice("simtool", features=100),
}
# A folder of its own, which SQLite does not sync for the sake of the store.
OUTPUTS = "out"
Pages = list[tuple[str, str]]


@dataclass
class Program:
    """Commands on a folder, one after the other.

    Attributes:
        title: What they do, in short.
        steps: The commands.
        documents: What the store holds before them; None: there is no store.
        outputs: Files beside the store before them, and the documents in each.
        batch: The size of batches; None: as always.
        log_pages: Pages of the write-ahead log from which on it is brought into the file.
        samples: What the store is asked in the end.
    """

    title: str
    steps: list[Step]
    documents: Texts | None = None
    outputs: dict[str, Texts] = field(default_factory=dict)
    batch: int | None = None
    log_pages: int | None = None
    samples: Pages = field(default_factory=list)


@dataclass
class Maker:
    """What a program is made of.

    Attributes:
        seed: Of its round.
        chance: All chance comes from it.
        folder: What the program works on, as it is before it.
        aside: A folder for sources.
    """

    seed: int
    chance: random.Random
    folder: Path
    aside: Path

    def pages(self, most: int = 40, prefix: str = "page", *, repeats: bool = True) -> Pages:
        """Return some pages, alike in part."""
        count = self.chance.randint(8, most)
        return corpora.pages(self.chance.randrange(10_000), count, prefix=prefix, repeats=repeats)

    def base(self, pages: Pages, name: str = STORE, *, open_log: bool | None = None) -> Texts:
        """Make a store of some pages; return what it holds.

        Args:
            pages: The pages, the first seen on the first day, the next on the next.
            name: The store's.
            open_log: Leave its last transactions in the log, as a process does that is killed;
                None: by chance.
        """
        chance = self.chance
        made = self.aside / Path(name).name
        choice = SCHEMES[chance.choice(list(SCHEMES))]
        if open_log is None:
            open_log = chance.random() < 0.3
        cut = chance.randint(1, len(pages))
        with Store.create(made, scheme=choice) as store:
            store.add_many(_dated(pages[:cut], 0))
            if chance.random() < 0.3:
                store.passages.build()
            if chance.random() < 0.4:
                store.clusters.build(min_resemblance=0.5)
            if chance.random() < 0.3 and choice.bits in (None, 64, 128):
                store.maintenance.compact()
        with Store.open(made) as store:
            store.add_many(_dated(pages[cut:], cut))
            if open_log:
                _copy_open(made, self.folder / name)
        if not open_log:
            shutil.copy(made, self.folder / name)
        made.unlink()
        return dict(pages)

    def source(self, pages: Pages, name: str = "crawl.jsonl") -> Path:
        """Write pages to a file of JSON Lines."""
        path = self.aside / name
        lines = (json.dumps({"key": key, "text": text}) + "\n" for key, text in pages)
        path.write_text("".join(lines), "utf-8")
        return path

    def place(self, name: str) -> str:
        """Return where a file is written: beside the store, or in a folder of its own."""
        return self.chance.choice((name, f"{OUTPUTS}/{name}"))

    def batches(self) -> dict[str, Any]:
        """Return by chance how large batches and logs are."""
        return {
            "batch": self.chance.choice((3, 5, 8)),
            "log_pages": self.chance.choice((None, 8, 30, 100)),
        }


def _dated(pages: Pages, first: int) -> list[Document]:
    return [
        Document(key, text, seen_at=(first + number) * DAY)
        for number, (key, text) in enumerate(pages)
    ]


def _copy_open(path: Path, target: Path) -> None:
    """Copy a store with its log, while a process has it open and writes nothing."""
    for suffix in ("", "-wal"):
        if path.with_name(path.name + suffix).exists():
            shutil.copy(path.with_name(path.name + suffix), target.with_name(target.name + suffix))


def prefixes(before: Texts | None, pages: Pages, batch: int) -> list[Texts]:
    """Return what a store holds after each batch of pages."""
    ends = [*range(batch, len(pages), batch), len(pages)]
    return [{**(before or {}), **dict(pages[:end])} for end in ends]


def _ingest(maker: Maker, before: Texts | None, pages: Pages, batch: int, name: str) -> Step:
    """Return an ingest by the API, which tells of each commit."""
    source = maker.source(pages, name)
    start: list[Texts | None] = [before] if before is not None else [None, {}]
    states = [*start, *prefixes(before, pages, batch)]
    ends = [*range(batch, len(pages), batch), len(pages)]
    marks = {str(end): len(start) + at for at, end in enumerate(ends)}
    job = Job(
        "ingest",
        {
            "place": STORE,
            "names": [str(source)],
            "batch_documents": batch,
            "create": before is None,
            "threads": maker.chance.choice((1, 2, None)),
            "on_duplicate": maker.chance.choice(("keep", "flag")),
        },
    )
    return Step(job, states=states, marks=marks)


def first_ingest(maker: Maker) -> Program:
    """A first ingest, and perhaps a second of a file that has grown."""
    sizes = maker.batches()
    pages = maker.pages(60)
    if maker.chance.random() < 0.5:
        # What a store of that name has left, which somebody deleted.
        maker.base(maker.pages(20, "old"), open_log=True)
        (maker.folder / STORE).unlink()
    steps = [_ingest(maker, None, pages, sizes["batch"], "first.jsonl")]
    if maker.chance.random() < 0.5:
        more = maker.pages(30, maker.chance.choice(("page", "more")))
        steps.append(_ingest(maker, dict(pages), more, sizes["batch"], "second.jsonl"))
    return Program("first ingest", steps, samples=_samples(maker, pages), **sizes)


def first_ingest_by_command(maker: Maker) -> Program:
    """A first ingest by the command line, with options that only a new store takes."""
    sizes = maker.batches()
    pages = maker.pages(60)
    source = maker.source(pages)
    options = maker.chance.choice(
        (
            ["-M", "100"],
            ["--scheme", "simtool", "-N", "100"],
            ["--passages", "--threads", "1"],
            ["--on-duplicate", "flag", "--passages", "--passage-simhash"],
            ["--weights", "idf", "-M", "128"],
        )
    )
    is_durable = maker.chance.random() < 0.7
    if not is_durable:
        options = [*options, "--synchronous", "normal"]
    job = command("ingest", "--db", STORE, *options, str(source))
    states: list[Texts | None] = [None, {}, *prefixes(None, pages, sizes["batch"])]
    step = Step(job, states=states, is_durable=is_durable)
    return Program(f"ingest {options}", [step], samples=_samples(maker, pages), **sizes)


def more_ingest(maker: Maker) -> Program:
    """Ingests into a store, one after the other, each a process."""
    sizes = maker.batches()
    pages = maker.pages(40)
    documents = maker.base(pages)
    known, steps = documents, []
    for number in range(maker.chance.randint(1, 3)):
        more = maker.pages(30, maker.chance.choice(("page", f"more{number}")))
        steps.append(_ingest(maker, known, more, sizes["batch"], f"{number}.jsonl"))
        known = {**known, **dict(more)}
    return Program("more ingests", steps, documents, samples=_samples(maker, pages), **sizes)


def skipping_ingest(maker: Maker) -> Program:
    """An ingest that stores no duplicates: which these are, is asked of the package."""
    sizes = maker.batches()
    batch = sizes["batch"]
    pages = maker.pages(30)
    documents = maker.base(pages)
    more = maker.pages(50, "more", repeats=False)
    given = more + pages[:7]
    states = _states_of_skipping(maker, documents, given, batch)
    if states is None:
        given = more
        states = _states_of_skipping(maker, documents, given, batch)
    assert states is not None
    source = maker.source(given)
    job = command("ingest", "--db", STORE, "--on-duplicate", "skip", str(source))
    step = Step(job, states=states)
    return Program("ingest that skips", [step], documents, samples=_samples(maker, pages), **sizes)


def _states_of_skipping(
    maker: Maker, documents: Texts, given: Pages, batch: int
) -> list[Texts] | None:
    """Return the states of an ingest; None: it leaves orphans, which a second one would store."""
    asked = maker.aside / "asked.db"
    _copy_whole(maker.folder / STORE, asked)
    states: list[Texts] = [documents]
    with Store.open(asked) as store:
        for start in range(0, len(given), batch):
            store.add_many(given[start : start + batch], on_duplicate="skip")
            states.append({one.key: one.text for one in store.list(with_text=True)})
        return None if any(store.duplicates.list(state="orphaned")) else states


def _copy_whole(path: Path, target: Path) -> None:
    for suffix in ("", "-wal"):
        if path.with_name(path.name + suffix).exists():
            shutil.copy(path.with_name(path.name + suffix), target.with_name(target.name + suffix))


def added(maker: Maker) -> Program:
    """A life by the Python API: every call that has returned is durable."""
    sizes = maker.batches()
    pages = maker.pages(30, repeats=False)
    documents: dict[str, str] = dict(maker.base(pages))  # type: ignore[arg-type]
    steps: list[list[Any]] = []
    states: list[Texts] = [dict(documents)]
    marks = {}
    for number in range(maker.chance.randint(3, 8)):
        verb = maker.chance.choice(("add", "add", "add", "remove", "cluster", "compact"))
        if verb == "add":
            more = maker.pages(12, maker.chance.choice(("page", f"add{number}")), repeats=False)
            given = [(key, text, (100 + number) * DAY) for key, text in more]
            steps.append([verb, {"given": given, "mode": maker.chance.choice(("keep", "flag"))}])
            for start in range(0, len(more), 2):
                documents |= more[start : start + 2]
                states.append(dict(documents))
        elif verb == "remove":
            keys = maker.chance.sample(sorted(documents), min(3, len(documents)))
            steps.append([verb, {"keys": keys}])
            for key in keys:
                del documents[key]
            states.append(dict(documents))
        else:
            steps.append([verb, {}])
        marks[str(len(steps))] = len(states) - 1
    # Batches of three: a removal is one transaction.
    sizes["batch"] = 3
    job = Job("live", {"place": STORE, "steps": steps})
    return Program(
        "a life by the API",
        [Step(job, states=states, marks=marks)],
        documents=states[0],
        samples=_samples(maker, pages),
        **sizes,
    )


def removal(maker: Maker) -> Program:
    """Documents are removed, and others expire."""
    sizes = maker.batches()
    batch = sizes["batch"]
    pages = maker.pages(50, repeats=False)
    documents = maker.base(pages)
    chosen = maker.chance.sample(pages, maker.chance.randint(1, len(pages) // 2))
    # In the order of ingest they go, whatever the order in which they are named.
    gone = [key for key, _ in pages if key in dict(chosen)]
    states = [
        {key: text for key, text in documents.items() if key not in gone[:end]}
        for end in (0, *range(batch, len(gone), batch), len(gone))
    ]
    words = ("remove", "--db", STORE)
    named = maker.chance.sample(gone, len(gone))
    steps = [
        Step(command(*words, *named), [command(*words, "--ignore-missing", *named)], states),
    ]
    left = dict(states[-1])
    day = maker.chance.randint(0, len(pages))
    old = [key for number, (key, _) in enumerate(pages) if number < day and key in left]
    expired = [
        {key: text for key, text in left.items() if key not in old[:end]}
        for end in (0, *range(2, len(old), 2), len(old))
    ]
    since = _date(day)
    job = command("expire", "--db", STORE, "--not-seen-since", since, "--yes", "--batch", "2")
    steps.append(Step(job, states=expired))
    steps.append(Step(command("compact", "--db", STORE)))
    return Program("removals", steps, documents, samples=_samples(maker, pages), **sizes)


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def upkeep(maker: Maker) -> Program:
    """Commands that change nothing of the documents, in any order."""
    sizes = maker.batches()
    pages = maker.pages(40)
    documents = maker.base(pages)
    chance = maker.chance
    steps = []
    done = (0, 4)
    target = ["--scheme", chance.choice(("simtool", "web")), "-M", chance.choice(("64", "128"))]
    known = {
        "clusters": [["clusters", "--min-resemblance", "0.6", "--rebuild"]],
        "passages": [["passages", "build"]],
        "compact": [["compact"]],
        "plain": [["compact", "--plain"]],
        "bands": [["compact", "--bands", "21x6"]],
        "refresh": [["vocabulary", "refresh", "--anyway"]],
        # Where none is under way, none was begun or it is over.
        "reindex": [["reindex", *target], ["reindex", "--resume"], ["reindex", *target]],
        "token": [["token", "add", "crawler", "--expires", "never"]] * 2,
    }
    for name in chance.sample(list(known), chance.randint(1, 3)):
        first, *again = known[name]
        jobs = [command(*words, "--db", STORE, codes=done) for words in again]
        steps.append(Step(command(*first, "--db", STORE), jobs))
    titles = ", ".join(step.first.arguments["words"][0] for step in steps)
    return Program(f"upkeep: {titles}", steps, documents, samples=_samples(maker, pages), **sizes)


def by_value(maker: Maker) -> Program:
    """Fingerprints come and go by their values, in transactions of a few."""
    sizes = maker.batches()
    chance = maker.chance
    Store.create(maker.folder / STORE, fingerprints_only=True, bits=64).close()
    known: dict[str, None] = {}
    steps = []
    for _ in range(chance.randint(2, 5)):
        verb = "remove" if known and chance.random() < 0.3 else "add"
        # Some are there already, some are near to others.
        near = [int(one) ^ 1 << chance.randrange(64) for one in list(known)[:20]]
        values = [chance.getrandbits(64) for _ in range(chance.randint(5, 60))] + near
        if verb == "remove":
            values = [int(one) for one in chance.sample(list(known), len(known) // 2)]
        chance.shuffle(values)
        states: list[Texts] = [dict(known)]
        marks = {}
        for start in range(0, len(values), 4 * sizes["batch"]):
            part = values[start : start + 4 * sizes["batch"]]
            for value in part:
                if verb == "add":
                    known[str(value)] = None
                else:
                    known.pop(str(value), None)
            states.append(dict(known))
            marks[str(start + len(part))] = len(states) - 1
        job = Job("by_value", {"place": STORE, "verb": verb, "values": values})
        steps.append(Step(job, states=states, marks=marks))
    return Program("fingerprints", steps, {}, **sizes)


def upgrade(maker: Maker) -> Program:
    """A store is brought to the schema of a later simstore."""
    second_migration.write(maker.folder)
    documents = maker.base(maker.pages())
    job = command("upgrade", "--db", STORE)
    step = Step(job, output=(f"{STORE}.0001.backup", documents), output_first=True)
    pages = maker.chance.choice((None, 10, 40))
    return Program("upgrade", [step], documents, log_pages=pages)


def copies(maker: Maker) -> Program:
    """Backups, some in the place of older ones, and new stores."""
    sizes = maker.batches()
    pages = maker.pages(40)
    documents = maker.base(pages)
    outputs: dict[str, Texts] = {}
    chance = maker.chance
    steps = []
    kinds = chance.sample(("backup", "over", "init"), chance.randint(1, 3))
    for kind in kinds:
        name = maker.place(f"{kind}.db")
        if kind == "backup":
            first = command("backup", "--db", STORE, name)
            again = command("backup", "--db", STORE, name, "--force")
            steps.append(Step(first, [again], output=(name, documents)))
        elif kind == "over":
            outputs[name] = maker.base(maker.pages(20, "older"), name)
            first = command("backup", "--db", STORE, name, "--force")
            steps.append(Step(first, output=(name, documents)))
        else:
            first = command("init", "--db", name, "-M", "100")
            again = command("init", "--db", name, "-M", "100", codes=(0, 4))
            steps.append(Step(first, [again], output=(name, {})))
    titles = ", ".join(kinds)
    return Program(f"copies: {titles}", steps, documents, outputs, **sizes)


def exports(maker: Maker) -> Program:
    """Files that are written from a store, some in the place of older ones."""
    pages = maker.pages(40)
    documents = maker.base(pages)
    chance = maker.chance
    steps: list[Step] = []
    outputs: dict[str, Texts] = {}
    for number in range(chance.randint(1, 4)):
        name = maker.place(f"{number}{chance.choice(('.jsonl', '.jsonl.gz', '.filter'))}")
        words = ["export", "--db", STORE, "--force"]
        words += ["--known-keys" if name.endswith(".filter") else "-o", name]
        if name.endswith(".jsonl"):
            if chance.random() < 0.5:
                outputs[name] = {"older": "An older export."}
                (maker.folder / name).write_text('{"key": "older", "text": "An older export."}\n')
            if chance.random() < 0.5:
                words += ["--unique", "--log", f"{name}.log.jsonl"]
        steps.append(Step(command(*words), output=(name, {})))
    # Answers are written down with their query, and the report of the last is a file.
    source = maker.source(_samples(maker, pages), "samples.jsonl")
    steps.append(Step(command("query", "--db", STORE, "--radius", "6", str(source))))
    name = maker.place("result.txt")
    job = command("report", "--db", STORE, "--force", "-o", name)
    steps.append(Step(job, output=(name, {})))
    return Program("exports", steps, documents, outputs)


def _samples(maker: Maker, pages: Pages) -> Pages:
    return corpora.samples(maker.seed, pages, 6)


PROGRAMS: Sequence[Callable[[Maker], Program]] = (
    first_ingest,
    copies,
    more_ingest,
    removal,
    upkeep,
    exports,
    added,
    upgrade,
    first_ingest_by_command,
    skipping_ingest,
    upkeep,
    by_value,
)
