"""Clusters of a store: which documents stand together, and why."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from stores import create, raw

from simstore.errors import CorruptStore, InvalidParameter, NotFound
from simstore.model import Document
from simstore.services.clusters.cluster import ClusterOptions
from simstore.store import Store
from simstore.text.normalization import DEFAULT
from simstore.text.tokens import tokens

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lnrst"]


def of(text: str) -> list[str]:
    return text.split()


def made_up(seed: int, count: int = 60) -> list[str]:
    return random.Random(f"text {seed}").choices(WORDS, k=count)


def changed(words: list[str], places: range) -> list[str]:
    return [f"x{place}" if place in places else word for place, word in enumerate(words)]


# b is like a, c is like b, and c is not like a; b is the longest.
A = " ".join(made_up(1))
B = " ".join(changed(made_up(1), range(8))) + " with a longer end"
C = " ".join(changed(made_up(1), range(16)))
CHAIN = {"a": A, "b": B, "c": C}


def clusters(store: Store, **options: Any) -> list[list[str]]:
    found = store.clusters.once(ClusterOptions(**options))
    for cluster in found.clusters:
        assert cluster.key == cluster.members[0].key
    return [[member.key for member in cluster.members] for cluster in found.clusters]


def filled(folder: Path, documents: Mapping[str, str], **options: Any) -> Store:
    store = create(folder, **options)
    store.add_many(documents.items(), threads=1)
    return store


def plain_set(text: str) -> set[tuple[str, ...]]:
    found = tokens(DEFAULT.apply(text))
    return {tuple(found[i : i + 3]) for i in range(max(len(found) - 2, min(len(found), 1)))}


def plain_resemblance(a: str, b: str) -> float:
    one, other = plain_set(a), plain_set(b)
    return len(one & other) / len(one | other) if one and other else 0.0


def test_member_says_how_near_it_is_to_its_canonical_document(tmp_path: Path) -> None:
    with filled(tmp_path, CHAIN | {"a again": A}) as store:
        found = store.clusters.once(ClusterOptions(min_resemblance=0.6))
        (cluster,) = found.clusters
        first, second, copy = cluster.members
        assert (first.resemblance, first.distance, first.basis) == (1, 0, "same")
        assert (second.resemblance, second.basis) == (plain_resemblance(A, B), "text")
        assert (copy.key, copy.resemblance, copy.distance, copy.basis) == ("a again", 1, 0, "same")
        (match,) = [match for match in store.query(A, radius=64) if match.key == "b"]
        assert second.distance == match.distance
        assert [member.document_id for member in cluster.members] == [1, 2, 4]
        assert (found.document_count, found.radius, found.basis) == (4, 3, "text")
        assert found.stale is None


@pytest.mark.parametrize("exact_join", [False, True])
def test_too_short_texts_join_only_what_wholly_contains_them(
    tmp_path: Path, exact_join: bool
) -> None:
    short = {
        "notice": "the ferry is late again",
        "shouted": "The FERRY is late again!",
        "longer": "the ferry is late again today",
        "other end": "the ferry is late since noon",
    }
    with filled(tmp_path, short) as store:
        # 3 of 4 shingles; of the other end 2 of 5, and neither contains the other.
        expected = [["notice", "shouted", "longer"]]
        assert clusters(store, exact_join=exact_join, radius=None if exact_join else 64) == expected
        options = ClusterOptions(
            min_resemblance=0.3, radius=None if exact_join else 64, exact_join=exact_join
        )
        assert store.clusters.once(options).too_short_count == 4
        assert clusters(store, min_resemblance=0.3, exact_join=exact_join) == expected


def test_without_texts_the_sketches_judge(tmp_path: Path) -> None:
    with filled(tmp_path, CHAIN | {"other": " ".join(made_up(2))}, text=False) as store:
        found = store.clusters.once(ClusterOptions(min_resemblance=0.4))
        (cluster,) = found.clusters
        assert found.basis == "sketch"
        assert [m.key for m in cluster.members][:2] == ["a", "b"]
        assert [m.basis for m in cluster.members][:2] == ["same", "sketch"]
        assert cluster.members[1].resemblance == pytest.approx(plain_resemblance(A, B), abs=0.15)
        with pytest.raises(NotFound, match=r"no texts.*without it.*text=False"):
            store.clusters.once(ClusterOptions(exact_join=True))


def test_without_texts_and_sketches_nothing_can_be_verified(tmp_path: Path) -> None:
    with filled(tmp_path, CHAIN, text=False, channels=["simhash"]) as store:
        for exact_join in (False, True):
            with pytest.raises(NotFound, match="text=False"):
                store.clusters.once(ClusterOptions(exact_join=exact_join))


def test_missing_text_is_damage(tmp_path: Path) -> None:
    filled(tmp_path, CHAIN).close()
    with raw(tmp_path) as connection:
        connection.execute("DELETE FROM document_text WHERE document_id = 2")
    with Store.open(tmp_path / "s.db") as store, pytest.raises(CorruptStore, match="document 2"):
        store.clusters.once(ClusterOptions(exact_join=True))


def test_clusters_of_a_collection_are_made_of_its_documents_alone(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add_many(
            Document(f"{key} {side}", text, collection=side)
            for side in ("left", "right")
            for key, text in CHAIN.items()
        )
        found = store.clusters.once(ClusterOptions(min_resemblance=0.6, collection="right"))
        assert [m.key for m in found.clusters[0].members] == ["a right", "b right"]
        assert found.document_count == 3
        assert store.clusters.once(ClusterOptions(collection="none")).clusters == ()


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"min_resemblance": 0}, {"min_resemblance": 1.01}, {"radius": -1}, {"radius": 65},
        {"radius": 3, "exact_join": True}, {"policy": "newest"}, {"min_size": 0},
        {"min_likeness": 1.01}, {"min_cosine": 0.5},
    ]  # fmt: skip
    with create(tmp_path) as store:
        for options in wrong:
            with pytest.raises(InvalidParameter):
                store.clusters.once(ClusterOptions(**options))
