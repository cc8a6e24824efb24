"""Render the history of a document's key as lines of text or as a JSON record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from simstore.errors import printable
from simstore.model import FIRST_SEEN_BASES, Relative, Story, Version
from simstore.reports.lines import key_bytes, key_text, rounded, time_text

_SHOWN_RELATIVES = 20


def story_facts(story: Story) -> Iterator[tuple[str, str]]:
    """Yield names and values of a story; nothing for a document without one.

    A key that was skipped has no other facts: its own come first.
    """
    if story.state not in ("stored", "flagged"):
        yield "key", printable(story.key)
        yield "first seen", time_text(story.first_seen)
        yield "last seen", time_text(story.last_seen)
    if story.state != "stored":
        yield "state", f"{story.state} as a duplicate of {printable(story.duplicate_of or '')}"
    if story.first_seen_basis not in (None, "ingest"):
        yield "first seen by", FIRST_SEEN_BASES[str(story.first_seen_basis)]
    if len(story.versions) > 1:
        for version in story.versions:
            yield "version", _version(version)
    if story.cluster_id is not None and story.relatives:
        yield "cluster", f"{story.cluster_id}"
    if story.links_to:
        yield "links to", ", ".join(map(printable, story.links_to))
    for relative in story.relatives[:_SHOWN_RELATIVES]:
        yield "like it", _relative(relative)
    more = len(story.relatives) - _SHOWN_RELATIVES
    if more > 0:
        yield "like it", f"... and {more:,} more (--format json lists up to 1,000 of a kind)"
    if story.relatives:
        yield "original", f"{printable(story.original)}: {story.reason}"


def story_record(story: Story) -> dict[str, Any]:
    """Return the story as JSON values; what is not UTF-8 in keys is escaped."""
    record = asdict(story) | {"key": key_text(story.key), **key_bytes("key", story.key)}
    record["original"] = key_text(story.original)
    record["links_to"] = list(map(key_text, story.links_to))
    if story.duplicate_of is not None:
        record["duplicate_of"] = key_text(story.duplicate_of)
    record["relatives"] = [
        asdict(one)
        | {
            "key": key_text(one.key),
            **key_bytes("key", one.key),
            "resemblance": rounded(one.resemblance),
            "links_to": list(map(key_text, one.links_to)),
        }
        for one in story.relatives
    ]
    return record


def _version(one: Version) -> str:
    last = "" if one.last_seen == one.first_seen else f" to {time_text(one.last_seen)}"
    return f"{one.digest}, seen {time_text(one.first_seen)}{last}"


def _relative(one: Relative) -> str:
    facts: list[str] = [one.relation]
    if one.resemblance is not None and one.relation != "same text":
        facts.append(f"resemblance {one.resemblance:.2f}")
    if one.distance is not None and one.relation != "same text":
        facts.append(f"distance {one.distance}")
    if one.state != "stored":
        facts.append(one.state)
    facts.append(f"first seen {time_text(one.first_seen)}")
    if one.links_to:
        facts.append(f"links to {', '.join(map(printable, one.links_to))}")
    return f"{printable(one.key)}: {', '.join(facts)}"
