"""Base classes of ``Store`` and its namespaces, which share one open store."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Generic, TypeVar, overload

from simstore.fingerprint.schemes import ExternalScheme, no_recipe
from simstore.model.arguments import CheckedArguments, Methods
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
        kind: Name of its class; the module in this folder is called as it is, in small letters.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, store: None, owner: type) -> type[N]: ...
    @overload
    def __get__(self, store: Opened, owner: type) -> N: ...
    def __get__(self, store: Opened | None, owner: type) -> type[N] | N:
        """Return the namespace of a store, made when it is first used."""
        module = import_module(f"simstore.store.{self._kind.lower()}")
        kind: type[N] = getattr(module, self._kind)
        if store is None:
            return kind
        # From now on it is found among the store's own attributes.
        made = store.__dict__[self._name] = kind(store._opened)
        return made


class Namespace(Methods, Opened):
    """A part of a store's methods, as ``store.clusters``."""

    def __repr__(self) -> str:
        names = ", ".join(name for name in dir(self) if not name.startswith("_"))
        return f"<{type(self).__name__.lower()} of {self._opened.database.label}: {names}>"
