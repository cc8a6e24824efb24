"""Stores that are damaged: a right answer, or an error that says what is wrong.

A round takes one store, damages bytes of its files or a row of its tables, and asks. Nothing may
crash, each error is one of the package that names the place, and where ``simstore fsck`` says
``sound`` each answer is that of the undamaged store.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from forked import Finished

from .campaign import Campaign, Place
from .damage_makers import BYTES, damage_bytes, damage_rows, differences
from .damage_questions import Answer
from .damage_templates import LOGGED, NAMES, commits, make_templates
from .damage_unknowable import BY_SQL, OF_FILES, unknowable_settings

Answers = dict[str, Answer]
_MOST_BYTES = 1_500_000_000


class Damage(Campaign):
    """Each round damages one store and asks it all questions."""

    title = "bits, bytes, pages and rows changed behind the store's back"
    unit = "damages"
    slice_rounds = 25
    full_cases = 500

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._right: dict[tuple[str, bool], Answers] = {}

    def __enter__(self) -> Self:
        self._shared = self.make_folder("damage")
        self._nursery = self.make_nursery()
        make_templates(self._shared)
        return self

    def round(self, seed: int, folder: Path) -> Mapping[str, int]:
        """Damage a store, ask it, check it, and let some of them be written to or copied."""
        chance = random.Random(seed)
        name = LOGGED if seed % 8 == 0 else chance.choice(NAMES)
        place = folder / "place"
        shutil.copytree(self._shared / name, place)
        path = place / "s.db"
        if seed % 2:
            done = damage_rows(path, chance)
            if done is None:
                return {"refused by the database": 1}
            story, unknowable = done, BY_SQL
        else:
            unknowable = OF_FILES
            damaged = path.with_name("s.db-wal") if name == LOGGED else path
            kinds = [kind for kind in BYTES if name != LOGGED or kind != "older page"]
            story = damage_bytes(damaged, chance.choice(kinds), chance)
        resident = chance.random() < 0.3
        counts: Counter[str] = Counter(damages=1)
        try:
            self._judge(name, place, resident, unknowable, counts)
            if chance.random() < 0.35:
                self._judge_copies(place, counts)
            if chance.random() < 0.35:
                self._judge_writes(name, place, counts)
        except Exception as error:
            raise AssertionError(f"{name}: {story}: {error}") from error
        return counts

    def _judge(
        self,
        name: str,
        place: Path,
        resident: bool,
        unknowable: Mapping[str, str],
        counts: Counter[str],
    ) -> None:
        """Check and ask a damaged store."""
        checked = self._simstore(place, "fsck", "--db", "s.db")
        # Before it is asked: some questions write what they found.
        right = self._shared / name / "s.db"
        columns = set()
        if not checked.code and name != LOGGED:
            columns = differences(right, place / "s.db")
        answers = self._ask(place, resident)
        _judge_errors(answers, self._answers(name, resident))
        _judge_check(checked)
        if checked.code:
            counts["told by fsck"] += 1
            return
        rights = [self._answers(name, resident)]
        if name == LOGGED:
            # What a damaged log gives is the store after one of its commits.
            rights += self._answers_of_commits(resident)
        wrong = min((_different(answers, one) for one in rights), key=len)
        if not wrong:
            counts["without effect"] += 1
            return
        if columns and columns <= unknowable.keys() | unknowable_settings(right):
            counts["not to be known"] += 1
            return
        first = next(iter(wrong))
        raise AssertionError(
            f"fsck says sound, and {len(wrong)} answers are others ({', '.join(wrong)[:200]}); "
            f"columns {sorted(columns)}; {first}: {wrong[first]}"
        )

    def _judge_copies(self, place: Path, counts: Counter[str]) -> None:
        """A copy of a damaged store is refused, or gives the same answers."""
        target = place / "copied"
        target.mkdir()
        shutil.copy(place / "samples.json", target)
        done = self._simstore(place, "backup", "--db", "s.db", "copied/s.db")
        counts["copies"] += 1
        if done.code:
            if not done.errors.strip():
                raise AssertionError("backup failed without a word")
            return
        found, copied = self._ask(place, False), self._ask(target, False)
        for question, answer in copied.items():
            before = found.get(question)
            if before is None or (before[0] == "answer" and answer != before):
                told = _apart(before or ["nothing", ""], answer)
                raise AssertionError(f"backup ended well, and {question} differs: {told}")

    def _judge_writes(self, name: str, place: Path, counts: Counter[str]) -> None:
        """What was readable before a write still is."""
        before = self._ask(place, False)
        line = json.dumps({"key": "new", "text": "a text that was never there before"})
        (place / "new.jsonl").write_text(line + "\n")
        words = (
            ("fingerprints", "add", "--db", "s.db", "values.txt")
            if name == "values"
            else ("ingest", "--db", "s.db", "new.jsonl")
        )
        (place / "values.txt").write_text(f"{12345:025x}\n")
        was_sound = self._simstore(place, "fsck", "--db", "s.db").code == 0
        done = self._simstore(place, *words)
        counts["writes"] += 1
        if done.code and not done.errors.strip():
            raise AssertionError("a write failed without a word")
        after = self._ask(place, False)
        _judge_errors(after, self._answers(name, False))
        for question, answer in before.items():
            if (
                question.startswith("show")
                and answer[0] == "answer"
                and after.get(question) != answer
            ):
                told = _apart(answer, after.get(question, after.get("open", ["nothing"])))
                raise AssertionError(f"after a write {question} differs: {told}")
        checked = self._simstore(place, "fsck", "--db", "s.db")
        _judge_check(checked)
        if was_sound and not done.code and checked.code:
            raise AssertionError(f"sound before a write, and then: {checked.text[:500]}")

    def _answers(self, name: str, resident: bool) -> Answers:
        """Return the answers of an undamaged store."""
        if (name, resident) not in self._right:
            place = self._shared / f"asked-{name}-{resident}"
            shutil.copytree(self._shared / name, place)
            # A check that finds something in any store would find all damage.
            checked = self._simstore(place, "fsck", "--db", "s.db")
            if checked.code:
                raise AssertionError(f"fsck of the undamaged store: {checked.text[:500]}")
            answers = self._ask(place, resident)
            _judge_errors(answers, answers)
            self._right[name, resident] = answers
        return self._right[name, resident]

    def _answers_of_commits(self, resident: bool) -> list[Answers]:
        """Return the answers of the store with a log, after each commit of it."""
        log = (self._shared / LOGGED / "s.db-wal").read_bytes()
        found = []
        for end in commits(log):
            name = f"{LOGGED}-{end}"
            if not (self._shared / name).exists():
                shutil.copytree(self._shared / LOGGED, self._shared / name)
                (self._shared / name / "s.db-wal").write_bytes(log[:end])
            found.append(self._answers(name, resident))
        return found

    def _ask(self, place: Path, resident: bool) -> Answers:
        done = self._nursery.run("ask_store", place, place=str(place / "s.db"), resident=resident)
        _judge_end(done, "asking")
        if done.code:
            raise AssertionError(f"asking ended with {done.code}: {done.errors[-1500:]}")
        # Where it is told is where the store is: the answers of two places are compared.
        answers: Answers = json.loads(done.text.replace(str(place), "."))
        return answers

    def _simstore(self, place: Path, *words: str) -> Finished:
        done = self._nursery.simstore(place, *words)
        _judge_end(done, " ".join(words))
        return done


def _judge_end(done: Finished, what: str) -> None:
    """Refuse a crash, a traceback, and memory without bounds."""
    if done.code < 0:
        raise AssertionError(f"{what} was ended by signal {-done.code}: {done.errors[-800:]}")
    if "Traceback" in done.errors or done.code == 1:
        raise AssertionError(f"{what} ended with {done.code}: {done.errors[-1500:]}")
    if done.rss_bytes > _MOST_BYTES:
        raise AssertionError(f"{what} held {done.rss_bytes:,} bytes")


def _judge_errors(answers: Answers, right: Answers) -> None:
    """Refuse errors that are none of the package, and those that do not say what is wrong."""
    for question, answer in answers.items():
        if answer[0] == "broken":
            raise AssertionError(f"{question}: {answer[1][-1500:]}")
        if answer[0] == "error" and answer != right.get(question):
            _, kind, message = answer
            if kind == "CorruptStore" and ("s.db" not in message or "fsck" not in message):
                raise AssertionError(f"{question}: {kind} names no place and no remedy: {message}")
            if not message.strip():
                raise AssertionError(f"{question}: {kind} without a message")


def _judge_check(checked: Finished) -> None:
    """Refuse a check that finds something, and does not say what or what helps."""
    if not checked.code:
        if checked.text.strip() != "sound":
            raise AssertionError(f"fsck ended well, and says {checked.text[:300]!r}")
        return
    told = checked.text.strip() + checked.errors.strip()
    if checked.code not in (3, 4, 6) or not told:
        raise AssertionError(f"fsck ended with {checked.code}: {told[:500]!r}")
    for line in checked.text.splitlines():
        if " -- " not in line or not line.partition(" -- ")[2].strip():
            raise AssertionError(f"fsck names no remedy: {line!r}")


def _different(answers: Answers, right: Answers) -> dict[str, str]:
    """Return which answers are others, and how."""
    if "open" in answers:
        return {"open": str(answers["open"])}
    return {
        question: _apart(answer, answers.get(question, ["nothing", ""]))
        for question, answer in right.items()
        if answers.get(question) != answer
    }


def _apart(one: Answer, two: Answer) -> str:
    """Return where two answers part."""
    left, right = str(one), str(two)
    at = next(
        (n for n, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]),
        min(len(left), len(right)),
    )
    start = max(at - 60, 0)
    return f"{left[start : at + 100]!r} became {right[start : at + 100]!r}"
