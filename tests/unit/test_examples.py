"""The examples in docstrings of the public API, each executed in a new store."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from public_names import NAMES

import simstore
from simstore import Store

TEXT = (
    "The ferry to the island leaves the harbour at nine every morning except on Sundays. "
    "It takes forty minutes, carries bicycles without a charge, and serves coffee on the upper "
    "deck. Tickets are sold at the pier and on board; children under six travel free."
)
NEXT_YEAR = TEXT.replace("forty", "thirty")
BREAD = (
    "Mix flour, water, salt and a little yeast, and let the dough rest in a cold room for a day."
)

NAMESPACES = (
    "clusters",
    "duplicates",
    "evaluate",
    "filters",
    "fingerprints",
    "maintenance",
    "passages",
    "rejects",
    "runs",
    "tokens",
    "vocabulary",
)
# What is shown where the folder of `simstore spark dedup` is made.
WITHOUT_EXAMPLE = {"Maintenance.import_deduped"}


def public_methods() -> Iterator[tuple[str, Any]]:
    """Yield the methods of a store and of its namespaces, and their names."""
    kinds = [Store, *(getattr(Store, name) for name in NAMESPACES)]
    for kind in kinds:
        for name in dir(kind):
            found = inspect.getattr_static(kind, name)
            function = getattr(found, "__func__", found)
            if not name.startswith("_") and inspect.isfunction(function):
                yield f"{kind.__name__}.{name}", function


METHODS = dict(public_methods())


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    monkeypatch.chdir(tmp_path)
    with Store("shelf.db") as store:
        store.add("ferry-2025", TEXT, title="Ferry timetable")
        store.add("ferry-2026", NEXT_YEAR)
        store.add("bread-1", BREAD)
        given = {name: getattr(simstore, name) for name in NAMES}
        yield {**given, "Path": Path, "store": store, "text": TEXT}


@pytest.mark.parametrize("name", METHODS)
def test_example_of_a_method_runs(name: str, names: dict[str, Any]) -> None:
    function = METHODS[name]
    if function.__name__ == "to_frame":
        pytest.importorskip("pandas")
    finder = doctest.DocTestParser()
    text = inspect.getdoc(function) or ""
    test = finder.get_doctest(text, names, name, None, None)
    assert bool(test.examples) != (name in WITHOUT_EXAMPLE), f"{name} has no example"
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize(
    "found",
    [
        simstore, Store, simstore.StoreProtocol, simstore.Results, simstore.compare_texts,
        simstore.dedupe, simstore.upgrade_store, simstore.copy_store, simstore.options,
        simstore.results, pytest.param(simstore.to_frame, marks=pytest.mark.frames),
        pytest.param(simstore.Stream, marks=pytest.mark.frames),
    ],
)  # fmt: skip
def test_the_examples_of_the_package_and_of_its_classes_run(
    found: Any, names: dict[str, Any]
) -> None:
    if found in (simstore.Stream, simstore.to_frame):
        pytest.importorskip("pandas")
    finder = doctest.DocTestParser()
    test = finder.get_doctest(inspect.getdoc(found) or "", dict(names), str(found), None, None)
    assert test.examples, found
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_help_of_a_namespace_is_its_own() -> None:
    for name in NAMESPACES:
        kind = getattr(Store, name)
        assert inspect.isclass(kind)
        assert f"store.{name}" in (inspect.getdoc(kind) or ""), name


def test_a_store_of_the_moment_leaves_nothing() -> None:
    store = Store(":memory:")
    assert repr(store) == "Store(':memory:')"
    store.add("a", TEXT)
    place = store.maintenance.path
    assert place is not None
    assert [document.key for document in store] == ["a"]
    # A writer is not kept waiting by a reader of the same thread.
    for document in store:
        store.add(f"{document.key}+", BREAD)
    assert len(store) == 2
    store.close()
    assert not place.parent.exists()


def test_a_store_has_few_public_members() -> None:
    members = [name for name in dir(Store) if not name.startswith("_")]
    assert len(members) <= 30
    assert set(NAMESPACES) <= set(members)
