"""Draw ``docs/images/bands.png`` with Matplotlib: ``python docs/make_images.py``.

``growth-*.png`` are drawn by ``benchmarks/growth.py``, which measures them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from simstore.fingerprint.minhash import BandLayout

REPOSITORY = Path(__file__).resolve().parent.parent
IMAGES = REPOSITORY / "docs" / "images"
LAYOUTS = (
    (BandLayout(42, 3), "#D55E00"),
    (BandLayout(32, 4), "#009E73"),
    (BandLayout(21, 6), "#E69F00"),
    (BandLayout(16, 8), "#0072B2"),
)


def draw_bands(path: Path) -> None:
    """Draw how likely two sketches agree in a band, by the resemblance of the texts."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.add_subplot()
    shares = np.linspace(0, 1, 201)
    for layout, colour in LAYOUTS:
        style = "-" if layout == BandLayout() else "--"
        name = f"{layout.bands} bands of {layout.rows}"
        name += " (default)" if layout == BandLayout() else ""
        axes.plot(shares, layout.probability(shares), style, color=colour, label=name)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="resemblance", ylabel="found")
    axes.set_title("Probability that two sketches agree in a band")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=120, metadata={"Software": None})


def main() -> None:
    """Draw the picture."""
    IMAGES.mkdir(exist_ok=True)
    draw_bands(IMAGES / "bands.png")


if __name__ == "__main__":
    main()
