"""Base classes of ``Store`` and its namespaces, and the place of a store in memory."""

from __future__ import annotations

import os
import weakref
from dataclasses import replace
from importlib import import_module
from typing import Generic, TypeVar, overload

from simstore.fingerprint.schemes import ExternalScheme, no_recipe
from simstore.model.arguments import CheckedArguments
from simstore.services.open_store.open_store import OpenStore
from simstore.sources.reader import ReadOptions, sees_bytes
from simstore.storage import generations


class Opened(CheckedArguments):
    """Base class of objects that work on an open store."""

    def __init__(self, opened: OpenStore) -> None:
        """Hold an open store; users call ``Store.open`` or ``Store.create``."""
        self._opened = opened
        self._takes_documents: bool | None = None

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


N = TypeVar("N", bound="Namespace")


class NamespaceAttribute(Generic[N]):
    """A namespace of a store, as an attribute. Of the class it is the namespace's class.

    Its module is imported when it is first used.

    Args:
        module: The module in this folder.
        kind: Name of its class.
    """

    def __init__(self, module: str, kind: str) -> None:
        self._module = module
        self._kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, store: None, owner: type) -> type[N]: ...
    @overload
    def __get__(self, store: Opened, owner: type) -> N: ...
    def __get__(self, store: Opened | None, owner: type) -> type[N] | N:
        """Return the namespace of a store, made when it is first used."""
        module = import_module(f"simstore.store.{self._module}")
        kind: type[N] = getattr(module, self._kind)
        if store is None:
            return kind
        # From now on it is found among the store's own attributes.
        made = store.__dict__[self._name] = kind(store._opened)
        return made


class Namespace(Opened):
    """A part of a store's methods, as ``store.clusters``."""

    def __repr__(self) -> str:
        names = ", ".join(name for name in dir(self) if not name.startswith("_"))
        return f"<{type(self).__name__.lower()} of {self._opened.database.label}: {names}>"


class TemporaryPlace:
    """A folder with room for one store; it is removed with the object, or when Python ends.

    SQLite's own databases in memory have no snapshots: a reader would keep the writer waiting for
    ever in one thread. So such a store is a file, which the system keeps in memory while it is
    small.
    """

    def __init__(self) -> None:
        import tempfile

        self._folder = tempfile.mkdtemp(prefix="simstore-")
        self.path = os.path.join(self._folder, "store.db")
        # A child of this process leaves it to the parent.
        self._remove = weakref.finalize(self, _removed, self._folder, os.getpid())

    def remove(self) -> None:
        """Remove the folder."""
        self._remove()


def _removed(folder: str, owner: int) -> None:
    import shutil

    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
