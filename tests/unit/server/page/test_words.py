"""What the page says, in both languages."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from simstore.server.page.words import accepted_language, page_words

ENGLISH, CHINESE = page_words("en"), page_words("zh")
_HAN = re.compile("[\u4e00-\u9fff]")
# What is called the same in every language.
_NAMES = {"made_by", "other_language"}
# Names that are made of a value: state_stored, by_crawl, relation_cluster, run_added, ...
_MADE = re.compile(r"(state|by|relation|run)_|problem_[a-z]+(_title)?$")


def test_both_languages_say_the_same_things_with_as_many_values() -> None:
    assert list(ENGLISH) == list(CHINESE)
    for name, said in ENGLISH.items():
        assert said.strip()
        assert said.count("{}") == CHINESE[name].count("{}"), name
        assert name in _NAMES or _HAN.search(CHINESE[name]), name


@pytest.mark.slow
def test_every_word_is_used() -> None:
    folder = resources.files("simstore.server.page")
    files = [*folder.iterdir(), *(folder / "templates").iterdir()]
    used = "".join(
        file.read_text(encoding="utf-8") for file in files if file.name.endswith((".py", ".html"))
    )
    unused = [
        name
        for name in ENGLISH
        if not _MADE.match(name) and not re.search(rf"\bt\.{name}\b|[\"']{name}[\"']", used)
    ]
    assert unused == []


def test_the_language_is_what_the_browser_likes_best() -> None:
    for header, language in [
        ("", "en"),
        ("fr", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,zh;q=0.3", "en"),
        ("fr, zh;q=0.2, en;q=0.1", "zh"),
        ("zh;q=nonsense, en;q=0", "en"),
        ("zh;;" * 10_000, "en"),
    ]:
        assert accepted_language(header) == language
