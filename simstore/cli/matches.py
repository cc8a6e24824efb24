"""The answer to a query on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simstore.cli.results import write_blocks
from simstore.cli.tables import print_table
from simstore.reports.formats import RENDERERS

if TYPE_CHECKING:
    from simstore.model import Match, QueryRun, SampleResult

_TOO_SHORT = "too short to judge: only copies, and what contains it or is contained"


def print_matches(run: QueryRun, output_format: str) -> None:
    """Print the matches of a run."""
    if output_format != "table":
        write_blocks(RENDERERS[output_format](run.samples))
        return
    likeness = any(match.likeness is not None for sample in run.samples for match in sample.matches)
    more = ("likeness", "cosine") if likeness else ()
    print_table(
        ("sample", "distance", "resemblance", "containment", *more, "found by", "match"),
        (row for sample in run.samples for row in _rows_of(sample, likeness=likeness)),
        drop=("found by", "containment", *more[1:]),
    )


def _rows_of(sample: SampleResult, *, likeness: bool) -> list[tuple[Any, ...]]:
    nothing = (None, None, None, *((None, None) if likeness else ()), "")
    if not sample.matches:
        shown = f"- ({_TOO_SHORT})" if sample.too_short else "-"
        return [(sample.key, *nothing, shown)]
    rows = [
        (
            sample.key if number == 0 else "",
            match.distance,
            _share(match.resemblance, match.basis),
            _share(match.containment, match.basis),
            *((_share(match.likeness), _share(match.cosine)) if likeness else ()),
            " + ".join(match.channels),
            _place(match),
        )
        for number, match in enumerate(sample.matches)
    ]
    return [*rows, ("", *nothing, f"({_TOO_SHORT})")] if sample.too_short else rows


def _place(match: Match) -> str:
    """Return the key of a match, with the place of the sentence that was found."""
    if match.passage_similarity is None:
        return match.key
    place = f"{match.passage_start}-{match.passage_end}"
    return f"{match.key} [{place}, {match.passage_similarity:.3f}]"


def _share(share: float | None, basis: str | None = None) -> str:
    """Return a share for people; an estimate is marked with a tilde."""
    if share is None:
        return ""
    return f"{'~' if basis == 'sketch' else ''}{share:.3f}"
