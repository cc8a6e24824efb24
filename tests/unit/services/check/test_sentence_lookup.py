from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simstore.errors import Conflict, InvalidParameter
from simstore.fingerprint.sentence_terms import chosen_terms, sentence_units
from simstore.model import CheckOptions, Document, QueryOptions
from simstore.store import Store
from simstore.text.located import located_units

CALLED = "你妈妈喊你回家吃饭哦,回家罗回家罗"
CALLED_ELSEWHERE = "你妈妈叫你回家吃饭啦,回家罗回家罗"
BEFORE = "那天傍晚下起了小雨,街上没有几个人。"
AFTER = "孩子们笑着跑开了,只留下一只旧皮球。"
PIER = "Divers inspecting the central pier found the lower ring worn."
PIER_EDITED = "Divers inspecting the northern pier found the lower ring broken."
HAN = "渔民在天亮以前修补暴风撕破的网船长说今年冬天比往常冷港口结了冰只有破冰能出海去"


BY_SENTENCES = CheckOptions()


def terms_of(text: str) -> list[int]:
    units, whole = located_units(text), np.array([[0, len(text)]], np.int32)
    terms: list[int] = chosen_terms(units, whole).hashes.tolist()
    return terms


def sentence(number: int, size: int = 20) -> str:
    return "".join(random.Random(number).choices(HAN, k=size))


def library() -> dict[str, str]:
    made = {f"noise-{n}": "。".join(sentence(100 * n + m) for m in range(8)) for n in range(30)}
    return made | {
        "story": f"{BEFORE}\n{CALLED}。\n{AFTER}",
        "bridge": f"The old bridge was closed in May. {PIER} Nobody was hurt at all.",
    }


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "s.db") as made:
        made.passages.build()
        made.add_many(library().items())
        yield made


def places(store: Store, text: str, **options: object) -> list[tuple[str, int | None, int | None]]:
    asked = QueryOptions(**options)  # type: ignore[arg-type]
    ((result),) = store.query_many([Document("q", text)], asked)
    return [(m.key, m.passage_start, m.passage_end) for m in result.matches]


def test_a_fast_check_looks_for_no_edited_sentences(store: Store) -> None:
    assert store.check(CALLED_ELSEWHERE, CheckOptions(fast=True)).copies == ()
    assert "sentences of which" not in store.check(CALLED_ELSEWHERE, CheckOptions(fast=True)).method


@pytest.mark.parametrize(
    ("text", "key", "found"),
    [(CALLED_ELSEWHERE, "story", CALLED), (PIER_EDITED, "bridge", PIER)],
)
def test_query_tells_which_document_has_a_sentence_and_where(
    store: Store, text: str, key: str, found: str
) -> None:
    (match,) = store.query(text)
    assert match.channels == ("sentences",)
    assert match.passage_similarity == pytest.approx(0.875 if key == "story" else 0.8)
    held = library()[key]
    assert match.key == key
    assert held[match.passage_start : match.passage_end].startswith(found)


def test_a_paper_is_told_the_edited_sentence_with_its_place(store: Store) -> None:
    own = f"{sentence(9_001)}。\n"
    paper = store.check(f"{own}{CALLED_ELSEWHERE}。\n{own}{PIER_EDITED} That is all.", BY_SENTENCES)
    assert [(copy.source_key, paper.text[copy.start : copy.end]) for copy in paper.copies] == [
        ("story", f"{CALLED_ELSEWHERE}。"),
        ("bridge", PIER_EDITED.removesuffix(" broken.")),
    ]


def test_texts_too_short_to_be_told_of_are_like_nothing(store: Store) -> None:
    for text in ["", "。", "字", "回家吃饭", "Come home now", "☃" * 50, "\x00" * 9]:
        assert places(store, text, channels=("sentences",)) == []
        assert store.check(text, BY_SENTENCES).copies == ()


@pytest.mark.slow
@pytest.mark.parametrize(("changed", "least"), [(2, 57), (4, 50)])
def test_changed_sentences_are_found_among_those_like_nothing(
    store: Store, changed: int, least: int
) -> None:
    drawn = random.Random(5)
    found = 0
    for number in range(60):
        key = f"noise-{number % 30}"
        text = list(library()[key].split("。")[number % 8])
        for place in drawn.sample(range(20), changed):
            text[place] = drawn.choice("鳄鱼鹦鹉螺鲟")
        found += key in [one for one, _, _ in places(store, "".join(text))]
    assert found >= least


def test_long_samples_are_not_looked_up_by_their_sentences(store: Store) -> None:
    assert places(store, CALLED_ELSEWHERE * 4) == []


def test_filters_leave_sentences_out_too(store: Store) -> None:
    store.add("own", f"{BEFORE}{CALLED}。", collection="drafts")
    assert {key for key, _, _ in places(store, CALLED_ELSEWHERE)} == {"own", "story"}
    assert [key for key, _, _ in places(store, CALLED_ELSEWHERE, collection="drafts")] == ["own"]
    assert places(store, CALLED_ELSEWHERE, channels=("simhash", "minhash")) == []
    assert len(places(store, CALLED_ELSEWHERE, limit=1)) == 1
    paper = store.check(CALLED_ELSEWHERE, replace(BY_SENTENCES, exclude=("own", "story")))
    assert paper.copies == ()


def test_phrases_that_many_write_are_no_copies_but_a_story_told_often_is(store: Store) -> None:
    phrase = "案件正在进一步调查当中"
    for number in range(5):
        store.add(f"case-{number}", f"{sentence(7_000 + number)}。{phrase}。{sentence(number)}。")
        store.add(f"again-{number}", f"{BEFORE}{CALLED}。{AFTER}")
    assert store.check("案件正在进一步调查之中", BY_SENTENCES).copies == ()
    assert len(places(store, "案件正在进一步调查之中")) == 5
    assert len(store.check(CALLED_ELSEWHERE, BY_SENTENCES).copies) == 6


def test_a_sentence_that_is_less_alike_is_shown_by_a_query_and_no_copy(store: Store) -> None:
    asked = "Divers inspecting the northern pier found their lower ring broken."
    ((key, _, _),) = places(store, asked)
    assert key == "bridge"
    assert store.query(asked)[0].passage_similarity == pytest.approx(0.7)
    assert store.check(asked, BY_SENTENCES).copies == ()
    assert len(store.check(PIER_EDITED, BY_SENTENCES).copies) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("crowd", "told"), [(39, 1), (40, 0)])
def test_one_pair_that_many_sentences_have_makes_no_copy(
    tmp_path: Path, crowd: int, told: int
) -> None:
    stored = "Fishermen mended torn nets before stormy winter arrived again"
    kept = terms_of(stored)[0]
    ordered = sentence_units(located_units(stored), np.array([[0, len(stored)]], np.int32)).hashes
    by_hash = {int(located_units(word).hashes[0]): word for word in stored.split()}
    pair = [by_hash[int(one)] for one in ordered[:2]]
    # Without the fourth word the other pair is gone; the third is named by the first one's context.
    edited = stored.replace(by_hash[int(ordered[3])], "lovely")
    crowds = (
        " ".join([*pair, *(f"noise{number}x{part}" for part in range(6))])
        for number in range(10_000)
    )
    having = [text for text in crowds if kept in terms_of(text)][:crowd]
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        store.add("one", f"{stored}.")
        store.add_many((f"of-many-{number}", text) for number, text in enumerate(having))
        assert len(store.check(edited, BY_SENTENCES).copies) == told


def test_an_index_without_terms_finds_none_and_is_told_how_to_get_them(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many(library().items())
        assert not store.passages.build(sentences=False).sentences
        assert store.check(CALLED_ELSEWHERE, BY_SENTENCES).copies == ()
        assert "sentences of which" not in store.check(CALLED_ELSEWHERE, BY_SENTENCES).method
        assert store.query(CALLED_ELSEWHERE) == []
        with pytest.raises(InvalidParameter, match=r"passages\.build\(\)"):
            places(store, CALLED_ELSEWHERE, channels=("sentences",))
        assert not store.passages.build().sentences
        assert store.passages.build(sentences=True).sentences
        with pytest.raises(Conflict, match="with terms"):
            store.passages.build(sentences=False)
        assert len(store.check(CALLED_ELSEWHERE, BY_SENTENCES).copies) == 1
        assert "75 %" in store.check(CALLED_ELSEWHERE, BY_SENTENCES).method
