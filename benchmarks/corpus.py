"""A seeded corpus: news-like texts of some 3.5 kB with near-duplicates planted among them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

WORDS = 60_000
DOCUMENT_WORDS = 600
COPY_SHARE = 0.1


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
    """Yield (key, text); a tenth of the texts are light edits of one of the last thousand."""
    rng = random.Random(seed)
    words, weights = vocabulary(rng)
    recent: list[list[str]] = []
    for number in range(count):
        if recent and rng.random() < COPY_SHARE:
            text = list(rng.choice(recent))
            for _ in range(rng.choice((0, 1, 3, 12))):
                text[rng.randrange(len(text))] = rng.choice(words)
        else:
            text = rng.choices(words, cum_weights=weights, k=DOCUMENT_WORDS)
        recent.append(text)
        if len(recent) > 1000:
            recent.pop(0)
        yield f"doc-{number:07}", " ".join(text)
