"""The pictures of ``growth.py``: log-log, every line named at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

Lines = dict[str, list[Sequence[float]]]
# simstore in strong colours, the peers in quiet ones.
COLOURS = {
    "simstore, pages of the file": "#D55E00",
    "simstore, resident index": "#CC1177",
    "simstore, indexed columns (not packed)": "#E69F00",
    "simstore": "#D55E00",
    "FAISS IndexBinaryMultiHash(64,4,16)": "#0072B2",
    "FAISS IndexBinaryFlat": "#56B4E9",
    "PyPI simhash, SimhashIndex": "#009E73",
    "SQLite, four covering indexes": "#666666",
    "DuckDB, join of four segments": "#8866AA",
    "NumPy scan": "#A0A0A0",
}
SHORT = {
    "FAISS IndexBinaryMultiHash(64,4,16)": "FAISS MultiHash",
    "FAISS IndexBinaryFlat": "FAISS Flat",
    "PyPI simhash, SimhashIndex": "PyPI simhash",
    "SQLite, four covering indexes": "SQLite, covering",
    "DuckDB, join of four segments": "DuckDB",
    "simstore, indexed columns (not packed)": "simstore, not packed",
    "simstore, pages of the file": "simstore, pages",
    "simstore, resident index": "simstore, resident",
}
# Least distance of two labels, as a share of the height of the axes.
LABEL_SHARE = 0.042


def draw(lines: Mapping[str, Lines], rates: Lines, folder: Path) -> None:
    """Draw latency, rates and bytes into a folder.

    Args:
        lines: ``latency`` in µs and ``bytes``: lines of (count, value) by method.
        rates: Rows or documents a second by method.
        folder: An existing folder.
    """
    _picture(
        lines["latency"],
        "One query, all within 3 bits, median",
        "microseconds",
        folder / "growth-latency.png",
    )
    _picture(rates, "Building from nothing", "rows a second", folder / "growth-ingest.png")
    _picture(
        {name: [(n, size / n) for n, size in line] for name, line in lines["bytes"].items()},
        "Bytes of the file, or of the serialised index, a fingerprint",
        "bytes a fingerprint",
        folder / "growth-bytes.png",
    )


def _picture(lines: Lines, title: str, unit: str, path: Path) -> None:
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.add_subplot()
    for name, line in lines.items():
        colour = _colour(name)
        ours = name.startswith("simstore")
        axes.plot(
            [count for count, _ in line],
            [value for _, value in line],
            "o--" if "documents" in name else "o-",
            color=colour,
            linewidth=2.2 if ours else 1.4,
            markersize=4,
        )
    axes.set(xscale="log", yscale="log", xlabel="fingerprints", ylabel=unit)
    if any("documents" in name for name in lines):
        axes.set_xlabel("fingerprints, or documents")
    axes.set_title(title, loc="left")
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _label_ends(axes, lines)
    figure.savefig(path, dpi=130, metadata={"Software": None})


def _label_ends(axes: Axes, lines: Lines) -> None:
    """Write each name right of its line's end, moved up where two would touch."""
    low, high = (math.log10(bound) for bound in axes.get_ylim())
    right = max(line[-1][0] for line in lines.values())
    wanted = sorted((math.log10(line[-1][1]), name) for name, line in lines.items())
    heights: list[float] = []
    for height, _ in wanted:
        least = heights[-1] + LABEL_SHARE * (high - low) if heights else height
        heights.append(max(height, least))
    for (height, name), placed in zip(wanted, heights, strict=True):
        end = lines[name][-1][0]
        link: dict[str, Any] = {"arrowstyle": "-", "color": "#bbbbbb", "linewidth": 0.6}
        axes.annotate(
            _short(name),
            xy=(end, 10**height),
            xytext=(right * 1.25, 10**placed),
            color=_colour(name),
            va="center",
            fontsize=9,
            arrowprops=link,
            annotation_clip=False,
        )


def _short(name: str) -> str:
    base, _, rest = name.partition(":")
    return SHORT.get(base, base) + (", documents" if rest else "")


def _colour(name: str) -> str:
    return COLOURS.get(name.partition(":")[0], "#444444")
