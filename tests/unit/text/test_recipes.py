from __future__ import annotations

from collections.abc import Sequence

import pytest

from simstore.text import recipes
from simstore.text.normalization import Normalization
from simstore.text.recipes import FeatureRecipe
from simstore.text.tokens import tokens
from simstore.text.words import terms

MIXED = "The Quick brown-fox 搜索引擎技术 カタカナ, naïve 42!"


def features(recipe: FeatureRecipe, text: str, stopwords: Sequence[str] = ()) -> list[str]:
    extract = recipe.extractor(frozenset(word.encode() for word in stopwords))
    return [feature for piece in extract(text) for feature in piece]


def test_default_features_are_terms() -> None:
    assert features(FeatureRecipe(), MIXED) == terms(MIXED)


def test_shingles_of_words_are_runs_of_tokens() -> None:
    for size in (2, 3, 5):
        for text in (MIXED, "", "   ", "a", "a b", "搜", "!!", "=== \udcff", "\u0378"):
            units = tokens(Normalization().apply(text))
            expected = [" ".join(units[i : i + size]) for i in range(max(len(units) - size + 1, 1))]
            assert features(FeatureRecipe(shingle=size), text) == [
                found for found in expected if found
            ], (size, text)


def test_characters_are_those_of_the_text_with_one_blank_for_separators() -> None:
    assert features(FeatureRecipe(units="characters"), "Ab-c  字!") == ["a", "b", "c", "字"]
    grams = features(FeatureRecipe(units="characters", shingle=4), "--Ab,  Céd 字典\n!")
    assert grams == ["ab c", "b cé", " céd", "céd ", "éd 字", "d 字典"]
    assert features(FeatureRecipe(units="characters", shingle=5), "Abc") == ["abc"]
    assert features(FeatureRecipe(units="characters", shingle=2), "?!") == ["?!"]
    assert features(FeatureRecipe(units="characters", shingle=2), " \n") == []


def test_long_texts_give_the_same_features_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [FeatureRecipe(units="characters", shingle=3), FeatureRecipe(shingle=3)]
    whole = [features(recipe, MIXED) for recipe in chosen]
    monkeypatch.setattr(recipes, "_PIECE", 4)
    assert [features(recipe, MIXED) for recipe in chosen] == whole
    assert all(len(piece) <= 4 for recipe in chosen for piece in recipe.extractor()(MIXED))


def test_dictionary_cuts_han_only() -> None:
    recipe = FeatureRecipe(segmenter="forward-max")
    assert features(recipe, "研究生命カタカfox한국 命") == [
        "研究生", "命", "カタ", "タカ", "fox", "한국", "命",
    ]  # fmt: skip
    shingled = FeatureRecipe(segmenter="backward-max", shingle=2)
    assert features(shingled, "研究生命カタ") == ["研究 生命", "生命 カ", "カ タ"]


def test_stop_words_go_before_stems_and_shingles_are_made() -> None:
    recipe = FeatureRecipe(stem="english", shingle=2)
    assert features(recipe, "The boats and the harbours", ["the", "and"]) == ["boat harbour"]
    # A stop word stops its own form only.
    assert features(FeatureRecipe(stem="english"), "beings being", ["being"]) == ["be"]


def test_normalization_comes_first() -> None:
    folded = FeatureRecipe(Normalization(accents="strip", han="simplified"), segmenter="jieba")
    assert features(folded, "Café 圖書館") == ["cafe", "图书馆"]
    kept = FeatureRecipe(Normalization(case="keep", width="keep"))
    assert features(kept, "Ｗide ABC é") == ["Ｗide", "ABC", "é"]
    assert features(kept, "ABC abc") == ["ABC", "abc"]


def test_recipe_comes_back_from_its_parameters_and_defaults_need_none() -> None:
    assert FeatureRecipe().parameters() == {}
    chosen = FeatureRecipe(
        Normalization(case="keep", han="simplified-words"), "words", "min-cut", 3, "english"
    )
    parameters = chosen.parameters()
    assert parameters["dictionary"].startswith("rjieba ")
    assert parameters["stemmer"].startswith("snowballstemmer ")
    assert parameters["normalization"]["opencc"]
    assert FeatureRecipe.from_parameters(parameters) == chosen
    assert FeatureRecipe.from_parameters({"weights": "tf"}) == FeatureRecipe()
    assert len(chosen.known_texts) == 3
    assert FeatureRecipe(Normalization()).known_texts == ()
