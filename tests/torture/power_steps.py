"""What is done to a store before, while and after power is lost, and what may be there then."""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import second_migration
from e2e.states import state_of

from simstore import Store
from simstore.errors import SimstoreError

STORE = "store.db"
Texts = Mapping[str, str | None]


@dataclass(frozen=True)
class Job:
    """A function of jobs.py and its arguments.

    Attributes:
        name: The function.
        arguments: Its arguments.
        codes: How it may end, as exit codes.
    """

    name: str
    arguments: Mapping[str, Any]
    codes: tuple[int, ...] = (0,)


def command(*words: str, codes: tuple[int, ...] = (0,)) -> Job:
    """Return the job of a command line."""
    return Job("simstore", {"words": list(words)}, codes)


@dataclass(frozen=True)
class Step:
    """One command, or use of the Python API.

    Attributes:
        first: How it is done.
        again: How it is done once more after a loss of power, one after the other; none: in the
            same way.
        states: The documents of the store after each of its transactions, in order, the first
            before it; None: it changes none.
        marks: For each mark that it makes while it runs, how many of ``states`` are sure not to
            come back: the number of the state that is acknowledged.
        output: A file that it makes, and the documents in it; None: none.
        output_first: The store is upgraded when the file is whole, and not before.
        is_durable: What it has done cannot be lost any more; else all of it can, and what is
            left is sound.
    """

    first: Job
    again: Sequence[Job] = ()
    states: Sequence[Texts | None] | None = None
    marks: Mapping[str, int] = field(default_factory=dict)
    output: tuple[str, Texts] | None = None
    is_durable: bool = True
    output_first: bool = False

    def once_more(self, marks: Sequence[str]) -> Sequence[Job]:
        """Return how it is done once more, by what it had told until power was lost."""
        if self.first.name == "live":
            # What was told is done: the caller goes on behind it.
            start = max((int(mark) for mark in marks if mark.isdigit()), default=0)
            return [replace(self.first, arguments={**self.first.arguments, "start": start})]
        return self.again or [self.first]


@dataclass(frozen=True)
class Expected:
    """What may be there.

    Attributes:
        documents: States of the store, any of which may be there; None: no store.
        outputs: For each file beside the store, what may be in it; None: there is no file.
        first: Names of files that are there, if the store holds the last of its states.
    """

    documents: Sequence[Texts | None]
    outputs: Mapping[str, Sequence[Texts | None]]
    first: Sequence[str] = ()


def expected(
    before: Texts | None,
    outputs: Mapping[str, Texts],
    steps: Sequence[Step],
    said: Sequence[tuple[int, str]],
) -> Expected:
    """Return what may be there after some of the steps.

    Args:
        before: The documents of the store before them; None: there was no store.
        outputs: Of the files beside it, the documents in each.
        steps: The steps.
        said: The marks until power was lost, each with the number of its step. ``begin``: the step
            begins; ``exit 0``: it is done.
    """
    known: Sequence[Texts | None] = [before]
    beside: dict[str, Sequence[Texts | None]] = {name: [one] for name, one in outputs.items()}
    first: list[str] = []
    for number, text in said:
        step = steps[number]
        if text == "begin":
            if step.states is not None:
                known = step.states
            if step.output is not None:
                name, content = step.output
                beside[name] = [*beside.get(name, [None]), content]
                first += [name] if step.output_first else []
        elif text.startswith("exit "):
            if int(text.removeprefix("exit ")) not in step.first.codes:
                raise AssertionError(f"step {number} ended with {text}: {step.first}")
            if step.is_durable:
                known = known[-1:]
            if step.output is not None:
                beside[step.output[0]] = [step.output[1]]
        elif text in step.marks and step.states is not None:
            known = step.states[step.marks[text] :]
    return Expected(known, beside, first)


def check_image(folder: Path, wanted: Expected) -> None:
    """Check all files of a folder by what may be there.

    Raises:
        AssertionError: Something is lost, half there, or not sound.
    """
    check_documents(folder / STORE, wanted.documents)
    for name in wanted.first:
        is_upgraded = second_migration.is_upgraded(folder / STORE)
        assert not is_upgraded or (folder / name).exists(), f"{name} is not there yet"
    for name, allowed in wanted.outputs.items():
        path = folder / name
        if is_store(path):
            check_documents(path, allowed)
        elif path.exists():
            found = exported(path)
            assert found in allowed, f"{name} holds {_differs(found, allowed)}"
        else:
            assert None in allowed, f"{name} is gone"


def check_documents(path: Path, states: Sequence[Texts | None]) -> None:
    """Check that a store is sound and holds one of some states."""
    try:
        found = documents(path)
    except SimstoreError as error:
        if None in states:
            return
        raise AssertionError(f"{path.name}: {error}") from error
    assert found in states, f"{path.name} holds {_differs(found, states)}"
    with closing(sqlite3.connect(path)) as connection:
        told = connection.execute("PRAGMA integrity_check").fetchall()
        assert told == [("ok",)], f"{path.name}: {told[:5]}"


def is_store(path: Path) -> bool:
    """Whether a file is a store, by its name."""
    return path.suffix in (".db", ".backup")


def contents(path: Path) -> Texts:
    """Return the documents of a store or an exported file."""
    return documents(path) if is_store(path) else exported(path)


def is_by_value(store: Store) -> bool:
    """Whether a store holds fingerprints alone."""
    return store.maintenance.scheme().name == "given"


def documents(path: Path) -> Texts:
    """Return the texts of a store by their keys; it is checked by ``fsck``.

    Of a store of fingerprints alone: the fingerprints, in decimal, and no texts.
    """
    with second_migration.opened(path) as store:
        findings = store.maintenance.fsck()
        assert findings == [], f"{path.name}: {findings}"
        if is_by_value(store):
            with store.fingerprints.reader() as reader:
                return {
                    str(int(value)): None
                    for part in reader.fingerprints()
                    for value in part.ravel()
                }
        kept = store.stats().text_kept
        return {one.key: one.text for one in store.list(with_text=kept)}


def exported(path: Path) -> Texts:
    """Return the documents of an exported file."""
    data = path.read_bytes()
    if path.suffix in (".filter", ".txt"):
        return {"all of it": hashlib.sha256(data).hexdigest()}
    try:
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        records = [json.loads(line) for line in data.decode().splitlines()]
    except (EOFError, OSError, ValueError) as error:
        raise AssertionError(f"{path.name} cannot be read: {error!r}") from error
    return {record["key"]: record["text"] for record in records}


def described(path: Path, samples: list[tuple[str, str]]) -> dict[str, Any]:
    """Return all that two stores of the same history must agree in."""
    with second_migration.opened(path) as store:
        if is_by_value(store):
            return {"scheme": store.maintenance.scheme().record(), "documents": len(store)}
        passages = store.passages.status(sizes=False)
        clusters = None
        if store.clusters.status() is not None:
            clusters = sorted(
                (one.key, tuple((member.key, member.resemblance) for member in one.members))
                for one in store.clusters.list(min_size=1)
            )
        found = {
            "duplicates": sorted(
                (one.key, one.state, one.original, one.resemblance)
                for one in store.duplicates.list()
            ),
            "clusters": clusters,
            "passages": passages and (passages.cut, passages.complete, passages.document_count),
            "tokens": sorted((one.name, one.scope) for one in store.tokens.list()),
            "is_upgraded": second_migration.is_upgraded(path),
        }
        return found | {"state": state_of(path, samples)}


def difference(found: Mapping[str, Any], clean: Mapping[str, Any]) -> str:
    """Tell where two descriptions differ."""
    for name, value in clean.items():
        if found[name] == value:
            continue
        if name != "state":
            return f"{name}: {found[name]!r:.500} and not {value!r:.500}"
        for part in ("documents", "rejects", "vocabulary", "scheme", "fresh", "answers"):
            one, other = getattr(found[name], part), getattr(value, part)
            if one != other:
                return f"{part}: {one!r:.700} and not {other!r:.700}"
    return "nothing"


def _differs(found: Texts, states: Sequence[Texts | None]) -> str:
    """Tell how documents differ from the states that may be, by the nearest of them."""

    def distance(state: Texts) -> int:
        return len(dict(found.items() ^ state.items()))

    known = [one for one in states if one is not None]
    if not known:
        return f"{len(found)} documents where there should be none"
    near = min(known, key=distance)
    lost = sorted(near.keys() - found.keys())
    more = sorted(found.keys() - near.keys())
    other = sorted(key for key in found.keys() & near.keys() if found[key] != near[key])
    return (
        f"{len(found)} documents, none of the {len(known)} states that may be; beside the nearest "
        f"of {len(near)}: lost {lost[:5]}, too many {more[:5]}, other texts {other[:5]}"
    )
