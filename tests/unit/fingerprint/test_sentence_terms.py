from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.passage_recipe import PassageRecipe
from simstore.fingerprint.sentence_terms import (
    asked_terms,
    chosen_terms,
    commonness,
    may_be_alike,
    sentence_units,
    stepped_lengths,
)
from simstore.text.located import located_units
from simstore.text.normalization import DEFAULT
from simstore.text.passages import sentences

SENTENCE = "渔民在天亮以前修补了被暴风撕破的渔网"


def spans_of(text: str) -> NDArray[np.int32]:
    return np.array(sentences(text), np.int32).reshape(-1, 2)


def shuffled(text: str, seed: int) -> str:
    letters = list(text)
    random.Random(seed).shuffle(letters)
    return "".join(letters)


def test_a_sentence_has_the_same_terms_in_any_order_of_its_units() -> None:
    kept = chosen_terms(located_units(SENTENCE), spans_of(SENTENCE))
    assert len(kept) == 2
    for seed in range(20):
        text = shuffled(SENTENCE, seed)
        found = chosen_terms(located_units(text), spans_of(text))
        assert found.hashes.tolist() == kept.hashes.tolist()
        assert found.contexts.tolist() == kept.contexts.tolist()
    english = "Divers inspected the central pier of the bridge"
    turned = "bridge the of pier the inspected Divers central"
    assert (
        chosen_terms(located_units(english), spans_of(english)).hashes.tolist()
        == chosen_terms(located_units(turned), spans_of(turned)).hashes.tolist()
    )


def test_what_is_kept_is_asked_for_and_so_are_pairs_of_other_rare_units() -> None:
    text = f"{SENTENCE}。鳄鱼鳄鱼鳄鱼"
    units, spans = located_units(text), spans_of(text)
    asked = asked_terms(sentence_units(units, spans))
    assert np.bincount(asked.sentences).tolist() == [28, 1]
    kept = chosen_terms(units, spans)
    assert np.isin(kept.hashes, asked.hashes).all()
    # A rare unit in front of the others takes one place of those asked for.
    edited = f"鳇{SENTENCE[1:]}"
    others = asked_terms(sentence_units(located_units(edited), spans_of(edited)))
    assert np.isin(
        chosen_terms(located_units(SENTENCE), spans_of(SENTENCE)).hashes, others.hashes
    ).any()


def test_a_further_unit_of_a_stored_sentence_is_told_by_its_context() -> None:
    kept = chosen_terms(located_units(SENTENCE), spans_of(SENTENCE))
    text = f"{shuffled(SENTENCE, 1)}。今天早上下了一场大雨"
    units = sentence_units(located_units(text), spans_of(text))
    assert units.has(np.zeros(len(kept), np.int64), kept.contexts).all()
    assert not units.has(np.ones(len(kept), np.int64), kept.contexts).any()


def test_what_is_chosen_of_a_sentence_depends_on_it_alone() -> None:
    alone = chosen_terms(located_units(SENTENCE), spans_of(SENTENCE))
    text = f"今天早上下了一场大雨。{SENTENCE}。后来大家都回家去了。"
    among = chosen_terms(located_units(text), spans_of(text))
    of_it = among.sentences == 1
    assert among.hashes[of_it].tolist() == alone.hashes.tolist()
    assert among.contexts[of_it].tolist() == alone.contexts.tolist()


def test_a_sentence_keeps_few_terms_and_a_very_short_one_none() -> None:
    for text, count in (
        (SENTENCE, 2),
        ("".join(map(chr, range(0x4E00, 0x4E40))), 3),
        ("Divers inspected the central pier of the bridge", 2),
        (" ".join(f"word{n}" for n in range(20)), 3),
        ("渔民修补渔网吧", 0),
        ("Three words only", 0),
        ("", 0),
        ("……", 0),
    ):
        assert len(chosen_terms(located_units(text), spans_of(text))) == count, text


def test_a_pair_that_occurs_twice_is_kept_once() -> None:
    text = "鳄鱼鳄鱼鳄鱼鳄鱼鳄鱼"
    assert len(chosen_terms(located_units(text), spans_of(text))) == 1


def test_common_words_and_characters_are_graded() -> None:
    units = located_units("The harbour 的 鹦 was old 學")
    grades = dict(zip(["the", "harbour", "的", "鹦", "was", "old", "學"],
                      commonness(units, DEFAULT).tolist(), strict=True))  # fmt: skip
    assert grades["the"] == grades["was"] == grades["的"] == 3
    assert grades["harbour"] == grades["鹦"] == 0
    assert grades["old"] == 1
    assert grades["學"] == 3


def test_lengths_decide_whether_sentences_may_be_alike() -> None:
    for one, other, alike in (
        (10, 10, True),
        (10, 18, True),
        (10, 19, False),
        (20, 37, True),
        (20, 46, False),
        (10, 300, False),
        (30, 50, True),
        (100, 110, True),
        (100, 300, False),
        (400, 2000, True),
    ):
        contexts = [stepped_lengths(np.array([count])) for count in (one, other)]
        assert may_be_alike(contexts[0], contexts[1], 0.7).tolist() == [alike], one
        assert may_be_alike(contexts[1], contexts[0], 0.7).tolist() == [alike], one


def test_windows_have_the_terms_of_the_sentences() -> None:
    text = f"{SENTENCE}。" * 3
    by_sentence = PassageRecipe(sentences=True).index(text)
    by_window = PassageRecipe("window", 13, sentences=True).index(text)
    assert by_window.term_count == by_sentence.term_count == 6
    assert by_window.hashes[-6:].tolist() == by_sentence.hashes[-6:].tolist()
    assert by_window.starts[-6:].tolist() == by_sentence.starts[-6:].tolist()
