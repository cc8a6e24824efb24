"""Which of several documents is the original, and the reason that is given."""

from __future__ import annotations

from itertools import permutations

import pytest

from simstore.errors import InvalidParameter
from simstore.services.history.originals import OriginalCandidate, parse_rule

DAY = 86_400


def claimant(
    key: str,
    first_seen: float,
    basis: str = "crawl",
    *,
    links: str = "",
    order: int = 0,
) -> OriginalCandidate:
    """Return a claimant whose times are in days."""
    return OriginalCandidate(key, order, int(first_seen * DAY), basis, frozenset(links))


def chosen(rule: str, *claimants: OriginalCandidate) -> tuple[str, str]:
    """Return the key that is chosen, whatever the order, and the reason."""
    answers = {
        (found.key, reason)
        for some in permutations(claimants)
        for found, reason in [parse_rule(rule)(some)]
    }
    (answer,) = answers
    return answer


def test_what_was_skipped_may_be_the_original() -> None:
    stored = claimant("a", 100, "published")
    skipped = claimant("b", 90, "skipped", order=1 << 62)
    key, reason = chosen("first-seen", stored, skipped)
    assert key == "b"
    assert "first seen 1970-04-01 00:00:00 UTC, 10 d before" in reason


def test_most_linked_wins_where_links_are_to_decide() -> None:
    a, b = claimant("a", 100, links="c"), claimant("b", 1, links="c")
    c = claimant("c", 200, links="d")
    key, reason = chosen("linked", a, b, c, claimant("d", 300))
    assert (key, reason) == ("c", "2 others link to it")


def test_without_links_the_first_seen_wins() -> None:
    key, reason = chosen("linked", claimant("a", 3), claimant("b", 2))
    assert key == "b"
    assert reason.startswith("no link decides; first seen 1970-01-03")


def test_preferred_key_wins_and_the_first_seen_among_several() -> None:
    some = [claimant("https://mirror/a", 1), claimant("https://home/a", 5)]
    assert chosen("prefer:^https://home/", *some) == ("https://home/a", "its key is preferred")
    key, reason = chosen("prefer:home", *some, claimant("https://home/b", 4))
    assert key == "https://home/b"
    assert reason.startswith("of the preferred keys: first seen")
    key, reason = chosen("prefer:none", *some)
    assert key == "https://mirror/a"
    assert reason.startswith("no key is preferred; first seen")


def test_unknown_rule_is_refused() -> None:
    for rule in ("", "first", "prefer:", "prefer:(", "prefer", "newest"):
        with pytest.raises(InvalidParameter, match="original"):
            parse_rule(rule)
