"""Both Chinese scripts of real documents, where the labelled data are there."""

from __future__ import annotations

import gzip
import json
from statistics import mean

import pytest
from conftest import real_data

from simstore.text.normalization import Normalization
from simstore.text.tokens import tokens

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="module")
def pairs() -> dict[str, list[tuple[str, str]]]:
    """Each set's texts of the mainland and of Taiwan, pages of one name and release."""
    path = real_data() / "labelled" / "docs.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no labelled data in {path.parent}: SIMSTORE_TEST_DATA names their folder")
    texts: dict[tuple[str, str], dict[str, str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            name = record["id"].replace("zh_", "zh-")
            for place in ("zh-CN", "zh-TW"):
                if place in name:
                    key = (name.partition("::")[0], name.replace(place, "zh"))
                    texts.setdefault(key, {})[place] = record["text"]
    found: dict[str, list[tuple[str, str]]] = {}
    for (name, _), both in texts.items():
        if len(both) == 2:
            found.setdefault(name, []).append((both["zh-CN"], both["zh-TW"]))
    return found


def resemblance(first: str, second: str, normalization: Normalization) -> float:
    sets = []
    for text in (first, second):
        found = tokens(normalization.apply(text))
        sets.append({tuple(found[i : i + 3]) for i in range(max(len(found) - 2, 1))})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_one_text_in_both_scripts_is_a_near_duplicate_where_scripts_are_folded(
    pairs: dict[str, list[tuple[str, str]]],
) -> None:
    means = {
        han: mean(resemblance(*pair, Normalization(han=han)) for pair in pairs["manpages"])
        for han in ("keep", "simplified", "simplified-words")
    }
    assert means["keep"] < 0.3
    assert means["simplified"] > 0.7
    assert means["simplified-words"] > 0.95


def test_two_translations_stay_two_texts_in_either_script(
    pairs: dict[str, list[tuple[str, str]]],
) -> None:
    some = pairs["libreoffice-help"][::10]
    plain = mean(resemblance(*pair, Normalization()) for pair in some)
    folded = mean(resemblance(*pair, Normalization(han="simplified-words")) for pair in some)
    assert plain < folded < 0.5
