"""The base of the store's methods: an open store and access to its state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simstore.fingerprint.schemes import ExternalScheme, no_recipe
from simstore.services.open_store.open_store import OpenStore
from simstore.sources.reader import ReadOptions, sees_bytes
from simstore.storage import generations
from simstore.storage.engine import Database


class Opened:
    """What every part of a store has: the store that is open."""

    def __init__(self, database: Database, *, resident: bool = False) -> None:
        """Use :meth:`Store.open` or :meth:`Store.create`."""
        self._opened = OpenStore(database, resident=resident)
        self._takes_documents: bool | None = None

    @property
    def path(self) -> Path | None:
        """The store's file, wherever links to it lie; None where it is on a database server."""
        return self._opened.database.path

    def _check_takes_documents(self) -> None:
        if self._takes_documents is None:
            with self._opened.database.read() as connection:
                found = generations.scheme_with_status(connection, "standing")
            self._takes_documents = found is None or found[1].name != ExternalScheme.name
        if not self._takes_documents:
            raise no_recipe()

    def _read_options(self, given: ReadOptions | None) -> ReadOptions:
        """Return how to read for this store: against ``simtool``, text files are article files."""
        options = given or ReadOptions()
        with self._opened.database.read() as connection:
            found = generations.scheme_with_status(connection, "standing")
        is_articles = found is not None and sees_bytes(found[1].name)
        return replace(options, texts_are_articles=True) if is_articles else options
