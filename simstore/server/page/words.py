"""Load the texts of the web interface in a language, from ``templates/words.LANGUAGE.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources

from simstore.reports.html_words import LANGUAGES, Language

__all__ = ["LANGUAGES", "Language", "accepted_language", "page_words"]


@cache
def page_words(lang: Language) -> Mapping[str, str]:
    """Return the texts of the web interface by name."""
    place = resources.files("simstore.server.page") / "templates" / f"words.{lang}.json"
    words: dict[str, str] = json.loads(place.read_text(encoding="utf-8"))
    return words


def accepted_language(header: str) -> Language:
    """Return the language of the page that a browser likes best; English where it knows none.

    Args:
        header: Its ``Accept-Language``, as ``zh-CN,zh;q=0.9,en;q=0.8`` (RFC 9110, 12.5.4).
    """
    best: tuple[float, Language] = (0.0, "en")
    for part in header[:1000].split(","):
        tag, _, parameter = part.strip().partition(";")
        name = parameter.strip().removeprefix("q=") or "1"
        try:
            weight = float(name)
        except ValueError:
            continue
        for lang in LANGUAGES:
            if tag.strip().lower().split("-")[0] == lang and weight > best[0]:
                best = (weight, lang)
    return best[1]
