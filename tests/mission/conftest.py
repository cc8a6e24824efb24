"""Fixtures of the mission: folders, and stores that several documents' tests share."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from .commands import Folder, Store

MANY = 2_000
"""Documents of the store in which near ones are looked up."""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture(scope="session")
def crowd() -> list[str]:
    """Texts of 24 words by chance."""
    chance = random.Random(41)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=5)) for _ in range(3_000)]
    return [" ".join(chance.choices(words, k=24)) for _ in range(MANY)]


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory, crowd: list[str]) -> Store:
    """A store of many texts, for tests that add nothing."""
    folder = Folder(tmp_path_factory.mktemp("many"))
    return folder.store(*({"id": f"{n:04}", "text": text} for n, text in enumerate(crowd)))


@pytest.fixture(scope="session")
def planted() -> list[int]:
    """Fingerprints by chance, and some at every distance up to 5 from the first ten."""
    chance = random.Random(7)
    values = [chance.getrandbits(64) for _ in range(500)]
    for value in values[:10]:
        for flips in range(1, 6):
            changed = value
            for place in chance.sample(range(64), flips):
                changed ^= 1 << place
            values.append(changed)
    return values


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory, planted: list[int]) -> Store:
    """A store of those fingerprints, for tests that add nothing."""
    return Folder(tmp_path_factory.mktemp("given")).given(*planted)
