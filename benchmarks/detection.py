"""Measure what simstore detects beside other libraries, and write Markdown.

Usage: python benchmarks/detection.py [--data FOLDER] [--cache FOLDER] [--output FILE]

Needs the labelled data (SIMSTORE_TEST_DATA names its folder), a package index for four more sets,
and the peers: ``pip install '.[benchmark,han]'``. The groups of each set are in one of two
halves, tuning and test. Of every method alike, the setting and the threshold are kept whose F1 on
one half, averaged over the thresholds around it, is the highest; F1 is told of the other half. A
pair counts as right where both documents are of one group.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from detection_peers import Setting, settings, thresholds_of, timed
from detection_sets import Labelled, labelled_sets, part_of

from simstore import Store
from simstore.search.agreement import Agreement, pair_codes, pairs_of_clusters
from simstore.search.evaluation import SHARE_WIDTH, Evaluation, highest, steadied
from simstore.services.evaluate.evaluate import EvaluateOptions, Labels
from simstore.services.maintenance.scheme_choice import SchemeChoice

Sets = dict[str, list[Labelled]]
PARTS = ("tuning", "test")
PEERS = ("datasketch", "gaoya", "rensa", "simhash")
PLAIN, FOLDED = SchemeChoice("web"), SchemeChoice("web", han="simplified-words")
SCHEMES = (PLAIN, FOLDED)
# Our columns with one setting, at the defaults: scheme and method. The first is what the command
# `clusters` does, the second what it does in a store that folds scripts.
NAMES = {
    "simstore": (PLAIN, "either"),
    "simstore, scripts folded": (FOLDED, "either"),
    "simstore, resemblance 0.5": (PLAIN, "verified"),
    "simstore, MinHash 0.5": (PLAIN, "minhash"),
    "simstore, SimHash 3": (PLAIN, "simhash"),
}
# What our best setting of a set is chosen from, with either scheme: by random halves of the tuning
# part this was the steadiest of the methods and of their mixtures.
OURS = "exact-either"
FLOOR = 0.1


@dataclass(frozen=True)
class Curve:
    """F1 of a setting on a set at each threshold."""

    setting: str
    thresholds: tuple[float, ...]
    f1: tuple[float, ...]


# Curves of a method, one a setting, in the same order for every part and set.
Curves = dict[tuple[str, str], list[Curve]]


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


def settings_of(peer: str) -> list[Setting]:
    return [setting for setting in settings() if setting.peer == peer]


def peer_curves(peer: str, parts: dict[str, Sets]) -> Curves:
    """Return the curves of a peer's settings."""
    found: Curves = {(part, name): [] for part in PARTS for name in parts[part]}
    for setting in settings_of(peer):
        thresholds = thresholds_of(setting)
        for part, name in found:
            documents = parts[part][name]
            texts, truth = texts_of(documents), truth_of(documents)
            pairs, scores = None, []
            for threshold in thresholds:
                if pairs is None or setting.indexed:
                    pairs = setting.find(texts, threshold)
                scores.append(quality(*pairs.at(threshold), truth, len(texts)).f1)
            found[part, name].append(Curve(setting.name, tuple(thresholds), tuple(scores)))
        print(f"{setting.peer}: {setting.name}", file=sys.stderr, flush=True)
    return found


def our_curves(runs: dict[tuple[str, str], list[Evaluation]]) -> Curves:
    """Return the curves of our settings."""
    found: Curves = {}
    for place, evaluations in runs.items():
        found[place] = []
        for scheme, evaluation in zip(SCHEMES, evaluations, strict=True):
            points = evaluation.curve(OURS)
            name = OURS + (", scripts folded" if scheme is FOLDED else "")
            thresholds, scores = [p.threshold for p in points], [p.f1 for p in points]
            found[place].append(Curve(name, tuple(thresholds), tuple(scores)))
    return found


def run_ours(documents: Sequence[Labelled], scheme: SchemeChoice) -> tuple[Evaluation, float]:
    """Return the evaluation of a store of these documents, and the seconds of all of it."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        path = Path(folder) / "s.db"
        with Store.create(path, scheme=scheme, synchronous="normal") as store:
            store.add_many(
                {"key": d.key, "text": d.text, "metadata": {"group": d.group}} for d in documents
            )
            found = store.evaluate.run(Labels(field="group"), EvaluateOptions(floor=FLOOR))
        return found, time.perf_counter() - started


def default_f1(found: Evaluation, method: str) -> float:
    (point,) = [p for p in found.curve(method) if p.is_default]
    return point.f1


def chosen(curves: Sequence[Curve], width: float) -> tuple[int, int]:
    """Return which curve, and which threshold of it, to keep."""
    means = [steadied(curve.thresholds, curve.f1, width) for curve in curves]
    number = max(range(len(curves)), key=lambda one: float(means[one].max()))
    return number, highest(means[number])


def mean_curves(curves: Curves, part: str, names: Sequence[str]) -> list[Curve]:
    """Return the mean over the sets of each setting."""
    return [
        Curve(
            of_sets[0].setting,
            of_sets[0].thresholds,
            tuple(np.mean([curve.f1 for curve in of_sets], axis=0).tolist()),
        )
        for of_sets in zip(*(curves[part, name] for name in names), strict=True)
    ]


def judged(curves: Curves, name: str, part: str, width: float = SHARE_WIDTH) -> float:
    """Return F1 on a part of a set of what the other part chose."""
    other = PARTS[1 - PARTS.index(part)]
    number, place = chosen(curves[other, name], width)
    return curves[part, name][number].f1[place]


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
    parts = {
        part: {name: part_of(documents, part) for name, documents in sets.items()} for part in PARTS
    }
    names = list(sets)
    runs: dict[tuple[str, str], list[Evaluation]] = {}
    seconds = {"simstore": 0.0}
    for part in PARTS:
        for name, documents in parts[part].items():
            made = [run_ours(documents, scheme) for scheme in SCHEMES]
            runs[part, name] = [found for found, _ in made]
            if part == "test":
                seconds["simstore"] += made[0][1]
        print(f"simstore: {part}", file=sys.stderr, flush=True)
    curves = {"simstore": our_curves(runs)}
    one = {
        name: {
            column: default_f1(runs["test", name][SCHEMES.index(scheme)], method)
            for column, (scheme, method) in NAMES.items()
        }
        for name in names
    }
    kept = []
    with ProcessPoolExecutor(max_workers=2) as pool:
        curves |= zip(PEERS, pool.map(peer_curves, PEERS, [parts] * len(PEERS)), strict=True)
    for peer in PEERS:
        of_peer = settings_of(peer)
        number, place = chosen(mean_curves(curves[peer], "tuning", names), SHARE_WIDTH)
        threshold = curves[peer]["tuning", names[0]][number].thresholds[place]
        seconds[peer] = 0.0
        for name in names:
            one[name][peer] = curves[peer]["test", name][number].f1[place]
            texts = texts_of(parts["test"][name])
            seconds[peer] += timed(of_peer[number], texts, threshold)[1]
        kept.append(
            f"- {peer} {importlib.metadata.version(peer)}: {of_peer[number].name}, threshold "
            f"{threshold:.3g}; {seconds[peer] / seconds['simstore']:.2f} times simstore's time"
        )

    label = {}
    for name in names:
        documents = parts["test"][name]
        label[name] = f"{name} ({len(documents):,}; {len(truth_of(documents)):,} pairs)"
    lines = ["## Beside other libraries", ""]
    lines += table(
        "One setting for all sets, F1 on the test part",
        [*NAMES, *PEERS],
        {label[name]: one[name] for name in names},
    )
    lines += table(
        "The best setting of each set, F1 on the test part",
        list(curves),
        {label[n]: {m: judged(curves[m], n, "test") for m in curves} for n in names},
    )
    lines += table(
        "The best setting of each set, mean of both halves, each chosen on the other",
        list(curves),
        {
            name: {
                method: float(np.mean([judged(curves[method], name, part) for part in PARTS]))
                for method in curves
            }
            for name in names
        },
    )
    lines += table(
        "The same, by the highest F1 alone",
        list(curves),
        {
            name: {
                method: float(np.mean([judged(curves[method], name, part, 0) for part in PARTS]))
                for method in curves
            }
            for name in names
        },
    )
    lines += ["Settings that the tuning part chose:", "", *kept, ""]
    lines += ["| set | " + " | ".join(curves) + " |", "|---|" + "---|" * len(curves)]
    for name in names:
        cells = []
        for method in curves:
            number, place = chosen(curves[method]["tuning", name], SHARE_WIDTH)
            curve = curves[method]["tuning", name][number]
            cells.append(f"{curve.setting}, {curve.thresholds[place]:.3g}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", f"Python {platform.python_version()}, NumPy {np.__version__}.", ""]
    written = "\n".join(lines)
    if options.output is None:
        print(written)
    else:
        options.output.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
