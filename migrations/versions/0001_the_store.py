"""Documents, vocabulary, generations, fingerprints, ingest runs.

Revision ID: 0001
Revises: nothing
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "document_fingerprint_128",
        sa.Column("generation_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document_id", BIG, autoincrement=False, nullable=False),
        sa.Column("value", sa.LargeBinary(length=16), nullable=False),
        sa.PrimaryKeyConstraint(
            "generation_id", "document_id", name=op.f("pk_document_fingerprint_128")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_document_fingerprint_128_value",
        "document_fingerprint_128",
        ["generation_id", "value"],
        unique=False,
    )
    op.create_table(
        "document_fingerprint_64",
        sa.Column("generation_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document_id", BIG, autoincrement=False, nullable=False),
        sa.Column("value", BIG, nullable=False),
        sa.PrimaryKeyConstraint(
            "generation_id", "document_id", name=op.f("pk_document_fingerprint_64")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_document_fingerprint_64_value",
        "document_fingerprint_64",
        ["generation_id", "value"],
        unique=False,
    )
    op.create_table(
        "fingerprint_128",
        sa.Column("generation_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.LargeBinary(length=16), autoincrement=False, nullable=False),
        sa.Column("s0", sa.Integer(), nullable=True),
        sa.Column("s1", sa.Integer(), nullable=True),
        sa.Column("s2", sa.Integer(), nullable=True),
        sa.Column("s3", sa.Integer(), nullable=True),
        sa.Column("s4", sa.Integer(), nullable=True),
        sa.Column("s5", sa.Integer(), nullable=True),
        sa.Column("s6", sa.Integer(), nullable=True),
        sa.Column("s7", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("generation_id", "value", name=op.f("pk_fingerprint_128")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_fingerprint_128_s0",
        "fingerprint_128",
        ["generation_id", "s0"],
        unique=False,
        sqlite_where=sa.text("s0 IS NOT NULL"),
        postgresql_where=sa.text("s0 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_128_s1",
        "fingerprint_128",
        ["generation_id", "s1"],
        unique=False,
        sqlite_where=sa.text("s1 IS NOT NULL"),
        postgresql_where=sa.text("s1 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_128_s2",
        "fingerprint_128",
        ["generation_id", "s2"],
        unique=False,
        sqlite_where=sa.text("s2 IS NOT NULL"),
        postgresql_where=sa.text("s2 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_128_s3",
        "fingerprint_128",
        ["generation_id", "s3"],
        unique=False,
        sqlite_where=sa.text("s3 IS NOT NULL"),
        postgresql_where=sa.text("s3 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_128_s4",
        "fingerprint_128",
        ["generation_id", "s4"],
        unique=False,
        sqlite_where=sa.text("s4 IS NOT NULL"),
        postgresql_where=sa.text("s4 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_128_s5",
        "fingerprint_128",
        ["generation_id", "s5"],
        unique=False,
        sqlite_where=sa.text("s5 IS NOT NULL"),
        postgresql_where=sa.text("s5 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_128_s6",
        "fingerprint_128",
        ["generation_id", "s6"],
        unique=False,
        sqlite_where=sa.text("s6 IS NOT NULL"),
        postgresql_where=sa.text("s6 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_128_s7",
        "fingerprint_128",
        ["generation_id", "s7"],
        unique=False,
        sqlite_where=sa.text("s7 IS NOT NULL"),
        postgresql_where=sa.text("s7 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_table(
        "fingerprint_64",
        sa.Column("generation_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", BIG, autoincrement=False, nullable=False),
        sa.Column("s0", sa.Integer(), nullable=True),
        sa.Column("s1", sa.Integer(), nullable=True),
        sa.Column("s2", sa.Integer(), nullable=True),
        sa.Column("s3", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("generation_id", "value", name=op.f("pk_fingerprint_64")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_fingerprint_64_s0",
        "fingerprint_64",
        ["generation_id", "s0"],
        unique=False,
        sqlite_where=sa.text("s0 IS NOT NULL"),
        postgresql_where=sa.text("s0 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_64_s1",
        "fingerprint_64",
        ["generation_id", "s1"],
        unique=False,
        sqlite_where=sa.text("s1 IS NOT NULL"),
        postgresql_where=sa.text("s1 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_64_s2",
        "fingerprint_64",
        ["generation_id", "s2"],
        unique=False,
        sqlite_where=sa.text("s2 IS NOT NULL"),
        postgresql_where=sa.text("s2 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_index(
        "ix_fingerprint_64_s3",
        "fingerprint_64",
        ["generation_id", "s3"],
        unique=False,
        sqlite_where=sa.text("s3 IS NOT NULL"),
        postgresql_where=sa.text("s3 IS NOT NULL"),
        postgresql_include=["value"],
    )
    op.create_table(
        "ingest_run",
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("started_at", BIG, nullable=False),
        sa.Column("finished_at", BIG, nullable=True),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("version", sa.String(length=40), nullable=False),
        sa.Column("added", BIG, nullable=False),
        sa.Column("updated", BIG, nullable=False),
        sa.Column("unchanged", BIG, nullable=False),
        sa.Column("duplicates", BIG, nullable=False),
        sa.Column("rejected", BIG, nullable=False),
        sa.Column("byte_count", BIG, nullable=False),
        sa.CheckConstraint(
            "state IN ('running', 'finished', 'interrupted')", name=op.f("ck_ingest_run_state")
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_ingest_run")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scheme",
        sa.Column("scheme_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("bits", sa.Integer(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("stopwords", sa.LargeBinary(), nullable=False),
        sa.Column("hash_table", sa.LargeBinary(), nullable=True),
        sa.Column("known_answers", sa.JSON(), nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.CheckConstraint(
            "status IN ('building', 'standing', 'retired')", name=op.f("ck_scheme_status")
        ),
        sa.PrimaryKeyConstraint("scheme_id", name=op.f("pk_scheme")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "source",
        sa.Column("source_id", BIG, nullable=False),
        sa.Column("name", sa.LargeBinary(), nullable=False),
        sa.Column("reader", sa.String(length=200), nullable=False),
        sa.Column("size", BIG, nullable=True),
        sa.Column("modified_ns", BIG, nullable=True),
        sa.Column("head_digest", sa.LargeBinary(), nullable=False),
        sa.Column("position", BIG, nullable=False),
        sa.Column("byte_offset", BIG, nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("run_id", BIG, nullable=False),
        sa.PrimaryKeyConstraint("source_id", name=op.f("pk_source")),
        sa.UniqueConstraint("name", name=op.f("uq_source_name")),
    )
    op.create_table(
        "store",
        sa.Column("store_id", sa.Integer(), nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.Column("created_by", sa.String(length=40), nullable=False),
        sa.Column("policy", sa.String(length=10), nullable=False),
        sa.Column("text_kept", sa.Boolean(), nullable=False),
        sa.Column("vocabulary_recorded", sa.Boolean(), nullable=False),
        sa.Column("changes", BIG, nullable=False),
        sa.CheckConstraint("store_id = 1", name=op.f("ck_store_one")),
        sa.CheckConstraint("policy IN ('live', 'frozen')", name=op.f("ck_store_policy")),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_store")),
    )
    op.create_table(
        "document",
        sa.Column("document_id", BIG, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("collection", sa.Text(), nullable=True),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("source_id", BIG, nullable=True),
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("position", BIG, nullable=True),
        sa.Column("byte_offset", BIG, nullable=True),
        sa.Column("byte_count", BIG, nullable=False),
        sa.Column("token_count", BIG, nullable=False),
        sa.Column("first_seen", BIG, nullable=False),
        sa.Column("last_seen", BIG, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["ingest_run.run_id"], name=op.f("fk_document_run_id")),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.source_id"], name=op.f("fk_document_source_id")
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_document")),
        sa.UniqueConstraint("key", name=op.f("uq_document_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_document_digest", "document", ["digest"], unique=False)
    op.create_table(
        "feature",
        sa.Column("feature_id", BIG, nullable=False),
        sa.Column("scheme_id", sa.Integer(), nullable=False),
        sa.Column("term", sa.LargeBinary(), nullable=False),
        sa.Column("document_count", BIG, nullable=False),
        sa.Column("total_count", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["scheme_id"], ["scheme.scheme_id"], name=op.f("fk_feature_scheme_id")
        ),
        sa.PrimaryKeyConstraint("feature_id", name=op.f("pk_feature")),
        sa.UniqueConstraint("scheme_id", "term", name=op.f("uq_feature_scheme_id_term")),
    )
    op.create_table(
        "generation",
        sa.Column("generation_id", sa.Integer(), nullable=False),
        sa.Column("scheme_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("basis", BIG, nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.Column("switched_at", BIG, nullable=True),
        sa.CheckConstraint(
            "status IN ('building', 'standing', 'retired')", name=op.f("ck_generation_status")
        ),
        sa.ForeignKeyConstraint(
            ["scheme_id"], ["scheme.scheme_id"], name=op.f("fk_generation_scheme_id")
        ),
        sa.PrimaryKeyConstraint("generation_id", name=op.f("pk_generation")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "reject",
        sa.Column("reject_id", BIG, nullable=False),
        sa.Column("source", sa.LargeBinary(), nullable=False),
        sa.Column("position", BIG, nullable=False),
        sa.Column("byte_offset", BIG, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("rejected_at", BIG, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["ingest_run.run_id"], name=op.f("fk_reject_run_id")),
        sa.PrimaryKeyConstraint("reject_id", name=op.f("pk_reject")),
        sa.UniqueConstraint("source", "position", name=op.f("uq_reject_source_position")),
    )
    op.create_table(
        "vocabulary_delta",
        sa.Column("delta_id", BIG, nullable=False),
        sa.Column("scheme_id", sa.Integer(), nullable=False),
        sa.Column("delta", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["scheme_id"], ["scheme.scheme_id"], name=op.f("fk_vocabulary_delta_scheme_id")
        ),
        sa.PrimaryKeyConstraint("delta_id", name=op.f("pk_vocabulary_delta")),
    )
    op.create_table(
        "document_features",
        sa.Column("document_id", BIG, autoincrement=False, nullable=False),
        sa.Column("scheme_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("features", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_document_features_document_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "scheme_id", name=op.f("pk_document_features")),
    )
    op.create_table(
        "document_text",
        sa.Column("document_id", BIG, autoincrement=False, nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_document_text_document_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_document_text")),
    )
    op.create_table(
        "generation_rank",
        sa.Column("generation_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("rank", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("feature_id", BIG, nullable=False),
        sa.Column("total_count", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["generation_id"],
            ["generation.generation_id"],
            name=op.f("fk_generation_rank_generation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("generation_id", "rank", name=op.f("pk_generation_rank")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "seen_record",
        sa.Column("source_id", BIG, autoincrement=False, nullable=False),
        sa.Column("position", BIG, autoincrement=False, nullable=False),
        sa.Column("document_id", BIG, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_seen_record_document_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.source_id"], name=op.f("fk_seen_record_source_id")
        ),
        sa.PrimaryKeyConstraint("source_id", "position", name=op.f("pk_seen_record")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_seen_record_document_id", "seen_record", ["document_id"], unique=False)


def downgrade() -> None:
    op.drop_table("seen_record")
    op.drop_table("generation_rank")
    op.drop_table("document_text")
    op.drop_table("document_features")
    op.drop_table("vocabulary_delta")
    op.drop_table("reject")
    op.drop_table("generation")
    op.drop_table("feature")
    op.drop_table("document")
    op.drop_table("store")
    op.drop_table("source")
    op.drop_table("scheme")
    op.drop_table("ingest_run")
    op.drop_table("fingerprint_64")
    op.drop_table("fingerprint_128")
    op.drop_table("document_fingerprint_64")
    op.drop_table("document_fingerprint_128")
