"""Clusters of a store: which documents stand together, and why."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import texts
from stores import SIMTOOL, WEB, create, raw

from simstore.errors import CorruptStore, InvalidParameter, NotFound
from simstore.model import Clustering, Document, LeastShares
from simstore.search.set_pool import SetPool
from simstore.services.channels.pack_sketches import pack
from simstore.services.clusters.cluster import ClusterOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage import documents
from simstore.store import Store
from simstore.text.normalization import normalize
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
    found = tokens(normalize(text))
    return {tuple(found[i : i + 3]) for i in range(max(len(found) - 2, min(len(found), 1)))}


def plain_resemblance(a: str, b: str) -> float:
    one, other = plain_set(a), plain_set(b)
    return len(one & other) / len(one | other) if one and other else 0.0


@pytest.mark.parametrize("exact_join", [False, True])
def test_clusters_do_not_chain_and_the_policy_says_what_is_canonical(
    tmp_path: Path, exact_join: bool
) -> None:
    assert plain_resemblance(A, B) > 0.6 < plain_resemblance(B, C)
    assert plain_resemblance(A, C) < 0.6
    with filled(tmp_path, CHAIN) as store:
        options = {"min_resemblance": 0.6, "exact_join": exact_join}
        assert clusters(store, **options) == [["a", "b"]]
        assert clusters(store, **options, min_size=1) == [["a", "b"], ["c"]]
        assert clusters(store, **options, policy="longest") == [["b", "a", "c"]]
        assert clusters(store, **options | {"min_resemblance": 0.5}) == [["a", "b", "c"]]


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


def test_of_equally_long_documents_the_first_is_canonical(tmp_path: Path) -> None:
    swapped = " ".join([*of(A)[:-2], *reversed(of(A)[-2:])])
    with filled(tmp_path, {"short": A[:-10], "one": A, "other": swapped, "one again": A}) as store:
        expected = [["one", "other", "one again", "short"]]
        assert clusters(store, policy="longest") == expected


@pytest.mark.parametrize("exact_join", [False, True])
def test_copies_belong_together_whatever_they_are(tmp_path: Path, exact_join: bool) -> None:
    odd = {f"{name} {turn}": text for turn in (1, 2) for name, text in texts.ODD.items()}
    with filled(tmp_path, odd) as store:
        found = clusters(store, exact_join=exact_join, min_resemblance=1.0)
        assert sorted(found) == sorted([f"{name} 1", f"{name} 2"] for name in texts.ODD)
        told = store.clusters.once(ClusterOptions(exact_join=exact_join))
        assert told.too_short_count == told.document_count == len(odd)
        assert {m.basis for cluster in told.clusters for m in cluster.members} == {"same"}


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


@pytest.mark.parametrize("exact_join", [False, True])
@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_kinds_of_pairs(tmp_path: Path, language: str, exact_join: bool) -> None:
    together = (texts.retitled, texts.other_digits, texts.other_advertisements)
    article = texts.ARTICLES[language][0]
    documents = {"article": article}
    for kind in together:
        documents |= {f"{kind.__name__} {x}": getattr(kind(language), x) for x in "ab"}
    documents["unrelated"] = texts.unrelated(language).b
    notices = texts.NOTICES[language]
    documents |= {f"notice {n}": notice for n, notice in enumerate(notices)}
    with filled(tmp_path, documents) as store:
        (found,) = clusters(store, exact_join=exact_join)
    assert set(found) == set(documents) - {"unrelated", "notice 0", "notice 1"}


def test_boilerplate_is_told_from_copies_by_a_higher_threshold(tmp_path: Path) -> None:
    pairs = [texts.equal_boilerplate(language) for language in texts.LANGUAGES]
    documents = {f"{pair.language} {x}": getattr(pair, x) for pair in pairs for x in "ab"}
    with filled(tmp_path, documents) as store:
        assert clusters(store, min_resemblance=0.9) == []


def crowd() -> dict[str, str]:
    """Several hundred documents: originals, copies with 0 to 9 places changed, copies of those."""
    chance = random.Random(11)
    made: list[list[str]] = []
    for number in range(400):
        if made and number % 4:
            words = list(chance.choice(made))
            for _ in range(chance.randrange(10)):
                words[chance.randrange(len(words))] = chance.choice(WORDS)
        else:
            words = chance.choices(WORDS, k=chance.randint(30, 90))
        made.append(words)
    return {f"d{number}": " ".join(words) for number, words in enumerate(made)}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crowd")
    filled(folder, crowd()).close()
    return folder


@pytest.mark.parametrize("policy", ["first", "longest"])
def test_channels_and_exact_join_agree_from_08_on(crowded: Path, policy: Any) -> None:
    with Store.open(crowded / "s.db") as store:
        for least in (0.8, 0.9):
            by_channels = store.clusters.once(ClusterOptions(min_resemblance=least, policy=policy))
            exact = store.clusters.once(
                ClusterOptions(min_resemblance=least, exact_join=True, policy=policy)
            )
            assert by_channels.clusters == exact.clusters
            assert len(exact.clusters) > 30
            assert exact.radius is None


@pytest.mark.slow
@pytest.mark.parametrize("exact_join", [False, True])
def test_members_resemble_their_canonical_document_and_canonical_ones_not_each_other(
    crowded: Path, exact_join: bool
) -> None:
    documents = crowd()
    with Store.open(crowded / "s.db") as store:
        found = store.clusters.once(
            ClusterOptions(min_resemblance=0.7, exact_join=exact_join, min_size=1)
        ).clusters
    assert sorted(m.key for cluster in found for m in cluster.members) == sorted(documents)
    for cluster in found:
        for member in cluster.members:
            own = plain_resemblance(documents[cluster.key], documents[member.key])
            assert member.resemblance == own >= 0.7
    heads = [documents[cluster.key] for cluster in found]
    if exact_join:
        for place, head in enumerate(heads):
            assert all(plain_resemblance(head, other) < 0.7 for other in heads[:place])


@pytest.mark.slow
def test_answer_is_the_same_packed(tmp_path: Path) -> None:
    with filled(tmp_path, crowd()) as store:
        before = store.clusters.once()
        assert pack(store._opened, "minhash")
        assert store.clusters.once() == before


@pytest.mark.parametrize("channels", [["simhash"], ["minhash"]])
def test_one_channel_alone(tmp_path: Path, channels: list[str]) -> None:
    with filled(tmp_path, {"a": A, "b": B, "copy": A}, channels=channels) as store:
        radius = 64 if channels == ["simhash"] else None
        found = store.clusters.once(ClusterOptions(min_resemblance=0.6, radius=radius))
        assert [m.key for m in found.clusters[0].members] == ["a", "b", "copy"]
        assert found.radius == radius
        distances = [m.distance for m in found.clusters[0].members]
        assert (distances[0] == 0) == (radius is not None)
        assert (None in distances) == (radius is None)


@pytest.mark.parametrize("exact_join", [False, True])
def test_threshold_is_inclusive(tmp_path: Path, exact_join: bool) -> None:
    words = made_up(9, 42)
    documents = {"whole": " ".join(words), "half": " ".join(words[:22])}
    assert plain_resemblance(*documents.values()) == 0.5
    with filled(tmp_path, documents) as store:
        radius = None if exact_join else 64
        at = {"exact_join": exact_join, "radius": radius, "min_resemblance": 0.5}
        assert clusters(store, **at) == [["whole", "half"]]
        above = ClusterOptions(min_resemblance=0.501, radius=radius, exact_join=exact_join)
        assert store.clusters.once(above).clusters == ()


def test_radius_decides_what_fingerprints_alone_find(tmp_path: Path) -> None:
    with filled(tmp_path, CHAIN, channels=["simhash"]) as store:
        (match,) = [match for match in store.query(A, radius=64) if match.key == "b"]
        assert match.distance is not None
        assert clusters(store, min_resemblance=0.6, radius=match.distance)[0] == ["a", "b"]
        nearer = clusters(store, min_resemblance=0.6, radius=match.distance - 1)
        assert ["a", "b"] not in nearer


def test_collection(tmp_path: Path) -> None:
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


def test_stale_generation_is_told(tmp_path: Path) -> None:
    with create(tmp_path, SIMTOOL) as store:
        store.add_many(CHAIN.items())
        store.add("a again", A, refresh=False)
        found = store.clusters.once(ClusterOptions(min_resemblance=0.6))
        assert "vocabulary has changed" in str(found.stale)
        assert [m.key for m in found.clusters[0].members] == ["a", "b", "a again"]


def test_fingerprints_that_cover_metadata_differ_and_copies_stay_together(tmp_path: Path) -> None:
    fields = ("topic:enum:sea,land:50",)
    with create(tmp_path, SchemeChoice("web", fields=fields)) as store:
        store.add_many(
            Document(f"a {topic}", A, metadata={"topic": topic}) for topic in ("sea", "land")
        )
        (cluster,) = store.clusters.once(ClusterOptions()).clusters
        assert [m.basis for m in cluster.members] == ["same", "same"]
        assert cluster.members[1].distance


def test_copies_cost_one_comparison_not_one_a_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = count_comparisons(monkeypatch)
    with filled(tmp_path, {f"copy {n}": A for n in range(500)} | {"b": B}) as store:
        (found,) = clusters(store, min_resemblance=0.6)
    assert len(found) == 501
    assert compared == [1]


def template_pages(count: int, own_words: int) -> dict[str, str]:
    """Return pages of one template of 200 words, some of which each page has of its own."""
    template = made_up(5, 200)
    pages = {}
    for number in range(count):
        drawn = random.Random(f"page {number}")
        places = set(drawn.sample(range(200), own_words))
        pages[str(number)] = " ".join(
            f"v{drawn.randrange(10**6)}" if place in places else word
            for place, word in enumerate(template)
        )
    return pages


@pytest.mark.slow
@pytest.mark.parametrize("count", [300, 1_200])
def test_pages_of_one_template_are_compared_with_the_canonical_one_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    compared = count_comparisons(monkeypatch)
    with filled(tmp_path, template_pages(count, 6)) as store:
        (found,) = clusters(store, min_resemblance=0.5)
        assert len(found) == count
        assert sum(compared) == count - 1
        compared.clear()
        assert store.clusters.build().cluster_count == 1
        assert sum(compared) == count - 1


def test_what_sketches_tell_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two of them have a resemblance of about .07: many agree in a band, hardly any in 33 values.
    compared = count_comparisons(monkeypatch)
    with filled(tmp_path, template_pages(200, 60)) as store:
        assert clusters(store, min_resemblance=0.5) == []
    assert sum(compared) < 20


def count_comparisons(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each call adds how many pairs of texts are compared exactly."""
    compared: list[int] = []
    compare = SetPool.resemblances

    def counted(pool: SetPool, text: int, others: Any) -> Any:
        compared.append(len(others))
        return compare(pool, text, others)

    monkeypatch.setattr(SetPool, "resemblances", counted)
    return compared


def test_empty_store_and_removed_documents(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        least = LeastShares(0.65, 0.58, 0.68)
        assert store.clusters.once() == Clustering(
            clusters=(),
            document_count=0,
            too_short_count=0,
            radius=3,
            basis="text",
            stale=None,
            least=least,
        )
        assert store.clusters.once(ClusterOptions(exact_join=True)).clusters == ()
        store.add_many({"gone": A, **CHAIN}.items())
        assert clusters(store, min_resemblance=0.6)[0] == ["gone", "a", "b"]
        store.remove("gone")
        assert clusters(store, min_resemblance=0.6) == [["a", "b"]]


@pytest.mark.parametrize(
    "options",
    [
        ClusterOptions(min_resemblance=0),
        ClusterOptions(min_resemblance=1.01),
        ClusterOptions(radius=-1),
        ClusterOptions(radius=65),
        ClusterOptions(radius=3, exact_join=True),
        ClusterOptions(policy="newest"),  # type: ignore[arg-type]
        ClusterOptions(min_size=0),
    ],
)
def test_parameters_out_of_range_are_refused(tmp_path: Path, options: ClusterOptions) -> None:
    with create(tmp_path, WEB) as store, pytest.raises(InvalidParameter):
        store.clusters.once(options)


def test_radius_of_a_store_without_fingerprints_is_refused(tmp_path: Path) -> None:
    with (
        filled(tmp_path, CHAIN, channels=["minhash"]) as store,
        pytest.raises(InvalidParameter, match=r"reindex\(channels="),
    ):
        store.clusters.once(ClusterOptions(radius=3))


def test_missing_text_is_damage(tmp_path: Path) -> None:
    filled(tmp_path, CHAIN).close()
    with raw(tmp_path) as connection:
        connection.execute("DELETE FROM document_text WHERE document_id = 2")
    with Store.open(tmp_path / "s.db") as store, pytest.raises(CorruptStore, match="document 2"):
        store.clusters.once(ClusterOptions(exact_join=True))


def test_more_documents_than_an_index_counts_are_a_named_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(tmp_path) as store:
        store.add_many([Document(f"k{n}", f"a text {n}") for n in range(5)])
        monkeypatch.setattr(documents, "count", lambda _: 3)
        with pytest.raises(CorruptStore, match="more documents than the 3 that are counted"):
            store.clusters.once()
