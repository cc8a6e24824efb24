"""Coverage of texts against plain loops over words."""

from __future__ import annotations

import random

import pytest
from oracle_texts import runs

from simstore.search.coverage import Coverage, coverage
from simstore.text.normalization import FOLDED


def plain(sentences: list[list[str]], others: list[str]) -> tuple[float, list[int]]:
    """Return the share of covered words, and the numbers of new sentences."""
    words = [word for sentence in sentences for word in sentence]
    size = min(5, len(words))
    known = set[tuple[str, ...]]().union(*(runs(other, size) for other in others))
    covered = [False] * len(words)
    for start in range(len(words) - size + 1):
        if tuple(words[start : start + size]) in known:
            covered[start : start + size] = [True] * size
    new, start = [], 0
    for number, sentence in enumerate(sentences):
        outside = covered[start : start + len(sentence)].count(False)
        if len(sentence) >= 8 and outside > len(sentence) / 2:
            new.append(number)
        start += len(sentence)
    return sum(covered) / len(words), new


def text_of(sentences: list[list[str]]) -> str:
    return " ".join(" ".join(sentence).capitalize() + "." for sentence in sentences)


@pytest.mark.parametrize("seed", range(200))
def test_share_and_new_sentences_are_those_of_plain_loops(seed: int) -> None:
    chance = random.Random(seed)
    words = [f"word{number}" for number in range(chance.choice((3, 12, 80)))]
    made = [
        [chance.choice(words) for _ in range(chance.randrange(1, 20))]
        for _ in range(chance.randrange(1, 8))
    ]
    others = []
    for _ in range(chance.randrange(4)):
        kept = [one for one in made if chance.random() < 0.8]
        others.append([[w if chance.random() < 0.95 else "other" for w in one] for one in kept])
    text = text_of(made)
    found = coverage(text, [text_of(other) for other in others], FOLDED)
    share, new = plain(made, [text_of(other).lower() for other in others])
    assert found.share == pytest.approx(share)
    sentences = [part + "." for part in text.split(".") if part]
    assert [text[start:end] for start, end in found.new_sentences] == [
        sentences[number].strip() for number in new
    ]
    assert found.is_complete == (share >= 0.9 and not new)


def test_han_characters_are_words() -> None:
    old = "渡轮每天早上九点开往小岛并在中午返回。"
    assert coverage(old, ["公告：" + old + "请带外套。"], FOLDED) == Coverage(1.0)
    changed = coverage(old, ["渡轮每天早上九点停运。"], FOLDED)
    assert changed.share == pytest.approx(8 / 18)
    assert changed.new_sentences == ((0, 19),)


@pytest.mark.parametrize("text", ["", " \n", "!"])
def test_a_text_without_words_loses_nothing(text: str) -> None:
    assert coverage(text, [], FOLDED).is_complete == (text != "!")
