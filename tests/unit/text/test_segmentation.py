"""The ways to cut Chinese against plain forms that look at every way there is."""

from __future__ import annotations

import sys
from functools import cache

import pytest
import rjieba
from hypothesis import given
from hypothesis import strategies as st

from simstore.errors import InvalidParameter, MissingExtra
from simstore.text import segmentation
from simstore.text.segmentation import (
    SEGMENTERS,
    backward_maximum,
    bidirectional,
    dictionary_words,
    fewest_cuts,
    forward_maximum,
    most_probable,
    segmenter,
)

LONGEST = 16
in_dictionary = cache(rjieba._DEFAULT_JIEBA.has_word)
# Characters that make many words with one another, and one that makes none.
runs = st.text(
    "研究生命起源的和尚未结婚南京市长江大桥人民中国家乒乓球拍卖完了實々〇\U00020000", max_size=14
)


def known(word: str) -> bool:
    return len(word) == 1 or (len(word) <= LONGEST and in_dictionary(word))


def plain_forward(run: str) -> list[str]:
    words = []
    while run:
        size = next(n for n in range(len(run), 0, -1) if known(run[:n]))
        words.append(run[:size])
        run = run[size:]
    return words


def plain_backward(run: str) -> list[str]:
    words: list[str] = []
    while run:
        size = next(n for n in range(len(run), 0, -1) if known(run[-n:]))
        words.insert(0, run[-size:])
        run = run[:-size]
    return words


def every_way(run: str) -> list[list[str]]:
    if not run:
        return [[]]
    return [
        [run[:n], *rest]
        for n in range(1, len(run) + 1)
        if known(run[:n])
        for rest in every_way(run[n:])
    ]


def singles(words: list[str]) -> int:
    return sum(len(word) == 1 for word in words)


@given(runs)
def test_all_words_of_the_dictionary_are_found_where_they_stand(run: str) -> None:
    assert dictionary_words(run) == [
        (start, end)
        for start in range(len(run))
        for end in range(start + 2, len(run) + 1)
        if known(run[start:end])
    ]


@given(runs)
def test_maximum_matching_takes_the_longest_word_from_its_end(run: str) -> None:
    assert forward_maximum(run) == plain_forward(run)
    assert backward_maximum(run) == plain_backward(run)


@given(runs)
def test_bidirectional_takes_fewer_words_then_fewer_single_characters(run: str) -> None:
    forward, backward = plain_forward(run), plain_backward(run)
    found = bidirectional(run)
    if len(forward) != len(backward):
        assert found == min(forward, backward, key=len)
    elif singles(forward) != singles(backward):
        assert found == min(forward, backward, key=singles)
    else:
        assert found == backward


@given(st.text("研究生命起源的和尚未结婚南京市长江大桥實", max_size=9))
def test_fewest_cuts_is_the_best_of_all_ways(run: str) -> None:
    best = min(
        every_way(run),
        key=lambda words: (len(words), singles(words), [-len(word) for word in words[::-1]]),
    )
    assert fewest_cuts(run) == best


@given(st.one_of(runs, st.text(st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF))))
def test_words_make_up_the_run(run: str) -> None:
    for name in SEGMENTERS[1:]:
        assert "".join(segmenter(name)(run)) == run


def test_ways_differ_where_words_overlap() -> None:
    run = "研究生命起源"
    assert forward_maximum(run) == ["研究生", "命", "起源"]
    assert backward_maximum(run) == ["研究", "生命", "起源"]
    assert bidirectional(run) == ["研究", "生命", "起源"]
    assert fewest_cuts(run) == ["研究", "生命", "起源"]
    assert most_probable("他来到网易杭研大厦") == ["他", "来到", "网易", "杭研", "大厦"]


def test_long_runs_are_cut_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmentation, "_LONGEST_RUN", 4)
    assert segmenter("backward-max")("研究生命起源") == ["研究", "生命", "起源"]
    assert segmenter("backward-max")("生命起源研究生") == ["生命", "起源", "研究生"]
    assert segmenter("backward-max")("起源研究生命") == ["起源", "研究", "生命"]
    assert segmenter("min-cut")("研究生研究生") == ["研究生", "研", "究", "生"]


def test_unknown_segmenter_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="choose one of chars, jieba, forward-max"):
        segmenter("other")


def test_missing_package_is_an_error_that_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    for use in (lambda: segmenter("jieba"), segmentation.version):
        with pytest.raises(MissingExtra, match=r"needs the extra 'segment': "):
            use()
