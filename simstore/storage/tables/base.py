"""The metadata, naming convention and column types that all tables share."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, MetaData

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite gives out row numbers only to columns of type INTEGER.
BIG = BigInteger().with_variant(Integer(), "sqlite")

STATUS = "status IN ('building', 'standing', 'retired')"
