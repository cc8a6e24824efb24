"""An anchor tells in 16 bits what stands around it."""

import numpy as np

from simstore.fingerprint.anchor_neighbours import MOST, bits_around, neighbours
from simstore.fingerprint.passage_recipe import PassageRecipe
from simstore.fingerprint.winnowing import DEFAULT_WINNOWING, Grams, grams
from simstore.text.located import LocatedUnits, located_units

WORDS = "the harbour master writes every name into a ledger that is older than the town hall"
HAN = "港务长把每一个名字都写进一本比市政厅还要老的账簿里面去"


def told(text: str) -> dict[str, int]:
    """What each gram of a text tells, by its own text."""
    units = located_units(text)
    found = grams(units, DEFAULT_WINNOWING)
    spans = zip(units.starts[found.first], units.ends[found.last], strict=True)
    values = neighbours(units, found, DEFAULT_WINNOWING).tolist()
    return dict(zip((text[start:end] for start, end in spans), values, strict=True))


def test_grams_tell_the_words_around_them_as_far_as_a_run_reaches() -> None:
    gram = "every name into a"
    whole = told(WORDS)[gram]
    assert 1 <= whole < MOST
    # Four words on each side are all that counts.
    assert told("the harbour master writes every name into a ledger that is older")[gram] == whole
    assert told(f"Quite other words. {WORDS}; and more")[gram] == whole
    # Two bits are of each word, the nearest has the lowest.
    values = {told(WORDS.replace("writes", f"word{n}"))[gram] - 1 for n in range(30)}
    assert len(values) == 4
    assert {value & ~0x300 for value in values} == {(whole - 1) & ~0x300}
    values = {told(WORDS.replace("older", f"word{n}"))[gram] - 1 for n in range(30)}
    assert len(values) == 4
    assert {value & ~0xC0 for value in values} == {(whole - 1) & ~0xC0}


def test_grams_tell_the_characters_around_them() -> None:
    gram = HAN[9:15]
    whole = told(HAN)[gram]
    assert told(HAN[1:23])[gram] == told("天" + HAN[1:23] + "地")[gram] == whole
    # One bit of each of eight.
    values = {told(HAN.replace(HAN[8], chr(0x4E10 + n)))[gram] - 1 for n in range(30)}
    assert len(values) == 2
    assert {value & ~0x100 for value in values} == {(whole - 1) & ~0x100}


def test_nothing_around_a_gram_is_no_bit_and_the_number_is_never_0() -> None:
    assert told("every name into a") == {"every name into a": 1}
    assert told("") == {}
    # All bits set: the largest number, which stands for the one below it too.
    hashes = np.full(20, np.uint64(2**64 - 1))
    places = np.arange(20, dtype=np.int32)
    units = LocatedUnits(hashes, places, places + 1, np.ones(20, bool))
    one = Grams(hashes[:1], np.array([8], np.int32), np.array([11], np.int32))
    assert neighbours(units, one, DEFAULT_WINNOWING).tolist() == [MOST]
    hashes[12] -= np.uint64(1)
    assert neighbours(units, one, DEFAULT_WINNOWING).tolist() == [MOST]
    hashes[12] -= np.uint64(1)
    assert neighbours(units, one, DEFAULT_WINNOWING).tolist() == [MOST - 1]
    assert bits_around(units, one, DEFAULT_WINNOWING).tolist() == [MOST - 2]


def test_a_recipe_with_neighbours_has_the_same_anchors_without_lengths() -> None:
    for text in (WORDS, HAN, f"{HAN} {WORDS}", "天地玄黄宇 x " * 9):
        before = PassageRecipe(sentences=True).index(text)
        after = PassageRecipe(sentences=True, neighbours=True).index(text)
        assert before.hashes.tolist() == after.hashes.tolist(), text
        assert before.starts.tolist() == after.starts.tolist(), text
        anchors = len(after.hashes) - after.term_count
        # Terms keep their contexts.
        assert before.lengths[anchors:].tolist() == after.lengths[anchors:].tolist(), text
        assert after.lengths[:anchors].min() >= 1, text
        assert after.lengths.max() <= MOST, text
