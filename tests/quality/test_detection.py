"""What simstore detects in labelled documents may not become worse.

The floors lie a little below what is measured (docs/explanation/detection.md). Truth is both the
exact resemblance and the groups of versions and copies.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from simstore.search.evaluation import CurvePoint, Evaluation
from simstore.services.evaluate.evaluate import Labels
from simstore.sources.labels import GroupLabel, LabelledPair
from simstore.store import Store

pytestmark = pytest.mark.quality

# Every so many-th group, by its hash; all documents of a group or none.
ONE_OF = 5
CORPUS = "21016be80757a7dd3da99cc51bbf9b99"
# F1 against the groups, set by set, of the rule that `clusters` goes by where nothing is asked for:
# from the candidates of the default radius, and of all pairs.
FLOORS = {
    "libreoffice-help": (0.63, 0.64),
    "django-docs-txt": (0.99, 0.99),
    "scancode-licenses": (0.52, 0.51),
    "spdx-scancode-cross": (0.91, 0.88),
    "manpages": (0.97, 0.99),
    "peps-history": (0.98, 0.98),
    "bible-parallel": (0.83, 0.95),
    "zh-classics": (0.99, 0.99),
}
MEAN_FLOORS = (0.857, 0.871)


def chosen(line: str) -> dict[str, Any] | None:
    record: dict[str, Any] = json.loads(line)
    group = record.get("group")
    if group is None:
        return None
    digest = hashlib.blake2b(group.encode(), digest_size=8).digest()
    return record if int.from_bytes(digest, "big") // 2 % ONE_OF == 0 else None


@pytest.fixture(scope="module")
def documents(labelled_documents: Path) -> list[dict[str, Any]]:
    with gzip.open(labelled_documents, "rt", encoding="utf-8") as lines:
        return [record for line in lines if (record := chosen(line)) is not None]


@pytest.fixture(scope="module")
def store(
    documents: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    path: Path = tmp_path_factory.mktemp("quality") / "s.db"
    with Store.create(path, synchronous="normal") as made:
        made.add_many({"key": record["id"], "text": record["text"]} for record in documents)
        yield made


@pytest.fixture(scope="module")
def found(store: Store, documents: list[dict[str, Any]]) -> dict[str, Evaluation]:
    """Each set by itself, with everything as it is by default."""
    sets: dict[str, list[GroupLabel]] = {name: [] for name in FLOORS}
    for record in documents:
        # One set has no pair of versions.
        if record["set"] in sets:
            sets[record["set"]].append(GroupLabel(record["id"], record["group"]))
    return {name: store.evaluate.run(Labels(clusters=sets[name])) for name in FLOORS}


def default(found: Evaluation, method: str) -> CurvePoint:
    (one,) = [point for point in found.curve(method) if point.is_default]
    return one


def test_corpus_is_the_one_that_the_floors_were_measured_on(
    documents: list[dict[str, Any]],
) -> None:
    digest = hashlib.blake2b(digest_size=16)
    for record in documents:
        for field in ("id", "group", "text"):
            data = record[field].encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    assert digest.hexdigest() == CORPUS


@pytest.mark.parametrize(("least", "floor"), [(0.8, 0.999), (0.5, 0.995)])
def test_both_channels_find_what_resembles(store: Store, least: float, floor: float) -> None:
    pairs = [LabelledPair(p.first, p.second) for p in store.evaluate.exact_pairs(least)]
    judged = store.evaluate.run(Labels(pairs=pairs))
    (verified,) = [point for point in judged.curve("verified") if point.threshold == least]
    assert verified.counts.labelled_count > 1000
    assert verified.precision == 1
    assert verified.recall >= floor


@pytest.mark.parametrize("set_name", FLOORS)
def test_default_rule_finds_versions_and_copies(
    found: dict[str, Evaluation], set_name: str
) -> None:
    for method, floor in zip(("either", "exact-either"), FLOORS[set_name], strict=True):
        assert default(found[set_name], method).f1 >= floor


def test_default_rule_finds_versions_and_copies_on_average(found: dict[str, Evaluation]) -> None:
    for method, floor in zip(("either", "exact-either"), MEAN_FLOORS, strict=True):
        assert mean(default(one, method).f1 for one in found.values()) >= floor


def test_default_rule_is_above_resemblance_alone_at_any_threshold(
    found: dict[str, Evaluation],
) -> None:
    by_resemblance = [
        mean(point.f1 for point in points)
        for points in zip(*(one.curve("verified") for one in found.values()), strict=True)
    ]
    assert mean(default(one, "either").f1 for one in found.values()) > max(by_resemblance)
