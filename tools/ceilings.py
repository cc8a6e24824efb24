"""Check that no room is larger than its ceiling, and that no ceiling was raised silently.

Usage: python tools/ceilings.py [--repository FOLDER] [--since REVISION] [--lower]

tools/ceilings.toml has a table per measure. A key is a room ("simstore/cli"; files directly in a
folder are the room "simstore/."), a tree ("simstore", the total) or a file of the top folder:

    code        code lines of Python (tools/size.py), by room
    files       Python files of simstore
    lines       lines that are not blank in files of PLAIN and .ci, by tree: scripts, styles,
                templates, SQL, configuration, notebooks, tables of test cases; not in DATA
                (recorded results, stores of earlier versions), not tools/ceilings.toml itself
    words       words of Markdown, as `wc -w` counts them, by tree; not CHANGELOG.md, which grows
                with each release
    long_lines  lines of more than 100 characters in Python, scripts, styles and templates, by tree
    language    hits of tools/language.py, by room

The rooms of a tree must not have more together than the tree. A room without a line has the
ceiling 0. `--lower` lowers all ceilings to the present counts; if there is no file, it writes one.

The history check compares each version of the file since REVISION with the one before it. A room
may rise if its tree does not (code was moved). Any other raise needs, in the same commit, a new
line in docs/explanation/decisions.md such as

    Ceiling raised: `simstore/cli` by 40 code lines for X; deleted: `simstore/wire.py`.

A room that is rebuilt next to the old one has, instead of lines elsewhere, an entry in the table
`temporary`, outside the total: "simstore/index" = { issue = 43, code = 2600, files = 9 }.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from commits import LAST_UNCHECKED_COMMIT, NoHistory, git, log
from language import hits
from size import code_lines

CEILINGS = "tools/ceilings.toml"
DECISIONS = "docs/explanation/decisions.md"
MEASURES = {
    "code": "code lines",
    "files": "Python files",
    "lines": "lines",
    "words": "words",
    "long_lines": "lines of more than 100 characters",
    "language": "language hits",
}
BY_ROOM = {"code", "language"}
LONGEST_LINE = 100
WRAPPED = {".c", ".css", ".h", ".html", ".j2", ".jinja", ".js", ".mako", ".sh", ".sql", ".ts"}
PLAIN = WRAPPED | {".conf", ".ipynb", ".json", ".pyx", ".service", ".toml", ".yaml", ".yml"}
DATA = {("tests", "data"), ("benchmarks", "results")}
BUILT = {"build", "dist", "site", "node_modules"}

Ceilings = dict[str, dict[str, Any]]


class Counts:
    """The counts of a repository by measure and place, and where the single hits are."""

    def __init__(self, repository: Path, temporary: dict[str, Any]) -> None:
        self.temporary = temporary
        self.by_measure: dict[str, Counter[str]] = {measure: Counter() for measure in MEASURES}
        self.hits: dict[tuple[str, str], list[str]] = defaultdict(list)
        for path in sources(repository):
            self._count(path.relative_to(repository), path.read_text(encoding="utf-8"))

    def _count(self, path: Path, text: str) -> None:
        rows = text.split("\n")
        if path.suffix == ".py":
            self._add("code", path, code_lines(text))
            self._add("files", path, int(path.parts[0] == "simstore"))
        elif path.suffix != ".md":
            self._add("lines", path, sum(1 for row in rows if row.strip()))
        elif path.name != "CHANGELOG.md":
            self._add("words", path, len(text.split()))
        if path.suffix == ".py" or path.suffix in WRAPPED or path.parts[0] == ".ci":
            for number, row in enumerate(rows, 1):
                if len(row) > LONGEST_LINE:
                    self._add("long_lines", path, 1, f"{path}:{number}: {len(row)} characters")
        for number, hit in hits(path, text):
            self._add("language", path, 1, f"{path}:{number}: {hit}")

    def _add(self, measure: str, path: Path, count: int, hit: str = "") -> None:
        place = tree = path.parts[0]
        if len(path.parts) > 1:
            room = f"{tree}/{path.parts[1] if len(path.parts) > 2 else '.'}"
            if measure in BY_ROOM or measure in self.temporary.get(room, {}):
                place = DECISIONS if path == Path(DECISIONS) else room
        if count:
            self.by_measure[measure][place] += count
            self.hits[measure, place] += [hit] if hit else []


def sources(repository: Path) -> Iterator[Path]:
    """Yield the files that are counted, in order of their paths."""
    for top in sorted(repository.iterdir()):
        is_hidden = top.name.startswith(".") and top.name not in {".ci", ".github"}
        if is_hidden or top.name in BUILT or (top / "pyvenv.cfg").exists():
            continue
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            is_data = path.relative_to(repository).parts[:2] in DATA
            is_text = path.suffix in PLAIN or path.suffix == ".md" or top.name == ".ci"
            if path == repository / CEILINGS:
                continue
            if path.is_file() and (path.suffix == ".py" or (is_text and not is_data)):
                yield path


def excesses(ceilings: Ceilings, counts: Counts) -> Iterator[str]:
    """Yield a line for each place above its ceiling, followed by its hits."""
    for measure, places in counts.by_measure.items():
        limits = ceilings.get(measure, {})
        for place, count in sorted(places.items()):
            limit = counts.temporary.get(place, {}).get(measure, limits.get(place, 0))
            if count > limit:
                yield (
                    f"{place}: {count:,} {MEASURES[measure]}, ceiling {limit:,}: remove "
                    f"{count - limit:,}, or move a ceiling from another room of the same tree"
                )
                yield from counts.hits[measure, place]
        for tree, together in totals(limits).items():
            if together > limits.get(tree, 0):
                yield (
                    f"{tree}: its rooms may have {together:,} {MEASURES[measure]} together, "
                    f"the tree {limits.get(tree, 0):,}: lower a room"
                )
    for room, entry in counts.temporary.items():
        if not isinstance(entry.get("issue"), int):
            yield f"{room}: its temporary ceiling names no issue that removes it"
        if any(room in ceilings.get(measure, {}) for measure in entry):
            yield f"{room}: it has a temporary ceiling and another one"


def totals(limits: dict[str, int]) -> Counter[str]:
    """Return the sum over the rooms of each tree that has rooms."""
    together: Counter[str] = Counter()
    for place, limit in limits.items():
        if "/" in place:
            together[place.split("/")[0]] += limit
    return together


def lowered(ceilings: Ceilings | None, counts: Counts) -> Ceilings:
    """Return ceilings at the present counts where these are lower; at all counts if none exist."""
    low: Ceilings = {}
    for measure, places in counts.by_measure.items():
        old = {**places, **totals(places)} if ceilings is None else ceilings.get(measure, {})
        limits = {
            place: min(count, old[place])
            for place, count in places.items()
            if place in old and place not in counts.temporary
        }
        for tree, together in totals(limits).items():
            limits[tree] = min(together, old.get(tree, 0))
        low[measure] = limits
    low["temporary"] = {
        room: {
            key: value if key == "issue" else min(value, counts.by_measure[key][room])
            for key, value in entry.items()
        }
        for room, entry in counts.temporary.items()
    }
    return low


def written(ceilings: Ceilings) -> str:
    """Return ceilings as TOML."""
    lines = ["# Ceilings that may only fall: tools/ceilings.py describes them and lowers them."]
    for measure, limits in ceilings.items():
        lines += ["", f"[{measure}]"]
        for place, limit in sorted(limits.items()):
            if isinstance(limit, dict):
                limit = "{ " + ", ".join(f"{key} = {value}" for key, value in limit.items()) + " }"
            lines.append(f'"{place}" = {limit}')
    return "\n".join(lines) + "\n"


def raises(older: Ceilings, newer: Ceilings) -> set[str]:
    """Return the places whose ceilings rose by more than a move within their tree."""
    raised = set()
    for measure in MEASURES:
        before, after = older.get(measure, {}), newer.get(measure, {})
        grown = {tree for tree, limit in after.items() if limit > before.get(tree, 0)}
        raised |= {place for place in grown if place.split("/")[0] in grown}
    for room, entry in newer.get("temporary", {}).items():
        before = older.get("temporary", {}).get(room) or entry
        if any(entry[measure] > before.get(measure, 0) for measure in entry.keys() - {"issue"}):
            raised.add(room)
    return raised


def silent_raises(repository: Path, since: str) -> Iterator[str]:
    """Yield a line for each raise that the decisions of its commit do not explain."""

    def shown(revision: str, name: str) -> str:
        try:
            return git(repository, "show", f"{revision}:{name}")
        except subprocess.CalledProcessError:
            return ""

    versions = [
        (revision, tomllib.loads(text), shown(revision, DECISIONS))
        for revision in [since, *log(repository, since, "--format=%h", "--", CEILINGS)]
        if (text := shown(revision, CEILINGS))
    ]
    texts = [(repository / name).read_text(encoding="utf-8") for name in (CEILINGS, DECISIONS)]
    versions.append(("the working tree", tomllib.loads(texts[0]), texts[1]))
    for (_, older, before), (revision, newer, after) in pairwise(versions):
        reasons = [
            line
            for line in set(after.splitlines()) - set(before.splitlines())
            if line.startswith("Ceiling raised:") and "deleted" in line
        ]
        for place in sorted(raises(older, newer)):
            names = (f"`{place}`", f"`{place}/")
            if not any(name in line for name in names for line in reasons):
                yield (
                    f"{place}: ceiling raised in {revision} without a new line "
                    f'"Ceiling raised: `{place}` ...; deleted: ..." in {DECISIONS}'
                )


def main() -> int:
    """Check the ceilings or lower them; return the exit code."""
    parser = argparse.ArgumentParser(description="Check the ceilings of tools/ceilings.toml.")
    parser.add_argument("--repository", type=Path, default=Path(__file__).parents[1])
    parser.add_argument(
        "--since", default=LAST_UNCHECKED_COMMIT, help="the last commit not checked"
    )
    parser.add_argument("--lower", action="store_true", help="lower ceilings to the present counts")
    options = parser.parse_args()
    path = options.repository / CEILINGS
    exists = path.exists()
    ceilings = tomllib.loads(path.read_text(encoding="utf-8")) if exists else {}
    counts = Counts(options.repository, ceilings.get("temporary", {}))
    if options.lower:
        path.write_text(written(lowered(ceilings if exists else None, counts)), encoding="utf-8")
        return 0
    found = list(excesses(ceilings, counts))
    try:
        found += silent_raises(options.repository, options.since)
    except NoHistory as error:
        print(f"ceilings: history skipped: {error}")
    print("\n".join(found) or "ceilings: no room is above its ceiling")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
