"""Choose the stored sentences that a submitted paper copied with small edits, and align them."""

from __future__ import annotations

from collections.abc import Iterable

from simstore.search.alignment import Stretch, aligned
from simstore.services.check.copies import FoundCopy
from simstore.services.check.paper_units import PaperUnits
from simstore.services.check.sentence_lookup import LikeSentence

# What is told of as copied must be more alike than what a query shows: of these limits, halves of
# real papers that share nothing with the library were told of a sentence in at most 4 %.
LEAST_SIMILARITY = 0.75
LEAST_WORDS, LEAST_CHARACTERS = 6, 8
# So must their bags of units be, in which rare ones weigh more: set phrases differ in those.
LEAST_LIKENESS_OF_WORDS, LEAST_LIKENESS_OF_CHARACTERS = 0.65, 0.84
# Of terms in more sentences than these two must be in common: a unit beside one is chance.
RARE_POSTINGS = 40
# A sentence that is in more different surroundings is a phrase that many write, and no copy.
MOST_SURROUNDINGS = 3


def edited_sentences(paper: PaperUnits, found: Iterable[LikeSentence]) -> list[FoundCopy]:
    """Return the sentences of a paper that are edited copies of stored ones, aligned.

    Those that stand in many different surroundings are left out: a news agency's opening, or what a
    court always writes. The same story in several documents is one surrounding.

    Args:
        paper: The paper.
        found: Stored sentences that are like its own.
    """
    by_place: dict[int, list[LikeSentence]] = {}
    for one in found:
        by_place.setdefault(one.place, []).append(one)
    copies = []
    for alike in by_place.values():
        if surroundings(alike) > MOST_SURROUNDINGS:
            continue
        for one in alike:
            blocks = aligned(paper.symbols.text[one.first : one.end], one.source.symbols.text)
            moved = tuple((place + one.first, other, size) for place, other, size in blocks)
            copies.append(FoundCopy(one.source, Stretch(moved)))
    return copies


def surroundings(alike: Iterable[LikeSentence]) -> int:
    """Count the different surroundings (text before and after) in which sentences stand.

    Two are in one where the same text is before them, or behind them.
    """
    before, after = set(), set()
    for number, one in enumerate(alike):
        # What begins or ends a text has nothing there that could be the same.
        before.add(one.before or number)
        after.add(one.after or number)
    return min(len(before), len(after))
