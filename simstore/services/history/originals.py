"""Choose the original among documents that resemble each other, and say why.

A page's own date decides. The time at which a crawl or an ingest saw a page says only that it was
there then: among such documents a link decides first, as a copy may name its source, then the time,
then the order of ingest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simstore.errors import InvalidParameter, printable
from simstore.model import FIRST_SEEN_BASES
from simstore.reports.lines import time_text
from simstore.text.decoding import encode
from simstore.text.patterns import Expression

RULES = ("first-seen", "linked", "prefer:REGEX")
_PREFER = "prefer:"
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))


@dataclass(frozen=True, slots=True)
class OriginalCandidate:
    """A document that may be the original.

    Attributes:
        order: Its place in the order of ingest.
        first_seen: When it was first seen, in seconds since 1970-01-01 UTC.
        basis: Who says so: ``ingest``, ``crawl``, ``published``; or ``skipped``: it was skipped as
            a duplicate, and nothing more is known.
        links_to: Keys that it links to.
    """

    key: str
    order: int
    first_seen: int
    basis: str
    links_to: frozenset[str] = frozenset()


Choice = tuple[OriginalCandidate, str]


def original_of(claimants: Sequence[OriginalCandidate]) -> Choice:
    """Choose the original of documents that are alike, and say why: the rule ``first-seen``.

    ``show``, ``duplicates`` and the check before an insert go by it.

    Args:
        claimants: The documents, at least one, each with a key of its own.
    """
    return _first_seen(claimants)


def parse_rule(
    rule: str, on_step: Callable[[], None] = lambda: None
) -> Callable[[Sequence[OriginalCandidate]], Choice]:
    """Return the function that chooses the original of documents, and says why.

    Args:
        rule: ``first-seen``; ``linked``: the one that most of the others link to; or
            ``prefer:REGEX``: one whose key the regular expression is found in.
        on_step: Called before each key; what it raises ends the choice.

    Raises:
        InvalidParameter: There is no such rule, the expression is not one or is not supported, or
            holds half a character.
    """
    encode(rule)
    if rule == "first-seen":
        return original_of
    if rule == "linked":
        return _linked
    if rule.startswith(_PREFER) and len(rule) > len(_PREFER):
        wanted = Expression(rule.removeprefix(_PREFER), f"original {printable(rule)!r}")
        return lambda claimants: _preferred(claimants, wanted, on_step)
    raise InvalidParameter(f"original {printable(rule)!r}: choose {', '.join(RULES)}")


def _first_seen(claimants: Sequence[OriginalCandidate]) -> Choice:
    if len(claimants) == 1:
        return claimants[0], "nothing else is like it"
    leader = _by_date(claimants)
    first = [one for one in claimants if one.first_seen == leader.first_seen]
    is_dated = any(one.basis == "published" for one in first)
    if len(first) > 1 or not is_dated:
        linked = _most_linked(first if is_dated else claimants, claimants)
        if linked is not None:
            return linked[0], _links(linked[1])
    if len(first) > 1:
        return leader, f"first seen {_said(leader)} as others; ingested before them"
    others = (one.first_seen for one in claimants if one is not leader)
    before = _span(min(others) - leader.first_seen)
    return leader, f"first seen {_said(leader)}, {before} before the others"


def _linked(claimants: Sequence[OriginalCandidate]) -> Choice:
    linked = _most_linked(claimants, claimants)
    if linked is not None:
        return linked[0], _links(linked[1])
    chosen, reason = _first_seen(claimants)
    return chosen, f"no link decides; {reason}"


def _preferred(
    claimants: Sequence[OriginalCandidate], wanted: Expression, on_step: Callable[[], None]
) -> Choice:
    chosen = []
    for one in claimants:
        on_step()
        if wanted.is_in(one.key):
            chosen.append(one)
    if not chosen:
        found, reason = _first_seen(claimants)
        return found, f"no key is preferred; {reason}"
    found, reason = _first_seen(chosen)
    return found, "its key is preferred" if len(chosen) == 1 else f"of the preferred keys: {reason}"


def _most_linked(
    chosen: Sequence[OriginalCandidate], claimants: Sequence[OriginalCandidate]
) -> tuple[OriginalCandidate, int] | None:
    """Return the one that most others link to; None where none is linked to, or several alike.

    Two documents that link to each other say nothing.
    """
    by_key = {one.key: one for one in claimants}
    counts = {one.key: 0 for one in chosen}
    for one in claimants:
        for target in one.links_to:
            other = by_key.get(target)
            if target in counts and target != one.key and other and one.key not in other.links_to:
                counts[target] += 1
    most = max(counts.values())
    leaders = [one for one in chosen if counts[one.key] == most]
    if most == 0 or len(leaders) == len(chosen) > 1:
        return None
    return _by_date(leaders), most


def _by_date(claimants: Sequence[OriginalCandidate]) -> OriginalCandidate:
    return min(claimants, key=lambda one: (one.first_seen, one.order))


def _links(count: int) -> str:
    return "another links to it" if count == 1 else f"{count:,} others link to it"


def _said(one: OriginalCandidate) -> str:
    when = time_text(one.first_seen)
    return when + (f" by {FIRST_SEEN_BASES[one.basis]}" if one.basis in FIRST_SEEN_BASES else "")


def _span(seconds: int) -> str:
    """Format a time span in its largest unit."""
    for name, size in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {name}"
    return f"{seconds} s"
