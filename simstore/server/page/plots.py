"""Plots of a store's statistics as inline SVG, with the same figures as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from simstore.model import StoreFigures
from simstore.reports.html_page import percent

# Paths have these coordinates, whatever size they are drawn at.
WIDTH, HEIGHT = 1000, 100
_STEPS = (1, 2, 5)
_MOST_TICKS = 4
_WIDEST = 0.1


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the scale: its place, in percent from below or from the left, and its label."""

    place: float
    label: str


def count_ticks(most: int) -> tuple[tuple[Tick, ...], int]:
    """Return the ticks of a scale of counts from 0, and where it ends, at or above the most."""
    step = 1
    while -(-most // step) > _MOST_TICKS:
        power = 10 ** (len(str(step)) - 1)
        step = next((n * power for n in _STEPS if n * power > step), 10 * power)
    end = max(-(-most // step), 1) * step
    ticks = (Tick(round(100 * value / end, 2), _short(value)) for value in range(0, end + 1, step))
    return tuple(ticks), end


def line(points: Sequence[tuple[float, float]]) -> str:
    """Return a line through points, each share of the width and share of the height, 0 to 1."""
    return "".join(
        f"{'L' if place else 'M'}{x * WIDTH:.2f} {(1 - y) * HEIGHT:.2f}"
        for place, (x, y) in enumerate(points)
    )


def stairs(values: Sequence[int], most: int, *, closed: bool = False) -> str:
    """Return a line that reaches each value at the end of its part of the width, from 0 on."""
    points = [(0.0, 0.0)]
    points += [((place + 1) / len(values), value / most) for place, value in enumerate(values)]
    drawn = line(points)
    return f"{drawn}V{HEIGHT}H0z" if closed else drawn


def box(left: float, right: float, low: float, high: float) -> str:
    """Return a box between shares of the width and of the height, 0 to 1."""
    top, bottom = (1 - high) * HEIGHT, (1 - low) * HEIGHT
    return f"M{left * WIDTH:.2f} {bottom:.2f}V{top:.2f}H{right * WIDTH:.2f}V{bottom:.2f}z"


def _short(value: int) -> str:
    for size, sign in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if value >= size:
            scale = 1000 if sign == "k" else size
            return f"{value / scale:.2f}".rstrip("0").rstrip(".") + sign
    return f"{value:,}"


@dataclass(frozen=True, slots=True)
class Series:
    """A data series, drawn in one colour.

    Attributes:
        name: What it is.
        tone: Which ink: a class of the style.
        path: Its path.
        is_line: It is a line, not an area.
    """

    name: str
    tone: str
    path: str
    is_line: bool = False


@dataclass(frozen=True, slots=True)
class Hint:
    """The tooltip of a part of a plot's width, in percent of the width."""

    left: float
    width: float
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture with its axes, and its figures as a table.

    Attributes:
        name: Names it among the others.
        title: What it shows.
        note: A sentence about it.
        series: What is drawn, the hindmost first.
        rows: Ticks of the height.
        columns: Ticks of the width.
        heads: Heads of the table.
        table: Its rows.
        begins: Ticks of the width say where something begins.
        empty: Why there is nothing to draw; empty where there is.
    """

    name: str
    title: str
    note: str = ""
    series: tuple[Series, ...] = ()
    rows: tuple[Tick, ...] = ()
    columns: tuple[Tick, ...] = ()
    heads: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    begins: bool = False
    empty: str = ""

    @property
    def hints(self) -> tuple[Hint, ...]:
        """Return a tooltip for each row of the table."""
        width = 100 / max(len(self.table), 1)
        return tuple(
            Hint(
                round(place * width, 3),
                round(width, 3),
                "\n".join(
                    (row[0], *(f"{h}: {v}" for h, v in zip(self.heads[1:], row[1:], strict=True)))
                ),
            )
            for place, row in enumerate(self.table)
        )


def bars(
    name: str,
    title: str,
    note: str,
    named: Sequence[tuple[str, str, Sequence[int]]],
    labels: Sequence[str],
    row_labels: Sequence[str],
    head: str,
    columns: tuple[Tick, ...] | None = None,
) -> Plot:
    """Return bars, one upon the other."""
    sums = [sum(column) for column in zip(*(held for _, _, held in named), strict=True)]
    rows, most = count_ticks(max(sums))
    count = len(labels)
    # Few bars are no wider than is good to look at.
    half = min((0.42 if count <= 60 else 0.5) / count, _WIDEST / 2)
    floors = [0] * count
    series = []
    for said, tone, held in named:
        boxes = [
            box(
                (place + 0.5) / count - half,
                (place + 0.5) / count + half,
                floors[place] / most,
                (floors[place] + value) / most,
            )
            for place, value in enumerate(held)
            if value
        ]
        series.append(Series(said, tone, "".join(boxes)))
        floors = [low + value for low, value in zip(floors, held, strict=True)]
    begins = columns is not None
    if columns is None:
        step = -(-count // 12)
        columns = tuple(
            Tick(round(100 * (place + 0.5) / count, 2), label)
            for place, label in enumerate(labels)
            if place % step == 0
        )
    heads = (head, *(said for said, _, _ in named))
    table = tuple(
        (when, *(f"{held[place]:,}" for _, _, held in named))
        for place, when in enumerate(row_labels)
    )
    return Plot(
        name=name,
        title=title,
        note=note,
        series=tuple(series),
        rows=rows,
        columns=columns,
        heads=heads,
        table=table,
        begins=begins,
    )


_MOST_BARS = 24
_DAY = 86_400
Words = Mapping[str, str]


def store_plots(figures: StoreFigures, words: Words) -> tuple[Plot, ...]:
    """Return the plots of a store."""
    return tuple(
        draw(figures, words) for draw in (_growth, _duplicates, _distances, _sizes, _vocabulary)
    )


def run_plot(runs: Sequence[Mapping[str, Any]], words: Words) -> Plot:
    """Return the plot of runs, the latest at the right.

    Args:
        runs: As of ``Store.runs.ingest``, the newest first.
        words: What the page says.
    """
    title = words["plot_runs"]
    shown = list(reversed(runs[:_MOST_BARS]))
    kinds = ("added", "updated", "flagged", "skipped", "unchanged", "rejected", "removed")
    if not any(run[kind] for run in shown for kind in kinds):
        return Plot(name="runs", title=title, empty=words["no_runs"])
    tones = ("accent", "green", "orange", "hatch", "none", "high", "hatch-accent")
    named = [
        (words[f"run_{kind}"], tone, [run[kind] for run in shown])
        for kind, tone in zip(kinds, tones, strict=True)
        if any(run[kind] for run in shown)
    ]
    labels = [f"{run['run_id']}" for run in shown]
    told = [f"{words['run']} {run['run_id']}, {_day(run['started_at'], 60)}" for run in shown]
    return bars("runs", title, words["plot_runs_note"], named, labels, told, words["run"])


def _growth(figures: StoreFigures, words: Words) -> Plot:
    title = words["plot_growth"]
    slots = figures.slots
    if not slots:
        return Plot(name="growth", title=title, empty=words["store_empty"])
    stored = [*accumulate(slot.documents for slot in slots)]
    distinct = [*accumulate(slot.documents - slot.copies for slot in slots)]
    skipped = [*accumulate(slot.skipped_copies + slot.skipped_near for slot in slots)]
    named = [(words["stored"], "accent", stored), (words["distinct"], "green", distinct)]
    if any(skipped):
        seen = [there + gone for there, gone in zip(stored, skipped, strict=True)]
        named.insert(0, (words["seen"], "soft", seen))
    rows, most = count_ticks(max(named[0][2]))
    series = [Series("", "wash", stairs(stored, most, closed=True))]
    series += [Series(name, tone, stairs(held, most), True) for name, tone, held in named]
    table = tuple(
        (_day(slot.start, figures.slot_seconds), *(f"{held[place]:,}" for _, _, held in named))
        for place, slot in enumerate(slots)
    )
    heads = (words["first_seen"], *(name for name, _, _ in named))
    return Plot(
        name="growth",
        title=title,
        series=tuple(series),
        rows=rows,
        columns=_time_ticks(figures),
        heads=heads,
        table=table,
        begins=True,
    )


def _duplicates(figures: StoreFigures, words: Words) -> Plot:
    title = words["plot_duplicates"]
    named = [
        (words["same_text"], "accent", [slot.copies for slot in figures.slots]),
        (words["nearly_same"], "orange", [slot.near for slot in figures.slots]),
        (words["skipped_same"], "hatch-accent", [slot.skipped_copies for slot in figures.slots]),
        (words["skipped_near"], "hatch", [slot.skipped_near for slot in figures.slots]),
    ]
    named = [one for one in named if any(one[2])]
    if not named:
        told = "no_duplicates" if figures.cluster_sizes is not None else "no_same_texts"
        return Plot(name="duplicates", title=title, empty=_so_far(figures, words, told))
    times = [_day(slot.start, figures.slot_seconds) for slot in figures.slots]
    known = "" if figures.cluster_sizes is not None else words["duplicates_without_clusters"]
    note = known or _waiting(figures, words)
    return bars(
        "duplicates",
        title,
        note,
        named,
        labels=times,
        row_labels=times,
        head=words["first_seen"],
        columns=_time_ticks(figures),
    )


def _distances(figures: StoreFigures, words: Words) -> Plot:
    title = words["plot_distances"]
    if not figures.distances:
        return Plot(name="distances", title=title, empty=_so_far(figures, words, "no_clusters"))
    held = figures.distances
    bits = range(max(*held, 3) + 1)
    counts = [held.get(bit, 0) for bit in bits]
    labels = [str(bit) for bit in bits]
    named = [(words["documents"], "green", counts)]
    return bars("distances", title, words["plot_distances_note"], named, labels, labels,
                 words["bits"])  # fmt: skip


def _sizes(figures: StoreFigures, words: Words) -> Plot:
    title = words["plot_sizes"]
    if not figures.cluster_sizes:
        return Plot(name="sizes", title=title, empty=_so_far(figures, words, "no_clusters"))
    labels, counts = _by_size(figures.cluster_sizes)
    note = f"{words['plot_sizes_note']} {_waiting(figures, words)}".rstrip()
    named = [(words["clusters"], "accent", counts)]
    return bars("sizes", title, note, named, labels, labels, words["documents"])


def _so_far(figures: StoreFigures, words: Words, nothing: str) -> str:
    """Return that nothing was found, so far as anybody has looked.

    Args:
        figures: The figures.
        words: What the page says.
        nothing: Name of what it says where clusters are kept; of texts that are the same,
            ``no_same_texts``, it may be said without them.
    """
    if figures.cluster_sizes is not None:
        return f"{words[nothing]} {_waiting(figures, words)}".rstrip()
    same = words[nothing] if nothing == "no_same_texts" else ""
    return f"{same} {words['no_clusters_kept']}".lstrip()


def _waiting(figures: StoreFigures, words: Words) -> str:
    """Return a note on texts that the stored clusters do not cover yet; empty for none."""
    if not figures.waiting:
        return ""
    return str(words["clusters_waiting"]).format(f"{figures.waiting:,}")


def _by_size(sizes: Mapping[int, int]) -> tuple[list[str], list[int]]:
    """Return numbers of clusters by size; where sizes go far, by 2, 3–4, 5–8, 9–16, ..."""
    most = max(sizes)
    if most <= _MOST_BARS:
        held = range(2, max(most, 5) + 1)
        return [str(size) for size in held], [sizes.get(size, 0) for size in held]
    labels, counts, low, high = ["2"], [sizes.get(2, 0)], 3, 4
    while low <= most:
        labels.append(f"{low:,}–{high:,}")
        counts.append(sum(count for size, count in sizes.items() if low <= size <= high))
        low, high = high + 1, 2 * high
    return labels, counts


def _vocabulary(figures: StoreFigures, words: Words) -> Plot:
    title = words["plot_vocabulary"]
    parts = figures.vocabulary
    if not parts:
        return Plot(name="vocabulary", title=title, empty=words["no_vocabulary"])
    rows, most = count_ticks(parts[-1].terms)
    last = parts[-1].documents
    grown = [(0.0, 0.0), *((part.documents / last, part.terms / most) for part in parts)]
    fresh = [(part.documents / last, part.new_share) for part in parts]
    series = [
        Series("", "wash", f"{line(grown)}V{HEIGHT}H0z"),
        Series(words["terms"].format(f"{parts[-1].sampled:,}"), "accent", line(grown), True),
        # The first part is all new.
        Series(words["new_terms"], "orange", line(fresh[1:]), True),
    ]
    ticks, end = count_ticks(last)
    columns = tuple(
        Tick(round(tick.place * end / last, 2), tick.label)
        for tick in ticks
        if tick.place * end / last <= 100
    )
    table = tuple((f"{p.documents:,}", f"{p.terms:,}", percent(p.new_share)) for p in parts)
    heads = (words["documents"], words["terms_short"], words["new_terms"])
    drawn = tuple(series if len(parts) > 1 else series[:2])
    return Plot(
        name="vocabulary",
        title=title,
        note=_drift(figures, words),
        series=drawn,
        rows=rows,
        columns=columns,
        heads=heads,
        table=table,
    )


def _drift(figures: StoreFigures, words: Words) -> str:
    """Return what a refresh would change; empty where nothing depends on the corpus."""
    told = []
    if figures.changed_ranks is not None:
        told.append(words["changed_ranks"].format(*(f"{n:,}" for n in figures.changed_ranks)))
    changed = figures.changed_fingerprints
    if changed is not None and changed[1]:
        told.append(words["changed_fingerprints"].format(*(f"{n:,}" for n in changed)))
    return " ".join(told)


def _time_ticks(figures: StoreFigures) -> tuple[Tick, ...]:
    """Return four times along the width at most; a year is said once."""
    count = len(figures.slots)
    dated = _DAY <= figures.slot_seconds < 300 * _DAY
    ticks, year = [], ""
    for place in range(0, count, -(-count // 4)):
        said = _day(figures.slots[place].start, figures.slot_seconds)
        label = said[5:] if dated and said[:4] == year else said
        ticks.append(Tick(round(100 * place / count, 2), label))
        year = said[:4]
    return tuple(ticks)


def _day(seconds: int, span: int) -> str:
    """Return a time as exactly as a span of time needs; what no calendar has, in seconds."""
    form = "%Y" if span >= 300 * _DAY else "%Y-%m-%d" if span >= _DAY else "%m-%d %H:%M"
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s"
