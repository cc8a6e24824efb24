"""Other programs that find copied passages, and the joining of what they tell to cases.

A detector is given a library and then papers, and returns what it finds for each of its settings:
runs or single sentences, with their places in paper and source. They are joined by the rule that
joins simstore's copies to cases (``simstore/search/cases.py``); how far it reaches, and how short a
case may be, are settings too.
"""

from __future__ import annotations

import difflib
import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pan_measure import Passage
from pan_set import Paper

from simstore.search.cases import CopySpan, joined
from simstore.text.passages import sentences

# Times the length of a run, by which gaps are counted; characters that a case has at least.
REACHES = (0.5, 1.0, 2.0)
LEAST = {"en": (0, 150), "zh": (0, 50)}
_UNITS = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
# A run of the guarantee: so many words, or characters of Chinese.
_RUN_WORDS, _RUN_CHARACTERS = 8, 13

Found = dict[Any, list[Passage]]
PaperDetector = Callable[[Paper], Found]
Detector = Callable[[Mapping[str, str]], PaperDetector]


def cases_of(paper: Paper, passages: Iterable[Passage], reach: float) -> list[Passage]:
    """Join passages of one source that lie near each other in paper and source.

    Args:
        paper: The paper.
        passages: What a program tells of it.
        reach: Times the length of the run by which the gaps between them are counted.
    """
    runs = np.zeros(len(paper.text) + 1)
    for unit in _UNITS.finditer(paper.text):
        is_word = not "\u3400" <= unit[0] <= "\u9fff"
        runs[unit.end()] = 1 / (_RUN_WORDS if is_word else _RUN_CHARACTERS) / reach
    runs = np.cumsum(runs)
    by_source: dict[str, list[Passage]] = defaultdict(list)
    for passage in dict.fromkeys(passages):
        by_source[passage.source].append(passage)
    found = []
    for theirs in by_source.values():
        spans = [
            CopySpan(
                paper_first=float(runs[one.start]),
                paper_end=float(runs[one.end]),
                source_first=one.source_start,
                source_end=one.source_end,
                matched=float(runs[one.end] - runs[one.start]),
            )
            for one in theirs
        ]
        found += [_around([theirs[number] for number in case]) for case in joined(spans)]
    return found


def _around(parts: Sequence[Passage]) -> Passage:
    return Passage(
        paper=parts[0].paper,
        start=min(part.start for part in parts),
        end=max(part.end for part in parts),
        source=parts[0].source,
        source_start=min(part.source_start for part in parts),
        source_end=max(part.source_end for part in parts),
    )


def with_all_settings(paper: Paper, found: Found) -> Found:
    """Return the cases of a paper for each setting: the program's own, reach, least length."""
    made: Found = {}
    for own, passages in found.items():
        for reach in REACHES:
            cases = cases_of(paper, passages, reach)
            for least in LEAST[paper.language]:
                made[own, reach, least] = [one for one in cases if one.end - one.start >= least]
    return made


def of_difflib(library: Mapping[str, str]) -> PaperDetector:
    """Matching blocks of words (Chinese: characters), each paper with each document.

    A document that has no run of six in common with the paper has no block that is told.
    """
    held = {key: _units(text) for key, text in library.items()}
    least = 6

    def runs(units: Sequence[tuple[int, int, str]]) -> set[tuple[str, ...]]:
        words = [unit for _, _, unit in units]
        return set(zip(*(words[n:] for n in range(least)), strict=False))

    held_runs = {key: runs(units) for key, units in held.items()}

    def detect(paper: Paper) -> Found:
        places = _units(paper.text)
        own_runs = runs(places)
        blocks: list[tuple[int, Passage]] = []
        matcher = difflib.SequenceMatcher(None, autojunk=False)
        matcher.set_seq2([unit for _, _, unit in places])
        for key, units in held.items():
            if own_runs.isdisjoint(held_runs[key]):
                continue
            matcher.set_seq1([unit for _, _, unit in units])
            for a, b, size in matcher.get_matching_blocks():
                if size >= least:
                    own, other = places[b : b + size], units[a : a + size]
                    blocks.append((size, _passage(paper, key, _span(own), _span(other))))
        return {size: [one for run, one in blocks if run >= size] for size in (least, 8, 13)}

    return detect


def of_rapidfuzz(library: Mapping[str, str]) -> PaperDetector:
    """Indel similarity of each two sentences, brute force, cut as simstore cuts them."""
    from rapidfuzz import fuzz, process

    held = [
        (text[start:end].lower(), key, (start, end))
        for key, text in library.items()
        for start, end in sentences(text)
        if end - start >= 5
    ]
    texts = [text for text, _, _ in held]

    def detect(paper: Paper) -> Found:
        spans = [(a, b) for a, b in sentences(paper.text) if b - a >= 5]
        own = [paper.text[a:b].lower() for a, b in spans]
        scores = process.cdist(own, texts, scorer=fuzz.ratio, score_cutoff=55, dtype=np.uint8)
        return {
            least: [
                _passage(paper, held[column][1], spans[row], held[column][2])
                for row, column in zip(*np.nonzero(scores >= least), strict=True)
            ]
            for least in (55, 65, 75, 85)
        }

    return detect


def of_copydetect(library: Mapping[str, str]) -> PaperDetector:
    """Winnowed k-grams of characters, as for source code that no lexer knows.

    It tells the copied slices of both texts, not which belongs to which: two do where they have a
    fingerprint in common.
    """
    from copydetect import CodeFingerprint, compare_files

    sizes = ((15, 6), (25, 6), (40, 6))

    def prints(text: str, k: int, window: int) -> Any:
        return CodeFingerprint("text", k, window, filter=False, fp=io.StringIO(text))

    held = {size: {key: prints(text, *size) for key, text in library.items()} for size in sizes}

    def detect(paper: Paper) -> Found:
        found: Found = {}
        for size in sizes:
            own = prints(paper.text, *size)
            raw: list[Passage] = []
            for key, other in held[size].items():
                slices = compare_files(own, other)[2]
                for first, second in _beside(own, other, slices):
                    raw.append(_passage(paper, key, first, second))
            found[size[0]] = raw
        return found

    return detect


Span = tuple[int, int]


def _beside(own: Any, other: Any, slices: Sequence[Any]) -> set[tuple[Span, Span]]:
    """Return the slices of two texts that have a fingerprint in common, by pairs."""
    if not len(slices[0]):
        return set()
    found = set()
    for mark in own.hashes & other.hashes:
        pairs = []
        for prints, (starts, ends) in ((own, slices[0]), (other, slices[1])):
            rows = np.searchsorted(starts, prints.hash_idx[mark], side="right") - 1
            pairs.append([(int(starts[row]), int(ends[row])) for row in rows])
        found |= {(first, second) for first in pairs[0] for second in pairs[1]}
    return found


def of_sentence_plagiarism(library: Mapping[str, str]) -> PaperDetector:
    """Sets of words of each two sentences (Jaccard, the default).

    Its function ``check`` compares each two sentences, and finds their words again for each pair.
    Its parts are called here, for the pairs that have enough words in common.
    """
    from sentence_plagiarism.plagiarism_checker import _text_to_sentences
    from sentence_plagiarism.similarity import jaccard_similarity

    # Line ends are blanks; shorter ones are left out by default.
    def cut(text: str) -> list[tuple[frozenset[str], Span]]:
        offset = len(text) - len(text.lstrip())
        return [
            (frozenset(re.findall(r"\b\w+\b", one.lower())), (start + offset, end + offset + 1))
            for one, start, end in _text_to_sentences(text.replace("\n", " ").strip())
            if len(one) >= 10
        ]

    held = [(words, key, span) for key, text in library.items() for words, span in cut(text)]
    sizes = np.array([len(words) for words, _, _ in held])
    having: dict[str, list[int]] = defaultdict(list)
    for row, (words, _, _) in enumerate(held):
        for word in words:
            having[word].append(row)
    rows_of = {word: np.array(rows) for word, rows in having.items()}

    def detect(paper: Paper) -> Found:
        found: Found = {0.3: [], 0.5: [], 0.7: []}
        for words, span in cut(paper.text):
            rows = [rows_of[word] for word in words if word in rows_of]
            common = np.bincount(np.concatenate(rows), minlength=len(held)) if rows else sizes * 0
            for row in np.flatnonzero(common > 0.29 * (len(words) + sizes - common)).tolist():
                others, key, place = held[row]
                score = jaccard_similarity(words, others)
                passage = _passage(paper, key, span, place)
                for least, told in found.items():
                    if score > least:
                        told.append(passage)
        return found

    return detect


PEERS: dict[str, Detector] = {
    "difflib": of_difflib,
    "RapidFuzz, sentence by sentence": of_rapidfuzz,
    "copydetect": of_copydetect,
    "sentence-plagiarism": of_sentence_plagiarism,
}


def _units(text: str) -> list[tuple[int, int, str]]:
    return [(unit.start(), unit.end(), unit[0].lower()) for unit in _UNITS.finditer(text)]


def _span(units: Sequence[tuple[int, int, str]]) -> Span:
    return units[0][0], units[-1][1]


def _passage(paper: Paper, key: str, own: Span, other: Span) -> Passage:
    return Passage(
        paper=paper.key,
        start=own[0],
        end=own[1],
        source=key,
        source_start=other[0],
        source_end=other[1],
    )
