"""The store's tables and everything that speaks SQL; the only package that imports SQLAlchemy."""
