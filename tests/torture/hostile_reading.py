"""Files that are hostile, through the commands that read: what came in is stored or told."""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from forked import Finished, Nursery

from . import hostile_packing as packing
from . import hostile_records as records
from .hostile_texts import Hostile

# A command that needs more has taken a file's word for something.
MOST_MEMORY = 1_500_000_000
_DONE, _BAD_INPUT, _INTERNAL, _STORAGE = 0, 5, 1, 6
_SUMMARY = re.compile(
    r"^([\d,]+) added, ([\d,]+) updated, ([\d,]+) unchanged, .*?([\d,]+) rejected"
)
_PASSED_OVER = re.compile(r"^(.*?)(?:: .*)?: passed over, ", re.MULTILINE)
# How files are read whose endings say so, packed or not.
_FORMS = {
    f"{ending}{packing_ending}": form
    for ending, form in (
        ("jsonl", "jsonl"), ("ndjson", "jsonl"), ("csv", "csv"), ("warc", "warc"), ("wet", "warc"),
        ("html", "html"), ("parquet", "parquet"), ("arrow", "arrow"), ("docx", "docx"),
    )
    for packing_ending in ("", ".gz", ".bz2", ".xz", ".zst")
}  # fmt: skip
_Maker = Callable[[Random, str], Hostile]
_PLAIN: tuple[tuple[str, _Maker], ...] = (
    ("{}.jsonl", records.json_lines),
    ("{}.ndjson", records.json_lines),
    ("{}.csv", records.table),
    ("{}.tsv", records.table),
    ("article{}.txt", records.article_file),
    ("{}.txt", records.lines_of_text),
    ("{}.md", records.markdown),
    ("{}.warc", records.web_archive),
    ("{}.wet", records.web_archive),
)
_ISOLATED: tuple[tuple[str, _Maker], ...] = (
    ("{}.docx", packing.word_document),
    ("{}.pdf", packing.pdf),
    ("{}.parquet", packing.columns),
    ("{}.arrow", packing.columns),
)


def files(chance: Random) -> Iterator[Hostile]:
    """Yield hostile files, each of another name, without end."""
    kinds = [*_PLAIN, ("{}.html", records.page)]
    number = 0

    def member() -> Hostile:
        nonlocal number
        number += 1
        name, make = chance.choice(kinds)
        return make(chance, name.format(f"f{number}"))

    while True:
        kind = chance.random()
        if kind < 0.5:
            made = member()
            if chance.random() < 0.5:
                packing.packed(chance, made)
            yield made
        elif kind < 0.62:
            number += 1
            name, make = chance.choice(_ISOLATED)
            yield make(chance, name.format(f"f{number}"))
        elif kind < 0.995:
            inner = [member() for _ in range(chance.randrange(5))]
            for one in inner:
                if chance.random() < 0.2:
                    packing.packed(chance, one)
            number += 1
            if kind < 0.8:
                yield packing.zip_of(chance, f"f{number}.zip", inner)
            else:
                made = packing.tar_of(chance, f"f{number}.tar", inner)
                if chance.random() < 0.4:
                    packing.packed(chance, made)
                yield made
        elif kind < 0.998:
            number += 1
            yield packing.bomb(chance, f"f{number}.jsonl")
        else:
            number += 1
            yield packing.zip_of_overlapping_members(f"f{number}.zip")


@dataclass
class Told:
    """What a store holds and says of the files that were ingested into it.

    Attributes:
        texts: Of documents, by key.
        sources: Of documents, by key.
        rejected: Reasons of rejections, by source.
        passed_over: Names of what was passed over.
    """

    texts: dict[str, str]
    sources: dict[str, str]
    rejected: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    passed_over: set[str] = field(default_factory=set)


class Reading:
    """Ingests files, and asks with them, by commands in processes of their own.

    Args:
        nursery: Makes the processes.
        folder: Where all of it happens.
    """

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self._nursery = nursery
        self._folder = folder

    def round(self, chance: Random, size: int) -> int:
        """Ingest so many files, and judge; ask with them; return how many inputs that were."""
        made: list[Hostile] = []
        for one in files(chance):
            made.append(one)
            (self._folder / one.name).write_bytes(one.data)
            if len(made) == size:
                break
        names = [one.name for one in made]
        self.command("init", codes=(_DONE,))
        passages = chance.random() < 0.3
        more = ["--passages"] if passages else []
        done = self.command("ingest", "-v", *more, *names)
        told = self._told(done)
        problems = [problem for one in made for problem in judged(one, told, done)]
        problems += self._counted(done, told, any(one.repeats for one in made))
        if chance.random() < 0.4:
            # Once more: nothing is new.
            again = self.command("ingest", "-v", "--from-start", *names)
            if again.code != done.code:
                problems.append(f"read again it ends with {again.code}, not {done.code}")
            after = self._told(again)
            if after.texts != told.texts:
                problems.append(f"read again it is other: {_difference(told.texts, after.texts)}")
        inputs = sum(1 + one.member_count for one in made)
        for one in chance.sample(made, min(3, size)):
            inputs += 1
            if passages and chance.random() < 0.5:
                self.command("check", "--format", "jsonl", one.name)
            elif chance.random() < 0.3:
                other = chance.choice(names)
                form = chance.choice(("text", "auto"))
                self.command("compare", "--as", form, one.name, other, codes=(0, 2, 3, 5))
            else:
                problems += self._asked_with(one)
        problems += self._grown(chance, made)
        problems += self._piped(chance.choice(made), told)
        inputs += 2
        self.command("fsck", codes=(_DONE,))
        if problems:
            told_by_it = done.errors[-6_000:]
            raise AssertionError(
                "\n".join(problems) + f"\n\ningest -v in {self._folder} said:\n{told_by_it}"
                + "\n" + problems[0]
            )  # fmt: skip
        return inputs

    def _asked_with(self, one: Hostile) -> Iterator[str]:
        """Yield which documents of a file are not asked with."""
        done = self.command("query", "--format", "jsonl", "--limit", "3", one.name)
        samples = {json.loads(line)["sample"] for line in done.out.split(b"\n") if line}
        for key in one.sure:
            if key not in samples:
                yield f"query {one.name} ({one.story[:1_500]}): there is no sample {key!r}"
                return

    def _grown(self, chance: Random, made: list[Hostile]) -> Iterator[str]:
        """Let a file grow, and yield what of it is not stored then."""
        growing = [one for one in made if one.grows and one.is_wrong is False]
        if not growing:
            return
        one = chance.choice(growing)
        more, known = one.grows(chance, f"{one.name}#more")
        with (self._folder / one.name).open("ab") as file:
            file.write(more)
        done = self.command("ingest", "-v", one.name)
        # The last record of before may be another with what follows it.
        if done.code != _DONE:
            yield f"{one.name} ({one.story}) grown by {more[:300]!r}: {done.errors[-1_000:]}"
            return
        texts = self._told(done).texts
        for key, text in {**one.sure, **known}.items():
            if texts.get(key) != text:
                yield (
                    f"{one.name} ({one.story}) grown by {more[:300]!r}: {key!r} should have "
                    f"the text {text!r}, has {texts.get(key)!r}"
                )
                return

    def _piped(self, one: Hostile, told: Told) -> Iterator[str]:
        """Yield what a pipe gives otherwise than the file did."""
        form = _FORMS.get(one.name.partition(".")[2])
        if form is None or one.name.startswith("article"):
            self.command("ingest", "--db", "piped.db", "-", stdin=one.data)
            return
        done = self.command("ingest", "--db", "piped.db", "--as", form, "-", stdin=one.data)
        found = _SUMMARY.search(done.text)
        rejected = int(found[4].replace(",", "")) if found else None
        if rejected != len(told.rejected.get(one.name, ())):
            yield (
                f"{one.name} ({one.story}): {told.rejected.get(one.name)} of the file are "
                f"rejected, {rejected} of the pipe: {done.errors[-1_000:]}"
            )
        texts = self._told(done, "--db", "piped.db").texts
        for key, text in one.sure.items():
            if texts.get(key) != text and key != one.name:
                yield f"{one.name} ({one.story}) by a pipe: {key!r} has {texts.get(key)!r}"
                return

    def command(self, *words: str, codes: tuple[int, ...] = (0, 5), stdin: bytes = b"") -> Finished:
        """Run a command; check how it ends."""
        done = self._nursery.simstore(self._folder, *words, stdin=stdin)
        line = shlex.join(["simstore", *words])
        if done.code not in codes:
            raise AssertionError(
                f"{done.errors[-3_000:]}\n{line} (in {self._folder}) ends with {done.code}"
            )
        if b"Traceback" in done.err:
            raise AssertionError(f"{done.errors[-3_000:]}\n{line} tells a traceback")
        if done.rss_bytes > MOST_MEMORY:
            raise AssertionError(f"{line} took {done.rss_bytes:,} bytes of memory")
        return done

    def _told(self, done: Finished, *place: str) -> Told:
        exported = self.command("export", *place, codes=(_DONE,)).out
        documents = [json.loads(line) for line in exported.split(b"\n") if line]
        told = Told(
            {_key(one): one.get("text", "") for one in documents},
            {_key(one): one.get("source") or "" for one in documents},
        )
        asked = ["rejects", "--format", "jsonl", *place]
        listed = self.command(*asked, codes=(_DONE,)).out
        for line in listed.split(b"\n"):
            if line:
                facts: dict[str, Any] = json.loads(line)
                told.rejected[facts["source"]].append(facts["reason"])
        told.passed_over = set(_PASSED_OVER.findall(done.errors))
        return told

    def _counted(self, done: Finished, told: Told, repeats: bool) -> Iterator[str]:
        """Yield where what a command counts is not what the store holds."""
        found = _SUMMARY.search(done.text)
        if found is None:
            yield f"no summary in {done.text!r}"
            return
        added, _, _, rejected = (int(group.replace(",", "")) for group in found.groups())
        if added != len(told.texts):
            yield f"{added} added are told, {len(told.texts)} are stored"
        listed = sum(map(len, told.rejected.values()))
        if rejected != listed and not (repeats and rejected > listed):
            yield f"{rejected} rejected are told, {listed} are listed"
        if (rejected > 0) != (done.code == _BAD_INPUT):
            yield f"{rejected} rejected, and exit code {done.code}"


def judged(one: Hostile, told: Told, done: Finished) -> Iterator[str]:
    """Yield what is wrong with what became of a file."""
    inside = f"{one.name}!/"
    reasons = [
        reason
        for source, found in told.rejected.items()
        if source == one.name or source.startswith(inside)
        for reason in found
    ]
    stored = {
        key: text
        for key, text in told.texts.items()
        if told.sources[key] == one.name or told.sources[key].startswith(inside)
    }
    known = f"{one.name} ({one.story[:1_500]})"
    for key, text in one.sure.items():
        if stored.get(key) != text:
            yield f"{known}: {key!r} should have the text {text!r}, has {stored.get(key)!r}"
            return
    if not reasons:
        for key, text in one.rest.items():
            if stored.get(key) != text:
                yield (
                    f"{known}: nothing of it was rejected, and {key!r} has not the text "
                    f"{text[:300]!r}, but {str(stored.get(key))[:300]!r}"
                )
                return
    if one.count is not None and len(stored) + len(reasons) != one.count:
        yield (
            f"{known}: {one.count} records became {len(stored)} documents and "
            f"{len(reasons)} rejections: {reasons}; {sorted(stored)}"
        )
    if one.is_wrong and not reasons:
        yield f"{known}: nothing of it was rejected"
    if one.is_wrong is False and reasons:
        yield f"{known}: something was rejected: {reasons}"


def _key(record: dict[str, Any]) -> str:
    return str(record.get("key", record.get("key_base64")))


def _difference(before: dict[str, str], after: dict[str, str]) -> str:
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return repr([(key, before.get(key), after.get(key)) for key in keys[:3]])[:600]
