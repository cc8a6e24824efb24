"""Everything public has an example in its docstring; each is executed with a new store."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, is_typeddict

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
    "clusters", "duplicates", "evaluate", "filters", "fingerprints", "maintenance", "passages",
    "rejects", "runs", "tokens", "vocabulary",
)  # fmt: skip
# These read the folder that `simstore spark dedup` wrote: an example needs a Spark job.
OF_SPARK = {"Maintenance.import_deduped", "DedupedOutput", "ImportSummary"}
# No public call takes or returns these: they go between the parts of an ingest or an export.
BETWEEN_PARTS = {"ExclusionReason", "ExportedDocument", "SourceState"}
WITHOUT_EXAMPLE = OF_SPARK | BETWEEN_PARTS


def public_methods() -> Iterator[tuple[str, Any]]:
    """Yield the methods of a store and of its namespaces, and their names."""
    kinds = [Store, *(getattr(Store, name) for name in NAMESPACES)]
    for kind in kinds:
        for name in dir(kind):
            found = inspect.getattr_static(kind, name)
            function = getattr(found, "__func__", found)
            if not name.startswith("_") and inspect.isfunction(function):
                yield f"{kind.__name__}.{name}", function


def public_names() -> Iterator[tuple[str, Any]]:
    """Yield the package, its rooms of types, and their classes and functions.

    Errors say when they are raised, and dictionaries of keywords what they are keywords of.
    """
    for room in (simstore, simstore.types):
        yield room.__name__, room
    for name in NAMES:
        found = getattr(simstore, name)
        is_kind = inspect.isclass(found) and not issubclass(found, Exception)
        if inspect.isfunction(found) or (is_kind and not is_typeddict(found)):
            yield name, found


PUBLIC = {**dict(public_methods()), **dict(public_names())}


def examples(name: str) -> doctest.DocTest:
    """Return the examples of a public name, without the names that they use."""
    text = inspect.cleandoc(PUBLIC[name].__doc__ or "")
    return doctest.DocTestParser().get_doctest(text, {}, name, None, None)


def makes_a_frame(test: doctest.DocTest) -> bool:
    return any("to_frame(" in example.source for example in test.examples)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of the store that each example begins with."""
    place = tmp_path_factory.mktemp("shelf") / "shelf.db"
    with Store(place) as store:
        store.add("ferry-2025", TEXT, title="Ferry timetable")
        store.add("ferry-2026", NEXT_YEAR)
        store.add("bread-1", BREAD)
    return place.read_bytes()


def run(name: str, shelf: bytes) -> str:
    """Run the examples of a name in the current folder, and return the failures."""
    said: list[str] = []
    test = examples(name)
    Path("shelf.db").write_bytes(shelf)
    with Store("shelf.db") as store:
        types = {name: getattr(simstore, name) for name in NAMES}
        test.globs = {**types, "Path": Path, "store": store, "text": TEXT}
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    return "".join(said)


@pytest.mark.sqlite("each example begins with a copy of a file")
@pytest.mark.parametrize("frames", [False, pytest.param(True, marks=pytest.mark.frames)])
def test_everything_public_has_an_example_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shelf: bytes, frames: bool
) -> None:
    if frames:
        pytest.importorskip("pandas")
    failures = {}
    for name in PUBLIC:
        if makes_a_frame(examples(name)) is not frames:
            continue
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        if failure := run(name, shelf):
            failures[name] = failure
    assert failures == {}, "".join(failures.values())


def test_what_has_no_example_is_known() -> None:
    assert {name for name in PUBLIC if not examples(name).examples} == WITHOUT_EXAMPLE


def test_everything_public_is_looked_at() -> None:
    assert {"QueryOptions", "Match", "Client", "dedupe", "Store.query"} <= {*PUBLIC}
    assert len(PUBLIC) > 175


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
    assert len(members) <= 32
    assert set(NAMESPACES) <= set(members)
