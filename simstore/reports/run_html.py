"""Render the HTML report of a query run: query texts beside the stored documents near them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from simstore.reports.html_charts import Bar, Kind, chart, strip
from simstore.reports.html_page import (
    Piece,
    Section,
    SourceRow,
    Tile,
    about_of,
    contents,
    name_of,
    percent,
    render,
    shown,
)
from simstore.reports.html_words import Language, words_of
from simstore.reports.lines import key_text, rounded

if TYPE_CHECKING:
    from simstore.model import Match, QueryRun, SampleResult

HIGH, MODERATE = 0.8, 0.5
_TEXT_CHARACTERS = 600


def run_report(
    run: QueryRun,
    text_of: Callable[[str], str | None],
    *,
    lang: Language = "en",
    generated_at: int,
) -> str:
    """Return a page that shows samples with the documents near them.

    Args:
        run: What was asked and found.
        text_of: Returns the text of a document by its key; None where it is not known. Asked once
            a document.
        lang: Language of the interface.
        generated_at: When it is made, in seconds since 1970-01-01 UTC.

    Raises:
        InvalidParameter: There is no such language.
        MissingExtra: Jinja is not installed.
    """
    words = words_of(lang, "run")
    count = len(run.samples) or 1
    near = _near(run)
    told = {match.key: match for sample in run.samples for match in sample.matches}
    numbers = {key: number for number, key in enumerate(near, 1)}
    values = [_similarity(sample, run.bits) for sample in run.samples]
    kinds = [_class(value) for value in values]
    highs = kinds.count("high")
    title = words["run"].format(run.run_id) if run.run_id is not None else words["report"]
    scheme = words["run_scheme"].format(run.scheme, run.bits, run.radius)
    samples = zip(run.samples, values, kinds, strict=True)
    section = Section(
        title=title,
        facts=(scheme,),
        share=percent(highs / count),
        share_width=round(1000 * highs / count),
        tiles=(
            Tile(words["samples"], f"{len(run.samples):,}"),
            Tile(words["with_match"], f"{sum(bool(one.matches) for one in run.samples):,}"),
            Tile(words["matches"], f"{sum(len(one.matches) for one in run.samples):,}"),
            Tile(words["documents"], f"{len(near):,}"),
            Tile(
                words["largest"],
                percent(max(map(len, near.values()), default=0) / count),
            ),
        ),
        chart=chart(
            [
                Bar(place / count, (place + 1) / count, value, kind)
                for place, (value, kind) in enumerate(zip(values, kinds, strict=True))
            ]
        ),
        sources=_documents(near, count, told),
        nothing=words["nothing"],
        fact_names=(words["samples"],),
        blocks=tuple(
            (_row(sample, value, kind, place, numbers, words),)
            for place, (sample, value, kind) in enumerate(samples)
        ),
        method=(
            (words["how_found"], scheme),
            (words["guarantee"], words["run_guarantee"]),
            (words["reading"], words["run_reading"]),
        ),
        data={
            "sources": [name_of(told[key].title, key) for key in near],
            "texts": [_beginning(text_of(key)) for key in near],
            "samples": [
                [
                    key_text(sample.key),
                    rounded(value),
                    kind,
                    [_match_row(match, numbers) for match in sample.matches],
                ]
                for sample, value, kind in zip(run.samples, values, kinds, strict=True)
            ],
        },
        high=HIGH,
        moderate=MODERATE,
        notices=(words["stale"].format(shown(run.stale)),) if run.stale else (),
    )
    return render(
        contents(
            [section],
            form="run",
            lang=lang,
            title=f"{title} – {words['report']}",
            generated_at=generated_at,
        )
    )


def likeness_of(match: Match, bits: int) -> float:
    """Return the similarity of a sample to its document, 0 to 1.

    The largest of resemblance, containment, resemblance of characters, and the similarity of a
    sentence that was found. Where none is known, the cosine of the two vectors of features as the
    fingerprints estimate it, cos(π d / M).

    References:
        Charikar: Similarity estimation techniques from rounding algorithms, STOC 2002, section 3.
    """
    shares = (
        match.resemblance, match.containment, match.passage_similarity,
        match.character_resemblance,
    )  # fmt: skip
    known = [share for share in shares if share is not None]
    if known:
        return max(known)
    if match.distance is None or not bits:
        return 0.0
    return max(0.0, math.cos(math.pi * match.distance / bits))


def _similarity(sample: SampleResult, bits: int) -> float:
    return max((likeness_of(match, bits) for match in sample.matches), default=0.0)


def _class(value: float) -> Kind:
    return "high" if value >= HIGH else "moderate" if value >= MODERATE else "none"


def _near(run: QueryRun) -> dict[str, list[int]]:
    """Return for each document that was found the samples near it, the most frequent first."""
    near: dict[str, list[int]] = {}
    for place, sample in enumerate(run.samples):
        for match in sample.matches:
            near.setdefault(match.key, []).append(place)
    return dict(sorted(near.items(), key=lambda item: -len(item[1])))


def _documents(
    near: dict[str, list[int]], count: int, told: dict[str, Match]
) -> tuple[SourceRow, ...]:
    largest = max(map(len, near.values()), default=0) or 1
    return tuple(
        SourceRow(
            number=number,
            title=name_of(told[key].title, key),
            key="" if name_of(told[key].title, key) == key_text(key) else key_text(key),
            about=about_of(told[key]),
            share=percent(len(places) / count),
            width=round(1000 * len(places) / largest),
            facts=(f"{len(places):,}",),
            where=strip((place / count, (place + 1) / count) for place in places),
        )
        for number, (key, places) in enumerate(near.items(), 1)
    )


def _row(
    sample: SampleResult,
    value: float,
    kind: Kind,
    place: int,
    numbers: dict[str, int],
    words: dict[str, str],
) -> Piece:
    key = key_text(sample.key)
    note = words["too_short"] if sample.too_short else ""
    if not sample.matches:
        return Piece(key, None, "", 0, "", note)
    marked = "low" if kind == "none" else kind
    hint = f"{words[marked]}: {percent(value)}"
    found = words["matches_of"].format(f"{len(sample.matches):,}")
    note = ", ".join(filter(None, (percent(value), found, note)))
    return Piece(key, place, marked, numbers[sample.matches[0].key], hint, note)


def _match_row(match: Match, numbers: dict[str, int]) -> list[object]:
    return [
        numbers[match.key],
        match.distance,
        rounded(match.resemblance),
        rounded(match.containment),
        rounded(match.containment_reverse),
        list(match.channels),
        match.basis == "sketch",
    ]


def _beginning(text: str | None) -> str | None:
    if text is None:
        return None
    begun = " ".join(text[: 2 * _TEXT_CHARACTERS].split())
    return shown(begun if len(begun) <= _TEXT_CHARACTERS else begun[:_TEXT_CHARACTERS] + " …")
