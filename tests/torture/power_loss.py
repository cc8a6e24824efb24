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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from forked import Nursery

from simstore import Store

from . import power_server
from .campaign import Campaign
from .disk import MEMORY, Disk, files_of
from .faults import cannot_build
from .power_programs import OUTPUTS, PROGRAMS, Maker, Program
from .power_server import Known, Senders
from .power_steps import (
    STORE,
    Job,
    check_image,
    contents,
    described,
    difference,
    expected,
)
from .record import Event, append_mark, build, events

# Distinct images of a program.
IMAGES = 10
# Share of these after which the program loses power once more, and images of it then.
_TWICE = 0.15
_IMAGES_TWICE = 2


@dataclass(frozen=True)
class Image:
    """What is left of a folder.

    Attributes:
        at: How many events of the log came before the loss of power.
        heard: How many of these were heard outside.
        files: Content of each file.
    """

    at: int
    heard: int
    files: Mapping[str, bytes]

    @property
    def digest(self) -> bytes:
        """A digest of all of it but the instant."""
        found = hashlib.sha256(str(self.heard).encode())
        for name, content in sorted(self.files.items()):
            found.update(f"{name} {len(content)} ".encode() + content)
        return found.digest()

    def write(self, folder: Path) -> None:
        """Make a folder of it."""
        shutil.rmtree(folder, ignore_errors=True)
        (folder / OUTPUTS).mkdir(parents=True)
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
            self._nursery = self.make_nursery({"LD_PRELOAD": str(self._library)})
        return self

    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        """Record a program, and check images of its disk."""
        if self._nursery is None:
            return {self.unit: 0, f"skipped: {cannot_build()}": 1}
        chance = random.Random(seed)
        for name in ("aside", f"before/{OUTPUTS}"):
            (folder / name).mkdir(parents=True)
        # The last kind is a server.
        if seed % (len(PROGRAMS) + 1) == len(PROGRAMS):
            return self.serve(chance, folder)
        made = PROGRAMS[seed % (len(PROGRAMS) + 1)](
            Maker(seed, chance, folder / "before", folder / "aside")
        )
        clean = Path(shutil.copytree(folder / "before", folder / "clean"))
        for step in made.steps:
            self.run(step.first, clean, made)
        made = _by_clean_run(made, clean)
        disk = Path(shutil.copytree(folder / "before", folder / "disk"))

        def record(log: Path) -> None:
            self.go_on(made, disk, [(0, "begin")], log)

        def check(left: Path, history: Sequence[Event]) -> int:
            said = _said(history)
            check_image(left, expected(made.documents, made.outputs, made.steps, said))
            model = Disk(left)
            log = None
            if chance.random() < _TWICE:
                log = folder / "log of going on"
                log.unlink(missing_ok=True)
            self.go_on(made, left, said or [(0, "begin")], log, once_more=True)
            _check_end(made, left, clean)
            return 1 if log is None else 1 + self.check_again(made, log, model, said, clean, chance)

        return _checked(made.title, disk, folder, chance, record, check)

    def serve(self, chance: random.Random, folder: Path) -> Mapping[str, int]:
        """Record a server, and check images of its disk."""
        disk = folder / "disk"
        (disk / OUTPUTS).mkdir(parents=True)
        Store.create(disk / STORE).close()
        senders = Senders.by_chance(chance)
        assert self._nursery is not None
        nursery, library = self._nursery, self._library

        def record(log: Path) -> None:
            power_server.serve(nursery, disk, log, library, senders, chance)

        def check(left: Path, history: Sequence[Event]) -> int:
            known = Known()
            for event in history:
                known.hear(event)
            power_server.check_left(left, senders, known)
            power_server.go_on(left, senders)
            return 1

        return _checked("a server", disk, folder, chance, record, check)

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

    def go_on(
        self,
        made: Program,
        folder: Path,
        said: Sequence[tuple[int, str]],
        log: Path | None = None,
        *,
        once_more: bool = False,
    ) -> None:
        """Run a program from its last step on that had begun.

        Args:
            made: The program.
            folder: What it works on.
            said: What it had said before.
            log: Where it is recorded; None: it is not.
            once_more: The step may be done in part, or whole.
        """
        options = {}
        if log is not None:
            options = {
                "library": str(self._library),
                "folder_recorded": os.path.realpath(folder),
                "log": str(log),
            }
        first = said[-1][0]
        for number, step in enumerate(made.steps[first:], first):
            jobs: Sequence[Job] = [step.first]
            if once_more and number == first:
                jobs = step.once_more([text for of, text in said if of == number])
            if log is not None:
                append_mark(log, f"step {number}")
            for job in jobs:
                self.run(job, folder, made, **options)

    def check_again(
        self,
        made: Program,
        log: Path,
        disk: Disk,
        said: list[tuple[int, str]],
        clean: Path,
        chance: random.Random,
    ) -> int:
        """Check images of a program that went on after a loss of power, and lost it again.

        Args:
            made: The program.
            log: What it did when it went on.
            disk: Its disk before that.
            said: What it had said before that.
            clean: The folder of the same program without a loss of power.
            chance: Chooses images.

        Returns:
            How many.
        """
        history = events(log)
        folder = log.with_name("image of going on")
        first = said[-1][0] if said else 0
        images = images_of(history, disk, chance)[:_IMAGES_TWICE]
        for image in images:
            image.write(folder)
            # Of the step that was done twice nothing is sure but what it said the first time.
            more = _said(history[: image.at])
            later = [one for one in more if one[0] > first]
            known = [*(said or [(0, "begin")]), *([(first, "exit 0"), *later] if later else [])]
            try:
                check_image(folder, expected(made.documents, made.outputs, made.steps, known))
                self.go_on(made, folder, [*known, *more], once_more=True)
                _check_end(made, folder, clean)
            except Exception as error:
                image.write(log.with_name("left of going on"))
                raise AssertionError(
                    f"gone on, and power lost again after {image.at} of {len(history)} events, "
                    f"the last of them {_told(history[max(0, image.at - 6) : image.at])}: {error}"
                ) from error
        return len(images)


def _check_end(made: Program, folder: Path, clean: Path) -> None:
    """Check that a program has ended as it does without a loss of power.

    Args:
        made: The program.
        folder: What it worked on.
        clean: The folder of the same program without a loss of power.
    """
    done = [(number, text) for number in range(len(made.steps)) for text in ("begin", "exit 0")]
    check_image(folder, expected(made.documents, made.outputs, made.steps, done))
    wanted = files_of(clean)
    assert files_of(folder) == wanted, f"there are {files_of(folder)} in the end, and not {wanted}"
    found, right = (described(one / STORE, made.samples) for one in (folder, clean))
    assert found == right, f"in the end: {difference(found, right)}"


def _checked(
    title: str,
    disk: Path,
    folder: Path,
    chance: random.Random,
    record: Callable[[Path], None],
    check: Callable[[Path, Sequence[Event]], int],
) -> Mapping[str, int]:
    """Record a program, make images of its disk, and check each.

    Args:
        title: What the program does.
        disk: What it works on.
        folder: Of the round.
        chance: Chooses images.
        record: Runs the program; what it does is written to a log.
        check: Checks what is left in a folder, given the history until power was lost; returns
            how many images it has checked.
    """
    model, whole = Disk(disk), Disk(disk)
    record(folder / "log")
    history = events(folder / "log")
    for event in history:
        whole.apply(event)
    there = {name: (disk / name).read_bytes() for name in files_of(disk)}
    assert whole.contents == there, "the log does not tell all that was done"
    images = images_of(history, model, chance)
    count = 0
    for number, image in enumerate(images):
        image.write(folder / "image")
        try:
            count += check(folder / "image", history[: image.at])
        except Exception as error:
            image.write(folder / "left")
            sizes = {name: len(data) for name, data in image.files.items()}
            raise AssertionError(
                f"{title}: image {number}, power lost after {image.at} of {len(history)} events, "
                f"the last of them {_told(history[max(0, image.at - 6) : image.at])}; said "
                f"{_said(history[: image.at])[-4:]}; left {sizes}: {error}"
            ) from error
    return {PowerLoss.unit: count, "programs": 1, "events": len(history)}


def images_of(history: Sequence[Event], disk: Disk, chance: random.Random) -> list[Image]:
    """Return what a loss of power may leave, all different.

    Args:
        history: What a program did.
        disk: As it was before; all of it will have been done to it.
        chance: Chooses.
    """
    instants = Counter(_instants(history, chance))
    found: dict[bytes, Image] = {}
    heard = 0
    for at in range(len(history) + 1):
        for _ in range(instants[at]):
            files = disk.after_cut(chance)
            if f"{STORE}-wal" in files and chance.random() < 0.3:
                # Nothing may be read from it.
                size = chance.choice((0, 4_096, 32_768))
                files[STORE + MEMORY] = chance.choice((bytes(size), chance.randbytes(size)))
            image = Image(at, heard, files)
            found.setdefault(image.digest, image)
        if at < len(history):
            disk.apply(history[at])
            heard += history[at].kind in ("mark", "told")
    return chance.sample(list(found.values()), min(IMAGES, len(found)))


def _instants(history: Sequence[Event], chance: random.Random) -> list[int]:
    """Choose instants of a history: numbers of events that come before each."""
    kinds: dict[str, list[int]] = {"any": list(range(len(history) + 1))}
    for at, event in enumerate(history):
        if event.kind in ("mark", "told", "rename", "unlink", "create") and not _is_memory(event):
            kinds.setdefault(event.kind, []).append(at + 1)
        if event.kind in ("sync", "sync folder"):
            # Before it most can be lost; after it some must be there.
            kinds.setdefault(f"before {event.kind}", []).append(at)
            kinds.setdefault(f"after {event.kind}", []).append(at + 1)
    chosen = chance.choices(sorted(kinds), k=3 * IMAGES)
    return [chance.choice(kinds[kind]) for kind in chosen]


def _is_memory(event: Event) -> bool:
    return any(path.endswith(MEMORY) for path in event.paths)


def _said(history: Sequence[Event]) -> list[tuple[int, str]]:
    """Return the marks of a program, each with the number of its step."""
    said: list[tuple[int, str]] = []
    step = 0
    for event in history:
        if event.kind == "mark" and event.text.startswith("step "):
            step = int(event.text.removeprefix("step "))
            said.append((step, "begin"))
        elif event.kind == "mark":
            said.append((step, event.text))
    return said


def _by_clean_run(made: Program, clean: Path) -> Program:
    """Return a program with what only a run of it can tell: what exports leave."""
    steps = [
        replace(step, output=(step.output[0], contents(clean / step.output[0])))
        if step.output is not None and not step.output[0].endswith((".db", ".backup"))
        else step
        for step in made.steps
    ]
    return replace(made, steps=steps)


def _told(history: Sequence[Event]) -> list[str]:
    return [
        " ".join((event.kind, *event.paths, event.text if event.kind == "mark" else ""))
        for event in history
    ]
