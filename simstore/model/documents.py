"""Document types: documents as given, stored and exported, and filters that choose among them.

A column of documents is declared here: in the labels, in the filter, and in each document that
callers give or get. CONTRIBUTING.md, "A new column of documents", says what else it needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple, Self, TypedDict

from simstore.errors import counted
from simstore.model.arguments import check_fields
from simstore.model.results import Shown

# Names of metadata, the first that a document has. Options of `ingest` name others.
AUTHOR_FIELDS = ("author", "authors", "byline", "creator")
DATE_FIELDS = ("date", "published", "published_at", "publication_date", "pubdate", "created")
URL_FIELDS = ("url", "link", "canonical")
_ADDRESS = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
_BETWEEN_AUTHORS = re.compile(r"\s*(?:[,;&、，；]|\band\b|\bund\b|\bet\b)\s*", re.IGNORECASE)
_LONGEST = 500
_MARKUP = re.compile(
    r"<(?:!doctype\s+html|html)[\s>]"
    r"|</(?:a|article|b|blockquote|body|div|em|h[1-6]|head|li|ol|p|script|section|span|strong|style"
    r"|table|td|th|tr|ul)\s*>",
    re.IGNORECASE,
)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
# A time as a caller gives it: seconds since 1970-01-01 UTC, a datetime or date, or ISO 8601.
Time = int | float | datetime | date | str
# The same, or how long before now: a timedelta, or `90d`; what takes it goes by `times.moment`.
TimeOrAge = Time | timedelta

SeenState = Literal["stored", "flagged", "skipped", "uncovered", "orphaned"]
# Sources of the time when a document was first seen, in words; the strongest last.
FIRST_SEEN_BASES: Mapping[str, str] = {
    "ingest": "the time of ingest",
    "crawl": "the date of the crawl",
    "published": "its own date",
}
# Of a record, not of what stands in it: two sights of one text differ in them.
PLACE_FIELDS = frozenset(("warc_record_id", "warc_offset"))
# Of a text whose bytes were not simply UTF-8: what they were in, whether that was detected or told,
# and how many could not be read.
ENCODING, DETECTED, REPLACED = "encoding", "encoding_detected", "replaced_bytes"
# What took the text of a web page out of it, with its version.
EXTRACTOR = "extractor"
# Text that the file of a document hides from a reader: its characters, and where they were.
HIDDEN = "hidden_text"
# The field that says that a record is one of an export, and the version of its form.
EXPORT_FIELD = "simstore_record"
EXPORT_VERSION = 1


class DocumentLabels(NamedTuple):
    """The title and the collection of a document, as callers give them.

    >>> DocumentLabels.of(store.get("ferry-2025"))
    DocumentLabels(title='Ferry timetable', collection=None)
    """

    title: str | None = None
    collection: str | None = None

    @classmethod
    def of(cls, document: Any) -> Self:
        """Return the labels of what has them as attributes, as a row."""
        return cls(*(getattr(document, name) for name in cls._fields))

    def by_name(self) -> dict[str, Any]:
        """Return the labels as keyword arguments."""
        return dict(zip(self._fields, self, strict=True))


# The names of the labels, in the order of columns.
LABELS = DocumentLabels._fields


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilter:
    """A choice of documents by columns; options that choose documents inherit it.

    >>> options = QueryOptions(collection="recipes")
    >>> isinstance(options, DocumentFilter), options.chosen
    (True, {'collection': 'recipes'})

    Attributes:
        collection: Only documents of this collection.
    """

    collection: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def chosen(self) -> dict[str, Any]:
        """The columns that are chosen by, with their values; empty: all documents."""
        values = {name: getattr(self, name) for name in FILTERS}
        return {name: value for name, value in values.items() if value is not None}


# The names of the columns that documents can be chosen by.
FILTERS = tuple(one.name for one in fields(DocumentFilter))
ALL_DOCUMENTS = DocumentFilter()


class DocumentFilterKeywords(TypedDict, total=False):
    """A choice of documents by name, as :class:`DocumentFilter` describes it."""

    collection: str | None


class DocumentKeywords(TypedDict, total=False):
    """Fields of a document by name, as ``Store.add`` describes them."""

    title: str | None
    collection: str | None
    metadata: Mapping[str, Any] | None
    seen_at: Time | None
    published_at: Time | None
    links: Sequence[str]


@dataclass(frozen=True, slots=True, repr=False)
class Decoding(Shown):
    """The decoding of a text's bytes, where it may be wrong or lost some.

    >>> page = "Das Café öffnet um neun, außer an Feiertagen."
    >>> size = Path("page.txt").write_bytes(page.encode("cp1252"))
    >>> decoding = store.query_many(Files("page.txt"))[0].decoding
    >>> decoding.encoding, decoding.is_detected
    ('cp1252', True)

    Attributes:
        encoding: Name of Python's codec.
        is_detected: Nothing told the encoding: it was recognised by the bytes.
        replaced_bytes: Bytes that could not be read; each run of them is a
            U+FFFD.
    """

    encoding: str
    is_detected: bool
    replaced_bytes: int

    def __str__(self) -> str:
        """Return it in words."""
        name = self.encoding.upper()
        lost = f"{counted(self.replaced_bytes, 'byte')} could not be read"
        if not self.is_detected:
            return f"decoded as {name}, {lost}"
        return f"decoded as {name} by detection" + (f", {lost}" if self.replaced_bytes else "")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperWarning(Shown):
    """A disguise: it hides words from a program, or text from a reader.

    >>> status = store.passages.build()
    >>> paper = store.check("A fr\u200bee fer\u200bry to the island.")
    >>> [(one.kind, one.count) for one in paper.warnings]
    [('hidden characters', 2)]

    Attributes:
        kind: ``hidden characters``, ``mixed scripts``, ``stacked marks``,
            ``spaced letters``, ``letters between words``, ``hidden text``.
        count: How often; of hidden text, its characters.
        spans: The passages that have it, start and end of each.
        places: Of hidden text: where in its file, and by what it is hidden.
    """

    kind: str
    count: int
    spans: tuple[tuple[int, int], ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its key, as it comes from a caller or a source.

    >>> soup = Document("soup", "Boil the bones.", metadata={"course": 1})
    >>> store.add_many([soup]).added
    1
    >>> store.get("soup").metadata
    {'course': 1}

    Attributes:
        key: The caller's id: page id, URL, path. Never empty.
        text: The text. Bytes that are not UTF-8 are surrogate escapes.
        title: Title, where the source knows one.
        collection: Name of the collection it belongs to.
        metadata: Further fields, JSON values. Those of :data:`PLACE_FIELDS` say
            where it was read.
        position: Number of the record in its source, from 0.
        byte_offset: Where the record begins in its (decompressed) source.
        end_offset: Where the next record begins.
        seen_at: When the source saw it, the date of a crawl; None: when it is
            ingested.
        published_at: When it was published, as the page says; None: nobody says
            so.
        links: Keys of documents that its page links to.
        seen_since: When the source first saw it, where that was before
            ``seen_at``.
    """

    key: str
    text: str
    _: KW_ONLY
    title: str | None = None
    collection: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    position: int | None = None
    byte_offset: int | None = None
    end_offset: int | None = None
    seen_at: int | None = None
    published_at: int | None = None
    links: tuple[str, ...] = ()
    seen_since: int | None = None

    @property
    def decoding(self) -> Decoding | None:
        """The decoding of its bytes; None: nothing of it is doubtful."""
        if not self.metadata:
            return None
        detected, replaced = self.metadata.get(DETECTED), self.metadata.get(REPLACED)
        is_detected = detected is True
        count = replaced if isinstance(replaced, int) and replaced > 0 else 0
        if not is_detected and not count:
            return None
        return Decoding(str(self.metadata.get(ENCODING, "utf-8")), is_detected, count)

    @property
    def holds_markup(self) -> bool:
        """True if the text holds HTML, which counts as text."""
        if "<" not in self.text or EXTRACTOR in self.metadata:
            return False
        return _MARKUP.search(self.text) is not None

    @property
    def hidden(self) -> tuple[PaperWarning, ...]:
        """The warning of text that its file hides from a reader; or empty."""
        held = self.metadata.get(HIDDEN)
        if not isinstance(held, Mapping) or not isinstance(held.get("places"), list):
            return ()
        count = held.get("characters")
        if not isinstance(count, int):
            return ()
        places = tuple(map(str, held["places"]))
        return (PaperWarning(kind="hidden text", count=count, places=places),)


def reading_of(metadata: Mapping[str, Any]) -> str:
    """Return how a text was read, as the metadata of its document tell; empty: simply as UTF-8.

    Example:
        >>> reading_of({"encoding": "gb18030", "encoding_detected": True, "extractor": "blocks 1"})
        'decoded as GB18030 by detection; cut out of the page by blocks 1'
    """
    told = []
    if ENCODING in metadata or metadata.get(REPLACED):
        name = str(metadata.get(ENCODING, "utf-8")).upper()
        told.append(f"decoded as {name}" + (" by detection" if metadata.get(DETECTED) else ""))
    if metadata.get(REPLACED):
        replaced = metadata[REPLACED]
        # Metadata are the callers': it need be no number.
        lost = counted(replaced, "byte") if isinstance(replaced, int) else f"{replaced} bytes"
        told.append(f"{lost} could not be read")
    if EXTRACTOR in metadata:
        told.append(f"cut out of the page by {metadata[EXTRACTOR]}")
    return "; ".join(told)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Seen(Shown):
    """The state of a key that was seen.

    >>> store.add("copy", text, on_duplicate="skip")
    'skipped'
    >>> seen = store.seen("copy")
    >>> seen.state, seen.original
    ('skipped', 'ferry-2025')

    Attributes:
        state: ``stored``; ``flagged``: stored, as a duplicate of its original;
            ``skipped``: not stored, as a duplicate; ``uncovered``: it was
            skipped, and the text of its original no longer says all that the
            former one said; ``orphaned``: it was skipped, and its original has
            gone.
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

    >>> store.add("bread-1", "Mix flour and water.")
    'updated'
    >>> story = store.duplicates.story("bread-1")
    >>> len(story.versions)
    2

    Attributes:
        digest: BLAKE2b-128 of its text, hexadecimal.
        first_seen: When it was first seen.
        last_seen: When it was last seen.
    """

    digest: str
    first_seen: int
    last_seen: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Relative(Shown):
    """A document that resembles another, with the measures of their similarity.

    >>> store.add("copy", text)
    'added'
    >>> story = store.duplicates.story("copy")
    >>> [(found.key, found.relation) for found in story.relatives]
    [('ferry-2025', 'same text')]

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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Story(Shown):
    """The history of a key: versions, similar documents, the original.

    >>> store.add("copy", text)
    'added'
    >>> story = store.duplicates.story("copy")
    >>> story.original, story.reason
    ('ferry-2025', '...')

    Attributes:
        first_seen_basis: As of :class:`Relative`.
        duplicate_of: Key of the document that it duplicates, by the check
            before the insert.
        versions: Its versions, the present one at the end; none where it was
            skipped.
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
    links_to: tuple[str, ...]
    cluster_id: int | None
    relatives: tuple[Relative, ...]
    original: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoredDocument(Shown):
    """A document in the store.

    >>> document = store.get("ferry-2025")
    >>> document.title, document.text == text, document.duplicate_of
    ('Ferry timetable', True, None)

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

    _FIRST = ("key", "title", "collection", "text")

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


@dataclass(frozen=True, slots=True)
class ExclusionReason:
    """The reason why a document is not in the unique part.

    Attributes:
        canonical_id: Number of the document that stands for it; 0 where it was
            skipped.
        canonical_key: Key of the document that stands for it.
        distance: Of the two fingerprints, in bits; None where one has none.
        resemblance: Of the two texts, 0 to 1; None where nothing tells it.
        reason: In words.
    """

    canonical_id: int
    canonical_key: str
    distance: int | None
    resemblance: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDocument:
    """A document of an export.

    Attributes:
        text: None where there is none, or it is not wanted.
        digest: BLAKE2b-128 of its text, hexadecimal.
        source: Name of the source it was taken from.
        first_seen_basis: ``ingest``, ``crawl`` or ``published``: by what it was
            first seen.
        links: Keys that it links to.
        dropped: Why it is not in the unique part; None where it is, or nobody
            asked.
    """

    key: str
    text: str | None
    title: str | None
    collection: str | None
    metadata: Mapping[str, Any]
    digest: str
    source: str | None
    first_seen: int
    first_seen_basis: str
    last_seen: int
    links: tuple[str, ...] = ()
    dropped: ExclusionReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """Facts about a source, as far as its document tells them.

    Attributes:
        title: Its title.
        collection: The collection that it belongs to.
        author: Who wrote it; several with commas between.
        date: When it was published.
        url: Its address.
    """

    title: str | None = None
    collection: str | None = None
    author: str | None = None
    date: str | None = None
    url: str | None = None

    def is_by(self, names: frozenset[str]) -> bool:
        """Return whether one of these wrote it.

        Args:
            names: Names of authors, as :func:`folded_name` makes them.
        """
        if self.author is None:
            return False
        parts = _BETWEEN_AUTHORS.split(self.author)
        return not names.isdisjoint(map(folded_name, (self.author, *parts)))


def facts_told(
    key: str,
    title: str | None,
    collection: str | None,
    metadata: Mapping[str, Any],
    published_at: int | None,
) -> SourceFacts:
    """Return what a stored document tells of itself.

    Args:
        key: Its key, which may be its address.
        title: Its title.
        collection: Its collection.
        metadata: Its metadata.
        published_at: When it was published, in seconds since 1970-01-01 UTC, where that is known.
    """
    day = _first_said(metadata, DATE_FIELDS)
    if published_at is not None and "date" not in metadata:
        day = (_BEGINNING + timedelta(seconds=published_at)).date().isoformat()
    return SourceFacts(
        title=title,
        collection=collection,
        author=_first_said(metadata, AUTHOR_FIELDS),
        date=day,
        url=key if _ADDRESS.fullmatch(key) else _first_said(metadata, URL_FIELDS),
    )


def folded_name(name: str) -> str:
    """Return a name without case and superfluous blanks, to compare it."""
    return " ".join(name.casefold().split())


def _first_said(metadata: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first field that says something, as a line."""
    for name in names:
        value = metadata.get(name)
        values = value if isinstance(value, list) else [value]
        said = [_said_line(one) for one in values]
        if any(said):
            return ", ".join(filter(None, said))[:_LONGEST]
    return None


def _said_line(value: Any) -> str:
    """Return a value of metadata as a line; of an object, its name."""
    if isinstance(value, Mapping):
        value = value.get("name")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())
