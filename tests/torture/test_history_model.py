"""The plain model of a history says what the documents say, and what it checks can fail."""

from __future__ import annotations

import importlib
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from forked import nursery

from simstore.index.hamming import FingerprintRuns
from tests.torture import history_checks, plain_texts
from tests.torture.campaign import Place
from tests.torture.histories import KNOBS, Histories
from tests.torture.history_model import Model, Record, Rule
from tests.torture.history_store import Bench
from tests.torture.history_values import Values
from tests.torture.plain_texts import Recipe, containment, feature_count, resemblance, tokens

WEB = Recipe()
TEXT = "the boats came in with the tide and the lamp was lit"
NEAR = TEXT + " late"


def model() -> Model:
    """Return a model of a store without fingerprints."""
    return Model(WEB, 64, ("minhash",), lambda _text: None)


def test_tokens_are_words_and_single_characters_of_scripts_without_blanks() -> None:
    assert tokens("The BOATS, 灯塔ｗｉｄｅ so\u00adft", WEB) == (
        "the", "boats", "灯", "塔", "wide", "soft",
    )  # fmt: skip
    assert tokens("!!! ???", WEB) == ("!!!", "???")
    assert tokens(" \n", WEB) == ()
    assert tokens("É", Recipe(strip_accents=True)) == ("e",)
    assert tokens("É", Recipe(keep_case=True)) == ("É",)


def test_features_are_words_and_pairs_of_characters() -> None:
    assert feature_count("the boats came 灯塔光", WEB) == 5
    assert feature_count("灯", WEB) == 1
    assert feature_count("the boats came 灯塔光", Recipe(shingle=2)) == 5
    assert feature_count("", WEB) == 0
    assert feature_count("the Boats' 4 灯", Recipe(stop=frozenset(["the"]))) == 1


def test_resemblance_is_the_share_of_common_shingles() -> None:
    assert resemblance("a b c d", "a b c e", WEB) == 1 / 3
    assert containment("a b c", "a b c e", WEB) == 1.0
    assert resemblance("a b", "a b c", WEB) == 0.0
    assert resemblance("", "", WEB) == 0.0


def test_near_text_is_flagged_or_skipped_and_freed_when_its_original_leaves() -> None:
    plain = model()
    rule = Rule("flag", 0.8)
    given = [Record("one", TEXT), Record("two", NEAR), Record("one", TEXT), Record("two", "x")]
    assert plain.arrive(given[:3], rule, 100).outcomes == ["added", "flagged", "unchanged"]
    assert plain.arrive([Record("three", NEAR)], Rule("skip", 0.8), 101).outcomes == ["skipped"]
    count, told = plain.remove(["one"])
    assert (count, told.unflagged, told.orphaned) == (1, {"two"}, {"three"})
    assert plain.noted["three"].state == "orphaned"
    assert plain.arrive(given[3:], rule, 102).outcomes == ["updated"]
    assert list(plain.docs) == ["two"]


def test_an_earlier_original_displaces_what_came_first() -> None:
    plain = model()
    rule = Rule("skip", 0.8)
    plain.arrive([Record("late", NEAR, seen_at=60), Record("copy", NEAR, seen_at=70)], rule, 100)
    told = plain.arrive([Record("early", TEXT, seen_at=50)], rule, 100)
    assert (told.outcomes, told.displaced) == (["added"], 1)
    assert list(plain.docs) == ["late", "early"]
    found = {key: (one.state, one.original) for key, one in plain.noted.items()}
    assert found == {"late": ("flagged", "early"), "copy": ("skipped", "late")}


def test_a_reprint_that_holds_other_texts_stays_flagged() -> None:
    plain = model()
    rule = Rule("skip", 0.8)
    other = NEAR + " again"
    plain.arrive([Record("late", NEAR, seen_at=60), Record("copy", other, seen_at=70)], rule, 100)
    told = plain.arrive([Record("early", TEXT, seen_at=50)], rule, 100)
    assert (told.displaced, sorted(plain.docs)) == (1, ["early", "late"])
    assert (plain.noted["late"].state, plain.noted["copy"].original) == ("flagged", "late")


def test_what_held_to_a_displaced_original_is_looked_at_again() -> None:
    plain = model()
    rule = Rule("flag", 0.8)
    texts = [TEXT, NEAR + " now", NEAR + " now and then still"]
    given = [Record("b", texts[1], seen_at=60), Record("c", texts[2], seen_at=70)]
    assert plain.arrive(given, rule, 100).outcomes == ["added", "flagged"]
    told = plain.arrive([Record("a", texts[0], seen_at=50)], rule, 100)
    assert (told.displaced, told.unflagged) == (1, {"c"})
    assert plain.noted.keys() == {"b"}


def test_a_changed_page_keeps_its_first_sight_and_may_displace_another() -> None:
    plain = model()
    rule = Rule("flag", 0.8)
    plain.arrive([Record("one", "x", seen_at=50), Record("two", TEXT, seen_at=60)], rule, 100)
    told = plain.arrive([Record("one", NEAR, seen_at=70)], rule, 100)
    assert (told.outcomes, told.displaced) == (["updated"], 1)
    assert plain.noted["two"].original == "one"


def test_an_original_that_proves_to_be_older_takes_a_duplicate_from_a_later_one() -> None:
    plain = model()
    rule = Rule("flag", 0.8)
    words = TEXT.split()
    a, c = " ".join(["x", *words[1:]]), " ".join([*words[:-1], "y"])
    given = [("a", a, 50), ("b", TEXT, 90), ("c", c, 70)]
    told = plain.arrive([Record(key, text, seen_at=at) for key, text, at in given], rule, 100)
    assert told.outcomes == ["added", "flagged", "added"]
    plain.arrive([Record("c", "x", seen_at=10)], rule, 100)
    assert {key: one.original for key, one in plain.noted.items()} == {"b": "c"}


def test_what_is_older_than_the_last_sight_is_no_update() -> None:
    plain = model()
    plain.arrive([Record("one", TEXT, seen_at=50)], Rule(), 100)
    assert plain.arrive([Record("one", "x", seen_at=40)], Rule(), 100).outcomes == ["unchanged"]
    held = plain.docs["one"]
    assert (held.record.text, held.first_seen, held.last_seen, held.basis) == (
        TEXT, 40, 50, "crawl",
    )  # fmt: skip


def test_what_was_not_seen_since_expires() -> None:
    plain = model()
    plain.arrive([Record("one", TEXT, seen_at=50)], Rule(), 100)
    plain.arrive([Record("two", NEAR, seen_at=60), Record("three", "x")], Rule("flag", 0.8), 100)
    removed, forgotten, told = plain.expire(60, None)
    assert (removed, forgotten, told.unflagged) == (1, 0, {"two"})


@pytest.mark.parametrize(
    ("stars", "fault"),
    [
        ([("one", [("one", 1.0)]), ("two", [("two", 1.0)])], "not of the nearer"),
        ([("two", [("two", 1.0), ("one", 10 / 11)])], "before its canonical"),
        ([("one", [("one", 1.0), ("two", 0.9)])], "resemblance"),
        ([("one", [("one", 1.0)])], "clusters of"),
        ([("one", [("one", 1.0), ("two", 10 / 11), ("three", 0.0)])], "without an edge"),
    ],
)
def test_wrong_clusters_are_noticed(
    stars: list[tuple[str, list[tuple[str, float]]]], fault: str
) -> None:
    plain = model()
    plain.arrive([Record("one", TEXT), Record("two", NEAR)], Rule(), 100)
    right = [("one", [("one", 1.0), ("two", 10 / 11)])]
    plain.check_stars(right, 0.5, "first", is_exact=True)
    if "three" in str(stars):
        plain.arrive([Record("three", "x")], Rule(), 100)
    with pytest.raises(AssertionError, match=fault):
        plain.check_stars(stars, 0.5, "first", is_exact=True)


def test_rows_that_differ_are_named() -> None:
    with pytest.raises(AssertionError, match="rows, row 1: 2\nnot 3"):
        history_checks.same([1, 2], [1, 3], "rows")
    with pytest.raises(AssertionError, match="rows: 1 rows, not 2"):
        history_checks.same([1], [1, 3], "rows")


def test_each_knob_is_there() -> None:
    for module, name, _ in KNOBS:
        assert hasattr(importlib.import_module(f"simstore.{module}"), name), (module, name)


@pytest.mark.slow
def test_history_finds_that_the_last_entry_of_a_page_is_never_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = FingerprintRuns._scanned

    def short(self: Any, held: Any, *given: Any) -> Any:
        cut = []
        for number, row in held:
            size = self._run_of(number)[0].shape.entry_bytes
            cut += [(number, row[:-size])] if len(row) > size else []
        return whole(self, cut, *given) if cut else self._nothing

    def found(name: str) -> list[int]:
        faults = []
        for seed in range(30):
            folder = tmp_path / f"{name}-{seed}"
            folder.mkdir()
            bench = Bench(folder, nursery, lambda one, folder=folder: str(folder / one))
            values = Values(bench, random.Random(seed), bits=64)
            with closing(values):
                try:
                    values.run()
                except AssertionError:
                    faults.append(seed)
        return faults

    assert found("whole") == []
    monkeypatch.setattr(FingerprintRuns, "_scanned", short)
    assert len(found("short")) > 1


def test_texts_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    made = [plain_texts.Texts(random.Random(5), undecoded=True) for _ in range(2)]
    assert [made[0].text() for _ in range(50)] == [made[1].text() for _ in range(50)]
    assert Histories(Place(tmp_path, sealed=False)).unit == "histories"
