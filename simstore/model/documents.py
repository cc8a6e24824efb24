"""Results about stored documents: content, versions, history and similar documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from simstore.model.results import Shown

SeenState = Literal["stored", "flagged", "skipped", "orphaned"]
# Who says when a document was first seen, in words; the strongest last.
FIRST_SEEN_BASES: Mapping[str, str] = {
    "ingest": "the time of ingest",
    "crawl": "the date of the crawl",
    "published": "its own date",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Seen(Shown):
    """The state of a key that was seen: stored, flagged, skipped or orphaned.

    Attributes:
        state: ``stored``; ``flagged``: stored, as a duplicate of its original;
            ``skipped``: not stored, as a duplicate; ``orphaned``: it was
            skipped, and its original has gone or has other content.
        original: Key of the document that it duplicates, or did; None where it
            is stored for itself.
        digest: BLAKE2b-128 of the text it was last seen with, hexadecimal.
    """

    key: str
    state: SeenState
    original: str | None
    digest: str
    first_seen: int
    last_seen: int


@dataclass(frozen=True, slots=True, repr=False)
class Version(Shown):
    """A version of a document, and the times between which it was seen.

    Attributes:
        digest: BLAKE2b-128 of its text, hexadecimal.
        first_seen: First visit.
        last_seen: Last visit.
        visits: Visits that are known of.
    """

    digest: str
    first_seen: int
    last_seen: int
    visits: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Relative(Shown):
    """A document that resembles another, with the measures of their similarity.

    Attributes:
        relation: ``same text``; ``cluster``: of one kept cluster;
            ``duplicate``: one was flagged or skipped because of the other, or
            both because of a third.
        first_seen_basis: Who says when it was first seen: ``ingest``, ``crawl``
            or ``published``; None: it was skipped, and that is not kept.
        resemblance: Of the two texts, 0 to 1; None where there is nothing to
            tell it by.
        distance: Of the two fingerprints, bits; None where one has none.
        links_to: Keys of the relatives, or of the document itself, that it
            links to.
        site_revisit_seconds: How often documents of its site are visited; None:
            unknown.
    """

    key: str
    state: SeenState
    relation: Literal["same text", "cluster", "duplicate"]
    first_seen: int
    first_seen_basis: str | None
    last_seen: int
    resemblance: float | None
    distance: int | None
    links_to: tuple[str, ...]
    site_revisit_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Story(Shown):
    """The history of a key: visits, similar documents, the original.

    Attributes:
        first_seen_basis: As of :class:`Relative`.
        duplicate_of: Key of the document that it duplicates, by the check
            before the insert.
        versions: Its versions, the present one at the end; none where it was
            skipped.
        revisit_seconds: Mean time between visits; None before the second.
        site: Host of a key that is an address; None where it is none.
        site_revisit_seconds: Median of ``revisit_seconds`` of the documents of
            the site; where the key is no address, its own.
        links_to: Keys of its relatives that it links to.
        cluster_id: The kept cluster that it is in; None where it is in none.
        relatives: Documents with the same text, of its cluster, and its
            duplicates; at most 1,000 of each, by the time of first sight.
        original: Key of the one that is the original.
        reason: Why.
    """

    key: str
    state: SeenState
    first_seen: int
    first_seen_basis: str | None
    last_seen: int
    duplicate_of: str | None
    versions: tuple[Version, ...]
    revisit_seconds: float | None
    site: str | None
    site_revisit_seconds: float | None
    links_to: tuple[str, ...]
    cluster_id: int | None
    relatives: tuple[Relative, ...]
    original: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoredDocument(Shown):
    """A document in the store.

    Attributes:
        fingerprint: Zero-padded hexadecimal; None while it waits for its
            generation.
        duplicate_of: Key of the earliest document with the same content; None
            where that is this one.
        text: The text; None where the store keeps none, or it was not asked
            for.
        flags: What in the text hides words from a program, and honest texts
            hardly have: ``hidden characters``, ``mixed scripts``,
            ``stacked marks``, ``spaced letters``.
    """

    document_id: int
    key: str
    digest: str
    title: str | None
    collection: str | None
    source: str | None
    position: int | None
    byte_offset: int | None
    byte_count: int
    token_count: int
    metadata: Mapping[str, Any]
    first_seen: int
    last_seen: int
    revision: int
    run_id: int
    fingerprint: str | None = None
    duplicate_of: str | None = None
    text: str | None = None
    flags: tuple[str, ...] = ()
