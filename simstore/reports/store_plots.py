"""Plot a store's statistics over time with Matplotlib (the extra ``plots``)."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

from simstore.errors import InvalidParameter, MissingExtra, counted
from simstore.model import StoreFigures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PlotFormat = Literal["png", "svg"]
# Colours that people with the common forms of colour blindness tell apart (Okabe, Ito 2008).
_BLUE, _ORANGE, _GREEN, _RED, _SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9"
_GREY = "#777777"
_MOST_BARS = 40
_DAY = 86_400
_STEPS = (1, 2, 5, 10)


def render_panel(figures: StoreFigures, panel: str, form: PlotFormat) -> bytes:
    """Return a picture of one panel.

    Args:
        figures: What is drawn.
        panel: One of :data:`PANELS`.
        form: ``png`` or ``svg``.

    Raises:
        InvalidParameter: There is no such panel.
        MissingExtra: Matplotlib is not installed.
    """
    if panel not in PANELS:
        raise InvalidParameter(f"panel {panel!r}: choose one of {', '.join(PANELS)}")
    figure = _figure(7.2, 4.4)
    PANELS[panel](figure.add_subplot(), figures)
    return _saved(figure, form)


def render_overview(figures: StoreFigures, title: str, form: PlotFormat) -> bytes:
    """Return a picture of all panels.

    Args:
        figures: What is drawn.
        title: Stands above them.
        form: ``png`` or ``svg``.

    Raises:
        MissingExtra: Matplotlib is not installed.
    """
    figure = _figure(11.5, 11.0)
    figure.suptitle(title, fontsize=13)
    grid = figure.add_gridspec(3, 2)
    places = (grid[0, :], grid[1, 0], grid[1, 1], grid[2, 0], grid[2, 1])
    for place, draw in zip(places, PANELS.values(), strict=True):
        draw(figure.add_subplot(place), figures)
    return _saved(figure, form)


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise MissingExtra("drawing a store", "plots") from error
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12)
    return Figure(figsize=(width, height), layout=layout)


def _saved(figure: Any, form: PlotFormat) -> bytes:
    import matplotlib as mpl

    picture = io.BytesIO()
    # The same picture for the same figures: no date, no random names.
    with mpl.rc_context({"svg.hashsalt": "simstore"}):
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(picture, format=form, dpi=120, metadata=metadata)
    return picture.getvalue()


# Days from 1970 to the first year and the last that axes of dates can show.
_FIRST_DAY, _LAST_DAY = -718_000, 2_932_000


def _draw_growth(axes: Axes, figures: StoreFigures) -> None:
    axes.set_title("documents over time")
    if not figures.slots:
        _say(axes, "the store is empty")
        return
    # What a span of time holds is there at its end.
    ends = [_days(slot.start + figures.slot_seconds) for slot in figures.slots]
    starts = [_days(figures.slots[0].start), *ends]
    stored = [0, *accumulate(slot.documents for slot in figures.slots)]
    distinct = [0, *accumulate(slot.documents - slot.copies for slot in figures.slots)]
    seen = [
        0,
        *accumulate(
            slot.documents + slot.skipped_copies + slot.skipped_near for slot in figures.slots
        ),
    ]
    if seen != stored:
        axes.plot(starts, seen, color=_GREY, linestyle="--", label="seen, those skipped too")
    axes.plot(starts, stored, color=_BLUE, linewidth=2, label="stored")
    axes.plot(starts, distinct, color=_GREEN, label="distinct texts")
    axes.set(xlabel="first seen (UTC)", ylabel="documents", ylim=(0, None))
    axes.legend(loc="upper left", fontsize=9)
    _finish(axes, dates=True)


def _draw_duplicates(axes: Axes, figures: StoreFigures) -> None:
    axes.set_title(f"duplicates found, by {_span(figures.slot_seconds)}")
    series = (
        ("same text", _BLUE, [slot.copies for slot in figures.slots]),
        ("nearly the same", _ORANGE, [slot.near for slot in figures.slots]),
        ("skipped, same text", _SKY, [slot.skipped_copies for slot in figures.slots]),
        ("skipped, nearly the same", _RED, [slot.skipped_near for slot in figures.slots]),
    )
    if not any(any(counts) for _, _, counts in series):
        kept = figures.cluster_sizes is not None
        _say(axes, "none" if kept else "no two texts are the same;\nno clusters are kept")
        return
    middles = [_days(slot.start + figures.slot_seconds // 2) for slot in figures.slots]
    width = 0.85 * _days(figures.slot_seconds)
    below = [0] * len(middles)
    for name, colour, counts in series:
        if any(counts):
            axes.bar(middles, counts, width, below, color=colour, label=name)
            below = [low + count for low, count in zip(below, counts, strict=True)]
    axes.set(xlabel="first seen (UTC)", ylabel="documents")
    # Beyond the highest bar there is room for the legend.
    axes.set_ylim(0, max(below) * 1.3)
    axes.legend(fontsize=8, ncols=2, loc="upper left")
    _finish(axes, dates=True)
    if figures.cluster_sizes is None:
        axes.set_xlabel("first seen (UTC); `simstore clusters` finds what is nearly the same")


def _draw_sizes(axes: Axes, figures: StoreFigures) -> None:
    axes.set_title("sizes of clusters")
    if not figures.cluster_sizes:
        _say(axes, "no clusters are kept" if figures.cluster_sizes is None else "no clusters")
        return
    sizes = dict(figures.cluster_sizes)
    if max(sizes) > _MOST_BARS:
        axes.loglog(list(sizes), list(sizes.values()), "o", color=_BLUE, markersize=5)
        axes.set(xlabel="documents of a cluster", ylabel="clusters")
        axes.grid(color="#dddddd", linewidth=0.6, which="both")
    else:
        axes.bar(list(sizes), list(sizes.values()), color=_BLUE)
        axes.set(xlabel="documents of a cluster", ylabel="clusters")
        axes.set_xlim(1.4, max(*sizes, 4) + 0.6)
        _finish(axes)
    if figures.waiting:
        axes.set_xlabel(
            f"documents of a cluster ({counted(figures.waiting, 'text waits', 'texts wait')})"
        )


def _draw_distances(axes: Axes, figures: StoreFigures) -> None:
    axes.set_title("distance to the canonical document")
    if not figures.distances:
        _say(axes, "no clusters are kept" if figures.cluster_sizes is None else "none")
        return
    held = dict(figures.distances)
    axes.bar(list(held), list(held.values()), color=_GREEN)
    axes.set(xlabel="distance, bits", ylabel="documents", xlim=(-0.6, max(*held, 3) + 0.6))
    _finish(axes)


def _draw_vocabulary(axes: Axes, figures: StoreFigures) -> None:
    axes.set_title("vocabulary")
    parts = figures.vocabulary
    if not parts:
        _say(axes, "nothing is kept to count")
        return
    counts = [part.documents for part in parts]
    axes.plot([0, *counts], [0, *(part.terms for part in parts)], color=_BLUE, marker="o",
              markersize=3)  # fmt: skip
    axes.set(xlabel="documents, in order of ingest", ylim=(0, None), xlim=(0, None))
    axes.set_ylabel(f"terms of {counted(parts[-1].sampled, 'sampled document')}", color=_BLUE)
    _finish(axes)
    if len(parts) > 1:
        other = axes.twinx()
        # The first part is all new.
        shares = [100 * part.new_share for part in parts[1:]]
        other.plot(counts[1:], shares, color=_RED, marker="s", markersize=3)
        other.set_ylim(0, max(*shares, 1) * 1.15)
        other.set_ylabel("new terms, % of occurrences", color=_RED)
    told = []
    if figures.changed_ranks is not None:
        told.append("a refresh changes {:,} of {:,} ranks".format(*figures.changed_ranks))
    if figures.changed_fingerprints is not None and figures.changed_fingerprints[1]:
        told.append("{:,} of {:,} fingerprints".format(*figures.changed_fingerprints))
    if told:
        axes.set_title("vocabulary: " + ", ".join(told), fontsize=10)


PANELS: dict[str, Callable[[Axes, StoreFigures], None]] = {
    "growth": _draw_growth,
    "duplicates": _draw_duplicates,
    "sizes": _draw_sizes,
    "distances": _draw_distances,
    "vocabulary": _draw_vocabulary,
}


def _say(axes: Axes, words: str) -> None:
    axes.text(0.5, 0.5, words, ha="center", va="center", color=_GREY, transform=axes.transAxes)
    axes.set_xticks([])
    axes.set_yticks([])


def _finish(axes: Axes, *, dates: bool = False) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    whole = FuncFormatter(lambda value, _place: f"{value:,.0f}")
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True, steps=_STEPS))
    axes.yaxis.set_major_formatter(whole)
    if dates:
        left, right = axes.get_xlim()
        axes.set_xlim(max(left, _FIRST_DAY), min(right, _LAST_DAY))
        locator = AutoDateLocator(minticks=3, maxticks=8, tz=UTC)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        form = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(form)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=_STEPS))
        axes.xaxis.set_major_formatter(whole)


def _days(seconds: int) -> float:
    """Return a time as Matplotlib counts it: in days since 1970."""
    return seconds / _DAY


def _span(seconds: int) -> str:
    names = (
        (315_360_000, "decade"), (31_536_000, "year"), (7_776_000, "quarter"),
        (2_592_000, "30 days"), (604_800, "week"), (86_400, "day"), (21_600, "6 hours"),
        (3_600, "hour"), (900, "15 minutes"), (300, "5 minutes"), (60, "minute"),
    )  # fmt: skip
    return next(name for size, name in names if seconds >= size)
