"""Titles that differ in one word have a form in common, and a store finds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore import Store
from simstore.fingerprint.titles import (
    asked_forms,
    is_one_word_apart,
    most_features,
    stored_forms,
    title_words,
)

WORDS = st.sampled_from(["a", "of", "bank", "queue", "new", "list", "jobs", "2nd"])
HAN = st.sampled_from("银行新队列的工作")
PLACE = st.integers(0, 30)


def edited(words: list[str], place: int, left_out: int, put_in: list[str]) -> list[str]:
    place %= len(words)
    return [*words[:place], *put_in, *words[place + left_out :]]


@given(
    st.lists(WORDS, min_size=3, max_size=12), PLACE, st.integers(0, 1), st.lists(WORDS, max_size=1)
)
def test_titles_of_words_that_differ_in_one_have_a_form_in_common(
    words: list[str], place: int, left_out: int, put_in: list[str]
) -> None:
    other = edited(words, place, left_out, put_in)
    asked, stored = title_words(" ".join(other)), title_words(" ".join(words))
    assert stored_forms(stored) & asked_forms(asked)
    assert is_one_word_apart(asked, stored)
    assert is_one_word_apart(stored, asked)


@given(st.lists(HAN, min_size=6, max_size=24), PLACE, st.integers(0, 2), st.lists(HAN, max_size=2))
def test_titles_of_characters_that_differ_in_two_have_a_form_in_common(
    words: list[str], place: int, left_out: int, put_in: list[str]
) -> None:
    other = edited(words, place, left_out, put_in)
    asked, stored = title_words("".join(other)), title_words("".join(words))
    assert stored_forms(stored) & asked_forms(asked)
    assert is_one_word_apart(asked, stored)


def plain_is_one_word_apart(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Tell by trying every place."""
    for begin in range(len(one) + 1):
        for left_out in (0, 1):
            for put_in in (0, 1):
                end = begin + left_out
                made = (*one[:begin], *other[begin : begin + put_in], *one[end:])
                if end <= len(one) and made == other:
                    return True
    return False


@given(st.lists(WORDS, min_size=2, max_size=5), st.lists(WORDS, min_size=2, max_size=5))
def test_is_one_word_apart_is_what_every_place_tried_tells(
    one: list[str], other: list[str]
) -> None:
    assert is_one_word_apart(one, other) == plain_is_one_word_apart(tuple(one), tuple(other))


@given(st.lists(WORDS, min_size=14, max_size=30))
def test_longer_texts_are_no_titles(words: list[str]) -> None:
    assert title_words(" ".join(words)) == ()
    assert most_features(()) == 0


@pytest.mark.slow
@given(st.lists(st.lists(WORDS, min_size=3, max_size=8), min_size=1, max_size=8), st.data())
def test_a_store_tells_every_title_that_differs_in_one_word(
    titles: list[list[str]], data: st.DataObject
) -> None:
    asked = edited(
        data.draw(st.sampled_from(titles)),
        data.draw(PLACE),
        data.draw(st.integers(0, 1)),
        data.draw(st.lists(WORDS, max_size=1)),
    )
    with Store.create(":memory:", channels=["simhash", "minhash", "characters"]) as store:
        store.add_many([(str(at), " ".join(words)) for at, words in enumerate(titles)])
        told = {match.key for match in store.query(" ".join(asked))}
    if len(asked) >= 2:
        expected = {str(at) for at, one in enumerate(titles) if is_one_word_apart(asked, one)}
        assert expected <= told
