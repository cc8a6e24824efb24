"""Commands that write, next to files of others in the places of drafts, logs and journals."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from .campaign import Campaign
from .scenarios import make_templates

_JOURNALS = ("{}-wal", "{}-shm", "{}-journal")
# Names that drafts have, had, or that the drafts of others have: they are never in the way.
_NEAR = (
    ".{}.4194305.new", ".{}.new", ".{}.00000000-4194305-00000000.new", ".{}.sent", "{}.tmp",
    ".{}.4194305.new-journal", "{}.partial", "{}.lock",
)  # fmt: skip
_KINDS = ("file", "folder", "link to a file", "link to a folder", "link to nothing")


@dataclass(frozen=True)
class Writing:
    """A command that writes.

    Attributes:
        words: Its words.
        outputs: The names that it writes to.
        taken: Forms of names that it needs for itself, by the output.
        template: The folder that it begins with.
        code: Exit code if nothing is in the way.
    """

    words: Sequence[str]
    outputs: Sequence[str]
    taken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    template: str = "rich"
    code: int = 0


_DB = ("--db", "s.db")
_ROWS = ("--log", "log.jsonl", "--rejects", "rejects.jsonl")
_NEW_STORE = {"new.db": _JOURNALS}
COMMANDS = (
    Writing(("dedup", "rows.csv", "-o", "out.csv", *_ROWS), ("out.csv", "log.jsonl")),
    Writing(("dedup", "pages.jsonl", "-o", "out.jsonl", *_ROWS), ("out.jsonl", "rejects.jsonl"),
            code=5),
    Writing(("dedup", "rows.csv", "-o", "out.csv", *_DB), ("out.csv",)),
    Writing(("dedup", "folder", "-o", "texts/"), (), {"texts": ()}),
    Writing(("filter", "rows.csv", *_DB, "-o", "out.csv"), ("out.csv",)),
    Writing(("decontaminate", "rows.csv", "--against", "more.jsonl.gz", "-o", "out.csv"),
            ("out.csv",)),
    Writing(("export", *_DB, "-o", "all.jsonl"), ("all.jsonl",)),
    Writing(("export", *_DB, "--unique", "-o", "all.csv.gz", "--log", "log.jsonl"),
            ("all.csv.gz", "log.jsonl")),
    Writing(("export", *_DB, "--known-keys", "known.filter"), ("known.filter",)),
    Writing(("check", *_DB, "sample.txt", "-o", "check.html"), ("check.html",)),
    Writing(("backup", *_DB, "new.db"), ("new.db",), _NEW_STORE),
    Writing(("restore", "--db", "new.db", "s.db"), ("new.db",), _NEW_STORE),
    Writing(("init", "--db", "new.db"), ("new.db",), _NEW_STORE),
    Writing(("ingest", "--db", "new.db", "more.jsonl.gz"), (), _NEW_STORE),
    Writing(("backup", "--force", *_DB, "copy.db"), (), {"copy.db": ()}, template="two"),
)  # fmt: skip


class ForeignFiles(Campaign):
    """Each round runs one command twice: with files of others near by, and in its way.

    Files and links near by do not matter to it; one that is in its way is an error with exit code
    4. Neither the files nor what links lead to change, and the command leaves nothing else.
    """

    title = "files of others in the places of drafts, logs and journals"
    unit = "commands"
    slice_rounds = len(COMMANDS)
    full_cases = 1_000

    def __enter__(self) -> Self:
        self._shared = self.make_folder("foreign")
        make_templates(self._shared)
        self._nursery = self.make_nursery()
        return self

    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        """Run a command with and without something in its way."""
        chance = random.Random(seed)
        one = COMMANDS[seed % len(COMMANDS)]
        names = {*one.outputs, *one.taken}
        ways = [form.format(name) for name, forms in one.taken.items() for form in forms]
        blocked = [*ways, *one.outputs]
        for number, in_the_way in enumerate((None, chance.choice(blocked) if blocked else None)):
            place = folder / str(number)
            shutil.copytree(self._shared / one.template, place)
            outside = folder / f"outside-{number}"
            (outside / "folder").mkdir(parents=True)
            for path in (outside / "file", outside / "folder" / "thesis"):
                path.write_text("precious")
            planted = [form.format(name) for name in sorted(names) for form in _NEAR]
            for name in planted:
                _plant(place / name, chance.choice(_KINDS), outside)
            if in_the_way is not None:
                # A link to nothing is a name that an output may have.
                kinds = _KINDS[:1] if in_the_way in one.outputs else _KINDS
                _plant(place / in_the_way, chance.choice(kinds), outside)
                planted.append(in_the_way)
            before = {name: _held(place / name) for name in planted}
            names_before, held_outside = set(os.listdir(place)), _held(outside)
            done = self._nursery.simstore(place, *one.words)
            told = f"{' '.join(one.words)} with {in_the_way}: {done}"
            assert done.code == (one.code if in_the_way is None else 4), told
            assert "Traceback" not in done.errors, told
            for name, held in before.items():
                assert _held(place / name) == held, f"{name} was changed: {told}"
            assert _held(outside) == held_outside, f"a link was followed: {told}"
            left = set(os.listdir(place)) - names_before
            asked = set() if in_the_way else {*names, "log.jsonl", "rejects.jsonl"}
            allowed = asked | {f"s.db{end}" for end in ("-wal", "-shm")}
            allowed |= {form.format(name) for name in asked for form in _JOURNALS}
            assert left <= allowed, f"left {sorted(left - allowed)}: {told}"
        return {self.unit: 2}


def _plant(path: Path, kind: str, outside: Path) -> None:
    if kind == "file":
        path.write_text("precious")
    elif kind == "folder":
        path.mkdir()
        (path / "thesis").write_text("precious")
    else:
        target = {"link to a file": "file", "link to a folder": "folder"}.get(kind, "nothing")
        path.symlink_to(outside / target)


def _held(path: Path) -> Any:
    """Return what is at a path, without following links."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(path)
    if stat.S_ISDIR(status.st_mode):
        return status.st_mode, {name: _held(path / name) for name in sorted(os.listdir(path))}
    return status.st_mode, path.read_bytes()
