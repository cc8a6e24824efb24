"""Tell title, author, date and address of the documents that a query found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simstore.model import Match, SampleResult
from simstore.services.check.source_facts import SourceFacts, stored_facts
from simstore.storage.connection import Connection

_UNKNOWN = SourceFacts()


def with_facts(connection: Connection, samples: Sequence[SampleResult]) -> list[SampleResult]:
    """Return results whose matches tell what their documents tell of themselves.

    Args:
        connection: A snapshot.
        samples: The results. Of a document that is gone nothing is told.
    """
    found = {match.document_id for sample in samples for match in sample.matches}
    facts = stored_facts(connection, sorted(found)) if found else {}
    return [
        replace(
            sample,
            matches=tuple(_told(match, facts.get(match.document_id)) for match in sample.matches),
        )
        if sample.matches
        else sample
        for sample in samples
    ]


def _told(match: Match, facts: SourceFacts | None) -> Match:
    known = facts or _UNKNOWN
    if known.title is known.author is known.date is known.url is None:
        return match
    return replace(match, title=known.title, author=known.author, date=known.date, url=known.url)
