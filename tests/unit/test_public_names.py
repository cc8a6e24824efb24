"""Every type that callers pass or get is a name of ``simstore``."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any, is_typeddict

import pytest
from public_names import NAMES, ROOMS, names_of_room

import simstore
from simstore import Client, Store

from .test_help import NAMESPACES, functions_of

# Of the standard library, and of packages whose values are taken or made.
OF_OTHERS = {
    "Any", "Callable", "Iterable", "Iterator", "Literal", "Mapping", "Never", "Self", "Sequence",
    "Unpack", "Path", "PathLike", "TracebackType", "datetime", "timedelta", "date", "os",
    "AbstractContextManager", "DataFrame", "pandas", "NDArray", "np", "bool_", "int64", "uint64",
    "builtins", "KW_ONLY",
}  # fmt: skip
# Placeholders for the type of what a list or an iterator holds.
VARIABLES = {"T", "T_co", "Run"}
# Choices of words: each is a `Literal` of the options of normalization.
CHOICES = {"Accents", "Case", "Disguises", "Han", "Width"}
# Classes of namespaces.
SPACES = {f"{prefix}{name.capitalize()}" for name in NAMESPACES for prefix in ("", "Remote")}
FERRY = (
    "The ferry to the island leaves the old harbour at nine every morning except on Sundays and "
    "holidays, takes bicycles and dogs without a ticket, and comes back at five, with the mail "
    "and whoever stayed on the island for the night."
)

FUNCTIONS = (
    "compare_texts", "dedup_rows", "dedupe", "restore_store", "to_frame",
    "upgrade_store",
)  # fmt: skip
CALLED = [Store, Client, simstore.FingerprintReader]
CALLED += [getattr(Store, name) for name in NAMESPACES]
HELD = [
    found
    for found in (getattr(simstore, name) for name in NAMES)
    if is_dataclass(found) or is_typeddict(found)
]


def names_of(annotation: Any) -> Iterator[str]:
    """Yield the names in an annotation; what a ``Literal`` holds is no name."""
    tree = ast.parse(annotation if isinstance(annotation, str) else annotation.__forward_arg__)
    literal = [
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal"
        for inner in ast.walk(node.slice)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in literal:
            yield from names_of(node.value)
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def unknown_in(annotations: dict[str, Any]) -> set[str]:
    known = {*NAMES, *dir(builtins), *OF_OTHERS, *VARIABLES, *CHOICES, *SPACES}
    return {
        name
        for annotation in annotations.values()
        if isinstance(annotation, str) or hasattr(annotation, "__forward_arg__")
        for name in names_of(annotation)
        if name not in known
    }


def test_what_methods_take_and_return_comes_from_the_package() -> None:
    found = {
        name: unknown_in(function.__annotations__)
        for kind in CALLED
        for name, function in functions_of(kind)
        # The store makes namespaces and readers itself.
        if not name.endswith(".__init__") or kind in (Store, Client)
    }
    assert {name: names for name, names in found.items() if names} == {}


def test_so_do_the_fields_of_options_and_results() -> None:
    found = {kind.__name__: unknown_in(dict(inspect.get_annotations(kind))) for kind in HELD}
    assert {name: names for name, names in found.items() if names} == {}


def test_a_name_that_is_in_no_room_is_found_out() -> None:
    assert unknown_in({"text": "dict[str, Writing | None] | Literal['sketch']"}) == {"Writing"}


def test_a_name_that_is_nearly_right_is_answered_by_ours() -> None:
    loose: Any = simstore
    answers = {"dedup": "dedup", "compare": "compare_texts", "DocumentNotFoundError": "Docu"}
    for name, ours in answers.items():
        with pytest.raises(AttributeError, match=ours):
            getattr(loose, name)
    with pytest.raises(AttributeError, match=r"attribute .nothing.$"):
        _ = loose.nothing


def test_every_name_is_there_and_listed() -> None:
    assert dir(simstore) == sorted(simstore.__all__)
    assert len(dir(simstore)) <= 25
    for name in NAMES:
        assert getattr(simstore, name) is not None
    small = {name for name in simstore.__all__ if not name[0].isupper()}
    assert small == {*FUNCTIONS, *ROOMS, "__version__"}


def test_what_the_rooms_show_is_what_can_be_imported_from_the_package() -> None:
    of_types = {*simstore._MODULES} - {*FUNCTIONS, "Store", "Client", "KnownFilter"}
    model = import_module("simstore.model")
    of_types |= {name for name in model.__all__ if name[0].isupper() and not name.isupper()}
    of_types |= {*dir(simstore.errors)}
    shown = set.union(*(names_of_room(room) for room in ROOMS))
    assert shown == of_types


def test_what_functions_take_and_return_comes_from_the_package() -> None:
    for name in FUNCTIONS:
        assert unknown_in(getattr(simstore, name).__annotations__) == set()


def test_a_list_is_deduped_in_one_call() -> None:
    lines = ["Tickets are sold here.", "Oats.", "tickets are sold here", "", "Oats.", ""]
    unique = simstore.dedupe(lines)
    # An empty text duplicates nothing.
    assert list(unique) == [lines[0], lines[1], "", ""]
    assert (unique.kept, unique.dropped) == ((0, 1, 3, 5), (2, 4))
    assert unique.groups == ((0, 2), (1, 4))
    assert (len(unique), unique[1], unique[:2]) == (4, "Oats.", (lines[0], "Oats."))
    assert repr(unique) == "Deduped(4 of 6 texts kept, groups=2)"
    assert len(simstore.dedupe(iter(lines), min_resemblance=1)) == 4
    assert list(simstore.dedupe([])) == []
    assert isinstance(unique, Sequence)
    assert ("Oats." in unique, "oats" in unique, unique.index("")) == (True, False, 2)


def test_the_least_resemblance_of_a_dedupe_is_its_threshold() -> None:
    near = [FERRY, FERRY.replace("nine", "ten")]
    assert len(simstore.dedupe(near)) == 1
    assert len(simstore.dedupe(near, min_resemblance=1)) == 2


@pytest.mark.frames
def test_a_frame_of_a_dedupe_has_a_row_for_each_text_that_is_kept() -> None:
    pytest.importorskip("pandas", reason="needs simstore[pandas]")
    frame = simstore.dedupe(["Rye.", "Oats.", "oats.", "OATS."]).to_frame()
    assert frame.to_dict("list") == {
        "place": [0, 1], "text": ["Rye.", "Oats."], "dropped_count": [0, 2],
    }  # fmt: skip
    assert list(simstore.dedupe([]).to_frame().columns) == list(frame.columns)


def test_what_is_no_list_of_texts_is_not_deduped() -> None:
    for given, words in [
        ("one text", "put it into a list"),
        ({"a": "text"}, "give its values"),
        ([("a", "text")], "number 0 is a tuple"),
        (["a", None], "number 1 is a NoneType"),
    ]:
        with pytest.raises(simstore.InvalidParameter, match=words):
            simstore.dedupe(given)


def test_a_key_that_is_not_there_is_a_key_error_with_a_readable_message() -> None:
    with simstore.Store(":memory:") as store, pytest.raises(KeyError) as caught:
        store["absent"]
    assert str(caught.value).startswith("no document has the key 'absent'; ")
    assert isinstance(caught.value, simstore.DocumentNotFound)
