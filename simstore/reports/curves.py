"""Plot precision-recall curves as PNG or SVG with Matplotlib (the extra ``plots``)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal

from simstore.errors import MissingExtra
from simstore.search.evaluation import CurvePoint, Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PlotFormat = Literal["png", "svg"]
# Colours that people with the common forms of colour blindness tell apart (Okabe, Ito 2008).
_STYLES = {
    "simhash": ("SimHash, by radius", "#0072B2", "o", (6, 6)),
    "minhash": ("MinHash, by estimate", "#E69F00", "s", (8, 8)),
    "verified": ("verified, by resemblance", "#009E73", "^", (-26, -12)),
    "likeness": ("verified, by likeness", "#D55E00", "D", (10, 4)),
    "either": ("verified, by either", "#CC79A7", "v", (10, -10)),
    "i-match": ("I-Match, by signatures", "#56B4E9", "x", (8, 8)),
    "counting-bloom": ("counting Bloom filters", "#000000", "+", (8, -12)),
}
_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)


def render_curves(evaluation: Evaluation, title: str, form: PlotFormat) -> bytes:
    """Return a picture of the precision-recall curves of an evaluation, one a method.

    Args:
        evaluation: Its mean over the sets is drawn, or its only set.
        title: Stands above the curves.
        form: ``png`` or ``svg``.

    Raises:
        MissingExtra: Matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("drawing curves", "plots") from error
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    axes = figure.add_subplot()
    _draw_levels(axes)
    for method, (name, colour, marker, offset) in _STYLES.items():
        curve = evaluation.curve(evaluation.summary_set, method)
        # The points where nothing is found any more say nothing.
        curve = [point for point in curve if point.recall > 0]
        if curve:
            _draw_curve(axes, curve, name, colour, marker, offset)
    axes.set(xlim=(0, 1.01), ylim=(0, 1.02), xlabel="recall", ylabel="precision", title=title)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(loc="lower left", framealpha=0.9)
    picture = io.BytesIO()
    # The same picture for the same figures: no date, no random names.
    with mpl.rc_context({"svg.hashsalt": "simstore"}):
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(picture, format=form, dpi=120, metadata=metadata)
    return picture.getvalue()


def _draw_curve(
    axes: Axes,
    curve: list[CurvePoint],
    name: str,
    colour: str,
    marker: str,
    offset: tuple[int, int],
) -> None:
    recalls = [point.recall for point in curve]
    precisions = [point.precision for point in curve]
    axes.plot(recalls, precisions, color=colour, marker=marker, markersize=4, label=name)
    for point in curve:
        shown = point.method == "simhash" and point.threshold % 3 == 0
        if point.is_default or shown:
            text = f"{point.threshold:g}"
            axes.annotate(
                text,
                (point.recall, point.precision),
                textcoords="offset points",
                xytext=offset,
                fontsize=9,
                color=colour,
                fontweight="bold" if point.is_default else "normal",
            )
        if point.is_default:
            axes.plot([point.recall], [point.precision], color=colour, marker=marker, markersize=10)


def _draw_levels(axes: Axes) -> None:
    """Draw where F1 is the same, lightly."""
    for level in _LEVELS:
        recalls = [
            level / (2 - level) + step * (1 - level / (2 - level)) / 50 for step in range(51)
        ]
        precisions = [level * recall / (2 * recall - level) for recall in recalls]
        axes.plot(recalls, precisions, color="#bbbbbb", linewidth=0.8, linestyle=":")
        axes.annotate(f"F1 {level}", (1.0, precisions[-1]), fontsize=7, color="#888888", ha="right")
