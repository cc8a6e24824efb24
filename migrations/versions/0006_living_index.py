"""Clusters that are kept, what a check before the insert found, earlier versions, links.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "cluster",
        sa.Column("cluster_id", BIG, nullable=False),
        sa.Column("centre_id", BIG, nullable=True),
        sa.Column("merged_into", BIG, nullable=True),
        sa.Column("created_at", BIG, nullable=False),
        sa.Column("ended_at", BIG, nullable=True),
        sa.ForeignKeyConstraint(
            ["merged_into"], ["cluster.cluster_id"], name=op.f("fk_cluster_merged_into")
        ),
        sa.PrimaryKeyConstraint("cluster_id", name=op.f("pk_cluster")),
        sa.UniqueConstraint("centre_id", name=op.f("uq_cluster_centre_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "cluster_change",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_cluster_change")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "cluster_text",
        sa.Column("text_id", BIG, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("major", BIG, nullable=False),
        sa.Column("first_seen", BIG, nullable=False),
        sa.Column("document_id", BIG, nullable=False),
        sa.PrimaryKeyConstraint("text_id", name=op.f("pk_cluster_text")),
        sa.UniqueConstraint("digest", name=op.f("uq_cluster_text_digest")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "clustering",
        sa.Column("clustering_id", sa.Integer(), nullable=False),
        sa.Column("min_resemblance", sa.Float(), nullable=False),
        sa.Column("radius", sa.Integer(), nullable=True),
        sa.Column("policy", sa.String(length=10), nullable=False),
        sa.Column("preferred", sa.Text(), nullable=True),
        sa.Column("scheme_id", sa.Integer(), nullable=False),
        sa.Column("generation_id", sa.Integer(), nullable=True),
        sa.Column("bands", sa.Integer(), nullable=True),
        sa.Column("band_rows", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("attempt", BIG, nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.Column("updated_at", BIG, nullable=False),
        sa.CheckConstraint(
            "policy IN ('first', 'longest', 'prefer')", name=op.f("ck_clustering_policy")
        ),
        sa.CheckConstraint("state IN ('building', 'standing')", name=op.f("ck_clustering_state")),
        sa.CheckConstraint("clustering_id = 1", name=op.f("ck_clustering_one")),
        sa.PrimaryKeyConstraint("clustering_id", name=op.f("pk_clustering")),
    )
    op.create_table(
        "cluster_spoke",
        sa.Column("text_id", BIG, autoincrement=False, nullable=False),
        sa.Column("centre_id", BIG, autoincrement=False, nullable=False),
        sa.Column("resemblance", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["centre_id"],
            ["cluster_text.text_id"],
            name=op.f("fk_cluster_spoke_centre_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["text_id"],
            ["cluster_text.text_id"],
            name=op.f("fk_cluster_spoke_text_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("text_id", "centre_id", name=op.f("pk_cluster_spoke")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_cluster_spoke_centre_id"), "cluster_spoke", ["centre_id"], unique=False
    )

    op.create_table(
        "document_link",
        sa.Column("document_id", BIG, autoincrement=False, nullable=False),
        sa.Column("target", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_document_link_document_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "target", name=op.f("pk_document_link")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "duplicate",
        sa.Column("duplicate_id", BIG, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("document_id", BIG, nullable=True),
        sa.Column("original_id", BIG, nullable=True),
        sa.Column("original_key", sa.LargeBinary(), nullable=False),
        sa.Column("distance", sa.Integer(), nullable=True),
        sa.Column("resemblance", sa.Float(), nullable=False),
        sa.Column("basis", sa.String(length=10), nullable=False),
        sa.Column("run_id", BIG, nullable=False),
        sa.Column("first_seen", BIG, nullable=False),
        sa.Column("last_seen", BIG, nullable=False),
        sa.CheckConstraint(
            "state IN ('flagged', 'skipped', 'orphaned')", name=op.f("ck_duplicate_state")
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_duplicate_document_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["original_id"],
            ["document.document_id"],
            name=op.f("fk_duplicate_original_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["ingest_run.run_id"], name=op.f("fk_duplicate_run_id")
        ),
        sa.PrimaryKeyConstraint("duplicate_id", name=op.f("pk_duplicate")),
        sa.UniqueConstraint("key", name=op.f("uq_duplicate_key")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_duplicate_digest"), "duplicate", ["digest"], unique=False)
    op.create_index(op.f("ix_duplicate_document_id"), "duplicate", ["document_id"], unique=False)
    op.create_index(op.f("ix_duplicate_original_id"), "duplicate", ["original_id"], unique=False)

    op.create_table(
        "snapshot",
        sa.Column("document_id", BIG, autoincrement=False, nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("first_seen", BIG, nullable=False),
        sa.Column("last_seen", BIG, nullable=False),
        sa.Column("visits", BIG, nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["document.document_id"],
            name=op.f("fk_snapshot_document_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "revision", name=op.f("pk_snapshot")),
        sqlite_with_rowid=False,
    )
    op.add_column(
        "document",
        sa.Column(
            "first_seen_basis", sa.String(length=10), server_default="ingest", nullable=False
        ),
    )
    op.add_column("document", sa.Column("visits", BIG, server_default="1", nullable=False))
    op.add_column("document", sa.Column("version_seen", BIG, nullable=True))

    op.add_column("ingest_run", sa.Column("flagged", BIG, server_default="0", nullable=False))
    op.add_column("ingest_run", sa.Column("skipped", BIG, server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("ingest_run", "skipped")
    op.drop_column("ingest_run", "flagged")

    op.drop_column("document", "version_seen")
    op.drop_column("document", "visits")
    op.drop_column("document", "first_seen_basis")

    op.drop_table("snapshot")
    op.drop_index(op.f("ix_duplicate_original_id"), table_name="duplicate")
    op.drop_index(op.f("ix_duplicate_document_id"), table_name="duplicate")
    op.drop_index(op.f("ix_duplicate_digest"), table_name="duplicate")

    op.drop_table("duplicate")
    op.drop_table("document_link")
    op.drop_index(op.f("ix_cluster_spoke_centre_id"), table_name="cluster_spoke")

    op.drop_table("cluster_spoke")
    op.drop_table("clustering")
    op.drop_table("cluster_text")
    op.drop_table("cluster_change")
    op.drop_table("cluster")
