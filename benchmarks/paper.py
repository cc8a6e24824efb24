"""1e9 fingerprints on paper: what the measured constants say; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from results import figure, markdown_table

PAGES, RESIDENT = "simstore, pages of the file", "simstore, resident index"
BILLION = 10**9


@dataclass(frozen=True)
class Layout:
    """A way to find all within 3 bits of a 64-bit fingerprint.

    Attributes:
        tables: Copies of the fingerprints in an order of their own.
        lookups: Look-ups of a query.
        candidate_share: Candidates of a query on random fingerprints, over all.
    """

    name: str
    tables: int
    lookups: int
    candidate_share: float

    def microseconds(self, count: int, costs: Costs) -> float:
        return self.lookups * costs.lookup + count * self.candidate_share * costs.candidate


@dataclass(frozen=True)
class Costs:
    """Microseconds of a look-up and of a candidate, fitted."""

    lookup: float
    candidate: float


PLAIN = Layout("16 bits, exact (what simstore does)", 4, 4, 4 / 2**16)
LAYOUTS = (
    PLAIN,
    # Segments of 22, 21 and 21 bits, thresholds 1, 0, 0: 23 + 1 + 1 look-ups.
    Layout("22, 21, 21 bits, one bit flipped in the first", 3, 25, 23 / 2**22 + 2 / 2**21),
    Layout("32 bits, one bit flipped", 2, 66, 66 / 2**32),
    # Four blocks of 13 bits and one of 12, any two of them: 26 bits six times, 25 four times.
    Layout("25 or 26 bits, exact", 10, 10, 6 / 2**26 + 4 / 2**25),
    Layout("28 bits, exact", 16, 16, 16 / 2**28),
)


def fitted(points: list[tuple[int, float]]) -> Costs:
    """Return the costs of the line through latencies at the least and the greatest count.

    Args:
        points: (count, microseconds) of single queries, ``PLAIN``.
    """
    (few, fast), (many, slow) = min(points), max(points)
    candidate = max(slow - fast, 0.0) / ((many - few) * PLAIN.candidate_share)
    return Costs((fast - few * PLAIN.candidate_share * candidate) / PLAIN.lookups, candidate)


def breaks_even(layout: Layout, costs: Costs) -> float:
    """Return the count from which a layout is faster than ``PLAIN``; infinite: never."""
    saved = (PLAIN.candidate_share - layout.candidate_share) * costs.candidate
    added = (layout.lookups - PLAIN.lookups) * costs.lookup
    return added / saved if saved > 0 else float("inf")


def on_paper(records: dict[str, dict[str, Any]]) -> str:
    """Return the section, or nothing where the parts it rests on were not measured."""
    if "neighbours" not in records:
        return ""
    sizes = {int(count): v for count, v in records["neighbours"]["values"].items()}
    big = {int(count): v for count, v in records.get("big", {"values": {}})["values"].items()}
    pages = [(n, v["latency_us"][PAGES][0]) for n, v in sizes.items()]
    pages += [(n, v["latency_us"][0]) for n, v in big.items()]
    resident = [(n, v["latency_us"][RESIDENT][0]) for n, v in sizes.items()]
    if min(len(pages), len(resident)) < 2:
        return ""
    each = max((n, v["bytes"] / n) for n, v in big.items())[1] if big else None
    largest = max(sizes)
    each = each or sizes[largest]["costs"][PAGES][2]
    rate = max(big) / big[max(big)]["build_seconds"] if big else sizes[largest]["costs"][PAGES][0]
    memory = records["neighbours"]["machine"]["memory_bytes"]
    sections = [
        "## 1e9 on paper",
        f"From the latencies of {', '.join(f'{n:,}' for n, _ in sorted(pages))} fingerprints: a "
        "query's time is taken as look-ups × the cost of one + candidates × the cost of one, "
        "fitted through the least and the greatest of them; fingerprints are taken as random.",
    ]
    for name, points in (("From the file's pages", pages), ("Resident index", resident)):
        costs = fitted(points)
        sections.append(
            f"{name}: {figure(costs.lookup)} µs a look-up, {figure(costs.candidate * 1e3)} ns a "
            "candidate."
        )
        sections.append(markdown_table(COLUMNS, [_row(layout, costs) for layout in LAYOUTS]))
    sections.append(
        "A finer key pays where the last column says; but ten or sixteen tables take two and a "
        "half or four times the bytes, and each insertion writes to all of them. Keys of 32 bits "
        "need no table of their own: a page is sorted by the rotated fingerprint, so that the "
        "next 16 bits are a range in it."
    )
    page = BILLION / 2**16
    sections.append(
        f"At 1e9, simstore's page holds {page:,.0f} fingerprints ({page * 6 / 1e3:,.0f} kB of "
        f"records), so that a cold query reads {4 * page * 6 / 1e3:,.0f} kB. The file would take "
        f"{BILLION * each / 1e9:,.0f} GB at {figure(each)} bytes a fingerprint and be built in "
        f"{BILLION / rate / 3600:.1f} hours at {rate:,.0f} rows/s; a resident index takes "
        f"{BILLION * 32 / 1e9:,.0f} GB of memory. This machine's {memory / 2**30:.0f} GiB hold a "
        f"resident index of {memory * 0.8 / 32 / 1e6:,.0f} million; from the file, the disk is the "
        f"bound: a terabyte holds {1e12 / each / 1e9:,.0f} billion, of which the page cache should "
        "hold what is asked for often."
    )
    return "\n\n".join(sections)


COLUMNS = (
    "layout",
    "tables",
    "look-ups",
    "candidates at 1e9",
    "µs at 1e9",
    "faster than the first from",
)


def _row(layout: Layout, costs: Costs) -> list[str]:
    start = breaks_even(layout, costs)
    return [
        layout.name,
        str(layout.tables),
        str(layout.lookups),
        figure(BILLION * layout.candidate_share),
        figure(layout.microseconds(BILLION, costs)),
        "" if layout is PLAIN else f"{start:.1e}" if start < float("inf") else "never",
    ]
