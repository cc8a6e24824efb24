"""Detectors of copied passages: simstore, and what a user could take instead.

A detector is given a library and papers, and returns detections with all settings that are to be
chosen among: for each setting, start and end in the paper and the source's key. Peers tell single
sentences or runs; those of one source that lie near each other are joined, how near is a setting
too.
"""

from __future__ import annotations

import difflib
import io
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from plagiarism_set import Detection, Paper

from simstore import Store
from simstore.model import CheckOptions, Document
from simstore.text.passages import sentences

GAPS = (0, 60, 200)
_UNITS = re.compile(r"[\u3400-\u9fff]|[^\W_]+")

Settings = dict[Any, list[Detection]]
PaperDetector = Callable[[Paper], Settings]


def joined(detections: Iterable[Detection], gap: int) -> list[Detection]:
    """Join detections of one source that are at most so many characters apart."""
    by_source: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for start, end, key in detections:
        by_source[key].append((start, end))
    found: list[Detection] = []
    for key, spans in by_source.items():
        merged: list[list[int]] = []
        for start, end in sorted(spans):
            if merged and start - merged[-1][1] <= gap:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        found += [(start, end, key) for start, end in merged]
    return found


def of_simstore(
    library: Mapping[str, str], folder: Path
) -> tuple[PaperDetector, Callable[[], None]]:
    """Return a detector with the defaults, and what closes its store."""
    store = Store.create(folder / "library.db")
    store.passages.build()
    store.add_many(library.items())

    def detect(paper: Paper) -> Settings:
        found = next(store.check_many([Document(paper.key, paper.text)], CheckOptions()))
        return {"default": [(copy.start, copy.end, copy.source_key) for copy in found.copies]}

    return detect, store.close


def of_copydetect(library: Mapping[str, str]) -> PaperDetector:
    """Winnowed k-grams of characters, as for source code that no lexer knows."""
    from copydetect import CodeFingerprint, compare_files

    sizes = ((8, 6), (15, 6), (25, 6))

    def prints(text: str, k: int, window: int) -> Any:
        return CodeFingerprint("text", k, window, filter=False, fp=io.StringIO(text))

    held = {size: {key: prints(text, *size) for key, text in library.items()} for size in sizes}

    def detect(paper: Paper) -> Settings:
        settings: Settings = {}
        for size in sizes:
            own = prints(paper.text, *size)
            raw: list[Detection] = []
            for key, other in held[size].items():
                slices = compare_files(own, other)[2][0]
                if len(slices):
                    raw += [(int(a), int(b), key) for a, b in zip(*slices, strict=True)]
            settings |= {(size[0], gap): joined(raw, gap) for gap in GAPS}
        return settings

    return detect


def of_sentence_plagiarism(library: Mapping[str, str]) -> PaperDetector:
    """Sets of words of each two sentences (Jaccard, the default)."""
    from sentence_plagiarism import check

    # It replaces line ends by blanks and strips: places stay but for white space in front.
    def detect(paper: Paper) -> Settings:
        with tempfile.TemporaryDirectory() as name:
            names = {}
            for number, (key, text) in enumerate(library.items()):
                place = Path(name) / f"{number}.txt"
                place.write_text(text, encoding="utf-8")
                names[str(place)] = key
            own = Path(name) / "paper"
            own.write_text(paper.text, encoding="utf-8")
            found = check(str(own), list(names), 0.2, quiet=True)
        offset = len(paper.text) - len(paper.text.lstrip())
        settings: Settings = {}
        for least in (0.3, 0.5, 0.7):
            raw = [
                (
                    one["input_start_pos"] + offset,
                    one["input_end_pos"] + offset + 1,
                    names[one["reference_document"]],
                )
                for one in found
                if one["similarity_score"] >= least
            ]
            settings |= {(least, gap): joined(raw, gap) for gap in GAPS}
        return settings

    return detect


def of_rapidfuzz(library: Mapping[str, str]) -> PaperDetector:
    """Indel similarity of each two sentences, brute force, cut as simstore cuts them."""
    from rapidfuzz import fuzz, process

    held = [
        (text[start:end].lower(), key)
        for key, text in library.items()
        for start, end in sentences(text)
        if end - start >= 5
    ]
    texts = [text for text, _ in held]

    def detect(paper: Paper) -> Settings:
        spans = [(a, b) for a, b in sentences(paper.text) if b - a >= 5]
        own = [paper.text[a:b].lower() for a, b in spans]
        scores = process.cdist(own, texts, scorer=fuzz.ratio, score_cutoff=50, dtype=np.uint8)
        settings: Settings = {}
        for least in (55, 65, 75, 85):
            raw = [
                (*spans[row], held[column][1])
                for row, column in zip(*np.nonzero(scores >= least), strict=True)
            ]
            settings |= {(least, gap): joined(raw, gap) for gap in GAPS}
        return settings

    return detect


def of_difflib(library: Mapping[str, str]) -> PaperDetector:
    """Matching blocks of words (Chinese: characters), each paper with each document."""
    held = {key: [m[0].lower() for m in _UNITS.finditer(text)] for key, text in library.items()}

    def detect(paper: Paper) -> Settings:
        places = [(m.start(), m.end(), m[0].lower()) for m in _UNITS.finditer(paper.text)]
        own = [unit for _, _, unit in places]
        blocks: list[tuple[int, int, int, str]] = []
        matcher = difflib.SequenceMatcher(None, autojunk=False)
        matcher.set_seq2(own)
        for key, units in held.items():
            matcher.set_seq1(units)
            blocks += [
                (places[b][0], places[b + n - 1][1], n, key)
                for _, b, n in matcher.get_matching_blocks()
                if n >= 4
            ]
        settings: Settings = {}
        for least in (4, 6, 8, 13):
            raw = [(start, end, key) for start, end, n, key in blocks if n >= least]
            settings |= {(least, gap): joined(raw, gap) for gap in GAPS}
        return settings

    return detect
