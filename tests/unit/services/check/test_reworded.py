from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from simstore.model import CheckOptions
from simstore.store import Store

BRIDGE = (
    "Divers inspected the central pier of the bridge in early spring. Their report describes deep "
    "cracks beneath the waterline. Engineers proposed steel collars around every damaged column. "
    "The council postponed repairs until the ferry season ended. Meanwhile heavy lorries were sent "
    "across the northern causeway."
)
OWN = (
    "My grandmother baked plum cakes on Sundays. Nobody ever learned her recipe. She measured "
    "flour with a cracked teacup. The oven door squeaked like a gull."
)
HAN = (
    "潜水员在初春检查了桥梁中央的桥墩。报告描述了水线以下很深的裂缝。工程师建议在每根受损的柱子周围安装钢箍。"
    "议会把维修推迟到渡轮季节结束。与此同时重型卡车改走北面的堤道。"
)


def shuffled(text: str, seed: int = 1) -> str:
    """Return a text with the words of each sentence in another order."""
    drawn, made = random.Random(seed), []
    for sentence in text.removesuffix(".").split(". "):
        words = sentence.split()
        drawn.shuffle(words)
        made.append(words[0].title() + " " + " ".join(words[1:]))
    return ". ".join(made) + "."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "s.db") as made:
        made.passages.build()
        made.add_many(
            [("bridge", BRIDGE), ("han", HAN)]
            + [(f"other-{n}", shuffled(OWN, n).replace("plum", f"fruit{n}")) for n in range(3)]
        )
        yield made


def test_words_in_another_order_are_one_case(store: Store) -> None:
    moved = shuffled(BRIDGE)
    paper = store.check(f"It is well known. {moved} So we were told.")
    (case,) = paper.cases
    assert case.source_key == "bridge"
    assert paper.text[case.start : case.end] == moved
    assert (case.source_start, case.source_end) == (0, len(BRIDGE))
    words = [paper.copies[n] for n in case.copies if paper.copies[n].evidence == "words"]
    assert [copy.source_text for copy in words] == [BRIDGE]
    assert words[0].similarity > 0.95
    # What is in one order is less than what is copied.
    assert paper.totals.identical < paper.totals.copied
    assert [p.kind for p in paper.passages] == ["none", *["high"] * 5, "none"]


def test_what_is_the_papers_own_between_two_parts_is_not_copied(store: Store) -> None:
    sentences = shuffled(BRIDGE).split(". ")
    mine = (
        "I keep a diary of fog, ice and weddings. Every winter it grows by forty pages. Nobody but "
        "my aunt has read it."
    )
    first, last = ". ".join(sentences[:3]) + ".", ". ".join(sentences[3:])
    paper = store.check(f"{first} {mine} {last}")
    assert {copy.source_key for copy in paper.copies} == {"bridge"}
    begin = len(first) + 1
    assert not any(copy.start < begin + len(mine) and copy.end > begin for copy in paper.copies)
    assert [passage.kind for passage in paper.passages] == [
        *["high"] * 3, *["none"] * 3, *["high"] * 2,
    ]  # fmt: skip


def test_a_few_words_in_common_are_no_copy(store: Store) -> None:
    text = (
        "Divers painted the pier in early spring. Our report praises cracks in old cups. Engineers "
        "proposed a picnic. The council ended the season with a song. Lorries were sent home."
    )
    assert store.check(text).copies == ()


@pytest.mark.parametrize(
    "options", [CheckOptions(high=1.0, moderate=1.0), CheckOptions(min_words=60)]
)
def test_limits_hold_for_words_in_any_order(store: Store, options: CheckOptions) -> None:
    text = shuffled(BRIDGE).replace("steel", "wooden").replace("heavy", "empty")
    assert store.check(text).copies
    assert store.check(text, options).copies == ()
