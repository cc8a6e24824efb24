"""Clusters by likeness: what is alike in rare terms, and the rule where nothing is asked for."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from stores import create

from simstore.services.clusters.cluster import ClusterOptions
from simstore.store import Store

WORDS = [f"{a}{b}{c}{d}" for a in "bdfglmnprst" for b in "aeiou" for c in "lnrst" for d in "aeiou"]


def notices() -> dict[str, str]:
    """Forty notices of one template, and a second version of every fourth in another order."""
    chance = random.Random(5)
    template = chance.sample(WORDS, 40)
    made = {}
    for number in range(40):
        own = chance.sample(WORDS, 25)
        words = [*template[:20], *own, *template[20:]]
        made[f"n{number}"] = " ".join(words)
        if number % 4 == 0:
            # Every third word of its own moves, so hardly a shingle of them stays.
            moved = own[::3] + own[1::3] + own[2::3]
            made[f"n{number} again"] = " ".join([*template[:20], *moved, *template[20:]])
    return made


VERSIONS = [[f"n{number}", f"n{number} again"] for number in range(0, 40, 4)]


def likeness_and_cosine(documents: dict[str, str], one: str, other: str) -> tuple[float, float]:
    """The definitions, with a dictionary a document; each word is a term."""
    spread = Counter(word for text in documents.values() for word in set(text.split()))

    def vector(key: str, *, rare: bool) -> dict[str, float]:
        return {
            word: (1 + math.log(count))
            * (math.log((1 + len(documents)) / spread[word]) if rare else 1)
            for word, count in Counter(documents[key].split()).items()
        }

    found = []
    for rare in (True, False):
        a, b = vector(one, rare=rare), vector(other, rare=rare)
        length = math.hypot(*a.values()) * math.hypot(*b.values())
        found.append(sum(a[word] * b.get(word, 0.0) for word in a) / length)
    return found[0], found[1]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notices")
    with create(folder) as store:
        store.add_many(notices().items(), threads=1)
    return folder / "s.db"


def keys(store: Store, **options: Any) -> list[list[str]]:
    found = store.clusters.once(ClusterOptions(**options))
    return [[member.key for member in cluster.members] for cluster in found.clusters]


@pytest.mark.slow
@pytest.mark.parametrize("exact_join", [False, True])
def test_versions_are_told_from_documents_of_one_template(filled: Path, exact_join: bool) -> None:
    with Store.open(filled) as store:
        # Their shingles are those of the template, in versions and in others alike.
        assert len(keys(store, min_resemblance=0.3, exact_join=exact_join)) == 1
        assert keys(store, min_resemblance=0.65, exact_join=exact_join) == []
        assert keys(store, min_likeness=0.58, exact_join=exact_join) == VERSIONS
        assert keys(store, exact_join=exact_join) == VERSIONS


@pytest.mark.slow
def test_exact_join_finds_every_pair_of_a_likeness_and_of_a_cosine(filled: Path) -> None:
    documents = notices()
    shares = {
        (one, other): likeness_and_cosine(documents, one, other)
        for place, other in enumerate(documents)
        for one in list(documents)[:place]
    }
    for least, cosine in ((0.1, 0.0), (0.1, 0.55), (0.9, 0.0)):
        # Stars around the first document that is like no earlier canonical one.
        heads: list[str] = []
        expected: dict[str, list[str]] = {}
        for key in documents:
            like = [h for h in heads if shares[h, key][0] >= least and shares[h, key][1] >= cosine]
            if like:
                expected[like[0]].append(key)
            else:
                heads.append(key)
                expected[key] = [key]
        with Store.open(filled) as store:
            found = keys(store, min_likeness=least, min_cosine=cosine, exact_join=True, min_size=1)
        assert found == list(expected.values())
