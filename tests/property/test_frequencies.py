"""Weights by document frequency: whatever came and went, those of a batch run over what is left."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

from .state import assert_sound
from .strategies import cuts_of, parts_of

BITS = 24
WORDS = st.sampled_from(["river", "stone", "lamp", "harbour", "bridge", "tide"])
documents = st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=9)
few = settings(max_examples=max(settings.default.max_examples * 3 // 10, 1))
weightings = st.sampled_from(["idf", "tf-idf", "log-tf-idf"])
PROBES = [["river"], ["stone", "stone", "unknown"], [], ["lamp", "tide", "river", "river"]]


def by_plain_loop(
    features: Sequence[str], corpus: Sequence[Sequence[str]], bits: int, weights: str
) -> int:
    """Return the fingerprint of a document of ASCII words under the weights of a corpus.

    Args:
        features: The document's words, with repetitions.
        corpus: The words of every stored document.
        bits: M, at most 64.
        weights: ``idf``, ``tf-idf`` or ``log-tf-idf``.
    """
    sums = [0] * bits
    for word in set(features):
        having = sum(word in other for other in corpus)
        idf = round(1024 * (1 + math.log((1 + len(corpus)) / (1 + having))))
        count = features.count(word)
        weight = {"idf": idf, "tf-idf": count * idf}.get(weights)
        if weight is None:
            weight = (round(1024 * (1 + math.log(count))) * idf + 512) // 1024
        hashed = xxhash.xxh3_64_intdigest(word.encode())
        for bit in range(bits):
            sums[bit] += weight if hashed >> (63 - bit) & 1 else -weight
    return int("".join("1" if total > 0 else "0" for total in sums), 2)


def expected(features: list[str], corpus: list[list[str]], weights: str) -> str:
    return f"{by_plain_loop(features, corpus, BITS, weights):06x}"


@pytest.mark.slow
@few
@given(documents, weightings, st.data())
def test_live_store_weighs_by_what_it_holds(
    texts: list[list[str]], weights: str, data: st.DataObject
) -> None:
    held = dict(enumerate(texts))
    with tempfile.TemporaryDirectory() as folder:
        scheme = SchemeChoice("web", bits=BITS, weights=weights)
        with Store.create(Path(folder) / "s.db", scheme=scheme, synchronous="normal") as store:
            for part in parts_of(list(held.items()), data.draw(cuts_of(len(texts)))):
                store.add_many([(str(key), " ".join(words)) for key, words in part], threads=1)
            for key in data.draw(st.lists(st.sampled_from(sorted(held)), unique=True, max_size=3)):
                store.remove(str(key))
                del held[key]
            for key in data.draw(
                st.lists(st.sampled_from(sorted(held) or [0]), unique=True, max_size=2)
            ):
                held[key] = data.draw(st.lists(WORDS, max_size=6))
                store.add(str(key), " ".join(held[key]))
            assert_sound(store)
            corpus = list(held.values())
            assert {int(one.key): one.fingerprint for one in store.list()} == {
                key: expected(words, corpus, weights) for key, words in held.items()
            }
            asked = store.query_many([(str(n), " ".join(words)) for n, words in enumerate(PROBES)])
            assert [one.fingerprint for one in asked] == [
                expected(words, corpus, weights) for words in PROBES
            ]


@pytest.mark.slow
@few
@given(documents, documents, weightings)
def test_frozen_store_weighs_by_what_it_held_at_its_refresh(
    first: list[list[str]], second: list[list[str]], weights: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scheme = SchemeChoice("web", bits=BITS, weights=weights)
        with Store.create(
            Path(folder) / "s.db", scheme=scheme, policy="frozen", synchronous="normal"
        ) as store:
            store.add_many([(f"a{n}", " ".join(t)) for n, t in enumerate(first)], threads=1)
            store.vocabulary.refresh()
            store.add_many([(f"b{n}", " ".join(t)) for n, t in enumerate(second)], threads=1)
            made = [one.fingerprint for one in store.list()]
            assert made == [expected(words, first, weights) for words in first + second]
            before = store.vocabulary.status()
            summary = store.vocabulary.refresh()
            made = [one.fingerprint for one in store.list()]
            assert made == [expected(words, first + second, weights) for words in first + second]
            assert summary.switched
            # What the drift foretold is what changed.
            renewed = store.vocabulary.status()
            assert (renewed.changed_fingerprints, renewed.changed_ranks) == (0, 0)
            assert renewed.rank_count == len({word for words in first + second for word in words})
            assert before.rank_count == len({word for words in first for word in words})
            assert before.entering_terms == renewed.rank_count - before.rank_count
            assert_sound(store)
