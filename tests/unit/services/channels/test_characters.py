"""The channel of runs of characters finds texts with wrong characters, and verifies them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from stores import create, raw, rows

from simstore.errors import InvalidParameter
from simstore.fingerprint.characters import LAYOUTS, CharacterSketching
from simstore.fingerprint.minhash import band_values
from simstore.model import QueryOptions
from simstore.services.query.matching import LEAST_TITLE
from simstore.store import Store

ALL = ("simhash", "minhash", "characters")


def words(seed: int, count: int = 3_000) -> list[str]:
    drawn = random.Random(seed)
    return ["".join(drawn.choices("abcdefghijklmnop", k=drawn.randint(3, 9))) for _ in range(count)]


def texts(count: int, seed: int = 1) -> list[str]:
    drawn, known = random.Random(seed), words(seed)
    return [" ".join(drawn.choices(known, k=80)) for _ in range(count)]


def misspelt(text: str, share: float, seed: int = 2) -> str:
    drawn = random.Random(seed)
    return "".join("z" if c != " " and drawn.random() < share else c for c in text)


def filled(tmp_path: Path, *, text: bool = True, count: int = 60) -> Store:
    store = create(tmp_path, channels=ALL, text=text)
    store.add_many([(f"t{number}", one) for number, one in enumerate(texts(count))])
    return store


def plain_resemblance(one: str, other: str) -> float:
    own, others = (
        {text[at : at + 6] for at in range(len(text) - 5)}
        for text in (one.replace(" ", ""), other.replace(" ", ""))
    )
    return len(own & others) / len(own | others)


@pytest.mark.parametrize("packed", [False, True])
def test_query_finds_a_text_with_one_wrong_letter_in_ten(tmp_path: Path, packed: bool) -> None:
    asked = [(f"s{n}", misspelt(one, 0.1)) for n, one in enumerate(texts(60))]
    with filled(tmp_path) as store:
        if packed:
            store.maintenance.compact()
        run = store.query_many(asked)
        by_words = store.query_many(asked, channels=("simhash", "minhash"))
        assert store.maintenance.fsck() == []
    assert [[match.key for match in found] for found in run] == [[f"t{n}"] for n in range(60)]
    assert sum(map(len, by_words)) < 20
    for (_, text), found, stored in zip(asked, run, texts(60), strict=True):
        share = found[0].character_resemblance
        assert share == pytest.approx(plain_resemblance(text, stored))


def test_a_store_without_texts_tells_an_estimate(tmp_path: Path) -> None:
    stored, asked = texts(60)[7], misspelt(texts(60)[7], 0.1)
    with filled(tmp_path, text=False) as store:
        (match,) = store.query(asked)
    assert match.key == "t7"
    assert match.character_resemblance == pytest.approx(plain_resemblance(asked, stored), abs=0.13)


def test_what_has_less_than_a_fifth_of_its_runs_in_common_is_not_told(tmp_path: Path) -> None:
    one, other = texts(60)[3].split(), texts(1, seed=9)[0].split()
    with filled(tmp_path) as store:
        near = " ".join((*one[:50], *other[:30]))
        far = " ".join((*one[:20], *other[:60]))
        assert [match.key for match in store.query(near, channels=("characters",))] == ["t3"]
        assert list(store.query(far, channels=("characters",))) == []


def test_a_least_character_resemblance_is_a_threshold(tmp_path: Path) -> None:
    text = misspelt(texts(60)[5], 0.05)
    with filled(tmp_path) as store:
        (match,) = store.query(text, min_character_resemblance=0.2)
        share = match.character_resemblance
        assert share is not None
        assert [one.key for one in store.query(text, min_character_resemblance=share)] == ["t5"]
        assert list(store.query(text, min_character_resemblance=share + 0.01)) == []
        with pytest.raises(InvalidParameter, match="from 0 to 1"):
            store.query(text, min_character_resemblance=1.5)
        with pytest.raises(InvalidParameter, match="asked of the channel characters"):
            store.query(text, channels=("minhash",), min_character_resemblance=0.5)
        with pytest.raises(InvalidParameter, match=r"min_character_resemblance=\.\.\. instead"):
            store.query(text, channels=("characters",), min_resemblance=0.5)
        # Beside a channel of words it judges by words.
        assert list(store.query(text, channels=ALL, min_resemblance=0.9)) == []


def test_a_store_with_no_other_channel_does_not_judge_by_words(tmp_path: Path) -> None:
    asked = misspelt(texts(1)[0], 0.05)
    with create(tmp_path, channels=("characters",)) as store:
        store.add("held", texts(1)[0])
        assert [one.key for one in store.query(asked)] == ["held"]
        with pytest.raises(InvalidParameter, match=r"min_character_resemblance=\.\.\. instead"):
            store.query(asked, min_resemblance=0.5)


def test_a_store_without_the_channel_says_how_to_get_it(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add("a", texts(1)[0])
        remedy = r"reindex\(channels=\['simhash', 'minhash', 'characters'\]\)"
        with pytest.raises(InvalidParameter, match=remedy):
            store.query("text", channels=("characters",))
        with pytest.raises(InvalidParameter, match=remedy):
            store.query("text", min_character_resemblance=0.5)
        store.maintenance.reindex(channels=ALL)
        assert store.query(misspelt(texts(1)[0], 0.1))[0].channels == ("characters",)


def test_fsck_finds_a_sketch_that_is_not_of_its_text(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with raw(tmp_path) as connection:
        connection.execute(
            "UPDATE character_sketch SET sketch = zeroblob(256) WHERE document_id = 3"
        )
    with Store.open(tmp_path / "s.db") as store:
        found = store.maintenance.fsck()
    assert [(one.invariant, "document 3" in one.detail) for one in found] == [("sketch", True)]


def test_index_finds_what_a_comparison_of_all_bands_finds(tmp_path: Path) -> None:
    stored = texts(60)
    asked = [
        misspelt(one, share) for one, share in zip(stored, np.linspace(0, 0.3, 60), strict=True)
    ]
    sketching = CharacterSketching()
    bands = [band_values(sketching.sketched(some)[1], LAYOUTS[0]) for some in (asked, stored)]
    expected = [
        {
            f"t{number}"
            for number, other in enumerate(bands[1])
            if (own == other).any() and plain_resemblance(asked[place], stored[number]) >= 0.2
        }
        for place, own in enumerate(bands[0])
    ]
    with filled(tmp_path) as store:
        for _ in range(2):
            run = store.query_many(
                [(f"s{n}", one) for n, one in enumerate(asked)],
                QueryOptions(channels=("characters",)),
            )
            assert [{match.key for match in found} for found in run] == expected
            store.maintenance.compact()
    assert 20 < sum(map(len, expected)) < 60


HEADLINES = {
    "harbour": "Harbour reopens after the winter storm",
    "bridge": "Council votes for a second bridge",
    "bread": "Bakers warn of rising flour prices",
    "bread 2": "Bakers warn of rising butter prices",
    "tide": "High tide",
    "港口": "港口在冬季风暴后重新开放",
}


def headlines(tmp_path: Path, *, text: bool = True) -> Store:
    store = create(tmp_path, channels=ALL, text=text)
    store.add_many(list(HEADLINES.items()))
    return store


ONE_WORD_APART = {
    "Harbour reopens after the summer storm": ["harbour"],
    "Harbour reopens after winter storm": ["harbour"],
    "The council votes for a second bridge": ["bridge"],
    "Bakers warn of rising flours prices": ["bread", "bread 2"],
    "Bakers warn of prices": [],
    "Snow expected in the north tonight": [],
    "tides": [],
    "High": [],
    "High tides": ["tide"],
    "The high tide": ["tide"],
    "港口在夏季风暴后重新开放": ["港口"],
    "港口在风暴后重新开放": ["港口"],
    "港口在冬季大风暴后重新开放": ["港口"],
}


@pytest.mark.parametrize("text", [True, False])
def test_query_finds_the_titles_that_differ_in_one_word(tmp_path: Path, text: bool) -> None:
    with headlines(tmp_path, text=text) as store:
        found = {asked: sorted(one.key for one in store.query(asked)) for asked in ONE_WORD_APART}
    assert found == ONE_WORD_APART


def test_a_title_misspelt_in_several_words_is_told_by_its_characters(tmp_path: Path) -> None:
    with headlines(tmp_path) as store:
        (match,) = store.query("Harbour reopens after the winter-storms!")
        assert match.key == "harbour"
        assert match.character_resemblance is not None
        assert match.character_resemblance >= LEAST_TITLE
        assert list(store.query("Harbours reopened after the wintry storms")) == []
        asked = store.query(
            "Harbours reopens after the winter storms", min_character_resemblance=0.4
        )
        assert [one.key for one in asked] == ["harbour"]


def test_a_title_that_contains_the_sample_is_told_if_it_is_at_most_twice_as_long(
    tmp_path: Path,
) -> None:
    with headlines(tmp_path) as store:
        assert [one.key for one in store.query("Council votes for a")] == ["bridge"]
        assert list(store.query("Council votes for")) == []
        asked = store.query("Council votes for", min_character_resemblance=0.2)
        assert [one.key for one in asked] == ["bridge"]


def test_a_title_that_is_changed_is_found_by_its_new_words_alone(tmp_path: Path) -> None:
    with headlines(tmp_path) as store:
        store.add("bread", "Farmers complain about low milk prices", on_duplicate="keep")
        store.remove(["bread 2"])
        assert list(store.query("Bakers warn of rising sugar prices")) == []
        assert [one.key for one in store.query("Farmers complain of low milk prices")] == ["bread"]
        assert store.maintenance.fsck() == []


def test_fsck_finds_forms_that_are_not_of_the_title(tmp_path: Path) -> None:
    headlines(tmp_path).close()
    with raw(tmp_path) as connection:
        connection.execute(
            "UPDATE character_sketch SET forms = substr(forms, 9) WHERE document_id = 2"
        )
    with Store.open(tmp_path / "s.db") as store:
        (finding,) = store.maintenance.fsck()
        assert finding.invariant == "sketch"
        assert finding.detail == "document 2: not that of its text"
        store.maintenance.reindex()
        assert store.maintenance.fsck() == []


def test_a_store_without_the_channel_keeps_no_forms(tmp_path: Path) -> None:
    with headlines(tmp_path) as store:
        assert rows(tmp_path, "SELECT sum(length(forms)) > 240 FROM character_sketch") == [(1,)]
        store.maintenance.reindex(channels=("simhash", "minhash"))
    assert rows(tmp_path, "SELECT count(*) FROM character_sketch") == [(0,)]
