"""Labelled sets for ``benchmarks/edge_rules.py``: to choose by, and to be looked at once.

Documentation of packages in two or three releases, where a page's group is its path; readmes and
changelogs of all these packages; both parts of the labelled data; and bulletins made to a public
pattern (forecasts, earthquakes, closing reports): each is a group of its own, with its
re-publications.
"""

from __future__ import annotations

import hashlib
import random
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from detection_sets import Labelled, archive, labelled_documents, part_of

SHORTEST, LONGEST = 300, 80_000
_SUFFIXES = (".rst", ".md", ".txt")
_FRONT = re.compile(
    r"(README|CHANGE|HISTORY|NEWS|CONTRIB|SECURITY|AUTHORS|CODE_OF|INSTALL|LICENSE|PKG-INFO)", re.I
)
_FASTAPI = ("0.85.0", "0.95.2", "0.105.0")
# Set: packages, their releases, folder of the pages.
Packages = dict[str, tuple[tuple[str, tuple[str, ...], str], ...]]
DEVELOPMENT: Packages = {
    "click": (("click", ("7.1.2", "8.0.4", "8.1.7"), "docs/"),),
    "pytest": (("pytest", ("6.2.5", "7.4.4", "8.3.3"), "doc/en/"),),
    "pip": (("pip", ("20.3.4", "23.3.2", "24.2"), "docs/"),),
    "scrapy": (("scrapy", ("2.5.1", "2.11.2"), "docs/"),),
    "fastapi (ja)": (("fastapi", _FASTAPI, "docs/ja/docs/"),),
}
HELD_OUT: Packages = {
    "setuptools": (("setuptools", ("60.10.0", "69.5.1", "75.1.0"), "docs/"),),
    "aiohttp": (("aiohttp", ("3.7.4", "3.9.5"), "docs/"),),
    "twisted": (("twisted", ("21.7.0", "24.7.0"), "docs/"),),
    "kombu": (("kombu", ("5.0.2", "5.4.0"), "docs/"),),
    "flask, jinja, werkzeug": (
        ("flask", ("1.1.4", "2.3.3", "3.0.3"), "docs/"),
        ("jinja2", ("2.11.3", "3.1.4"), "docs/"),
        ("werkzeug", ("1.0.1", "2.3.8", "3.0.4"), "docs/"),
    ),
    "fastapi (pt, es, ru)": tuple(
        ("fastapi", _FASTAPI, f"docs/{language}/docs/") for language in ("pt", "es", "ru")
    ),
}
_MORE = (
    ("attrs", ("20.3.0", "23.2.0", "24.2.0")),
    ("requests", ("2.25.1", "2.32.3")),
    ("tornado", ("6.1", "6.4.1")),
)


@dataclass(frozen=True)
class Sets:
    """The sets by name.

    Attributes:
        development: To choose by.
        held_out: Looked at once.
        bulletins: The same, told apart.
    """

    development: dict[str, list[Labelled]]
    held_out: dict[str, list[Labelled]]
    bulletins: dict[str, list[Labelled]]


def edge_sets(data: Path | None, cache: Path, most: int) -> Sets:
    """Return the sets, each of whole groups and about so many documents at the most."""
    development = {name: _pages(some, cache) for name, some in DEVELOPMENT.items()}
    held_out = {name: _pages(some, cache) for name, some in HELD_OUT.items()}
    held_out["readmes and changelogs"] = list(_front_pages(cache))
    for name, documents in labelled_documents(data).items():
        fitting = [one for one in documents if len(one.text) <= LONGEST]
        development[f"{name}, tuning part"] = part_of(fitting, "tuning")
        held_out[f"{name}, test part"] = part_of(fitting, "test")
    return Sets(
        _with_pairs({name: capped(some, most) for name, some in development.items()}),
        _with_pairs({name: capped(some, most) for name, some in held_out.items()}),
        {"bulletins": bulletins(4, days=22)},
    )


def _with_pairs(sets: dict[str, list[Labelled]]) -> dict[str, list[Labelled]]:
    return {name: some for name, some in sets.items() if len({d.group for d in some}) < len(some)}


def capped(documents: list[Labelled], most: int) -> list[Labelled]:
    """Return whole groups of documents, in the order of their names' hashes."""
    sizes = Counter(one.group for one in documents)
    kept: set[str] = set()
    total = 0
    for group in sorted(sizes, key=_hash):
        if total and total + sizes[group] > most:
            continue
        kept.add(group)
        total += sizes[group]
    return [one for one in documents if one.group in kept]


def _hash(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _pages(packages: tuple[tuple[str, tuple[str, ...], str], ...], cache: Path) -> list[Labelled]:
    return [
        Labelled(f"{package}-{release}/{path}", text, f"{package}/{path}")
        for package, releases, folder in packages
        for release in releases
        for path, text in _texts(package, release, cache)
        if path.startswith(folder) and path.endswith(_SUFFIXES)
    ]


def _front_pages(cache: Path) -> Iterator[Labelled]:
    known = {
        (package, releases)
        for some in (*DEVELOPMENT.values(), *HELD_OUT.values())
        for package, releases, _ in some
    }
    for package, releases in sorted({*known, *_MORE}):
        for release in releases:
            for path, text in _texts(package, release, cache):
                if "/" not in path and _FRONT.match(path):
                    stem = re.sub(r"\.\w+$", "", path).lower()
                    yield Labelled(f"{package}-{release}/{path}", text, f"{package}/{stem}")


def _texts(package: str, release: str, cache: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(archive(package, release, cache)) as files:
        for member in files:
            data = files.extractfile(member) if member.isfile() else None
            if data is not None and SHORTEST <= member.size <= LONGEST:
                yield member.name.partition("/")[2], data.read().decode("utf-8", "replace")


_PLACES = ("Lisbon", "Porto", "Bergen", "Tromso", "Cork", "Galway", "Bilbao", "Brest", "Split")


def bulletins(seed: int, days: int) -> list[Labelled]:
    """Return daily bulletins of three kinds; some of them are published again with a header."""
    drawn = random.Random(seed)

    def figure(low: float, high: float, digits: int = 1) -> str:
        return f"{drawn.uniform(low, high):.{digits}f}"

    made = []
    for day in range(1, days + 1):
        place, date = drawn.choice(_PLACES), f"{day} March 2025"
        clock = f"{drawn.randrange(24):02}:{drawn.randrange(60):02} UTC"
        texts = {
            "forecast": f"Forecast for {place} and coastal waters, issued at {clock} on {date}. "
            f"Wind {drawn.choice(('north', 'south', 'east'))}erly, {figure(5, 40, 0)} knots, "
            f"gusting {figure(30, 60, 0)}. Sea state: waves of {figure(0, 6)} metres, swell period "
            f"{figure(5, 16, 0)} seconds. Air temperature between {figure(-5, 12, 0)} and "
            f"{figure(12, 28, 0)} degrees Celsius. Visibility {figure(1, 20, 0)} kilometres. "
            f"Pressure {figure(985, 1035, 0)} hectopascals. Small craft should consult the latest "
            "observations before leaving harbour. This forecast is updated every six hours and is "
            "replaced by any later issue.",
            "earthquake": f"A magnitude {figure(2, 7)} earthquake occurred {figure(2, 90, 0)} km "
            f"from {place} at a depth of {figure(2, 120)} km on {date} at {clock}. The epicentre "
            f"was located at latitude {figure(35, 65, 3)} and longitude {figure(-25, 20, 3)}. The "
            f"location uncertainty is {figure(0, 9)} km. The number of phases was "
            f"{figure(10, 90, 0)}, the minimum distance {figure(5, 300)} km and the azimuthal gap "
            f"{figure(30, 250, 0)} degrees. All parameters are preliminary and may be revised when "
            "more data become available. If you felt this earthquake please tell us by the form on "
            "our site.",
            "closing": f"Closing report, {date}. The {place} index ended the session at "
            f"{figure(4000, 9000, 2)} points, a change of {figure(-3, 3, 2)} percent. Turnover was "
            f"{figure(200, 3000, 0)} million. The currency traded at {figure(0, 2, 4)} to the "
            f"dollar. Ten-year government bonds yielded {figure(0, 5, 2)} percent. Crude oil was "
            f"{figure(50, 120, 2)} dollars a barrel and gold {figure(1700, 2500, 2)} an ounce. "
            "Figures are those of the close and may be corrected. Past performance says nothing "
            "about future returns. Prices are delayed by at least fifteen minutes.",
        }
        for kind, text in texts.items():
            made.append(Labelled(f"{kind} {day}", text, f"{kind} {day}"))
            if drawn.random() < 0.4:
                again = f"Republished by the newsroom. {text} All rights reserved."
                made.append(Labelled(f"{kind} {day} again", again, f"{kind} {day}"))
    return made
