"""The database layer of a store: tables and SQL; the only package that imports SQLAlchemy."""
