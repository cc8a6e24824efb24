"""Located units against the tokens of the normalized text, anchors against plain loops."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simstore.errors import InvalidParameter
from simstore.fingerprint.winnowing import Grams, Winnowing, anchors, grams, of_one_kind
from simstore.text.characters import CHARACTER, WORD, class_table
from simstore.text.located import LocatedUnits, located_units
from simstore.text.normalization import Normalization
from simstore.text.passages import sentences, windows
from simstore.text.tokens import tokens

from .strategies import any_text

normalizations = st.builds(
    Normalization,
    case=st.sampled_from(["fold", "keep"]),
    width=st.sampled_from(["fold", "keep"]),
    accents=st.sampled_from(["keep", "strip"]),
    han=st.sampled_from(["keep", "simplified", "simplified-words"]),
)
marked_text = st.text(
    st.sampled_from(
        "abXY 1.\n"
        "\u0301\u0327\u00ad\u200d㈱½ﬁＡｶﾞガ각가\u1100\u1161\u11a8กี漢軟體滑鼠計程車馬鈴薯台灣"
    ),
    max_size=40,
)
# Few words and few characters, so that grams repeat and tie.
repeating_text = st.lists(
    st.sampled_from(["a ", "b ", "c ", "船", "在", "港", "，", "\n"]), max_size=80
).map("".join)
winnowings = st.tuples(
    st.integers(1, 4), st.integers(0, 5), st.integers(1, 6), st.integers(0, 7)
).map(lambda n: Winnowing(n[0], n[0] + n[1], n[2], n[2] + n[3]))


@pytest.mark.slow
@given(st.one_of(any_text, marked_text), normalizations)
@example("馬鈴薯\u00ad計程車", Normalization(han="simplified-words"))
def test_units_are_the_tokens_of_the_normalized_text(text: str, form: Normalization) -> None:
    units = located_units(text, form)
    expected = tokens(form.apply(text))
    by_hash: dict[int, str] = {}
    by_token: dict[str, int] = {}
    assert len(units) == len(expected)
    for token, number in zip(expected, units.hashes.tolist(), strict=True):
        assert by_hash.setdefault(number, token) == token
        assert by_token.setdefault(token, number) == number


@given(st.one_of(any_text, marked_text), normalizations)
def test_spans_are_in_order_and_hold_their_units(text: str, form: Normalization) -> None:
    units = located_units(text, form)
    starts, ends = units.starts.tolist(), units.ends.tolist()
    assert starts == sorted(starts)
    assert ends == sorted(ends)
    for token, start, end in zip(tokens(form.apply(text)), starts, ends, strict=True):
        assert 0 <= start < end <= len(text)
        if form.han == "keep":
            assert token in form.apply(text[start:end])


@given(any_text)
def test_units_are_words_or_characters(text: str) -> None:
    units = located_units(text)
    for token, spaced in zip(tokens(Normalization().apply(text)), units.spaced, strict=True):
        assert spaced == (class_table()[ord(token[0])] != CHARACTER)


def test_a_unit_has_the_same_hash_in_every_form() -> None:
    one = located_units("café ＡＢＣ soft-ware ガ 각")
    other = located_units("CAFE\u0301 abc\u00ad SOFT ware ｶﾞ 각")
    assert one.hashes.tolist() == other.hashes.tolist()


def test_hashes_of_units_stay_as_they_are() -> None:
    # What is stored was made of them.
    assert [hex(n) for n in located_units("船 harbour").hashes.tolist()] == PINNED_UNITS
    text = "one two three four 船在港口靠岸"
    units = located_units(text)
    every = grams(units)
    pure = every.hashes[of_one_kind(units, every)]
    assert [hex(n) for n in pure.tolist()] == PINNED_GRAMS


PINNED_UNITS = ["0x4390224ae79acc05", "0xfb175ead42b65f0c"]
PINNED_GRAMS = ["0xcc7b4b2aea", "0x7a3e020f64"]


def plain_runs(units: LocatedUnits) -> list[tuple[int, int]]:
    """Runs of units of one kind: first and last place (exclusive)."""
    runs: list[tuple[int, int]] = []
    for place, spaced in enumerate(units.spaced.tolist()):
        if place and spaced == bool(units.spaced[place - 1]):
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place, place + 1))
    return runs


def plain_anchors(units: LocatedUnits, winnowing: Winnowing) -> list[int]:
    """First units of the grams that robust winnowing records, window by window."""
    every = grams(units, winnowing)
    hash_of = dict(zip(every.first.tolist(), every.hashes.tolist(), strict=True))
    recorded: list[int] = []
    for start, end in plain_runs(units):
        words = bool(units.spaced[start])
        k = winnowing.gram_words if words else winnowing.gram_characters
        t = winnowing.run_words if words else winnowing.run_characters
        places = range(start, end - k + 1)
        if not places:
            continue
        size = min(t - k + 1, len(places))
        before = -1
        for first in range(start, places[-1] - size + 2):
            window = range(first, first + size)
            least = min(hash_of[place] for place in window)
            if before not in window or hash_of[before] != least:
                before = max(place for place in window if hash_of[place] == least)
                recorded.append(before)
    mixed = {
        int(first)
        for first, last in zip(every.first, every.last, strict=True)
        if len(set(units.spaced[first : last + 1].tolist())) > 1
    }
    for first in range(len(units) - winnowing.run_mixed + 1):
        window = range(first, first + winnowing.window_mixed)
        if mixed.intersection(window):
            least = min(hash_of[place] for place in window)
            recorded.append(max(place for place in window if hash_of[place] == least))
    return sorted(set(recorded))


@given(repeating_text, winnowings)
def test_grams_are_the_runs_of_k_units_of_one_kind(text: str, winnowing: Winnowing) -> None:
    units = located_units(text)
    found = grams(units, winnowing)
    pure = of_one_kind(units, found)
    found = Grams(found.hashes[pure], found.first[pure], found.last[pure])
    expected = []
    for start, end in plain_runs(units):
        k = winnowing.gram_words if units.spaced[start] else winnowing.gram_characters
        expected += [(place, place + k - 1) for place in range(start, end - k + 1)]
    assert list(zip(found.first.tolist(), found.last.tolist(), strict=True)) == expected
    content: dict[int, tuple[int, ...]] = {}
    for number, first, last in zip(
        found.hashes.tolist(), found.first.tolist(), found.last.tolist(), strict=True
    ):
        assert number < 1 << 40
        run = tuple(units.hashes[first : last + 1].tolist())
        assert content.setdefault(number, run) == run


@given(repeating_text, winnowings)
@example("船" * 60, Winnowing())
@example("a " * 60, Winnowing())
def test_anchors_are_those_of_robust_winnowing(text: str, winnowing: Winnowing) -> None:
    units = located_units(text)
    assert anchors(units, winnowing).first.tolist() == plain_anchors(units, winnowing)


@given(repeating_text, repeating_text, repeating_text, repeating_text, winnowings, st.data())
def test_texts_that_share_a_run_share_an_anchor(
    before: str, shared: str, after: str, other: str, winnowing: Winnowing, data: st.DataObject
) -> None:
    stored = located_units(before + shared + after)
    asked = located_units(other + shared + data.draw(repeating_text))
    anchored = set(anchors(stored, winnowing).hashes.tolist())
    asked_grams = grams(asked, winnowing)
    places: dict[tuple[int, ...], list[int]] = {}
    # Every run of t units of one kind that both have: its grams, as asked, hold an anchor.
    stored_runs: set[tuple[int, ...]] = set()
    for units, into_places in ((stored, False), (asked, True)):
        for start, end in plain_runs(units):
            t = winnowing.run_words if units.spaced[start] else winnowing.run_characters
            for place in range(start, end - t + 1):
                run = (int(units.spaced[start]), *units.hashes[place : place + t].tolist())
                if into_places:
                    places.setdefault(run, []).append(place)
                else:
                    stored_runs.add(run)
    for run in stored_runs & places.keys():
        for place in places[run]:
            end = place + len(run) - 1
            inside = (asked_grams.first >= place) & (asked_grams.last < end)
            assert anchored.intersection(asked_grams.hashes[inside].tolist())


@given(repeating_text, repeating_text, repeating_text, repeating_text, winnowings, st.data())
@example("", "船在港船在 a " * 4, "", "", Winnowing(), None)
def test_texts_that_share_a_run_of_both_kinds_share_an_anchor(
    before: str,
    shared: str,
    after: str,
    other: str,
    winnowing: Winnowing,
    data: st.DataObject | None,
) -> None:
    stored = located_units(before + shared + after)
    asked = located_units(other + shared + (data.draw(repeating_text) if data else ""))
    anchored = set(anchors(stored, winnowing).hashes.tolist())
    every, t = grams(asked, winnowing), winnowing.run_mixed
    runs = {
        tuple(stored.hashes[place : place + t].tolist()) for place in range(len(stored) - t + 1)
    }
    for place in range(len(asked) - t + 1):
        if tuple(asked.hashes[place : place + t].tolist()) in runs:
            inside = (every.first >= place) & (every.last < place + t)
            assert anchored.intersection(every.hashes[inside].tolist())


@given(repeating_text, winnowings)
def test_a_gram_of_both_kinds_begins_where_none_of_one_kind_does(
    text: str, winnowing: Winnowing
) -> None:
    units = located_units(text)
    every, size = grams(units, winnowing), winnowing.gram_mixed
    held = {}
    for start, end in plain_runs(units):
        k = winnowing.gram_words if units.spaced[start] else winnowing.gram_characters
        held |= {place: place + k - 1 for place in range(start, end - k + 1)}
    expected = {
        place: held.get(place, place + size - 1)
        for place in range(len(units))
        if place in held or place + size <= len(units)
    }
    assert dict(zip(every.first.tolist(), every.last.tolist(), strict=True)) == expected
    assert every.first.tolist() == sorted(expected)
    assert of_one_kind(units, every).tolist() == [place in held for place in sorted(expected)]


def test_repeated_text_has_few_anchors() -> None:
    found = anchors(located_units("船" * 8_000))
    assert len(found) == pytest.approx(1_000, abs=2)


def test_an_impossible_winnowing_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        Winnowing(gram_words=5, run_words=4)


@given(st.one_of(any_text, st.text(st.sampled_from("ab .!?。！？”\"'\n，, 1船在Dr")), marked_text))
def test_sentences_hold_every_letter_once(text: str) -> None:
    check_spans(text, sentences(text))


@given(st.one_of(any_text, marked_text), st.integers(1, 40))
def test_windows_hold_every_letter_once(text: str, size: int) -> None:
    spans = windows(text, size)
    check_spans(text, spans)
    assert all(end - start <= size + size // 2 + 1 for start, end in spans)


def check_spans(text: str, spans: list[tuple[int, int]]) -> None:
    covered = 0
    kinds = [class_table()[ord(c)] for c in text]
    for start, end in spans:
        assert covered <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert any(kind in (WORD, CHARACTER) for kind in kinds[start:end])
        assert not any(kind in (WORD, CHARACTER) for kind in kinds[covered:start])
        covered = end
    assert not any(kind in (WORD, CHARACTER) for kind in kinds[covered:])
