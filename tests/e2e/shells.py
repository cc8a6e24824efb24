"""A command line in a folder, and pages to give it."""

from __future__ import annotations

import json
from pathlib import Path

from forked import Child, Finished, Nursery

PAGES = [
    ("harbour", "The harbour was quiet at dawn and the first boats came in with the tide."),
    ("harbour-2", "The harbour was quiet at dawn and the first boats came in with the wind."),
    ("bread", "Mix flour, water and salt; let the dough rest for a night; bake it hot."),
    ("copy", "The harbour was quiet at dawn and the first boats came in with the tide."),
]
SAMPLE = [("asked", PAGES[0][1]), ("bread", PAGES[2][1]), ("far", "Nothing of this kind is known.")]


class Shell:
    """A folder, and the command line in it."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self.folder = folder
        self._nursery = nursery

    def __call__(self, *words: str | Path, code: int = 0, **options: object) -> Finished:
        done = self._nursery.simstore(self.folder, *words, **options)
        assert done.code == code, (done.code, done.errors)
        assert "Traceback" not in done.errors
        return done

    def start(self, *words: str | Path) -> Child:
        """Start a command line, and return the process."""
        return self._nursery.start("simstore", self.folder, words=[str(word) for word in words])

    def lines(self, *words: str | Path, code: int = 0) -> list[str]:
        return self(*words, code=code).text.splitlines()

    def json_lines(self, *words: str | Path, code: int = 0) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.lines(*words, code=code)]
