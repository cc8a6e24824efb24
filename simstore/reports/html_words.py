"""Load the texts of the HTML report in a language, from ``templates/LANGUAGE.json``.

A name that ends in ``_run`` is said of query runs in the place of the name without it. Sentences
that come with a paper are English; ``templates/sentences.LANGUAGE.json`` has them in others, clause
by clause, with ``{}`` for numbers.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Literal

from simstore.errors import InvalidParameter

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
_RUN = "_run"
_NUMBER = re.compile(r"\d[\d,]*")


@cache
def words_of(lang: str, form: str = "check") -> dict[str, str]:
    """Return the texts of the interface by name.

    Args:
        lang: ``en`` or ``zh``.
        form: ``check`` of papers, or ``run`` of queries.

    Raises:
        InvalidParameter: There is no such language.
    """
    if lang not in LANGUAGES:
        raise InvalidParameter(f"language {lang!r}: choose one of {', '.join(LANGUAGES)}")
    words = all_words(lang)
    if form != "run":
        return words
    own = {name.removesuffix(_RUN): said for name, said in words.items() if name.endswith(_RUN)}
    return words | own


def all_words(lang: str) -> dict[str, str]:
    """Return the words of a language as they stand in its file."""
    place = resources.files("simstore.reports") / "templates" / f"{lang}.json"
    words: dict[str, str] = json.loads(place.read_text(encoding="utf-8"))
    return words


def sentence_in(lang: str, sentence: str) -> str:
    """Translate a sentence; unchanged where the translation of any of its clauses is missing."""
    if lang == "en":
        return sentence
    clauses = sentence.removesuffix(".").split("; ") if "; " in sentence else [sentence]
    known = _sentences(lang)
    said = []
    for clause in clauses:
        told = known.get(_NUMBER.sub("{}", clause))
        if told is None:
            return sentence
        said.append(told.format(*_NUMBER.findall(clause)))
    return said[0] if len(said) == 1 else "，".join(said) + "。"


@cache
def _sentences(lang: str) -> dict[str, str]:
    place = resources.files("simstore.reports") / "templates" / f"sentences.{lang}.json"
    sentences: dict[str, str] = json.loads(place.read_text(encoding="utf-8"))
    return sentences
