"""A seeded corpus: news-like texts of some 3.5 kB with near-duplicates planted among them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

import numpy as np

WORDS = 60_000
DOCUMENT_WORDS = 600
COPY_SHARE = 0.1
# Texts that are drawn together, and that copies are made of.
_TOGETHER = 1_000


def vocabulary(rng: random.Random) -> tuple[list[str], list[float]]:
    """Return invented words and their cumulated Zipf weights."""
    consonants, vowels = "bcdfghklmnprstvw", "aeiou"
    words: dict[str, None] = {}
    while len(words) < WORDS:
        syllables = rng.choice((1, 2, 2, 2, 3, 3))
        words[
            "".join(rng.choice(consonants) + rng.choice(vowels) for _ in range(syllables))
            + rng.choice(("", "", "n", "s", "r", "t"))
        ] = None
    weights = accumulate(1 / (rank + 3) for rank in range(WORDS))
    return list(words), list(weights)


def documents(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield (key, text); a tenth of the texts are light edits of one of the thousand before."""
    words, weights = vocabulary(random.Random(seed))
    cumulated = np.array(weights) / weights[-1]
    rng = np.random.default_rng(seed)
    before = np.empty((0, DOCUMENT_WORDS), np.int64)
    for start in range(0, count, _TOGETHER):
        drawn = np.searchsorted(cumulated, rng.random((_TOGETHER, DOCUMENT_WORDS)))
        for place in np.flatnonzero(rng.random(len(before)) < COPY_SHARE).tolist():
            drawn[place] = before[rng.integers(len(before))]
            edits = rng.choice((0, 1, 3, 12))
            drawn[place, rng.integers(DOCUMENT_WORDS, size=edits)] = rng.integers(WORDS, size=edits)
        for number, row in enumerate(drawn.tolist()[: count - start], start):
            yield f"doc-{number:07}", " ".join([words[word] for word in row])
        before = drawn
