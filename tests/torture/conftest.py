"""Fixtures of the tests with faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from .faults import Faults, cannot_build


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    """What runs commands with faults; skips where there is no compiler for it."""
    if reason := cannot_build():
        pytest.skip(reason)
    folder: Path = tmp_path_factory.mktemp("faults")
    with closing(Faults(folder)) as made:
        yield made
