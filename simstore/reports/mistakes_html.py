"""Render an evaluation's mistakes as HTML: missed and wrongly joined pairs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TYPE_CHECKING

from simstore.reports.html_page import digest, page_template, part, shown
from simstore.reports.lines import key_text, time_text

if TYPE_CHECKING:
    from simstore.search.evaluation import Evaluation
    from simstore.search.mistakes import MistakeClass, MistakenPair

# Of each text, as many words are shown and compared.
_SHOWN_WORDS = 240
# So many equal words are shown before the first difference.
_WORDS_BEFORE = 40
# A word of Chinese is as long as its sentence: a word is cut there.
_WORD_CHARACTERS = 24
_SHARE_DIGITS = 3
_ADVICE = {
    ("missed", "never a candidate"): "No channel found the pair. More bands (simstore compact "
    "--bands), a wider radius, or the exact join would.",
    ("missed", "the rule said no"): "A channel found the pair, and its score is below the "
    "threshold. A lower one would join it, and others too.",
    ("missed", "joined to another canonical document"): "The pair has an edge, but each document "
    "is more like another canonical document, or is canonical itself.",
    ("wrongly joined", "the rule said yes"): "The pair reaches the threshold. A higher one would "
    "part it, and others too. Look whether the label is right.",
    ("wrongly joined", "each is like the canonical document"): "The pair has no edge: both "
    "documents have one to the canonical document of their cluster.",
}


@dataclass(frozen=True, slots=True)
class _Word:
    """Words that stand together, and whether the other text has them at this place."""

    text: str
    is_equal: bool


@dataclass(frozen=True, slots=True)
class _Side:
    """One document of a mistaken pair, ready for the template."""

    key: str
    canonical: str
    words: tuple[_Word, ...]
    begins_later: bool
    goes_on: bool


@dataclass(frozen=True, slots=True)
class _Pair:
    """A mistaken pair, ready for the template."""

    scores: tuple[tuple[str, str], ...]
    sides: tuple[_Side, _Side]


def mistakes_page(
    evaluation: Evaluation, text_of: Callable[[str], str | None], *, generated_at: int
) -> str:
    """Return a page that shows mistaken pairs with their texts side by side.

    Args:
        evaluation: What was evaluated; it tells mistakes.
        text_of: Returns the text of a document by its key; None where it is not known.
        generated_at: When it is made, in seconds since 1970-01-01 UTC.

    Raises:
        MissingExtra: Jinja is not installed.
    """
    from simstore.version import __version__

    made = evaluation.mistakes
    style = (
        part("light.css")
        + f"@media (prefers-color-scheme: dark) {{\n{part('dark.css')}}}\n"
        + part("mistakes.css")
    )
    facts: list[tuple[str, str]] = []
    title = "Missed and wrongly joined pairs"
    if made is not None:
        form = "0f" if made.method == "simhash" else "2f"
        facts = [
            ("method", f"{made.method}, {format(made.threshold, '.' + form)}"),
            ("precision", _share(made.counts.precision)),
            ("recall", _share(made.counts.recall)),
            ("F1", _share(made.counts.f1)),
            ("ARI", _share(made.ari)),
            ("documents", f"{evaluation.document_count:,}"),
            ("labelled pairs", f"{made.counts.labelled_count:,}"),
            ("joined pairs", f"{made.counts.found_count:,}"),
        ]
    return page_template("mistakes.html").render(
        title=title,
        made=time_text(generated_at),
        version=__version__,
        style=style,
        style_digest=digest(style),
        facts=facts,
        classes=[_class(one, text_of) for one in (made.classes if made is not None else ())],
    )


def _class(one: MistakeClass, text_of: Callable[[str], str | None]) -> dict[str, object]:
    return {
        "kind": one.kind,
        "reason": one.reason,
        "pair_count": one.pair_count,
        "advice": _ADVICE[one.kind, one.reason],
        "pairs": [_pair(pair, text_of) for pair in one.examples],
    }


def _pair(pair: MistakenPair, text_of: Callable[[str], str | None]) -> _Pair:
    words = [_words(text_of(key)) for key in (pair.first, pair.second)]
    start = _first_difference(*words)
    cut = [some[start : start + _SHOWN_WORDS] for some in words]
    first, second = _compared(*cut)
    scores = (
        ("resemblance", _share(pair.resemblance)),
        ("likeness", _share(pair.likeness)),
        ("sketch estimate", _share(pair.estimate)),
        ("distance", "-" if pair.distance is None else f"{pair.distance} bits"),
    )
    sides = [
        _Side(
            shown(key_text(key)),
            "" if canonical == key else shown(key_text(canonical)),
            tuple(told),
            start > 0,
            len(some) > start + _SHOWN_WORDS,
        )
        for key, canonical, told, some in (
            (pair.first, pair.first_canonical, first, words[0]),
            (pair.second, pair.second_canonical, second, words[1]),
        )
    ]
    return _Pair(scores, (sides[0], sides[1]))


def _words(text: str | None) -> list[str]:
    """Return the words of a text; long ones in pieces."""
    if text is None:
        return []
    return [
        word[place : place + _WORD_CHARACTERS]
        for word in shown(text).split()
        for place in range(0, len(word), _WORD_CHARACTERS)
    ]


def _first_difference(first: list[str], second: list[str]) -> int:
    """Return the word to begin at: a little before the first that differs."""
    equal = sum(
        1 for _ in takewhile(lambda two: two[0] == two[1], zip(first, second, strict=False))
    )
    if equal == min(len(first), len(second)) and len(first) == len(second):
        return 0
    return max(0, equal - _WORDS_BEFORE)


def _compared(first: list[str], second: list[str]) -> tuple[list[_Word], list[_Word]]:
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    one: list[_Word] = []
    other: list[_Word] = []
    for tag, start, stop, begin, end in matcher.get_opcodes():
        one += _run(first[start:stop], is_equal=tag == "equal")
        other += _run(second[begin:end], is_equal=tag == "equal")
    return one, other


def _run(words: list[str], *, is_equal: bool) -> Iterator[_Word]:
    if words:
        yield _Word(" ".join(words), is_equal)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.{_SHARE_DIGITS}f}"
