"""Two channels, one verification: what a query tells of each match, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import texts
from stores import SIMTOOL, create

from simstore import Files
from simstore.errors import InvalidParameter
from simstore.model import Match, QueryOptions, SampleResult
from simstore.services.channels.pack_sketches import pack
from simstore.services.features import feature_counts
from simstore.storage import vocabularies
from simstore.store import Store
from simstore.text.normalization import normalize
from simstore.text.tokens import tokens

PAIRS = list(texts.pairs())


def ask(store: Store, text: str, key: str = "sample", **options: Any) -> SampleResult:
    return store.query_many([(key, text)], QueryOptions(**options))[0]


def by_key(result: SampleResult) -> dict[str, Match]:
    return {match.key: match for match in result.matches}


def plain_set(text: str) -> set[tuple[str, ...]]:
    found = tokens(normalize(text))
    return {tuple(found[i : i + 3]) for i in range(max(len(found) - 2, min(len(found), 1)))}


@pytest.fixture(params=["tail", "packed"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """Yield a store of the first text of each pair and of odd ones; in pages or in the tail."""
    with create(tmp_path) as made:
        made.add_many((f"{p.language} {p.name}", p.a) for p in PAIRS)
        made.add_many((f"odd {name}", text) for name, text in texts.ODD.items())
        if request.param == "packed":
            assert pack(made._opened, "minhash")
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.language} {pair.name}")
def test_match_says_exactly_how_much_is_the_same(store: Store, pair: texts.Pair) -> None:
    result = ask(store, pair.b, radius=64, min_features=0)
    assert not result.too_short
    a, b = plain_set(pair.a), plain_set(pair.b)
    match = by_key(result)[f"{pair.language} {pair.name}"]
    assert match.basis == "text"
    assert match.resemblance == len(a & b) / len(a | b)
    assert match.containment == len(a & b) / len(b)
    assert match.containment_reverse == len(a & b) / len(a)


@pytest.mark.parametrize("language", texts.LANGUAGES)
@pytest.mark.parametrize("kind", [texts.retitled, texts.other_digits, texts.other_advertisements])
def test_same_article_in_other_surroundings_is_found(
    store: Store, kind: Any, language: str
) -> None:
    pair = kind(language)
    match = by_key(ask(store, pair.b))[f"{language} {pair.name}"]
    assert "minhash" in match.channels
    assert match.resemblance is not None
    assert match.resemblance > 0.6


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_other_notice_in_equal_boilerplate_can_be_told_from_a_copy(
    store: Store, language: str
) -> None:
    pair = texts.equal_boilerplate(language)
    key = f"{language} {pair.name}"
    assert by_key(ask(store, pair.a, min_resemblance=1.0)).keys() >= {key}
    assert key not in by_key(ask(store, pair.b, min_resemblance=0.9))


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_unrelated_text_is_not_found(store: Store, language: str) -> None:
    pair = texts.unrelated(language)
    found = by_key(ask(store, pair.b, min_resemblance=0.2))
    assert f"{language} {pair.name}" not in found


def test_matches_go_by_distance_and_name_what_found_them(store: Store) -> None:
    result = ask(store, PAIRS[0].a)
    distances = [match.distance for match in result.matches]
    assert distances == sorted(distances)
    for match in result.matches:
        assert match.channels in (("simhash",), ("minhash",), ("simhash", "minhash"))
        assert ("simhash" in match.channels) == (match.distance <= 3)
    everything = {match.key for match in result.matches}
    alone = {
        channel: {match.key for match in ask(store, PAIRS[0].a, channels=(channel,)).matches}
        for channel in ("simhash", "minhash")
    }
    assert alone["simhash"] | alone["minhash"] == everything
    assert alone["simhash"] == {m.key for m in result.matches if "simhash" in m.channels}


def test_thresholds_limit_and_first_go_together(store: Store) -> None:
    pair = texts.retitled("en")
    every = [match for match in ask(store, pair.b, radius=64).matches if match.resemblance >= 0.3]
    assert len(every) > 1
    assert ask(store, pair.b, radius=64, min_resemblance=0.3).matches == tuple(every)
    assert ask(store, pair.b, radius=64, min_resemblance=0.3, limit=1).matches == (every[0],)
    assert ask(store, pair.b, radius=64, min_resemblance=0.3, first=True).matches == (every[0],)
    contained = ask(store, pair.b, radius=64, min_containment=0.9).matches
    assert contained
    assert all(match.containment >= 0.9 for match in contained)


def test_without_verification_nothing_is_said_of_the_texts(store: Store) -> None:
    result = ask(store, PAIRS[0].a, verify=False)
    assert result.matches
    assert {match.resemblance for match in result.matches} == {None}
    assert {match.basis for match in result.matches} == {None}
    assert result.explanation is not None
    assert result.explanation.verified_count == 0
    # A threshold verifies all the same.
    assert by_key(ask(store, PAIRS[0].a, verify=False, min_resemblance=0.99))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(texts.ODD))
def test_odd_text_matches_its_copy_and_not_everything(store: Store, name: str) -> None:
    result = ask(store, texts.ODD[name])
    assert result.too_short
    assert f"odd {name}" in by_key(result)
    for key, match in by_key(result).items():
        same = texts.ODD.get(key.removeprefix("odd ")) == texts.ODD[name]
        assert same or 1.0 in (match.containment, match.containment_reverse), key


def test_texts_without_a_letter_do_not_match_one_another(store: Store) -> None:
    # Both have the all-zero fingerprint.
    assert {m.key for m in ask(store, "").matches} == {"odd empty"}
    assert {m.key for m in ask(store, "", min_features=0).matches} >= {
        "odd empty",
        "odd white space",
    }


def test_short_sentence_is_judged_from_eight_features_on(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add("seven", "one two three four five six seven")
        store.add("eight", "one two three four five six seven eight")
        short = ask(store, "one two three four five six sevens", radius=64)
        assert short.too_short
        assert short.matches == ()
        long = ask(store, "one two three four five six seven nine", radius=64)
        assert not long.too_short
        # The stored sentence of seven words is too short itself, and not contained as a whole:
        # its five shingles are; so it is told, and the other by its likeness.
        assert {m.key for m in long.matches} == {"seven", "eight"}
        assert ask(store, "Four five six seven eight.", radius=64).too_short
        assert {m.key for m in ask(store, "Four five six seven eight.", radius=64).matches} == {
            "eight"
        }


def test_course_scheme_lists_whatever_is_within_the_radius(tmp_path: Path) -> None:
    with create(tmp_path, SIMTOOL) as store:
        store.add_many([("empty", ""), ("digits", "1 2 3"), ("one", "boat")])
        assert {m.key for m in ask(store, "", channels=("simhash",)).matches} >= {
            "empty",
            "digits",
        }


def test_store_without_text_estimates_from_the_sketches_and_says_so(tmp_path: Path) -> None:
    with create(tmp_path, text=False) as store:
        store.add_many((f"{p.language} {p.name}", p.a) for p in PAIRS)
        pair = texts.other_digits("en")
        match = by_key(ask(store, pair.b))["en other digits"]
        a, b = plain_set(pair.a), plain_set(pair.b)
        assert match.basis == "sketch"
        assert match.resemblance == pytest.approx(len(a & b) / len(a | b), abs=0.1)
        assert match.containment == pytest.approx(len(a & b) / len(b), abs=0.1)
        assert "en other digits" in by_key(ask(store, pair.b, min_resemblance=0.6))


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


@pytest.mark.parametrize("options", [{"text": False}, {"vocabulary": False}])
@pytest.mark.parametrize("asked", [{"likeness": True}, {"min_likeness": 0.5}, {"min_cosine": 0.5}])
def test_likeness_that_cannot_be_told_is_refused(
    tmp_path: Path, options: dict[str, Any], asked: dict[str, Any]
) -> None:
    with (
        create(tmp_path, **options) as store,
        pytest.raises(InvalidParameter, match=r"likeness needs .* (text|vocabulary)=False"),
    ):
        ask(store, "text", **asked)


def test_every_text_is_like_itself_and_its_copies(store: Store) -> None:
    thresholds = {"min_likeness": 1.0, "min_cosine": 1.0, "min_resemblance": 1.0}
    for pair in PAIRS:
        found = by_key(ask(store, pair.a, **thresholds))
        assert f"{pair.language} {pair.name}" in found


def test_empty_texts_are_the_same(store: Store) -> None:
    (match,) = ask(store, "", min_resemblance=1.0, min_containment=1.0).matches
    assert (match.key, match.resemblance) == ("odd empty", 1.0)


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


@pytest.mark.parametrize(
    "options",
    [
        {"min_resemblance": 1.1},
        {"min_resemblance": -0.1},
        {"min_containment": 2.0},
        {"channels": ("simhush",)},
    ],
)
def test_option_out_of_range_is_refused(store: Store, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        ask(store, "text", **options)


def test_corpus_scheme_needs_fingerprints(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="channel simhash"):
        create(tmp_path, SIMTOOL, channels=("minhash",))


def test_recorded_run_says_the_same(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add_many((f"{p.language} {p.name}", p.a) for p in PAIRS)
        path = tmp_path / "sample.jsonl"
        path.write_text('{"key": "x", "text": "short"}\n', "utf-8")
        asked = store.query_many(Files(str(path)), record=True)
        told = store.report()
        assert [(s.key, s.matches, s.too_short) for s in told.samples] == [
            (s.key, s.matches, s.too_short) for s in asked.samples
        ]
        assert told.samples[0].too_short


def test_copies_of_one_text_are_verified_by_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    plain = feature_counts.stored_texts

    def counted(snapshot: Any, document_ids: Any) -> dict[int, str]:
        read.extend(document_ids)
        return plain(snapshot, document_ids)

    pair = texts.other_digits("zh")
    with create(tmp_path) as store:
        store.add_many((f"copy {number}", pair.a) for number in range(50))
        store.add("other", pair.b)
        monkeypatch.setattr(feature_counts, "stored_texts", counted)
        results = store.query_many([("1", pair.b), ("2", pair.a)], QueryOptions())
    assert [len(result.matches) for result in results] == [51, 51]
    shares = [{match.resemblance for match in result.matches} for result in results]
    assert shares[0] == shares[1]
    assert len(shares[0]) == 2
    assert len(read) == 2


def test_recorded_run_says_how_it_was_asked(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add("a", PAIRS[0].a)
        path = tmp_path / "sample.txt"
        path.write_text("short", "utf-8")
        asked = QueryOptions(radius=0, min_features=0, min_resemblance=0.0, verify=False)
        store.query_many(Files(str(path)), asked, record=True)
        (run,) = store.runs.query()
    assert run.options == {
        "radius": 0, "min_features": 0, "min_resemblance": 0.0, "verify": False,
    }  # fmt: skip


def test_likeness_reads_the_vocabulary_s_changes_once_a_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(tmp_path) as store:
        for pair in PAIRS:
            store.add(f"{pair.language} {pair.name}", pair.a)
        reads = []
        plain = vocabularies.unmerged

        def counted(connection: Any, scheme_id: int) -> Any:
            reads.append(scheme_id)
            return plain(connection, scheme_id)

        monkeypatch.setattr(vocabularies, "unmerged", counted)
        samples = [(pair.name, pair.b) for pair in PAIRS]
        assert any(one.matches for one in store.query_many(samples, QueryOptions(likeness=True)))
    assert len(reads) == 1


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


def test_first_match_of_each_of_many_is_found_where_that_of_one_was_filtered_out(
    tmp_path: Path,
) -> None:
    with create(tmp_path) as made:
        made.add("bread", PAIRS[0].a, collection="food")
        made.add("boat", PAIRS[1].a, collection="sea")
        found = made.query_many(
            [("one", PAIRS[0].a), ("two", PAIRS[1].a)],
            QueryOptions(first=True, radius=3, collection="sea"),
        )
        assert [[match.key for match in one.matches] for one in found] == [[], ["boat"]]
