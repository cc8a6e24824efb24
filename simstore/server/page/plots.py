"""Plots of a store's statistics as inline SVG, with the same figures as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from simstore.model import StoreFigures
from simstore.reports.html_page import percent
from simstore.server.page.drawing import HEIGHT, Plot, Series, Tick, bars, count_ticks, line, stairs

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
