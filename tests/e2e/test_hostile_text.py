"""Texts made to be slow: time grows with their length, not with its square."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from simstore import Store

LENGTH = 60_000
# What ordinary text of this length takes, many times over; what is quadratic takes far longer.
MOST_SECONDS = 5.0
HOSTILE = {
    "marks": "a" + "\u0301\u0316" * (LENGTH // 2),
    "marks-of-compatibility-characters": "\u0344" * LENGTH,
    "ligatures": "\ufdfa" * (LENGTH // 18),
    "joiners": "\U0001f469\u200d" * (LENGTH // 2),
    "jamo": "\u1100\u1161\u11a8" * (LENGTH // 3),
    "one-word": "a" * LENGTH,
    "blanks": " \n\u3000" * (LENGTH // 3),
    "one-letter-words": "a b " * (LENGTH // 4),
    "private": "\ue000\U000fffff" * (LENGTH // 2),
    "surrogates": "\udc80\udcff" * (LENGTH // 2),
    "han": "\u5929\u5730" * (LENGTH // 2),
    "kana": "\u3042\u30a2" * (LENGTH // 2),
    "directions": "\u202e\u202c" * (LENGTH // 2),
    "numbers": "1.5e9," * (LENGTH // 6),
    "nul": "\x00" * LENGTH,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_text_is_ingested_in_time_linear_in_its_length(tmp_path: Path, name: str) -> None:
    with Store.create(tmp_path / "store.db") as store:
        began = time.monotonic()
        assert store.add("hostile", HOSTILE[name]) == "added"
        assert [match.key for match in store.query(HOSTILE[name], radius=0)] == ["hostile"]
        assert time.monotonic() - began < MOST_SECONDS
        assert store.fsck() == []
