"""Papers with copied passages, and where they come from: made from the labelled texts, seeded.

A paper is a text of a document that the library has not, with passages of library documents
between its sentences. Of its own sentences, those that have five words (eight Chinese characters)
in a row in common with a library document are left out: nobody copied them. All passages of a
paper are copied in one way:

- ``verbatim``: as they are;
- ``shuffled``: their sentences in another order, each a case of its own;
- ``light`` and ``heavy``: 8 % and 20 % of their words (Chinese: characters) are replaced, left
  out, or have another in front;
- ``retold``: another translation of the same verses (English only).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from simstore.text.passages import sentences

REPOSITORY = Path(__file__).resolve().parent.parent
KINDS = {"en": ("verbatim", "shuffled", "light", "heavy", "retold"), "zh": (
    "verbatim", "shuffled", "light", "heavy")}  # fmt: skip
EDITED = {"light": 0.08, "heavy": 0.2}
SETS = {"en": ("bible-parallel", "peps-history", "django-docs-txt"), "zh": (
    "zh-classics", "zh-laws-pypi", "libreoffice-help")}  # fmt: skip
_BASE_TRANSLATION = "KJVPCE"
_RETOLD_BY = ("ASV", "Darby", "YLT", "ACV")
_RUN_WORDS, _RUN_CHARACTERS = 5, 8
_PARTS = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:'\w+)?")


@dataclass(frozen=True)
class Case:
    """A copied passage.

    Attributes:
        start: First character in the paper.
        end: The character behind its last.
        source: Key of the library document.
        source_start: First character there.
        source_end: The character behind the last.
    """

    start: int
    end: int
    source: str
    source_start: int
    source_end: int


@dataclass(frozen=True)
class Paper:
    """A paper, and what in it is copied."""

    key: str
    language: str
    kind: str
    text: str
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class PlagiarismSet:
    """Libraries of each language, key to text, and papers."""

    libraries: dict[str, dict[str, str]]
    papers: tuple[Paper, ...]


def plagiarism_set(
    folder: Path | None = None, *, papers: int = 6, sources: int = 60, seed: int = 7
) -> PlagiarismSet:
    """Make a set.

    Args:
        folder: The folder of the labelled data; None: SIMSTORE_TEST_DATA, or beside the project.
        papers: Papers of each language and kind.
        sources: Most library documents of each of the six sets.
        seed: Another seed makes other papers; the library stays.
    """
    if folder is None:
        given = os.environ.get("SIMSTORE_TEST_DATA")
        folder = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    texts = _texts(folder)
    hosts: dict[str, list[str]] = defaultdict(list)
    by_language: dict[str, dict[str, str]] = {"en": {}, "zh": {}}
    for language, names in SETS.items():
        for name in names:
            taken = 0
            for group, versions in sorted(texts[name].items()):
                key, text = next(iter(versions.items()))
                if len(text) < 1500:
                    continue
                if _number(group) % 3 == 0:
                    hosts[language].append(text)
                elif taken < sources:
                    taken += 1
                    by_language[language][key] = text
    runs = {language: _runs(by_language[language].values()) for language in SETS}
    made = []
    for language, kinds in KINDS.items():
        words = _vocabulary(by_language[language].values())
        for kind in kinds:
            for number in range(papers):
                rng = random.Random(f"{seed} {language} {kind} {number}")
                copied = _copied(kind, by_language[language], texts, words, rng)
                text, cases = _inserted(rng.choice(hosts[language]), copied, runs[language], rng)
                made.append(Paper(f"{language}-{kind}-{number}", language, kind, text, cases))
    return PlagiarismSet(by_language, tuple(made))


def _number(group: str) -> int:
    return int.from_bytes(hashlib.blake2b(group.encode(), digest_size=4).digest(), "big")


def _texts(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """Return set, group, key, text; of translated sets, the Chinese ones."""
    found: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    with gzip.open(folder / "labelled" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if record["set"] == "libreoffice-help" and record["lang"] != "zh-CN":
                continue
            if record.get("group"):
                found[record["set"]][record["group"]][record["id"]] = record["text"]
    for versions in found["bible-parallel"].values():
        base = next(key for key in versions if f"::{_BASE_TRANSLATION}/" in key)
        first = {base: versions.pop(base)}
        versions.update({**first, **{key: versions.pop(key) for key in list(versions)}})
    return found


def _own_runs(text: str) -> set[tuple[str, ...]]:
    parts = [part.casefold() for part in _PARTS.findall(text)]
    size = _RUN_CHARACTERS if parts and parts[0] > "\u3400" else _RUN_WORDS
    return {tuple(parts[n : n + size]) for n in range(len(parts) - size + 1)}


def _runs(texts: Iterable[str]) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for text in texts:
        parts = [part.casefold() for part in _PARTS.findall(text)]
        for size in (_RUN_WORDS, _RUN_CHARACTERS):
            found.update(tuple(parts[n : n + size]) for n in range(len(parts) - size + 1))
    return found


def _vocabulary(texts: Iterable[str]) -> list[str]:
    """Return the words of texts, each as often as it occurs in a part of them."""
    words: list[str] = []
    for text in texts:
        words += _PARTS.findall(text[:4000])
    return words


Copied = tuple[str, str, int, int]


def _copied(
    kind: str,
    library: dict[str, str],
    texts: dict[str, dict[str, dict[str, str]]],
    words: list[str],
    rng: random.Random,
) -> list[list[Copied]]:
    """Return passages as they stand in the paper, with their sources; a list a place."""
    places = []
    for _ in range(rng.randint(3, 5)):
        if kind == "retold":
            places.append([_retold(library, texts["bible-parallel"], rng)])
            continue
        key, first, end = _stretch(library, rng)
        text = library[key]
        if kind == "shuffled":
            pieces = [
                (key, first + a, first + b) for a, b in sentences(text[first:end]) if b - a > 20
            ]
            order = pieces[:]
            while len(order) > 1 and order == pieces:
                rng.shuffle(order)
            places.append([(text[a:b], k, a, b) for k, a, b in order])
        else:
            passage = text[first:end]
            if kind in EDITED:
                passage = _edited(passage, EDITED[kind], words, rng)
            places.append([(passage, key, first, end)])
    return places


def _stretch(library: dict[str, str], rng: random.Random) -> tuple[str, int, int]:
    """Return a stretch of a library document, of whole sentences: 150 to 900 letters."""
    while True:
        key = rng.choice(sorted(library))
        cut = sentences(library[key])
        first = rng.randrange(len(cut))
        last = min(len(cut) - 1, first + rng.randint(2, 7))
        start, end = cut[first][0], cut[last][1]
        size = len(_PARTS.findall(library[key][start:end]))
        if 25 <= size <= 300:
            return key, start, end


def _retold(
    library: dict[str, str], groups: dict[str, dict[str, str]], rng: random.Random
) -> Copied:
    base = [key for key in sorted(library) if f"::{_BASE_TRANSLATION}/" in key]
    while True:
        key = rng.choice(base)
        other = key.replace(_BASE_TRANSLATION, rng.choice(_RETOLD_BY))
        versions = groups[key.replace(f"{_BASE_TRANSLATION}/", "")]
        if other not in versions:
            continue
        lines, told = library[key].split("\n"), versions[other].split("\n")
        if len(lines) != len(told) or len(lines) < 8:
            continue
        first = rng.randrange(len(lines) - 6)
        last = first + rng.randint(3, 6)
        start = sum(len(line) + 1 for line in lines[:first])
        return "\n".join(told[first:last]), key, start, start + len("\n".join(lines[first:last]))


def _edited(text: str, share: float, words: list[str], rng: random.Random) -> str:
    def edit(found: re.Match[str]) -> str:
        if rng.random() >= share:
            return found[0]
        blank = "" if found[0] > "\u3400" else " "
        choice = rng.randrange(4)
        if choice == 0:
            return ""
        new = rng.choice(words)
        return f"{new}{blank}{found[0]}" if choice == 1 else new

    return _PARTS.sub(edit, text)


def _inserted(
    host: str, places: list[list[Copied]], runs: set[tuple[str, ...]], rng: random.Random
) -> tuple[str, tuple[Case, ...]]:
    """Put passages between sentences of a host text that share nothing with the library."""
    own = [host[a:b] for a, b in sentences(host[:12_000])]
    own = [sentence for sentence in own if not _own_runs(sentence) & runs]
    between = sorted(rng.sample(range(len(own) + 1), min(len(places), len(own) + 1)))
    text, cases = "", []
    for number, sentence in enumerate([*own, ""]):
        for copied in places[between.index(number) :][:1] if number in between else []:
            for passage, key, first, end in copied:
                cases.append(Case(len(text), len(text) + len(passage), key, first, end))
                text += passage + "\n"
        text += sentence + "\n"
    return text, tuple(cases)


@dataclass(frozen=True)
class Measured:
    """Potthast et al., An evaluation framework for plagiarism detection, COLING 2010, section 2.

    Precision and recall are of characters (micro); a detection counts where its source is right.
    """

    precision: float
    recall: float
    granularity: float
    plagdet: float


Detection = tuple[int, int, str]
Detector = Callable[[Paper], list[Detection]]


def measure(papers: list[Paper], found: list[list[Detection]]) -> Measured:
    """Return the measures of detections: start and end in the paper, and the source's key."""
    import math

    right = wanted = told = 0
    counts = []
    for paper, detections in zip(papers, found, strict=True):
        size = len(paper.text)
        in_cases, in_detections, in_both = (bytearray(size) for _ in range(3))
        for case in paper.cases:
            in_cases[case.start : case.end] = b"\1" * (case.end - case.start)
            detecting = [
                (start, end)
                for start, end, key in detections
                if key == case.source and start < case.end and end > case.start
            ]
            if detecting:
                counts.append(len(set(detecting)))
            for start, end in detecting:
                low, high = max(start, case.start), min(end, case.end)
                in_both[low:high] = b"\1" * (high - low)
        for start, end, _ in detections:
            in_detections[start:end] = b"\1" * (end - start)
        right, wanted, told = (
            before + sum(part)
            for before, part in ((right, in_both), (wanted, in_cases), (told, in_detections))
        )
    precision = right / told if told else 0.0
    recall = right / wanted if wanted else 0.0
    granularity = sum(counts) / len(counts) if counts else 1.0
    both = precision + recall
    f = 2 * precision * recall / both if both else 0.0
    return Measured(precision, recall, granularity, f / math.log2(1 + granularity))
