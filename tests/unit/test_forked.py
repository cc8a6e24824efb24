"""The processes that tests fork."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from forked import Nursery


def test_nursery_that_was_closed_starts_again(tmp_path: Path) -> None:
    with closing(Nursery()) as nursery:
        for _ in range(2):
            assert nursery.simstore(tmp_path, "--version").code == 0
            nursery.close()
