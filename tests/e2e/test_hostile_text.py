"""Texts made to be slow: work grows with their length, not with its square."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from types import SimpleNamespace

import pytest

from simstore import Store
from simstore.text import normalization

LENGTH = 60_000
# Putting a run of marks in order is quadratic: a run that is handed over has 30 marks, and twice
# as many where each decomposes into two.
LONGEST_RUN = 60
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


def test_text_is_ingested_and_found_again(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store.db") as store:
        for name, text in HOSTILE.items():
            assert store.add(name, text) == "added"
            is_found = name in {match.key for match in store.query(text, radius=0)}
            # White space alone duplicates nothing.
            assert is_found == (not text.isspace())
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize("name", ["marks", "ligatures", "jamo", "directions"])
def test_work_of_normalization_is_linear_in_the_length(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    characters = 0

    def counted(form: str, text: str) -> str:
        nonlocal characters
        characters += len(text)
        run = longest = 0
        for character in text:
            run = run + 1 if unicodedata.combining(character) else 0
            longest = max(longest, run)
        assert longest <= LONGEST_RUN
        return unicodedata.normalize(form, text)

    monkeypatch.setattr(normalization, "unicodedata", SimpleNamespace(normalize=counted))
    folded = normalization.DEFAULT.apply(HOSTILE[name])
    # Twice over the text: once as it is, once case-folded, which may be longer (a ligature of 18).
    assert characters <= len(HOSTILE[name]) + max(len(folded), len(HOSTILE[name]))
