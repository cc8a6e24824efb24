"""Items of benchmarks in texts: every run of N words, and short items whole, against an oracle."""

from __future__ import annotations

import random
import re

import pytest

from simstore.services.dedup.benchmarks import Benchmarks, Item

ENGLISH = [f"w{n}" for n in range(40)]
HAN = [chr(0x4E00 + n) for n in range(40)]
TOKEN = re.compile(r"[\u4e00-\u9fff]|[a-z0-9]+")


def tokens(text: str) -> list[str]:
    return TOKEN.findall(text.lower())


def common(first: list[str], second: list[str], size: int) -> bool:
    """Return whether two lists have a run of so many in common, looked at one by one."""
    held = {tuple(first[n : n + size]) for n in range(len(first) - size + 1)}
    return any(tuple(second[n : n + size]) in held for n in range(len(second) - size + 1))


def joined(words: list[str], source: random.Random) -> str:
    """Return words as a text with odd letters, blanks and punctuation."""
    text = ""
    for word in words:
        blank = "" if word in HAN and text[-1:] in HAN else source.choice([" ", ", ", "\n", " - "])
        text += blank + (word.upper() if source.random() < 0.2 else word)
    return text


def planted(source: random.Random, words: list[str], item: list[str], size: int) -> list[str]:
    start = source.randrange(len(item) - size + 1)
    place = source.randrange(len(words))
    return [*words[:place], *item[start : start + size], *words[place:]]


@pytest.mark.parametrize(
    ("alphabet", "count", "length", "size"),
    [(ENGLISH, 30, 8, 8), (ENGLISH, 120, 50, 50), (HAN, 60, 8, 13), (HAN, 120, 31, 51)],
)
def test_hits_are_the_items_with_a_common_run_as_an_oracle_finds_them(
    alphabet: list[str], count: int, length: int, size: int
) -> None:
    source = random.Random(size * len(alphabet[0]))
    items = [source.choices(alphabet, k=count) for _ in range(8)]
    made = Benchmarks(
        [Item("b", str(n), joined(one, source)) for n, one in enumerate(items)], length
    )
    hit_count = 0
    for turn in range(60):
        words = source.choices(alphabet, k=40)
        # A run of just the length, one less, or none.
        if turn % 3:
            words = planted(source, words, source.choice(items), size - turn % 3 + 1)
        text = joined(words, source)
        assert tokens(text) == words
        hits = made.hits(text)
        expected = {n for n, item in enumerate(items) if common(item, words, size)}
        assert {hit.item for hit in hits} == expected, turn
        for hit in hits:
            told = tokens(text[hit.start : hit.end])
            item = made.items[hit.item].text
            assert told == tokens(item[hit.item_start : hit.item_end])
            assert len(told) == hit.units >= size
        hit_count += len(hits)
    assert hit_count >= 20


def test_short_items_are_matched_whole_and_shorter_ones_not_at_all() -> None:
    made = Benchmarks(
        [
            Item("b", "whole", "Who wrote the old clock tale?"),
            Item("b", "short", "Yes, we can."),
            Item("b", "han", "天地玄黄宇宙洪荒日月"),
            Item("b", "empty", ""),
        ],
        words=13,
    )
    assert made.too_short == {1, 3}
    (hit,) = made.hits("They asked: WHO wrote the old-clock tale, and yes, we can tell.")
    assert (hit.item, hit.is_whole, hit.units) == (0, True, 6)
    assert made.hits("Who wrote the clock tale?") == []
    assert [one.item for one in made.hits("曰天地玄黄，宇宙洪荒，日月盈昃")] == [2]


def test_runs_of_words_and_characters_in_turns_are_found() -> None:
    text = " ".join(f"天地玄黄宇 word{n}" for n in range(12))
    made = Benchmarks([Item("b", "mixed", text)], words=8)
    (hit,) = made.hits(f"其 {text} 也")
    assert (hit.item, hit.units) == (0, 72)


def test_a_phrase_of_many_items_tells_nothing() -> None:
    source = random.Random(5)
    prompt = "Choose the one correct answer from among the four options that follow here: "
    words = [f"x{n}" for n in range(5_000)]
    items = [Item("b", str(n), prompt + " ".join(source.choices(words, k=20))) for n in range(60)]
    made = Benchmarks([*items, Item("b", "prompt", prompt)], words=8)
    assert made.everywhere == {60}
    assert made.hits(f"{prompt} cats, dogs") == []
    held = items[7].text
    assert [hit.item for hit in made.hits(f"So: {held}")] == [7]
