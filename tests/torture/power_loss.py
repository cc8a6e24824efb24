"""Loss of power: what any instant of a program may leave on a disk, and what can be made of it.

Programs are recorded while they write; images of the disk are made from the log, as a loss of power
might have left it, at instants that are chosen by chance: most of them right after something was
acknowledged, before a sync, or after a change of names. Each image is opened, checked, and compared
with what was acknowledged; then the program goes on, and must end as if nothing had happened.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from forked import Nursery

from .campaign import Campaign
from .disk import MEMORY, Disk
from .faults import cannot_build
from .power_programs import Maker, Program, program
from .power_steps import (
    STORE,
    Expected,
    Job,
    Texts,
    check_image,
    contents,
    described,
    difference,
    expected,
)
from .record import Event, append_mark, build, events

# Distinct images of a program.
IMAGES = 10
# Kinds of events after which power is lost oftener than after others, and how much.
_TELLING = {"mark": 12, "rename": 8, "unlink": 5, "create": 3, "sync": 3, "sync folder": 5}
# Events before a sync have most that can be lost.
_BEFORE_SYNC = 4


@dataclass(frozen=True)
class Image:
    """What is left of a folder.

    Attributes:
        at: How many events of the log came before the loss of power.
        said: Marks until then, each with the number of its step.
        files: Content of each file.
    """

    at: int
    said: tuple[tuple[int, str], ...]
    files: Mapping[str, bytes]

    @property
    def digest(self) -> bytes:
        """A digest of all of it but the instant."""
        found = hashlib.sha256(repr(self.said).encode())
        for name, content in sorted(self.files.items()):
            found.update(f"{name} {len(content)} ".encode() + content)
        return found.digest()

    def write(self, folder: Path) -> None:
        """Make a folder of it."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


class PowerLoss(Campaign):
    """Programs whose disk loses power at any instant."""

    title = "loss of power"
    unit = "images"
    slice_rounds = 5
    full_cases = 1_000

    def __enter__(self) -> Self:
        self._nursery: Nursery | None = None
        if cannot_build() is None:
            self._library = build(self.place.folder)
            self._nursery = Nursery({"LD_PRELOAD": str(self._library)})
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._nursery is not None:
            self._nursery.close()

    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        """Record a program, and check images of its disk."""
        if self._nursery is None:
            return {self.unit: 0, f"skipped: {cannot_build()}": 1}
        chance = random.Random(seed)
        before, aside = folder / "before", folder / "aside"
        before.mkdir()
        aside.mkdir()
        made = program(Maker(seed, chance, before, aside))
        clean = Path(shutil.copytree(before, folder / "clean"))
        for step in made.steps:
            self.run(step.first, clean, made)
        made = _by_clean_run(made, before, clean)
        disk = Path(shutil.copytree(before, folder / "disk"))
        model = Disk(disk)
        history = self.record(made, disk, folder / "log")
        images = images_of(history, model, chance)
        for number, image in enumerate(images):
            try:
                self.check(made, image, clean, folder / "image")
            except Exception as error:
                image.write(folder / "left")
                raise AssertionError(
                    f"{made.title}: image {number}, power lost after {image.at} of "
                    f"{len(history)} events; said {list(image.said)[-4:]}; last "
                    f"{_told(history[max(0, image.at - 6) : image.at])}; files "
                    f"{ {name: len(data) for name, data in image.files.items()} }: {error}"
                ) from error
        return {self.unit: len(images), "programs": 1, "events": len(history)}

    def run(self, job: Job, folder: Path, made: Program, **options: str) -> None:
        """Do a job to its end.

        Raises:
            AssertionError: It ends otherwise than it should.
        """
        assert self._nursery is not None
        done = self._nursery.run(
            "recorded",
            folder,
            work=job.name,
            arguments=dict(job.arguments),
            batch=made.batch,
            log_pages=made.log_pages,
            **options,
        )
        assert done.code in job.codes, (job, done.code, done.errors, done.text)
        assert "Traceback" not in done.errors, (job, done.errors)

    def record(self, made: Program, folder: Path, log: Path) -> list[Event]:
        """Run a program; return what it did to a folder and said."""
        whole = Disk(folder)
        for number, step in enumerate(made.steps):
            append_mark(log, f"step {number}")
            self.run(
                step.first,
                folder,
                made,
                library=str(self._library),
                folder_recorded=os.path.realpath(folder),
                log=str(log),
            )
        history = events(log)
        for event in history:
            whole.apply(event)
        there = {
            path.name: path.read_bytes()
            for path in sorted(folder.iterdir())
            if not path.name.endswith(MEMORY)
        }
        assert whole.contents == there, "the log does not tell all that was done"
        return history

    def check(self, made: Program, image: Image, clean: Path, folder: Path) -> None:
        """Check what is left, go on with the program, and check what it ends with.

        Args:
            made: The program.
            image: What is left.
            clean: The folder of the same program without a loss of power.
            folder: Where to work.
        """
        image.write(folder)
        check_image(folder, expected(made.documents, made.outputs, made.steps, image.said))
        step = image.said[-1][0] if image.said else 0
        marks = [text for number, text in image.said if number == step]
        for job in made.steps[step].once_more(marks):
            self.run(job, folder, made)
        for later in made.steps[step + 1 :]:
            self.run(later.first, folder, made)
        done = [(number, text) for number in range(len(made.steps)) for text in ("begin", "exit 0")]
        check_image(folder, expected(made.documents, made.outputs, made.steps, done))
        names = sorted(path.name for path in folder.iterdir())
        wanted = sorted(path.name for path in clean.iterdir())
        assert names == wanted, f"there are {names} in the end, and not {wanted}"
        found, right = (described(one / STORE, made.samples) for one in (folder, clean))
        assert found == right, f"in the end: {difference(found, right)}"


def images_of(history: Sequence[Event], disk: Disk, chance: random.Random) -> list[Image]:
    """Return what a loss of power may leave, all different.

    Args:
        history: What a program did.
        disk: As it was before; all of it will have been done to it.
        chance: Chooses.
    """
    weights = [1.0] * (len(history) + 1)
    for at, event in enumerate(history):
        weights[at + 1] += _TELLING.get(event.kind, 0)
        if event.kind.startswith("sync"):
            weights[at] += _BEFORE_SYNC
    instants = Counter(chance.choices(range(len(weights)), weights, k=3 * IMAGES))
    found: dict[bytes, Image] = {}
    said: list[tuple[int, str]] = []
    for at in range(len(history) + 1):
        for _ in range(instants[at]):
            files = disk.after_cut(chance)
            if f"{STORE}-wal" in files and chance.random() < 0.3:
                # Nothing may be read from it.
                size = chance.choice((0, 3, 512, 32_768))
                files[STORE + MEMORY] = chance.choice((bytes(size), chance.randbytes(size)))
            image = Image(at, tuple(said), files)
            found.setdefault(image.digest, image)
        if at < len(history):
            disk.apply(history[at])
            _hear(history[at], said)
    return chance.sample(list(found.values()), min(IMAGES, len(found)))


def _hear(event: Event, said: list[tuple[int, str]]) -> None:
    """Note what a mark says, with its step."""
    if event.kind != "mark":
        return
    if event.text.startswith("step "):
        said.append((int(event.text.removeprefix("step ")), "begin"))
    else:
        said.append((said[-1][0], event.text))


def _by_clean_run(made: Program, before: Path, clean: Path) -> Program:
    """Return a program with what only a run of it can tell: what upgrades and exports leave."""
    if made.is_upgrade:
        older, newer = contents(before / STORE), contents(clean / STORE)
        step = made.steps[0]
        assert step.output is not None
        step = replace(step, states=[older, newer], output=(step.output[0], older))
        return replace(made, documents=older, steps=[step])
    steps = [
        replace(step, output=(step.output[0], contents(clean / step.output[0])))
        if step.output is not None and not step.output[0].endswith(".db")
        else step
        for step in made.steps
    ]
    return replace(made, steps=steps)


def _told(history: Sequence[Event]) -> list[str]:
    return [" ".join((event.kind, *event.paths, event.text[:40])) for event in history]
