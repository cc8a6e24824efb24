"""Run a month of the simulated crawl through a store; fill in docs/how-to/living-index.md.

Usage: python benchmarks/month.py [--days N] [--sites N] [--pages N] [--seed N] [--page-only]

Each day: what the crawler fetched is ingested with ``--on-duplicate flag``, what was not seen for a
week expires, and clusters are brought up to date. Writes ``benchmarks/results/month.json``,
the table between the marks of the page, and ``docs/images/living-month.png``; needs the extra
``benchmark``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from crawl import Day, write_days
from crawl_web import DAY, FIRST_DAY, Settings
from results import RESULTS, machine, markdown_table, versions

from simstore import Store
from simstore.services.ingest.ingest import IngestOptions
from simstore.sources.reader import HistoryFields, ReadOptions

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "how-to" / "living-index.md"
PICTURE = REPOSITORY / "docs" / "images" / "living-month.png"
MARKS = ("<!-- month -->", "<!-- end of the month -->")
KEPT_DAYS = 7
READ = ReadOptions(key_field="url", history_fields=HistoryFields("crawled", "published", "links"))


@dataclass
class Figures:
    """A day in numbers; times in seconds, the size that of the closed file."""

    day: int
    fetched: int
    added: int
    updated: int
    unchanged: int
    flagged: int
    expired: int
    documents: int
    duplicates: int
    clusters: int
    file_bytes: int
    ingest_seconds: float
    expire_seconds: float
    cluster_seconds: float


def run_day(place: Path, file: Path, day: Day) -> Figures:
    """Take a day's file in, expire what is gone, bring clusters up to date."""
    took: dict[str, float] = {}
    with Store.open(place) as store:
        with stopwatch(took, "ingest"):
            options = IngestOptions(on_duplicate="flag")
            summary = store.ingest([str(file)], read=READ, options=options)
        with stopwatch(took, "expire"):
            end = FIRST_DAY + (day.number - KEPT_DAYS) * DAY
            expired = store.expire(not_seen_since=int(end.timestamp())).removed
        with stopwatch(took, "cluster"):
            store.clusters.build()
        held = len(store)
        duplicates = sum(1 for _ in store.duplicates.list(state="flagged"))
        clusters = sum(1 for _ in store.clusters.list())
    return Figures(
        day.number,
        len(day.fetched),
        summary.added,
        summary.updated,
        summary.unchanged,
        summary.flagged,
        expired,
        held,
        duplicates,
        clusters,
        place.stat().st_size,
        took["ingest"],
        took["expire"],
        took["cluster"],
    )


@contextmanager
def stopwatch(took: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    took[name] = time.perf_counter() - started


def run(
    folder: Path, settings: Settings, tell: Callable[[Figures], object]
) -> tuple[list[Figures], int]:
    """Run all days through a store of ``folder``; return them, and the compacted file's bytes."""
    made: list[Figures] = []
    place, first = folder / "crawl.db", folder / "first.db"
    for path in (place, first):
        Store.create(path).close()
    for day in write_days(folder / "days", settings):
        file = folder / "days" / day.name
        if not made:
            # Not kept: kernels are loaded, and compiled where they never were.
            run_day(first, file, day)
        made.append(run_day(place, file, day))
        tell(made[-1])
    with Store.open(place) as store:
        assert store.maintenance.fsck() == []
        store.maintenance.compact()
    return made, place.stat().st_size


def table(days: Sequence[Figures]) -> str:
    """Return the table of the page."""
    columns = (
        "day", "fetched", "new", "changed", "unchanged", "flagged today", "expired", "documents",
        "of them flagged", "clusters", "file, MB", "ingest, s", "expire, s", "clusters, s",
    )  # fmt: skip
    rows = [
        [
            *(f"{value:,}" for value in list(asdict(one).values())[:10]),
            f"{one.file_bytes / 1e6:.1f}",
            *(f"{value:.2f}" for value in list(asdict(one).values())[11:]),
        ]
        for one in days
    ]
    return markdown_table(columns, rows)


def draw(days: Sequence[Figures], path: Path) -> None:
    """Draw documents, duplicates, size and time by the day."""
    from matplotlib.figure import Figure

    numbers = [one.day for one in days]
    figure = Figure(figsize=(9, 6.4), layout="constrained")
    panels = figure.subplots(2, 2)
    drawn: Sequence[tuple[str, str, Mapping[str, Sequence[float]]]] = (
        (
            "What the store holds",
            "documents",
            {
                "documents": [one.documents for one in days],
                "of them flagged": [one.duplicates for one in days],
                "clusters of two or more": [one.clusters for one in days],
            },
        ),
        (
            "What a day brings, from the second on",
            "pages",
            {
                "new": [one.added for one in days[1:]],
                "changed": [one.updated for one in days[1:]],
                "flagged as duplicates": [one.flagged for one in days[1:]],
                "expired": [one.expired for one in days[1:]],
            },
        ),
        ("The file", "MB", {"size": [one.file_bytes / 1e6 for one in days]}),
        (
            "Time it takes",
            "seconds",
            {
                "ingest": [one.ingest_seconds for one in days],
                "clusters": [one.cluster_seconds for one in days],
                "expire": [one.expire_seconds for one in days],
            },
        ),
    )
    colours = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
    for axes, (title, unit, lines) in zip(panels.flat, drawn, strict=True):
        for (name, line), colour in zip(lines.items(), colours, strict=False):
            axes.plot(numbers[-len(line) :], line, color=colour, label=name, linewidth=1.8)
        axes.set(xlabel="day of the crawl", ylabel=unit, xlim=(1, max(numbers)))
        # Room for the legend above the lines.
        axes.set_ylim(0, max(map(max, lines.values())) * (1.3 if len(lines) > 1 else 1.1))
        axes.set_title(title, loc="left")
        axes.grid(color="#e4e4e4", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if len(lines) > 1:
            axes.legend(frameon=False, fontsize=9, ncols=2, loc="upper left")
    figure.savefig(path, dpi=120, metadata={"Software": None})


def fill_in(page: str, made: str) -> str:
    """Return the page with the month between its marks."""
    before, rest = page.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    return f"{before}{MARKS[0]}\n{made}\n{MARKS[1]}{after}"


def section(record: Mapping[str, Any]) -> str:
    """Return what the page says of a month that was run."""
    days = [Figures(**one) for one in record["days"]]
    facts = record["settings"]
    where = record["machine"]
    load = f"{where['load_15_minutes']:.1f}"
    known = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    intro = (
        f"{facts['sites']} sites of {facts['pages']} pages on the first day, seed "
        f"{facts['seed']}; {sum(one.fetched for one in days):,} pages fetched. Measured on "
        f"{where['processor']}, {where['cores']} cores, at a load of {load}; {known}."
    )
    caption = "A month of a crawl by the day: documents, duplicates, size, time"
    end = f"Compacted after the last day, the file has {record['compacted_bytes'] / 1e6:.1f} MB."
    return f"\n{intro}\n\n{table(days)}\n\n{end}\n\n![{caption}](../images/{PICTURE.name})\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for one, value in zip(fields(Settings), (30, 20, 100, 1), strict=True):
        parser.add_argument(f"--{one.name}", type=int, default=value, help=f"[default: {value}]")
    parser.add_argument("--page-only", action="store_true", help="from the figures of the last run")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the JSON file")
    given = vars(parser.parse_args())
    page_only, results = given.pop("page_only"), given.pop("results") / "month.json"
    if not page_only:
        settings = Settings(**given)
        with tempfile.TemporaryDirectory() as folder:
            days, size = run(Path(folder), settings, lambda one: print(one, flush=True))
        chosen = {k: v for k, v in versions().items() if k in ("Python", "SQLite", "simstore")}
        record = {
            "settings": asdict(settings),
            "machine": machine(),
            "versions": chosen,
            "days": [asdict(one) for one in days],
            "compacted_bytes": size,
        }
        results.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record = json.loads(results.read_text(encoding="utf-8"))
    draw([Figures(**one) for one in record["days"]], PICTURE)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(fill_in(page, section(record)), encoding="utf-8")


if __name__ == "__main__":
    main()
