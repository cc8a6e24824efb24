"""Fixtures of the mission: folders, texts, and stores that tests of several documents share."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .commands import Folder, Store, served


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture(scope="session")
def new_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Folder]:
    return lambda: Folder(tmp_path_factory.mktemp("mission"))


@pytest.fixture(scope="session")
def texts() -> Any:
    return tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))


@pytest.fixture(scope="session")
def news(texts: Any) -> Any:
    """A story, the same with another title, counter and time, and another story."""
    return texts["news"]


@pytest.fixture(scope="session")
def crowd() -> list[str]:
    """Texts of 24 words by chance."""
    chance = random.Random(41)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=5)) for _ in range(3_000)]
    return [" ".join(chance.choices(words, k=24)) for _ in range(2_000)]


@pytest.fixture(scope="session")
def many(new_folder: Callable[[], Folder], crowd: list[str]) -> Store:
    """A store of many texts, for tests that add nothing."""
    return new_folder().texts({f"{n:04}": text for n, text in enumerate(crowd)})


@pytest.fixture(scope="session")
def many_served(many: Store) -> Iterator[str]:
    """The address of a server of many texts."""
    with served(many) as url:
        yield url


@pytest.fixture(scope="session")
def planted() -> list[int]:
    """Fingerprints by chance, and some at every distance up to 5 from the first ten."""
    chance = random.Random(7)
    values = [chance.getrandbits(64) for _ in range(500)]
    for value in values[:10]:
        places = (chance.sample(range(64), flips) for flips in range(1, 6))
        values += [value ^ sum(1 << place for place in some) for some in places]
    return values


@pytest.fixture(scope="session")
def given(new_folder: Callable[[], Folder], planted: list[int]) -> Store:
    """A store of those fingerprints, for tests that add nothing."""
    return new_folder().given(*planted)
