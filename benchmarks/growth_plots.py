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
    "simstore, web, both channels, texts kept": "#D55E00",
    "simstore, web, fingerprints only, texts kept": "#E69F00",
    "a plain SQLite table: key and compressed text": "#666666",
    "a plain DuckDB table: key and text": "#8866AA",
    "FAISS IndexBinaryMultiHash(64,2,32), nflip 1": "#0072B2",
    "FAISS IndexBinaryFlat": "#56B4E9",
    "PyPI simhash, SimhashIndex": "#009E73",
    "SQLite, four covering indexes": "#666666",
    "DuckDB, join of four segments": "#8866AA",
    "NumPy scan": "#A0A0A0",
}
SHORT = {
    "FAISS IndexBinaryMultiHash(64,2,32), nflip 1": "FAISS MultiHash",
    "FAISS IndexBinaryFlat": "FAISS Flat",
    "PyPI simhash, SimhashIndex": "PyPI simhash",
    "SQLite, four covering indexes": "SQLite, covering",
    "DuckDB, join of four segments": "DuckDB",
    "simstore, indexed columns (not packed)": "simstore, not packed",
    "simstore, pages of the file": "simstore, pages",
    "simstore, resident index": "simstore, resident",
    "simstore, web, both channels, texts kept": "simstore, both channels",
    "a plain SQLite table: key and compressed text": "plain SQLite table",
    "a plain DuckDB table: key and text": "plain DuckDB table",
    "simstore, web, fingerprints only, texts kept": "simstore, simhash only",
    "simstore, web, both channels, neither texts nor vocabulary": "simstore, no texts",
}
# Least distance of two labels, as a share of the height of the axes.
LABEL_SHARE = 0.042


def draw(lines: Mapping[str, Lines], documents: Mapping[str, Lines], folder: Path) -> None:
    """Draw latency, rates and bytes into a folder.

    Args:
        lines: ``latency`` in µs, ``ingest`` in rows a second, ``bytes`` of the file: lines of
            (fingerprints, value) by method.
        documents: ``ingest`` in documents a second, ``bytes`` a document: lines of (documents,
            value) by method; may lack either.
        folder: An existing folder.
    """
    each = {name: [(n, size / n) for n, size in line] for name, line in lines["bytes"].items()}
    latency = [("One query, all within 3 bits, median", "microseconds", lines["latency"])]
    _picture(latency, folder / "growth-latency.png")
    rates = [("Fingerprints into an empty index", "fingerprints a second", lines["ingest"])]
    sizes = [("Bytes of the file, or of the serialised index", "bytes a fingerprint", each)]
    if documents.get("ingest"):
        title = "Documents of 3.5 kB into an empty store"
        rates.append((title, "documents a second", documents["ingest"]))
    if documents.get("bytes"):
        sizes.append(("Bytes of the file", "bytes a document of 3.5 kB", documents["bytes"]))
    _picture(rates, folder / "growth-ingest.png")
    _picture(sizes, folder / "growth-bytes.png")


def _picture(panels: Sequence[tuple[str, str, Lines]], path: Path) -> None:
    """Draw panels of (title, unit, lines) one below the other."""
    figure = Figure(figsize=(8, 4.4 * len(panels)), layout="constrained")
    for axes, (title, unit, lines) in zip(
        figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True
    ):
        for name, line in lines.items():
            axes.plot(
                [count for count, _ in line],
                [value for _, value in line],
                "o-",
                color=_colour(name),
                linewidth=2.2 if name.startswith("simstore") else 1.4,
                markersize=4,
            )
        counted = "documents" if "document" in unit else "fingerprints"
        axes.set(xscale="log", yscale="log", xlabel=counted, ylabel=unit)
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
            SHORT.get(name, name),
            xy=(end, 10**height),
            xytext=(right * 1.25, 10**placed),
            color=_colour(name),
            va="center",
            fontsize=9,
            arrowprops=link,
            annotation_clip=False,
        )


def _colour(name: str) -> str:
    return COLOURS.get(name, "#D55E00" if name.startswith("simstore") else "#444444")
