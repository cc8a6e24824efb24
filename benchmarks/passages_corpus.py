"""Seeded articles with sentences, stock phrases and a common dateline, English-like and Chinese."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import accumulate

import numpy as np
from corpus import vocabulary

# Units: words, or characters of Chinese.
ARTICLE_UNITS = {"en": 600, "zh": 900}
SENTENCE_UNITS = {"en": (8, 26), "zh": (10, 40)}
STOCK_PHRASES = 200
STOCK_SHARE = 0.08
_CHARACTERS = 3_500


def _words(language: str) -> tuple[list[str], np.ndarray]:
    rng = random.Random(1)
    if language == "en":
        words, weights = vocabulary(rng)
    else:
        words = [chr(0x4E00 + n) for n in rng.sample(range(20_000), _CHARACTERS)]
        weights = list(accumulate(1 / (rank + 8) for rank in range(_CHARACTERS)))
    return words, np.array(list(weights)) / list(weights)[-1]


def articles(language: str, count: int, first: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (key, text) from a number on; each is the same whatever the first is.

    One sentence in twelve is a stock sentence of news, drawn from two hundred by their rank: so
    some runs of words are in most articles.
    """
    words, cumulated = _words(language)
    blank, stop = (" ", ". ") if language == "en" else ("", "。")
    least, most = SENTENCE_UNITS[language]

    def sentence(rng: np.random.Generator) -> str:
        drawn = np.searchsorted(cumulated, rng.random(int(rng.integers(least, most))))
        told = blank.join([words[word] for word in drawn.tolist()])
        return told[:1].upper() + told[1:]

    fixed = np.random.default_rng(2)
    stock = [sentence(fixed) for _ in range(STOCK_PHRASES)]
    share = np.cumsum(1 / np.arange(1, STOCK_PHRASES + 1))
    share /= share[-1]
    for number in range(first, first + count):
        rng = np.random.default_rng((3, number))
        told, units = [], 0
        while units < ARTICLE_UNITS[language]:
            if rng.random() < STOCK_SHARE:
                told.append(stock[int(np.searchsorted(share, rng.random()))])
                units += least
                continue
            told.append(sentence(rng))
            units += (least + most) // 2
        yield f"{language}-{number:07}", stop.join(told) + stop.strip()


def paper_of(language: str, library: Mapping[str, str]) -> tuple[str, set[str]]:
    """Return a paper of 10,000 characters, a fifth of it from ten documents, and their keys."""
    rng = random.Random(4)
    own = "".join(text for _, text in articles(language, 20, 10_000_000))
    keys = rng.sample(sorted(library), 10)
    parts, place = [], 0
    for key in keys:
        parts.append(own[place : place + 800])
        place += 800
        start = rng.randrange(len(library[key]) - 200)
        parts.append(library[key][start : start + 200])
    return "\n".join(parts), set(keys)
