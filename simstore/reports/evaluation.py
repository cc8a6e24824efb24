"""Render an evaluation (precision and recall) as table rows and as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from simstore.reports.lines import rounded
from simstore.search.evaluation import CurvePoint, Evaluation

COLUMNS = (
    "method", "threshold", "precision", "recall", "f1", "common", "found", "labelled", "default",
)  # fmt: skip
_SHOWN = ("method", "threshold", "precision", "recall", "F1", "")
_SUMMARY = ("method", "threshold", "precision", "recall", "F1", "best at", "best F1")


def tables(
    evaluation: Evaluation, method: str | None = None
) -> Iterator[tuple[str, Sequence[str], list[tuple[Any, ...]]]]:
    """Yield titles, columns and rows.

    Args:
        evaluation: The evaluation.
        method: Show each method by its default and best threshold, and this one by a dozen more;
            None: show all thresholds of all methods.
    """
    if method is None:
        rows = [row for one in evaluation.methods for row in _curve_rows(evaluation, one)]
        yield "Against the labels, by threshold", _SHOWN, rows
        return
    yield "Each method at its default threshold", _SUMMARY, _default_rows(evaluation)
    rows = list(_fewer(_curve_rows(evaluation, method)))
    yield f"Against the labels, by threshold of {method}", _SHOWN, rows


def records(evaluation: Evaluation) -> Iterator[tuple[Any, ...]]:
    """Yield the values of :data:`COLUMNS`, a point of a curve at a time."""
    for point in evaluation.points:
        yield (
            point.method,
            point.threshold,
            *map(rounded, (point.precision, point.recall, point.f1)),
            point.counts.common_count,
            point.counts.found_count,
            point.counts.labelled_count,
            point.is_default,
        )


def _curve_rows(evaluation: Evaluation, method: str) -> Iterator[tuple[Any, ...]]:
    """Yield a row a threshold of a method; its default and its best are marked."""
    curve = evaluation.curve(method)
    best = max((point.f1 for point in curve), default=0.0)
    for point in curve:
        marks = ["default"] * point.is_default + ["best"] * (point.f1 == best)
        yield (*_measures(point), ", ".join(marks))


def _fewer(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield every other row of a curve, the default, and where a stretch of best ones begins."""
    best_before = False
    for number, row in enumerate(rows):
        best = "best" in row[-1]
        if number % 2 or "default" in row[-1] or (best and not best_before):
            yield row
        best_before = best


def _default_rows(evaluation: Evaluation) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for point in evaluation.points:
        if point.is_default:
            best = max(evaluation.curve(point.method), key=lambda one: one.f1)
            rows.append((*_measures(point), _threshold(best), f"{best.f1:.3f}"))
    return rows


def _measures(point: CurvePoint) -> tuple[str, ...]:
    shares = (point.precision, point.recall, point.f1)
    return point.method, _threshold(point), *(f"{share:.3f}" for share in shares)


def _threshold(point: CurvePoint) -> str:
    return f"{point.threshold:.0f}" if point.method == "simhash" else f"{point.threshold:.2f}"
