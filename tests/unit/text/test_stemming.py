from __future__ import annotations

import sys

import pytest

from simstore.errors import InvalidParameter, MissingExtra
from simstore.text import stemming


def test_forms_of_a_word_have_one_stem() -> None:
    for language, words, stem in (
        ("english", ["running", "runs", "run"], "run"),
        ("english", ["generously", "generous"], "generous"),
        ("german", ["häuser", "hauses"], "haus"),
        ("french", ["continuellement", "continuelle"], "continuel"),
        ("russian", ["книгами", "книги"], "книг"),
    ):
        stemmer = stemming.stemmer(language)
        assert {stemmer(word) for word in words} == {stem}, language


def test_no_stem_is_empty() -> None:
    for language in stemming.languages():
        stemmer = stemming.stemmer(language)
        for word in ("a", "s", "ing", "搜索", "42", "ال", "\udcff"):
            assert stemmer(word), (language, word)


def test_languages_are_listed_where_one_is_unknown() -> None:
    with pytest.raises(InvalidParameter, match=r"none or one of arabic, .*english, .*yiddish"):
        stemming.stemmer("klingon")


def test_missing_package_is_an_error_that_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    for use in (lambda: stemming.stemmer("english"), stemming.version, stemming.languages):
        with pytest.raises(MissingExtra, match=r"needs the extra 'stem': "):
            use()
