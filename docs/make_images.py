"""Draw the pictures of docs/images: ``python docs/make_images.py``.

``curves.png`` needs the labelled documents (SIMSTORE_TEST_DATA names the folder of the data) and is
left as it is without them; ``bands.png`` and ``store-over-time.png`` (of a simulated crawl) need
nothing. Needs the extra ``plots``.
``growth-*.png`` are drawn by ``benchmarks/growth.py``, which measures them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from simstore import Store
from simstore.fingerprint.minhash import BandLayout
from simstore.reports.curves import render_curves
from simstore.reports.store_plots import render_overview
from simstore.services.evaluate.evaluate import EvaluateOptions
from simstore.services.evaluate.labels import Labels
from simstore.services.ingest.ingest import IngestOptions
from simstore.sources.reader import HistoryFields, ReadOptions

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


def draw_curves(path: Path, documents: Path) -> None:
    """Draw precision and recall on the test part of the labelled documents."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "s.db", synchronous="normal") as store,
    ):
        store.ingest([str(documents)])
        options = EvaluateOptions(set_by="set", part="test", candidate_radius=16)
        found = store.evaluate(Labels(field="group"), options)
    sets = {p.set_name for p in found.points if p.counts and p.counts.labelled_count} - {"all"}
    title = f"{found.document_count:,} documents, mean over the {len(sets)} sets of the test part"
    path.write_bytes(render_curves(found, title, "png"))


def draw_store(path: Path) -> None:
    """Draw a store of a simulated crawl: ten days flagged, then twenty skipped."""
    sys.path.insert(0, str(REPOSITORY / "benchmarks"))
    from crawl import write_days
    from crawl_web import Settings

    # By the dates of the crawl alone: those that pages tell go back for months.
    read = ReadOptions(key_field="url", history_fields=HistoryFields("crawled", None, "links"))
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "s.db", synchronous="normal") as store,
    ):
        for day in write_days(Path(folder), Settings(sites=20, pages=40)):
            options = IngestOptions(on_duplicate="flag" if day.number <= 10 else "skip")
            store.ingest([str(Path(folder) / day.name)], read=read, options=options)
        store.keep_clusters()
        title = f"A month of a simulated crawl: {len(store):,} documents"
        path.write_bytes(render_overview(store.figures(), title, "png"))


def main() -> int:
    """Draw what can be drawn."""
    IMAGES.mkdir(exist_ok=True)
    draw_bands(IMAGES / "bands.png")
    draw_store(IMAGES / "store-over-time.png")
    given = os.environ.get("SIMSTORE_TEST_DATA")
    data = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    documents = data / "labelled" / "docs.jsonl.gz"
    if not documents.is_file():
        print(f"no labelled documents at {documents}: curves.png stays", file=sys.stderr)
        return 0
    draw_curves(IMAGES / "curves.png", documents)
    return 0


if __name__ == "__main__":
    sys.exit(main())
