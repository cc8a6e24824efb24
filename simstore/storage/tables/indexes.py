"""Table definitions of schemes, generations (sets of fingerprints) and all indexes.

Vocabulary, fingerprints, sketches, the passage index, and stored clusters. A cluster is a star: a
canonical text and the texts with an edge to it; documents of one text are one node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.event import listens_for
from sqlalchemy.types import TypeEngine

from simstore.storage.tables.documents import BIG, STATUS, metadata, owner_column
from simstore.storage.tables.names import (
    SKETCH_NAMES,
    gone_name,
    kept_name,
    links_name,
    tail_name,
)

store = Table(
    "store",
    metadata,
    Column("store_id", Integer, primary_key=True),
    Column("created_at", BIG, nullable=False),
    Column("created_by", String(40), nullable=False),
    Column("policy", String(10), nullable=False),
    Column("text_kept", Boolean, nullable=False),
    Column("vocabulary_recorded", Boolean, nullable=False),
    # Grows with every batch that adds or removes a text or changes one.
    Column("changes", BIG, nullable=False),
    # What an ingest does with duplicates that is not told, and what is one.
    Column("on_duplicate", String(10), nullable=False, server_default="keep"),
    Column("min_resemblance", Float),
    Column("radius", Integer),
    # Whether packed fingerprints have segment columns too.
    Column("keep_columns", Boolean, nullable=False, server_default=false()),
    CheckConstraint("store_id = 1", name="one"),
    CheckConstraint("policy IN ('live', 'frozen')", name="policy"),
)

scheme = Table(
    "scheme",
    metadata,
    Column("scheme_id", Integer, primary_key=True),
    Column("status", String(10), nullable=False),
    Column("name", String(40), nullable=False),
    Column("version", Integer, nullable=False),
    Column("bits", Integer, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("stopwords", LargeBinary, nullable=False),
    Column("hash_table", LargeBinary),
    Column("known_answers", JSON, nullable=False),
    Column("created_at", BIG, nullable=False),
    # Channels.record(), and how often it was changed.
    Column("channels", JSON, nullable=False),
    Column("edition", Integer, nullable=False, server_default="0"),
    CheckConstraint(STATUS, name="status"),
    sqlite_autoincrement=True,
)

generation = Table(
    "generation",
    metadata,
    Column("generation_id", Integer, primary_key=True),
    Column("scheme_id", Integer, ForeignKey("scheme.scheme_id"), nullable=False),
    Column("status", String(10), nullable=False),
    # store.changes when its vocabulary was frozen.
    Column("basis", BIG, nullable=False),
    Column("created_at", BIG, nullable=False),
    Column("switched_at", BIG),
    # Distinct fingerprints, and how many of them are in pages and not in the tail.
    Column("fingerprint_count", BIG, nullable=False, server_default="0"),
    Column("packed_count", BIG, nullable=False, server_default="0"),
    # Grows whenever a fingerprint comes or goes.
    Column("edition", BIG, nullable=False, server_default="0"),
    CheckConstraint(STATUS, name="status"),
    sqlite_autoincrement=True,
)

feature = Table(
    "feature",
    metadata,
    Column("feature_id", BIG, primary_key=True),
    Column("scheme_id", Integer, ForeignKey("scheme.scheme_id"), nullable=False),
    Column("term", LargeBinary, nullable=False),
    # Without the deltas that are not merged yet.
    Column("document_count", BIG, nullable=False),
    Column("total_count", BIG, nullable=False),
    UniqueConstraint("scheme_id", "term"),
)

vocabulary_delta = Table(
    "vocabulary_delta",
    metadata,
    Column("delta_id", BIG, primary_key=True),
    Column("scheme_id", Integer, ForeignKey("scheme.scheme_id"), nullable=False),
    Column("delta", LargeBinary, nullable=False),  # codecs.pack_delta
)

generation_rank = Table(
    "generation_rank",
    metadata,
    owner_column("generation.generation_id", Integer),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    Column("feature_id", BIG, nullable=False),
    Column("total_count", BIG, nullable=False),
    sqlite_with_rowid=False,
)

# How many documents have each feature, where a scheme weighs features by that.
generation_frequency = Table(
    "generation_frequency",
    metadata,
    owner_column("generation.generation_id", Integer),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("frequencies", LargeBinary, nullable=False),  # codecs.pack_features
)


@dataclass(frozen=True, slots=True)
class FingerprintTables:
    """The tables of one fingerprint width.

    Attributes:
        tail: One row a distinct fingerprint that is in no page, with its segment columns.
        kept: The same columns of each packed fingerprint, where the store keeps them.
        gone: Fingerprints that are in runs and were removed.
        links: Which document has which fingerprint.
        segments: Number of segment columns.
    """

    tail: Table
    kept: Table
    gone: Table
    links: Table
    segments: int


def _fingerprint_tables(
    bits: int, value: TypeEngine[int] | TypeEngine[bytes], segments: int
) -> FingerprintTables:
    tail = _rows_table(tail_name(bits), value, segments)
    # By segment first: found without a word about the generation, too.
    kept = _rows_table(kept_name(bits), value, segments, by_segment=True)
    gone = Table(
        gone_name(bits),
        metadata,
        Column("generation_id", Integer, primary_key=True, autoincrement=False),
        Column("value", value, primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    links = Table(
        links_name(bits),
        metadata,
        Column("generation_id", Integer, primary_key=True, autoincrement=False),
        Column("document_id", BIG, primary_key=True, autoincrement=False),
        Column("value", value, nullable=False),
        Index(f"ix_{links_name(bits)}_value", "generation_id", "value"),
        sqlite_with_rowid=False,
    )
    return FingerprintTables(tail, kept, gone, links, segments)


def _rows_table(
    name: str,
    value: TypeEngine[int] | TypeEngine[bytes],
    segments: int,
    *,
    by_segment: bool = False,
) -> Table:
    """Return a table of fingerprints with a column and an index for each segment."""
    table = Table(
        name,
        metadata,
        Column("generation_id", Integer, primary_key=True, autoincrement=False),
        Column("value", value, primary_key=True, autoincrement=False),
        *(Column(f"s{i}", Integer) for i in range(segments)),
        sqlite_with_rowid=False,
    )
    for i in range(segments):
        column = table.c[f"s{i}"]
        Index(
            f"ix_{name}_s{i}",
            *((column, table.c.generation_id) if by_segment else (table.c.generation_id, column)),
            sqlite_where=column.is_not(None),
        )
    return table


_NARROW = _fingerprint_tables(64, BIG, 4)
_WIDE = _fingerprint_tables(128, LargeBinary(16), 8)
FAMILIES = (_NARROW, _WIDE)


@listens_for(metadata, "before_create")
def _for_postgresql(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    """Say of the segment indexes what PostgreSQL knows besides; its dialect is slow to import."""
    if connection.dialect.name != "postgresql":
        return
    for family in FAMILIES:
        for index in family.tail.indexes | family.kept.indexes:
            index.dialect_kwargs["postgresql_where"] = index.dialect_kwargs["sqlite_where"]
            index.dialect_kwargs["postgresql_include"] = ["value"]


def fingerprint_tables(bits: int) -> FingerprintTables:
    """Return the tables that hold fingerprints of M bits."""
    return _NARROW if bits <= 64 else _WIDE


def _sketch_table(name: str) -> Table:
    """Return the table of the sketches of a channel."""
    # A document's sketch. A changed text gets a new number, so numbers only grow, and what is in
    # runs of an index or in memory up to one of them stays true.
    return Table(
        name,
        metadata,
        Column("sketch_id", BIG, primary_key=True),
        Column(
            "document_id",
            BIG,
            ForeignKey("document.document_id", ondelete="CASCADE"),
            nullable=False,
        ),
        Column("scheme_id", Integer, ForeignKey("scheme.scheme_id"), nullable=False),
        # Distinct shingles.
        Column("size", Integer, nullable=False),
        Column("sketch", LargeBinary, nullable=False),
        # Forms that find a title, in the channel ``characters`` (fingerprint.titles.pack_forms).
        Column("forms", LargeBinary),
        UniqueConstraint("document_id", "scheme_id"),
        sqlite_autoincrement=True,
    )


# By the channels of sketches.
SKETCH_TABLES = {channel: _sketch_table(name) for channel, name in SKETCH_NAMES.items()}

# The index, where there is one: its numbers are never given out again.
passage_index = Table(
    "passage_index",
    metadata,
    Column("index_id", Integer, primary_key=True),
    # building: documents of before it have no entry yet.
    Column("status", String(10), nullable=False),
    Column("recipe", JSON, nullable=False),  # PassageRecipe.record()
    Column("created_at", BIG, nullable=False),
    CheckConstraint("status IN ('building', 'standing')", name="status"),
    sqlite_autoincrement=True,
)

# One version of a document's text. A changed text gets a new number, so postings in runs that name
# a number which is gone are of no account.
passage_entry = Table(
    "passage_entry",
    metadata,
    Column("entry_id", BIG, primary_key=True),
    Column(
        "document_id",
        BIG,
        ForeignKey("document.document_id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    Column("passage_count", Integer, nullable=False),
    Column("posting_count", Integer, nullable=False),
    Column("spans", LargeBinary, nullable=False),  # index.passages.pack_spans
    # How many of the postings are terms of sentences.
    Column("term_count", Integer, nullable=False, server_default="0"),
    # Until they are in a run; index.passages.pack_entries
    Column("postings", LargeBinary),
    sqlite_autoincrement=True,
)

# Runs of the posting indexes (simstore.index.postings). Numbers are never given out again.
index_run = Table(
    "index_run",
    metadata,
    Column("run_id", Integer, primary_key=True),
    Column("kind", String(40), nullable=False),
    # The generation, scheme or passage index whose entries they are.
    Column("owner", Integer, nullable=False),
    Column("page_bits", Integer, nullable=False),
    # Bytes of each integer of an entry.
    Column("widths", LargeBinary, nullable=False),
    Column("row_bytes", Integer, nullable=False),
    Column("entry_count", BIG, nullable=False),
    # The largest number of a source whose entries are in it.
    Column("last_source", BIG, nullable=False),
    Column("filter_words", BIG, nullable=False),
    Column("checksum", BIG, nullable=False),
    sqlite_autoincrement=True,
)

index_page = Table(
    "index_page",
    metadata,
    # The run, then 40 bits of a place within it.
    Column("page", BIG, primary_key=True, autoincrement=False),
    Column("entries", LargeBinary, nullable=False),  # simstore.index.pages, .filters
)

# The rule by which clusters are kept, and what it was applied with; no row: none are kept.
clustering = Table(
    "clustering",
    metadata,
    Column("clustering_id", Integer, primary_key=True),
    Column("min_resemblance", Float, nullable=False),
    # Bits; none: not by fingerprints.
    Column("radius", Integer),
    Column("policy", String(10), nullable=False),
    # A regular expression for keys, with the policy "prefer".
    Column("preferred", Text),
    Column("scheme_id", Integer, nullable=False),
    # None where fingerprints do not depend on the corpus.
    Column("generation_id", Integer),
    # How sketches are cut; none: not by sketches.
    Column("bands", Integer),
    Column("band_rows", Integer),
    # Being made anew: the clusters are still the older ones, or none.
    Column("state", String(10), nullable=False),
    # How often they were begun to be made; who began last may finish.
    Column("attempt", BIG, nullable=False),
    Column("created_at", BIG, nullable=False),
    Column("updated_at", BIG, nullable=False),
    CheckConstraint("clustering_id = 1", name="one"),
    CheckConstraint("state IN ('building', 'standing')", name="state"),
    CheckConstraint("policy IN ('first', 'longest', 'prefer')", name="policy"),
)

cluster_text = Table(
    "cluster_text",
    metadata,
    Column("text_id", BIG, primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    # The policy's order: major, first_seen, document_id of the first document with this text.
    Column("major", BIG, nullable=False),
    Column("first_seen", BIG, nullable=False),
    Column("document_id", BIG, nullable=False),
    UniqueConstraint("digest"),
    sqlite_autoincrement=True,
)

# Edges from a text to the canonical texts before it; one without any is canonical itself.
cluster_spoke = Table(
    "cluster_spoke",
    metadata,
    owner_column("cluster_text.text_id"),
    owner_column("cluster_text.text_id", name="centre_id"),
    Column("resemblance", Float, nullable=False),
    Index(None, "centre_id"),
    sqlite_with_rowid=False,
)

# Names of clusters, never given out twice. One that became part of another says of which.
cluster = Table(
    "cluster",
    metadata,
    Column("cluster_id", BIG, primary_key=True),
    # Its canonical text; none: it has ended.
    Column("centre_id", BIG, unique=True),
    Column("merged_into", BIG, ForeignKey("cluster.cluster_id")),
    Column("created_at", BIG, nullable=False),
    Column("ended_at", BIG),
    # A name that is forgotten looks for those that merged into it.
    Index(None, "merged_into"),
    sqlite_autoincrement=True,
)

# Texts whose documents are others than when clusters were last brought up to date.
cluster_change = Table(
    "cluster_change",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)
