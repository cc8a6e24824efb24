from __future__ import annotations

import pytest

from simstore.text import tokens as cutting
from simstore.text.normalization import DEFAULT
from simstore.text.tokens import scan_tokens, tokens


def test_tokens() -> None:
    for text, expected in (
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
    ):
        assert tokens(DEFAULT.apply(text)) == expected, text


def test_ascii_text_has_the_same_tokens_beside_a_character_that_is_not() -> None:
    text = "".join(chr(code) for code in range(128)) + " one two"
    plain = tokens(DEFAULT.apply(text))
    assert tokens(DEFAULT.apply(text + " é"))[:-1] == plain


def test_characters_of_more_tokens_than_bytes_leave_room_for_what_follows() -> None:
    for count in (1, 10, 1_000, 20_000):
        pytest.importorskip("numba", reason="Numba is not installed")
        # Its compatible form is four Han characters.
        text = "㍿" * count + " a" * (5 * count // 2 + 10)
        expected = len(tokens(DEFAULT.apply(text)))
        assert len(scan_tokens([text], DEFAULT).numbers) == expected, count
        scanned = scan_tokens([text, "two words", text], DEFAULT)
        assert scanned.offsets.tolist() == [0, expected, expected + 2, 2 * expected + 2], count


def test_tokens_do_not_depend_on_the_pieces_that_a_text_is_cut_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for piece in (1, 2, 3, 7, 50):
        texts = [
            "one twotwo three灯塔, 守four ünïcode five", "灯塔守夜人", "a", "!!! ???", "x" * 20, "",
        ]  # fmt: skip
        whole = [tokens(text) for text in texts]
        monkeypatch.setattr(cutting, "_PIECE", piece)
        assert [tokens(text) for text in texts] == whole, piece
        assert all(len(one) <= piece + 20 for one in cutting.token_pieces(texts[0])), piece
