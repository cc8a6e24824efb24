"""Render an evaluation (precision and recall) as table rows, JSON Lines and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from simstore.errors import printable
from simstore.reports.lines import rounded, to_json
from simstore.search.evaluation import LABELS, CurvePoint, Evaluation

POINT_COLUMNS = (
    "set", "method", "threshold", "against", "precision", "recall", "f1", "common", "found",
    "labelled", "default",
)  # fmt: skip
_SHOWN = ("method", "threshold", "precision", "recall", "F1", "")
_SUMMARY = ("set", "method", "threshold", "precision", "recall", "F1", "best at", "best F1")


def tables(
    evaluation: Evaluation, method: str | None = None
) -> Iterator[tuple[str, Sequence[str], list[tuple[Any, ...]]]]:
    """Yield titles, columns and rows: the curves, the sets in short, the bands of resemblance.

    Args:
        evaluation: The evaluation.
        method: Show each method by its default and best threshold, and this one by a dozen more;
            None: show all thresholds of all methods.
    """
    summary = evaluation.summary_set
    set_names = list(dict.fromkeys(point.set_name for point in evaluation.points))
    if method is None:
        rows = [row for one in evaluation.methods for row in _curve_rows(evaluation, one)]
        yield "Against the labels, by threshold", _SHOWN, rows
        if len(set_names) > 1:
            yield "Each set at the defaults", _SUMMARY, _set_rows(evaluation, set_names)
    else:
        rows = [row[1:] for row in _set_rows(evaluation, [summary])]
        yield "Each method at its default threshold", _SUMMARY[1:], rows
        rows = list(_fewer(_curve_rows(evaluation, method)))
        yield f"Against the labels, by threshold of {method}", _SHOWN, rows
        if len(set_names) > 1:
            rows = [row for row in _set_rows(evaluation, set_names) if row[1] == method]
            yield "Each set at the default", _SUMMARY, rows
    against = [p for p in evaluation.points if p.against != LABELS and p.set_name == summary]
    if against and method is None:
        yield (
            "Against all pairs of a resemblance",
            ("pairs", "method", "threshold", "precision", "recall", "F1"),
            [
                (
                    point.against.removeprefix("resemblance "),
                    point.method,
                    _threshold(point),
                    *map(_share, (point.precision, point.recall, point.f1)),
                )
                for point in against
            ],
        )
    if evaluation.bands:
        ways = list(evaluation.bands[0].recalls)
        sets = len({band.set_name for band in evaluation.bands})
        yield (
            "Recall of labelled pairs, by their resemblance",
            (*(("set",) if sets > 1 else ()), "resemblance", "pairs", *ways),
            [
                (
                    *((printable(band.set_name),) if sets > 1 else ()),
                    f"{band.lowest}-{band.below}",
                    band.pair_count,
                    *(_share(band.recalls[way]) for way in ways),
                )
                for band in evaluation.bands
            ],
        )


def _curve_rows(evaluation: Evaluation, method: str) -> Iterator[tuple[Any, ...]]:
    """Yield a row a threshold of a method; its default and its best are marked."""
    curve = evaluation.curve(evaluation.summary_set, method)
    best = max((point.f1 for point in curve), default=0.0)
    for point in curve:
        marks = ["default"] * point.is_default + ["best"] * (point.f1 == best)
        yield (
            method,
            _threshold(point),
            *map(_share, (point.precision, point.recall, point.f1)),
            ", ".join(marks),
        )


def _fewer(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield every other row of a curve, the default, and where a stretch of best ones begins."""
    best_before = False
    for number, row in enumerate(rows):
        best = "best" in row[-1]
        if number % 2 or "default" in row[-1] or (best and not best_before):
            yield row
        best_before = best


def _set_rows(evaluation: Evaluation, set_names: Iterable[str]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for name in set_names:
        for method in evaluation.methods:
            curve = evaluation.curve(name, method)
            if not curve:
                continue
            best = max(curve, key=lambda point: point.f1)
            rows += [
                (
                    printable(name),
                    method,
                    _threshold(point),
                    *map(_share, (point.precision, point.recall, point.f1)),
                    _threshold(best),
                    _share(best.f1),
                )
                for point in curve
                if point.is_default
            ]
    return rows


def render_jsonl(evaluation: Evaluation) -> Iterator[bytes]:
    """Yield one JSON object a point of a curve and a band of resemblance."""
    for point in evaluation.points:
        record = {"kind": "point", **dict(zip(POINT_COLUMNS, _values(point), strict=True))}
        yield to_json(record).encode() + b"\n"
    for band in evaluation.bands:
        record = {
            "kind": "band",
            "set": printable(band.set_name),
            "lowest": band.lowest,
            "below": band.below,
            "pairs": band.pair_count,
            "recall": {way: rounded(share) for way, share in band.recalls.items()},
        }
        yield to_json(record).encode() + b"\n"


def render_csv(evaluation: Evaluation) -> Iterator[bytes]:
    """Yield a header and a row a point of a curve."""
    yield _csv((POINT_COLUMNS, *(_values(point) for point in evaluation.points)))


def _values(point: CurvePoint) -> tuple[Any, ...]:
    counts = point.counts
    pairs: tuple[int | None, ...] = (None, None, None)
    if counts is not None:
        pairs = (counts.common_count, counts.found_count, counts.labelled_count)
    return (
        printable(point.set_name),
        point.method,
        point.threshold,
        point.against,
        *map(rounded, (point.precision, point.recall, point.f1)),
        *pairs,
        point.is_default,
    )


def _threshold(point: CurvePoint) -> str:
    return f"{point.threshold:.0f}" if point.method == "simhash" else f"{point.threshold:.2f}"


def _share(value: float) -> str:
    return f"{value:.3f}"


def _csv(rows: Iterable[Sequence[Any]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()
