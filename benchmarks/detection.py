"""Measure what simstore detects beside other libraries, and write Markdown.

Usage: python benchmarks/detection.py [--data FOLDER] [--cache FOLDER] [--output FILE]

Needs the labelled data (SIMSTORE_TEST_DATA names its folder), a package index for one more set,
and the peers: ``pip install 'simstore[benchmark,han]'``. Settings and thresholds are chosen on the
tuning part of each set (half of the groups); the figures are of the test part, which chose
nothing. A pair counts as right where both documents are of one group.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from detection_peers import Setting, settings, thresholds_of, timed
from detection_sets import Labelled, labelled_sets, part_of

from simstore import Store
from simstore.search.agreement import Agreement, pair_codes, pairs_of_clusters
from simstore.search.evaluation import Evaluation
from simstore.services.choose import SchemeChoice
from simstore.services.evaluate import EvaluateOptions
from simstore.services.truth import Labels

Sets = dict[str, list[Labelled]]
PEERS = ("datasketch", "gaoya", "rensa", "simhash")
CANDIDATE_RADIUS = 16
METHODS = ("likeness", "verified", "minhash", "simhash")
PLAIN, FOLDED = SchemeChoice("web"), SchemeChoice("web", han="simplified-words")
# Our settings, by their names in the table: scheme and method, at the default threshold.
NAMES = {
    "simstore, likeness, scripts folded": (FOLDED, "likeness"),
    "simstore, likeness": (PLAIN, "likeness"),
    "simstore, resemblance": (PLAIN, "verified"),
    "simstore, MinHash alone": (PLAIN, "minhash"),
    "simstore, SimHash alone": (PLAIN, "simhash"),
}


def texts_of(documents: Sequence[Labelled]) -> list[str]:
    return [document.text for document in documents]


def truth_of(documents: Sequence[Labelled]) -> np.ndarray:
    numbers: dict[str, int] = {}
    labels = [numbers.setdefault(d.group, len(numbers)) for d in documents]
    return pairs_of_clusters(np.array(labels, np.int64))


def quality(first: np.ndarray, second: np.ndarray, truth: np.ndarray, count: int) -> Agreement:
    found = pair_codes(first, second, count)
    common = len(np.intersect1d(found, truth, assume_unique=True))
    return Agreement(common, len(found), len(truth))


def tune_peer(made: list[Setting], tuning: Sets) -> dict[tuple[int, float], dict[str, float]]:
    """Return F1 of each set for each setting (by its number) and threshold."""
    grid: dict[tuple[int, float], dict[str, float]] = {}
    for number, setting in enumerate(made):
        for name, documents in tuning.items():
            texts, truth = texts_of(documents), truth_of(documents)
            found = None
            for threshold in thresholds_of(setting):
                if found is None or setting.indexed:
                    found = setting.find(texts, threshold)
                first, second = found.at(threshold)
                f1 = quality(first, second, truth, len(texts)).f1
                grid.setdefault((number, threshold), {})[name] = f1
        print(f"tuned {setting.peer}: {setting.name}", file=sys.stderr, flush=True)
    return grid


def run_ours(
    documents: Sequence[Labelled], scheme: SchemeChoice = PLAIN
) -> tuple[Evaluation, float]:
    """Return the evaluation of a store of these documents, and the seconds of all of it."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        path = Path(folder) / "s.db"
        with Store.create(path, scheme=scheme, synchronous="normal") as store:
            store.add_many(
                {"key": d.key, "text": d.text, "metadata": {"group": d.group}} for d in documents
            )
            options = EvaluateOptions(candidate_radius=CANDIDATE_RADIUS)
            found = store.evaluate(Labels(field="group"), options)
        return found, time.perf_counter() - started


def f1_of(found: Evaluation, method: str, threshold: float | None = None) -> float:
    """Return F1 at a threshold; None: at the default."""
    for point in found.curve(found.summary_set, method):
        if point.is_default if threshold is None else point.threshold == threshold:
            return point.f1
    raise LookupError(f"{method} has no threshold {threshold}")


def best_by_set(runs: Sequence[Evaluation]) -> tuple[int, str, float]:
    """Return which of our schemes, which method and threshold are best on a tuning part."""
    points = [
        (p.f1, number, method, p.threshold)
        for number, found in enumerate(runs)
        for method in METHODS
        for p in found.curve(found.summary_set, method)
    ]
    return max(points, key=lambda point: point[0])[1:]


def table(title: str, names: Sequence[str], rows: dict[str, dict[str, float]]) -> list[str]:
    """Return a Markdown table: a row a set, a column a method; the best of a row is bold."""
    lines = [f"### {title}", "", "| set | " + " | ".join(names) + " |"]
    lines.append("|---|" + "---|" * len(names))
    for label, row in rows.items():
        best = max(row.values())
        cells = [f"**{row[n]:.3f}**" if row[n] >= best - 5e-4 else f"{row[n]:.3f}" for n in names]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    means = {name: float(np.mean([row[name] for row in rows.values()])) for name in names}
    lines.append("| *mean* | " + " | ".join(f"{means[n]:.3f}" for n in names) + " |")
    return [*lines, ""]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "detection")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    sets = labelled_sets(options.data, options.cache)
    tuning = {name: part_of(documents, "tuning") for name, documents in sets.items()}
    test = {name: part_of(documents, "test") for name, documents in sets.items()}

    schemes = (PLAIN, FOLDED)
    ours_tuned = {
        name: [run_ours(documents, scheme)[0] for scheme in schemes]
        for name, documents in tuning.items()
    }
    ours_test = {
        name: [run_ours(documents, scheme) for scheme in schemes]
        for name, documents in test.items()
    }
    one: dict[str, dict[str, float]] = {name: {} for name in test}
    each: dict[str, dict[str, float]] = {name: {} for name in test}
    seconds: dict[str, float] = {"simstore": sum(runs[0][1] for runs in ours_test.values())}
    for name, runs in ours_test.items():
        for column, (scheme, method) in NAMES.items():
            one[name][column] = f1_of(runs[schemes.index(scheme)][0], method)
        number, method, threshold = best_by_set(ours_tuned[name])
        each[name]["simstore"] = f1_of(runs[number][0], method, threshold)
    chosen = {}
    for peer in PEERS:
        made = [setting for setting in settings() if setting.peer == peer]
        grid = tune_peer(made, tuning)
        best = max(grid, key=lambda choice: float(np.mean(list(grid[choice].values()))))
        chosen[peer] = f"{made[best[0]].name}, threshold {best[1]:.3g}"
        seconds[peer] = 0.0
        for name, documents in test.items():
            texts, truth = texts_of(documents), truth_of(documents)
            found, spent = timed(made[best[0]], texts, best[1])
            seconds[peer] += spent
            one[name][peer] = quality(*found.at(best[1]), truth, len(texts)).f1
            number, threshold = max(grid, key=lambda choice: grid[choice][name])
            found = made[number].find(texts, threshold)
            each[name][peer] = quality(*found.at(threshold), truth, len(texts)).f1

    label = {n: f"{n} ({len(test[n]):,}; {len(truth_of(test[n])):,} pairs)" for n in test}
    lines = ["## Beside other libraries", ""]
    lines += table(
        "One setting for all sets, F1 on the test part",
        [*NAMES, *PEERS],
        {label[name]: one[name] for name in test},
    )
    lines += table(
        "The best setting of each set, F1 on the test part",
        ["simstore", *PEERS],
        {label[name]: each[name] for name in test},
    )
    lines += ["Settings that were best on the tuning part:", ""]
    lines += [
        f"- {peer} {importlib.metadata.version(peer)}: {chosen[peer]}; "
        f"{seconds[peer] / seconds['simstore']:.2f} times simstore's time"
        for peer in PEERS
    ]
    lines += ["", "### Against all pairs of a resemblance", "", "| set | J ≥ 0.8 | J ≥ 0.5 |"]
    lines.append("|---|---|---|")
    for name, runs in ours_test.items():
        cells = [
            f"{p.f1:.4f} ({p.counts.labelled_count if p.counts else 0:,})"
            for least in ("0.8", "0.5")
            for p in runs[0][0].points
            if p.method == "verified" and p.against == f"resemblance >= {least}"
        ]
        lines.append(f"| {label[name]} | " + " | ".join(cells) + " |")
    lines += ["", f"Python {platform.python_version()}, NumPy {np.__version__}.", ""]
    written = "\n".join(lines)
    if options.output is None:
        print(written)
    else:
        options.output.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
