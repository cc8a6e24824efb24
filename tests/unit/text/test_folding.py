from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from simstore.errors import MissingExtra
from simstore.text import folding
from simstore.text.normalization import Normalization
from simstore.text.tokens import tokens

# The same text in both scripts: simplified as written on the mainland, traditional as in Taiwan.
PAIRS = [
    (
        "渡轮在清晨离开港口，载着邮件、乐器和几箱干燥的面条，傍晚才回来。",
        "渡輪在清晨離開港口，載著郵件、樂器和幾箱乾燥的麵條，傍晚才回來。",
    ),
    (
        "图书馆里的钟停了，没有人发现，直到复习的学生们都错过了最后一班车。",
        "圖書館裡的鐘停了，沒有人發現，直到複習的學生們都錯過了最後一班車。",
    ),
    (
        "她把头发剪短，说这样骑车不会被风吹乱；后来全队的人都学她。",
        "她把頭髮剪短，說這樣騎車不會被風吹亂；後來全隊的人都學她。",
    ),
]
SIMPLIFIED = Normalization(han="simplified")


def resemblance(first: str, second: str) -> float:
    sets = []
    for text in (first, second):
        found = tokens(text)
        sets.append({tuple(found[i : i + 3]) for i in range(len(found) - 2)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_both_scripts_of_a_text_have_one_form() -> None:
    for simplified, traditional in PAIRS:
        plain = Normalization()
        assert resemblance(plain.apply(simplified), plain.apply(traditional)) < 0.4, simplified
        assert SIMPLIFIED.apply(simplified) == SIMPLIFIED.apply(traditional), simplified
        assert resemblance(SIMPLIFIED.apply(simplified), SIMPLIFIED.apply(traditional)) == 1.0, (
            simplified
        )


def test_one_character_of_several_origins_is_folded_by_its_phrase() -> None:
    assert SIMPLIFIED.apply("乾隆年間的乾糧") == "乾隆年间的干粮"


def test_only_han_characters_are_touched() -> None:
    for text in (
        "no Han at all",
        "é ñ kana カタカナ 한국어",
        "bytes \udcff between 漢\udcff字, NUL \x00漢",
        "漢\n字\r\n\n漢",
        "",
        "\U00031350\U0002ebf0",  # newer than Unicode 14.0
    ):
        assert folding.simplify(text) == text.replace("漢", "汉"), text


def test_threads_fold_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [traditional * n for n in range(1, 40) for _, traditional in PAIRS]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(SIMPLIFIED.apply, texts)) == [SIMPLIFIED.apply(t) for t in texts]


def test_missing_package_is_an_error_that_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opencc", None)
    folding._converter.cache_clear()
    with pytest.raises(MissingExtra, match=r"needs the extra 'han': "):
        SIMPLIFIED.apply("漢")
    with pytest.raises(MissingExtra, match="pip install 'opencc"):
        SIMPLIFIED.parameters()
    # Without Han characters nothing is missing.
    assert SIMPLIFIED.apply("plain É") == "plain é"


def test_words_of_taiwan_become_those_of_the_mainland_only_where_words_are_folded() -> None:
    here, there = "用鼠标打开软件的文件夹", "用滑鼠打開軟體的資料夾"
    assert SIMPLIFIED.apply(there) == "用滑鼠打开软体的资料夹"
    folded = Normalization(han="simplified-words")
    assert folded.apply(there) == folded.apply(here)
    # A word of Taiwan that is another thing on the mainland comes to the same end.
    assert folded.apply("開啟檔案，列印文件") == folded.apply("打开文件，打印文档")
