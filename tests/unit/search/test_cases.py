"""Which copies of one source belong together, and which cases are told."""

import random

from simstore.search.cases import CopySpan, is_told, joined


def copy(first, source, length=2.0, matched=None, is_sure=True):
    return CopySpan(
        paper_first=first,
        paper_end=first + length,
        source_first=round(source * 50),
        source_end=round((source + length) * 50),
        matched=length if matched is None else matched,
        is_sure=is_sure,
    )


def test_short_gaps_in_both_texts_are_closed():
    assert joined([]) == []
    assert joined([copy(0, 0), copy(5, 8)]) == [[0, 1]]
    assert joined([copy(0, 0), copy(50, 8)]) == [[0], [1]]
    assert joined([copy(0, 0), copy(5, 80)]) == [[0], [1]]


def test_gaps_may_be_longer_where_more_is_copied_around_them():
    assert joined([copy(0, 0, 1), copy(7.5, 7.5, 1)]) == [[0], [1]]
    assert joined([copy(0, 0, 9), copy(16, 16, 9)]) == [[0, 1]]
    assert joined([copy(0, 0, 90), copy(103, 103, 90)]) == [[0], [1]]


def test_a_case_has_the_parts_of_its_source_in_any_order():
    places = list(range(0, 60, 2))
    for seed in range(5):
        order = random.Random(seed).sample(places, len(places))
        assert joined([copy(n * 2, source) for n, source in enumerate(order)]) == [
            list(range(len(places)))
        ]


def test_two_stretches_of_a_source_that_stand_in_turns_are_two_cases():
    turns = [copy(n * 2, n if n % 2 == 0 else 500 + n) for n in range(10)]
    assert joined(turns) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


def test_each_copy_is_in_one_case_whatever_the_order_they_come_in():
    rng = random.Random(2)
    for _ in range(50):
        copies = [
            copy(rng.uniform(0, 60), rng.uniform(0, 60), rng.uniform(0.5, 5))
            for _ in range(rng.randint(1, 25))
        ]
        found = joined(copies)
        assert sorted(n for case in found for n in case) == list(range(len(copies)))
        mixed = rng.sample(range(len(copies)), len(copies))
        again = joined([copies[n] for n in mixed])
        assert sorted(sorted(mixed[n] for n in case) for case in again) == found


def test_a_case_without_a_run_needs_more_in_common():
    assert is_told([copy(0, 0, 1)])
    assert not is_told([copy(0, 0, 1.5, 1.2, is_sure=False)])
    assert is_told([copy(0, 0, 2, 1.7, is_sure=False)])
    # Much that lies far apart is no more than set phrases.
    parts = [copy(4 * n, 4 * n, 1.2, 1, is_sure=False) for n in range(4)]
    assert not is_told(parts)
    assert is_told([*parts, copy(4, 4, 1)])


def test_a_phrase_that_the_paper_repeats_is_a_case_each_time():
    # One phrase of the source, four times in the paper, with text of its own between.
    phrase = [copy(first, 10, 1.2) for first in (0, 4, 8, 12)]
    assert joined(phrase) == [[0], [1], [2], [3]]
    # With what stands around it in the source it is one passage.
    assert joined([*phrase, copy(2, 6), copy(10, 14)]) == [[0, 1, 2, 3, 4, 5]]
