"""Try rules of an edge that look at two texts alone, beside the default and other libraries.

Usage: python benchmarks/edge_rules.py [--data FOLDER] [--cache FOLDER] [--most N] [--output FILE]

A rule is chosen on the development sets; the held-out sets are looked at once. What is judged are
the pairs of documents in one cluster, against groups of origin. The rules are those of
:data:`RULES`; *gain* is what the resemblance of two texts gains where words with a digit, months
and weekdays are all one word: a text that is made anew each day from a template gains much. Of
every peer the setting, the threshold and the way to join (its pairs, or stars as ours) are kept
whose mean F1 on the development sets, over the thresholds around it, is the highest.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from detection import texts_of
from detection_peers import Setting, settings, thresholds_of
from detection_sets import Labelled
from edge_sets import Sets, edge_sets

from simstore import Store
from simstore.search.agreement import pair_codes, pairs_of_clusters
from simstore.search.all_pairs import all_pairs, resemblances
from simstore.search.evaluation import SHARE_WIDTH, highest, steadied
from simstore.search.stars import star_clusters

_DATED = re.compile(
    r"\w*\d\w*|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)"
    r"(?:uary|ruary|ch|il|ust|tember|ober|ember|day|sday|nesday|rsday|urday)?\b",
    re.I,
)
PEERS = ("datasketch", "gaoya", "rensa", "simhash")
# The least resemblance of what the rules look at.
FLOOR = 0.3
Values = np.ndarray


@dataclass(frozen=True)
class Pairs:
    """Pairs of documents, and what a rule may look at.

    Attributes:
        containment: The larger of the two.
        gain: Resemblance with figures and dates masked, less the resemblance.
        size_ratio: Of the two shingle sets.
    """

    first: Values
    second: Values
    resemblance: Values
    characters: Values
    containment: Values
    gain: Values
    size_ratio: Values


def _resemblance(least: float, made: Pairs) -> Values:
    return made.resemblance >= least


def _mean_of_two(least: float, made: Pairs) -> Values:
    return (made.resemblance + made.characters) / 2 >= least


def _or_contained(least: float, made: Pairs) -> Values:
    return (made.resemblance >= least) | (made.containment >= 0.8)


def _less_gain(factor: float, least: float, made: Pairs) -> Values:
    return made.resemblance - factor * made.gain >= least


def _either_less_gain(least: float, made: Pairs) -> Values:
    larger = np.maximum(made.resemblance, made.characters - 0.15)
    return larger - 3 * made.gain >= least


RULES: dict[str, Callable[[Pairs], Values]] = {
    "resemblance 0.4": partial(_resemblance, 0.4),
    "resemblance 0.5 (the default)": partial(_resemblance, 0.5),
    "resemblance 0.6": partial(_resemblance, 0.6),
    "mean of words and characters 0.5": partial(_mean_of_two, 0.5),
    "mean of words and characters 0.55": partial(_mean_of_two, 0.55),
    "resemblance 0.5 or containment 0.8": partial(_or_contained, 0.5),
    "resemblance - gain 0.5": partial(_less_gain, 1, 0.5),
    "resemblance - 3 gain 0.5": partial(_less_gain, 3, 0.5),
    "resemblance - 3 gain 0.45": partial(_less_gain, 3, 0.45),
    "larger of both - 3 gain 0.5": partial(_either_less_gain, 0.5),
}
# Looked at on the held-out sets: the default, and two that the development sets spoke for.
JUDGED = (
    "resemblance 0.5 (the default)",
    "resemblance - 3 gain 0.5",
    "larger of both - 3 gain 0.5",
)


def groups_of(documents: Sequence[Labelled]) -> Values:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(one.group, len(numbers)) for one in documents], np.int64)


def f1_of(codes: Values, groups: Values) -> float:
    """Return F1 of pairs against those of one group."""
    truth = pairs_of_clusters(groups)
    both = len(codes) + len(truth)
    common = len(np.intersect1d(codes, truth, assume_unique=True))
    return 2 * common / both if both else 1.0


def of_stars(stars: Values, groups: Values) -> float:
    """Return F1 of the pairs in one cluster."""
    return f1_of(pairs_of_clusters(stars), groups)


def pairs_of(texts: Sequence[str], sketching: object) -> Pairs:
    """Return the pairs of a least resemblance, of words or of characters."""
    sets_of = sketching.sets  # type: ignore[attr-defined]
    words = sets_of(texts)
    masked = sets_of([_DATED.sub("0", text) for text in texts])
    # Four characters in turn are what three words are: each character stands alone.
    characters = sets_of([" ".join(re.sub(r"\s+", "_", text)) for text in texts])
    count = len(texts)
    found = [all_pairs(sets, least) for sets, least in ((words, FLOOR), (characters, 0.5))]
    codes = np.unique(np.concatenate([one.first * count + one.second for one in found]))
    first, second = codes // count, codes % count
    share = resemblances(words, first, second)
    sizes = words.sizes()
    few = np.maximum(np.minimum(sizes[first], sizes[second]), 1)
    many = np.maximum(np.maximum(sizes[first], sizes[second]), 1)
    shared = share * (sizes[first] + sizes[second]) / (1 + share)
    return Pairs(
        first,
        second,
        share,
        resemblances(characters, first, second),
        shared / few,
        resemblances(masked, first, second) - share,
        few / many,
    )


def by_rule(made: Pairs, rule: Callable[[Pairs], Values], groups: Values) -> float:
    kept = rule(made) & (made.resemblance >= FLOOR)
    stars = star_clusters(
        made.first[kept], made.second[kept], np.arange(len(groups)), made.resemblance[kept]
    )
    return of_stars(stars, groups)


def measure(documents: Sequence[Labelled]) -> dict[str, float]:
    """Return the quality of each rule, and of what ``clusters`` does."""
    groups = groups_of(documents)
    numbers = {f"{place} {one.key}": place for place, one in enumerate(documents)}
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "s.db", synchronous="normal") as store,
    ):
        store.add_many(
            ((key, one.text) for key, one in zip(numbers, documents, strict=True)), threads=1
        )
        opened = store._opened
        with opened.database.read() as connection:
            sketching = opened.snapshot(connection).channels.sketching
        made = pairs_of(texts_of(documents), sketching)
        found = {name: by_rule(made, rule, groups) for name, rule in RULES.items()}
        for name, asked in (
            ("clusters", {"min_resemblance": 0.5}),
            ("clusters, exact join", {"min_resemblance": 0.5, "exact_join": True}),
            ("clusters --once", {}),
            ("clusters --once --exact-join", {"exact_join": True}),
        ):
            stars = np.arange(len(groups))
            for cluster in store.clusters.once(**asked):
                for member in cluster.members:
                    stars[numbers[member.key]] = numbers[cluster.key]
            found[name] = of_stars(stars, groups)
    print(f"{len(documents)} documents of {documents[0].key}", file=sys.stderr, flush=True)
    return found


# F1 of a setting by the way to join, then by threshold.
Tried = dict[str, list[float]]


def try_setting(setting: Setting, documents: Sequence[Labelled]) -> Tried:
    texts, groups = texts_of(documents), groups_of(documents)
    tried: Tried = {"pairs": [], "stars": []}
    found = None
    for threshold in thresholds_of(setting):
        if found is None or setting.indexed:
            found = setting.find(texts, threshold)
        kept = found.score >= threshold
        first, second = found.first[kept], found.second[kept]
        tried["pairs"].append(f1_of(pair_codes(first, second, len(texts)), groups))
        stars = star_clusters(first, second, np.arange(len(texts)), found.score[kept])
        tried["stars"].append(of_stars(stars, groups))
    return tried


def best_of_peer(peer: str, sets: Sets) -> tuple[str, dict[str, float]]:
    """Return the setting that the development sets choose, and its F1 on all other sets."""
    chosen: tuple[float, Setting, str, int] | None = None
    for setting in settings():
        if setting.peer != peer:
            continue
        tried = [try_setting(setting, some) for some in sets.development.values()]
        for way in ("pairs", "stars"):
            mean = np.mean([one[way] for one in tried], axis=0)
            means = steadied(thresholds_of(setting), mean.tolist(), SHARE_WIDTH)
            place = highest(means)
            if chosen is None or means[place] > chosen[0]:
                chosen = float(means[place]), setting, way, place
        print(f"{peer}: {setting.name}", file=sys.stderr, flush=True)
    assert chosen is not None
    _, setting, way, place = chosen
    judged = {
        name: try_setting(setting, some)[way][place]
        for name, some in {**sets.held_out, **sets.bulletins}.items()
    }
    return f"{setting.name}, {way}, {thresholds_of(setting)[place]:.2f}", judged


def table(rows: dict[str, dict[str, float]], columns: Sequence[str]) -> list[str]:
    lines = ["| set | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(f"{row[c]:.3f}" for c in columns) + " |")
    means = [float(np.mean([row[column] for row in rows.values()])) for column in columns]
    return [*lines, "| *mean* | " + " | ".join(f"{one:.3f}" for one in means) + " |", ""]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "detection")
    parser.add_argument("--most", type=int, default=80, help="documents of a set, about")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    sets = edge_sets(options.data, options.cache, options.most)
    development = {name: measure(some) for name, some in sets.development.items()}
    lines = ["### On the development sets, mean F1", "", "| rule | F1 |"]
    lines.append("|---|---:|")
    for rule in next(iter(development.values())):
        mean = float(np.mean([found[rule] for found in development.values()]))
        lines.append(f"| {rule} | {mean:.3f} |")
    judged = {name: measure(some) for name, some in {**sets.held_out, **sets.bulletins}.items()}
    columns = [*JUDGED, *(name for name in next(iter(judged.values())) if name not in RULES)]
    rows = {n: {c: found[c] for c in columns} for n, found in judged.items()}
    kept = []
    if not options.no_peers:
        for peer in PEERS:
            setting, of_peer = best_of_peer(peer, sets)
            kept.append(f"- {peer}: {setting}")
            for name, row in rows.items():
                row[peer] = of_peer[name]
        columns += PEERS
    apart = {name: rows.pop(name) for name in sets.bulletins}
    lines += ["", "### On the held-out sets, F1", "", *table(rows, columns)]
    lines += ["### Bulletins", "", *table(apart, columns), *kept, ""]
    written = "\n".join(lines)
    if options.output is None:
        print(written)
    else:
        options.output.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
