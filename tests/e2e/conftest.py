"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .processes import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """A process that forks the processes of all tests."""
    made = Nursery()
    yield made
    made.close()
