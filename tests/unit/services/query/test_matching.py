"""Two channels, one verification: what a query tells of each match, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import texts
from stores import SIMTOOL, create

from simstore.errors import InvalidParameter
from simstore.model import Match, QueryOptions, SampleResult
from simstore.services.channels.pack_sketches import compact
from simstore.store import Store
from simstore.text.normalization import DEFAULT
from simstore.text.tokens import tokens

PAIRS = list(texts.pairs())


def ask(store: Store, text: str, key: str = "sample", **options: Any) -> SampleResult:
    return store.query_many([(key, text)], QueryOptions(**options))[0]


def by_key(result: SampleResult) -> dict[str, Match]:
    return {match.key: match for match in result.matches}


def plain_set(text: str) -> set[tuple[str, ...]]:
    found = tokens(DEFAULT.apply(text))
    return {tuple(found[i : i + 3]) for i in range(max(len(found) - 2, min(len(found), 1)))}


@pytest.fixture(params=["tail", "packed"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """Yield a store of the first text of each pair and of odd ones; in pages or in the tail."""
    with create(tmp_path) as made:
        made.add_many((f"{p.language} {p.name}", p.a) for p in PAIRS)
        made.add_many((f"odd {name}", text) for name, text in texts.ODD.items())
        if request.param == "packed":
            assert compact(made._opened, "minhash")
        yield made


@pytest.mark.slow
def test_match_says_exactly_how_much_is_the_same(store: Store) -> None:
    for pair in PAIRS:
        result = ask(store, pair.b, radius=64, min_features=0)
        assert not result.too_short
        a, b = plain_set(pair.a), plain_set(pair.b)
        match = by_key(result)[f"{pair.language} {pair.name}"]
        assert match.basis == "text"
        assert match.resemblance == len(a & b) / len(a | b)
        assert match.containment == len(a & b) / len(b)
        assert match.containment_reverse == len(a & b) / len(a)


@pytest.mark.slow
def test_odd_text_matches_its_copy_and_not_everything(store: Store) -> None:
    for name in sorted(texts.ODD):
        result = ask(store, texts.ODD[name])
        assert result.too_short
        assert (f"odd {name}" in by_key(result)) == bool(texts.ODD[name].strip())
        for key, match in by_key(result).items():
            same = texts.ODD.get(key.removeprefix("odd ")) == texts.ODD[name]
            assert same or 1.0 in (match.containment, match.containment_reverse), key


def test_store_of_fingerprints_alone_has_nothing_to_verify_by(tmp_path: Path) -> None:
    with create(tmp_path, text=False, channels=("simhash",)) as store:
        store.add("a", PAIRS[0].a)
        match = ask(store, PAIRS[0].a).matches[0]
        assert (match.channels, match.resemblance, match.basis) == (("simhash",), None, None)
        for threshold in ("min_resemblance", "min_containment"):
            with pytest.raises(InvalidParameter, match="texts or the sketches"):
                ask(store, PAIRS[0].a, **{threshold: 0.1})
        assert store.maintenance.fsck() == []
        with pytest.raises(InvalidParameter, match="new store"):
            ask(store, "text", channels=("minhash",))


def test_store_of_sketches_alone_orders_by_resemblance(tmp_path: Path) -> None:
    with create(tmp_path, channels=("minhash",)) as store:
        store.add_many((f"{p.language} {p.name}", p.a) for p in PAIRS)
        result = ask(store, texts.retitled("zh").b)
        assert result.fingerprint == ""
        assert {match.distance for match in result.matches} == {None}
        shares = [match.resemblance for match in result.matches]
        assert shares == sorted(shares, reverse=True)
        assert store.get("en retitled").fingerprint is None
        assert store.stats().fresh
        assert store.maintenance.fsck() == []
        store.remove("zh retitled")
        store.add("en retitled", "Another text altogether, of more than eight words in all.")
        assert store.maintenance.fsck() == []
        assert "zh retitled" not in by_key(ask(store, texts.retitled("zh").b))


def test_corpus_scheme_needs_fingerprints(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="channel simhash"):
        create(tmp_path, SIMTOOL, channels=("minhash",))


def test_store_of_the_course_tool_answers_by_its_radius_unless_asked_for_more(
    tmp_path: Path,
) -> None:
    words = [f"word{'abcdefghij'[n % 10]}{'abcdefghij'[n // 10]}" for n in range(60)]
    copy = " ".join([*words[:45], *(f"{word}x" for word in words[45:])])
    with create(tmp_path, SIMTOOL) as store:
        store.add_many([("other", copy), ("same", " ".join(words))], threads=1)
        sample = " ".join(words)
        beyond = [match.key for match in ask(store, sample, radius=32).matches]
        assert set(beyond) == {"other", "same"}
        asked = ask(store, sample, radius=0)
        assert all(match.channels == ("simhash",) for match in asked.matches)
        assert all(match.distance == 0 for match in asked.matches)
        both = by_key(ask(store, sample, radius=0, channels=("simhash", "minhash")))
        assert both["same"].channels == ("simhash", "minhash")
        assert "minhash" in both["other"].channels
        assert set(by_key(ask(store, sample, radius=0, min_resemblance=0.5))) == {"other", "same"}
