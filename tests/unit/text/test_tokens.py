from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simstore.text import scanning
from simstore.text import tokens as cutting
from simstore.text.normalization import DEFAULT, normalize
from simstore.text.tokens import scan_tokens, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t ", []),
        ("The boat's in-bound, 3.14!", ["the", "boat", "s", "in", "bound", "3", "14"]),
        ("snake_case", ["snake", "case"]),
        ("灯塔, lamp灯42", ["灯", "塔", "lamp", "灯", "42"]),
        ("カタ かな", ["カ", "タ", "か", "な"]),
        ("Ünïcode ＦＵＬＬ", ["ünïcode", "full"]),
        ("!!! ???", ["!!!", "???"]),
        ("— … —", ["—", "...", "—"]),
        ("한국어", ["한", "국", "어"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(normalize(text)) == expected


def test_ascii_text_has_the_same_tokens_beside_a_character_that_is_not() -> None:
    text = "".join(chr(code) for code in range(128)) + " one two"
    plain = tokens(normalize(text))
    assert tokens(normalize(text + " é"))[:-1] == plain


@pytest.mark.parametrize("count", [1, 10, 1_000, 20_000])
def test_characters_of_more_tokens_than_bytes_leave_room_for_what_follows(count: int) -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    # Its compatible form is four Han characters.
    text = "㍿" * count + " a" * (5 * count // 2 + 10)
    expected = len(tokens(normalize(text)))
    assert len(scan_tokens([text], DEFAULT).numbers) == expected
    scanned = scan_tokens([text, "two words", text], DEFAULT)
    assert scanned.offsets.tolist() == [0, expected, expected + 2, 2 * expected + 2]


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 50])
def test_tokens_do_not_depend_on_the_pieces_that_a_text_is_cut_into(
    monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    texts = [
        "one twotwo three灯塔, 守four ünïcode five",
        "灯塔守夜人",
        "a",
        "!!! ???",
        "x" * 20,
        "",
    ]
    whole = [tokens(text) for text in texts]
    monkeypatch.setattr(cutting, "_PIECE", piece)
    assert [tokens(text) for text in texts] == whole
    assert all(len(one) <= piece + 20 for one in cutting.token_pieces(texts[0]))


def test_arrays_that_are_full_grow_by_what_is_used_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    grown = scanning._grown
    calls: list[tuple[int, int]] = []

    def counting(array: Any, size: int, used: int) -> Any:
        calls.append((len(array), used))
        return grown(array, size, used)

    monkeypatch.setattr(scanning, "_grown", counting)
    # Words of more bytes than there is room for at first, and many of them.
    texts = [" ".join(f"word{n * 400 + m}ofthemiddlelength" for m in range(400)) for n in range(60)]
    scanned = scan_tokens([*texts, "灯塔 " * 300, *texts], DEFAULT)
    assert len(calls) > 4
    assert sum(used for _, used in calls) < sum(length for length, _ in calls) / 2
    once = [scan_tokens([text], DEFAULT) for text in (texts[0], texts[-1], "灯塔 " * 300)]
    calls.clear()
    sizes = np.diff(scanned.offsets)
    for place, one in ((0, once[0]), (59, once[1]), (60, once[2]), (61, once[0]), (120, once[1])):
        assert sizes[place] == one.offsets[-1]
        assert words_of(scanned, place) == words_of(one, 0)


def words_of(scanned: scanning.Scanned, text: int) -> list[bytes]:
    """Return the terms of one text, in order."""
    held = scanned.chunks.astype("<u8").tobytes()
    numbers = scanned.numbers[scanned.offsets[text] : scanned.offsets[text + 1]]
    starts = 8 * scanned.starts[numbers]
    lengths = scanned.lengths[numbers]
    return [held[first : first + length] for first, length in zip(starts, lengths, strict=True)]
