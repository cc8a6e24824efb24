"""Papers with copied passages to PAN's definitions, English and Chinese: made from texts, seeded.

A paper is a text that no library document has, with whole passages of 50 to 500 words of library
documents between its sentences; of its own, those that are short or share a run with the library
are left out. A passage is one case, however its words were changed. Passages with a run that a
second library document has too are not taken, so each has one true source.

Of the sources, two thirds are for development and a third is held out, as are the kinds of
``HELD_OUT``. The kinds:

- ``verbatim``: as it is;
- ``low``: a word in ten replaced, left out, or with another in front;
- ``high``: one in four, and the words shuffled within windows of eight;
- ``shuffled``: the words of each sentence shuffled;
- ``reordered``: its sentences in another order;
- ``synonyms``: three words in ten each replaced by another one that stands for it everywhere;
- ``ocr``: four characters in a hundred misread, lost or doubled;
- ``punctuation``: other marks, capitals and line breaks;
- ``scan`` (English): newspaper articles of the 19th and 20th century, as a machine read them;
- ``retold`` (English): another translation of the same verses;
- ``traditional`` (Chinese): in traditional characters;
- ``clean``: nothing is copied.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pan_measure import Passage

from simstore.text.passages import sentences

REPOSITORY = Path(__file__).resolve().parent.parent
Part = Literal["development", "held-out"]
_EVERYWHERE = (
    "verbatim", "low", "high", "shuffled", "reordered", "ocr", "punctuation", "clean",
)  # fmt: skip
KINDS = {"en": (*_EVERYWHERE, "scan"), "zh": (*_EVERYWHERE, "traditional")}
HELD_OUT = {"en": ("synonyms", "retold"), "zh": ("synonyms",)}
SETS = {
    "en": ("peps-history", "django-docs-txt"),
    "zh": ("zh-classics", "zh-laws-pypi", "libreoffice-help", "manpages"),
}
LANGUAGES = {"en": ("en",), "zh": ("zh", "zh-CN", "zh_CN")}
# Words of a passage: English words, Chinese characters.
SIZES = {"en": (50, 500), "zh": (80, 800)}
_TRANSLATIONS = ("KJVPCE", ("ASV", "Darby", "YLT", "ACV"))
# A run that two library documents have is nobody's alone.
_COMMON_RUN = {"en": 6, "zh": 10}
_BOOK_PART = 15_000
_PARTS = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:['’]\w+)?")
_MISREAD = {"e": "c", "l": "1", "i": "l", "o": "0", "n": "u", "h": "b", "a": "o", "t": "f"}
_OTHER_MARKS = str.maketrans(
    {",": ";", ";": ",", ".": " –", "“": '"', "”": '"', "，": "、", "。": "；", "；": "。"}
)


@dataclass(frozen=True)
class Paper:
    """A paper, and what in it is copied."""

    key: str
    language: str
    kind: str
    text: str
    cases: tuple[Passage, ...]


@dataclass(frozen=True)
class PanSet:
    """Libraries of each language, key to text, and papers."""

    libraries: dict[str, dict[str, str]]
    papers: tuple[Paper, ...]


def pan_set(part: Part, folder: Path | None = None, *, papers: int = 20, seed: int = 1) -> PanSet:
    """Make a set.

    Args:
        part: Which sources and kinds; the kinds of ``HELD_OUT`` are in the part held out alone.
        folder: The folder of the data; None: SIMSTORE_TEST_DATA, or beside the project.
        papers: Papers of each language and kind.
        seed: Another seed makes other papers; the library stays.
    """
    folder = folder or data_folder()
    libraries, made = {}, []
    for language in SETS:
        maker = Maker(language, part, folder)
        libraries[language] = maker.library
        kinds = KINDS[language] + (HELD_OUT[language] if part == "held-out" else ())
        for kind in kinds:
            for number in range(papers):
                rng = random.Random(f"{seed} {part} {language} {kind} {number}")
                made.append(maker.paper(f"{language}-{kind}-{number}", kind, rng))
    return PanSet(libraries, tuple(made))


def data_folder() -> Path:
    """Return the folder of the data: SIMSTORE_TEST_DATA, or one beside the project."""
    given = os.environ.get("SIMSTORE_TEST_DATA")
    return Path(given) if given else REPOSITORY.parent / "shared" / "data"


class Maker:
    """Makes the papers of a language and part.

    Attributes:
        library: Texts that are copied from, by their keys.
        of_sets: Those that passages are cut from: no scans and no translations.
        hosts: Texts that are in no library, by their keys.
        rewriter: Changes passages.
    """

    def __init__(self, language: str, part: Part, folder: Path) -> None:
        self._language = language
        self.rewriter = Rewriter(language)
        self.library: dict[str, str] = {}
        self.hosts: dict[str, str] = {}
        self._scans: dict[str, str] = {}
        self._retold: dict[str, list[str]] = {}
        self._stretches: dict[str, list[tuple[int, int]]] = {}
        for key, text in _sources(language, folder):
            number = _number(key)
            if (number % 3 == 0) != (part == "held-out"):
                continue
            if number // 3 % 4 == 0:
                self.hosts[key] = text
            else:
                self.library[key] = text
        of_sets = sorted(self.library)
        if language == "en":
            self._take_scans(part, folder)
            self._take_translations(part, folder)
        counted: Counter[tuple[str, ...]] = Counter()
        for text in self.library.values():
            counted.update(set(self._runs(text)))
        self._common = {run for run, count in counted.items() if count > 1}
        self._known = counted.keys()
        self.of_sets = [key for key in of_sets if any(self._cut(key))]
        words = [word for key in of_sets for word in _PARTS.findall(self.library[key][:4000])]
        self.rewriter.words = words

    def _take_scans(self, part: Part, folder: Path) -> None:
        for name in ("train", "dev"):
            for record in lines(folder / "foreign" / "ocr" / f"{name}.jsonl.gz"):
                number = record["document_metadata"]["document_id"]
                true = record["ground_truth"]["transcription_unit"]
                read = record["ocr_hypothesis"]["transcription_unit"]
                low, high = SIZES["en"]
                if low <= len(_PARTS.findall(true)) <= high and (
                    (_number(number) % 3 == 0) == (part == "held-out")
                ):
                    key = f"scan/{number}"
                    self.library[key], self._scans[key] = true, read

    def _take_translations(self, part: Part, folder: Path) -> None:
        if part != "held-out":
            return
        base, others = _TRANSLATIONS
        for record in lines(folder / "labelled" / "docs.jsonl.gz"):
            if record["set"] != "bible-parallel":
                continue
            if f"::{base}/" in record["id"]:
                self.library[record["id"]] = record["text"]
            for other in others:
                if f"::{other}/" in record["id"]:
                    key = record["id"].replace(f"::{other}/", f"::{base}/")
                    self._retold.setdefault(key, []).append(record["text"])

    def paper(self, key: str, kind: str, rng: random.Random) -> Paper:
        """Return a paper: sentences of a host, and passages between them."""
        copied = [] if kind == "clean" else self._copied(kind, rng)
        own: list[str] = []
        for host in rng.sample(list(self.hosts.values()), len(self.hosts)):
            for start, end in sentences(host):
                sentence = host[start:end]
                runs = list(self._runs(sentence))
                if runs and not any(run in self._known for run in runs):
                    own.append(sentence)
            if len(own) >= 40:
                break
        own = own[:120]
        # Passages of one source stand side by side in one paper of three.
        between = sorted(rng.sample(range(1, len(own)), len(copied)))
        if len(copied) > 1 and rng.random() < 0.34:
            between[1] = between[0] + 1
        text, cases = "", []
        places = dict(zip(between, copied, strict=True))
        stop = " " if self._language == "en" else ""
        for number, sentence in enumerate(own):
            if number in places:
                passage, source, first, end = places[number]
                cases.append(
                    Passage(
                        paper=key,
                        start=len(text),
                        end=len(text) + len(passage),
                        source=source,
                        source_start=first,
                        source_end=end,
                    )
                )
                text += passage + ("\n" if rng.random() < 0.5 else stop)
            text += sentence + ("\n" if number % 6 == 5 else stop)
        return Paper(key, self._language, kind, text, tuple(cases))

    def _copied(self, kind: str, rng: random.Random) -> list[tuple[str, str, int, int]]:
        """Return two to four passages as they stand in the paper, with their sources."""
        found: list[tuple[str, str, int, int]] = []
        for _ in range(rng.randint(2, 4)):
            if kind == "scan":
                key = rng.choice(sorted(self._scans))
                if all(key != one[1] for one in found):
                    found.append((self._scans[key], key, 0, len(self.library[key])))
                continue
            if kind == "retold":
                found.append(self._other_translation(rng))
                continue
            again = bool(found) and rng.random() < 0.34
            key = found[0][1] if again else rng.choice(self.of_sets)
            first, end = rng.choice(self._cut(key))
            if all(key != one[1] or end <= one[2] or one[3] <= first for one in found):
                passage = self.rewriter.rewritten(self.library[key][first:end], kind, rng)
                found.append((passage, key, first, end))
        return found

    def _other_translation(self, rng: random.Random) -> tuple[str, str, int, int]:
        while True:
            key = rng.choice(sorted(self._retold))
            lines, told = self.library[key].split("\n"), rng.choice(self._retold[key]).split("\n")
            if len(lines) == len(told) and len(lines) >= 8:
                break
        first = rng.randrange(len(lines) - 6)
        last = first + rng.randint(3, 6)
        start = sum(len(line) + 1 for line in lines[:first])
        return "\n".join(told[first:last]), key, start, start + len("\n".join(lines[first:last]))

    def _cut(self, key: str) -> list[tuple[int, int]]:
        """Return stretches of whole sentences of a document that no other document has."""
        if key not in self._stretches:
            text, found = self.library[key], list[tuple[int, int]]()
            rng = random.Random(key)
            spans = sentences(text)
            low, high = SIZES[self._language]
            for _ in range(60):
                first = rng.randrange(len(spans)) if spans else 0
                wanted, size, last = rng.randint(low, high // 2), 0, first
                while last < len(spans) and size < wanted:
                    size += len(_PARTS.findall(text[slice(*spans[last])]))
                    last += 1
                if not low <= size <= high:
                    continue
                start, end = spans[first][0], spans[last - 1][1]
                if not any(run in self._common for run in self._runs(text[start:end])):
                    found.append((start, end))
            self._stretches[key] = found[:12]
        return self._stretches[key]

    def _runs(self, text: str) -> Iterator[tuple[str, ...]]:
        parts = [part.casefold() for part in _PARTS.findall(text)]
        size = _COMMON_RUN[self._language]
        yield from zip(*(parts[n:] for n in range(size)), strict=False)


def _sources(language: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield key and text of all sources: the first version of each group, parts of books."""
    seen = set()
    for record in lines(folder / "labelled" / "docs.jsonl.gz"):
        name, group = record["set"], record.get("group")
        if name not in SETS[language] or (name, group) in seen or len(record["text"]) < 1500:
            continue
        if record.get("lang") not in LANGUAGES[language]:
            continue
        seen.add((name, group))
        yield f"{name}/{group}", record["text"]
    if language == "zh":
        return
    for file in sorted((folder / "foreign" / "books").glob("*.txt.gz")):
        text = gzip.decompress(file.read_bytes()).decode("utf-8-sig", "replace")
        begin = text.index("\n", text.index("*** START")) + 1
        text = text[begin : text.index("*** END")].replace("\r\n", "\n")
        while text:
            cut = text.find("\n\n", _BOOK_PART)
            cut = len(text) if cut < 0 else cut
            yield f"{file.name.split('.')[0]}/{len(text)}", text[:cut].strip()
            text = text[cut:].strip()


@cache
def lines(file: Path) -> tuple[dict[str, Any], ...]:
    """Return the records of a compressed file of JSON Lines."""
    with gzip.open(file, "rt", encoding="utf-8") as records:
        return tuple(map(json.loads, records))


def _number(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big")


class Rewriter:
    """Changes passages as the kinds say.

    Attributes:
        words: What stands for words that are replaced, each as often as it occurs.
    """

    def __init__(self, language: str, words: Sequence[str] = ()) -> None:
        self.words = words
        self._blank = " " if language == "en" else ""

    def rewritten(self, text: str, kind: str, rng: random.Random) -> str:
        """Return a passage in a kind's form."""
        if kind == "verbatim":
            return text
        if kind == "punctuation":
            return self._punctuated(text, rng)
        if kind == "ocr":
            return "".join(self._misread(text, rng))
        if kind == "traditional":
            from opencc import OpenCC

            return str(OpenCC("s2t").convert(text))
        if kind == "reordered":
            pieces = [text[start:end] for start, end in sentences(text)]
            rng.shuffle(pieces)
            return (self._blank or "").join(pieces)
        if kind == "shuffled":
            spans = sentences(text)
            return (self._blank or "").join(
                self._shuffled(self._words(text[start:end]), 1000, rng) for start, end in spans
            )
        if kind == "synonyms":
            return self._replaced(text, rng)
        edited = self._edited(text, 0.1 if kind == "low" else 0.25, rng)
        return edited if kind == "low" else self._shuffled(self._words(edited), 8, rng)

    def _words(self, text: str) -> list[str]:
        """Return the words with the marks behind them; of Chinese, as jieba cuts them."""
        if self._blank:
            return text.split()
        import rjieba

        return [word for word in rjieba.cut(text) if word.strip()]

    def _shuffled(self, words: list[str], window: int, rng: random.Random) -> str:
        mixed: list[str] = []
        for start in range(0, len(words), window):
            part = words[start : start + window]
            rng.shuffle(part)
            mixed += part
        if self._blank:
            return self._blank.join(mixed)
        return re.sub(r"(?<=[A-Za-z0-9])\x00(?=[A-Za-z0-9])", " ", "\x00".join(mixed)).replace(
            "\x00", ""
        )

    def _edited(self, text: str, share: float, rng: random.Random) -> str:
        def edit(found: re.Match[str]) -> str:
            if rng.random() >= share:
                return found[0]
            choice = rng.randrange(4)
            if choice == 0:
                return ""
            new = rng.choice(self.words)
            return f"{new}{self._blank}{found[0]}" if choice == 1 else new

        return _PARTS.sub(edit, text)

    def _replaced(self, text: str, rng: random.Random) -> str:
        known: dict[str, str] = {}

        def other(found: re.Match[str]) -> str:
            word = found[0].casefold()
            if word not in known:
                known[word] = rng.choice(self.words) if rng.random() < 0.3 else found[0]
            return known[word]

        return _PARTS.sub(other, text)

    def _misread(self, text: str, rng: random.Random) -> Iterable[str]:
        for letter in text:
            if letter.isspace() or rng.random() >= 0.04:
                yield letter
                continue
            choice = rng.randrange(4)
            if choice == 0:
                continue
            other = _MISREAD.get(letter, rng.choice(self.words)[0])
            yield f"{letter} " if choice == 1 else other

    def _punctuated(self, text: str, rng: random.Random) -> str:
        told = text.translate(_OTHER_MARKS)
        if self._blank:
            told = re.sub(r"\w+", lambda f: f[0].upper() if rng.random() < 0.1 else f[0], told)
            return re.sub(r"\s+", lambda _: "\n" if rng.random() < 0.1 else " ", told)
        return re.sub(r"[，、；。]", lambda f: f[0] if rng.random() < 0.7 else "\n", told)
