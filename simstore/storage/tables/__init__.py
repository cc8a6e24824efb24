"""The tables, a file a subject; :mod:`simstore.storage.schema` has them all."""
