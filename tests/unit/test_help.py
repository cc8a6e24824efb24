"""``help()`` of the public API fits 80 columns, and says what methods return and raise."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Iterator
from typing import Any

from public_names import NAMES

import simstore
from simstore import Client, Store
from simstore.client.namespaces import RemoteNamespace

NAMESPACES = (
    "clusters", "duplicates", "evaluate", "filters", "fingerprints", "maintenance", "passages",
    "rejects", "runs", "tokens", "vocabulary",
)  # fmt: skip
# `help` indents what a function says by 4, and what a method says by 8 in the help of its class.
OF_ALL, OF_A_METHOD = 76, 72


def functions_of(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public functions of a class that are ours, and their names."""
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        found = found.fget if isinstance(found, property) else found
        function = inspect.unwrap(getattr(found, "__func__", found))
        is_public = not name.startswith("_") or name == "__init__"
        if is_public and inspect.isfunction(function) and is_ours(function):
            yield f"{kind.__name__}.{name}", function


def is_ours(found: Any) -> bool:
    return str(getattr(found, "__module__", "")).startswith("simstore")


SPACES = [getattr(Store, name) for name in NAMESPACES]
KINDS = {
    kind: kind.__name__
    for kind in [
        *(getattr(simstore, name) for name in NAMES),
        *SPACES,
        *RemoteNamespace.__subclasses__(),
    ]
    if inspect.isclass(kind) and is_ours(kind)
}
TEXTS: dict[str, tuple[Any, int]] = {"simstore": (simstore, OF_ALL)}
for each in (getattr(simstore, name) for name in NAMES):
    if inspect.isfunction(each):
        TEXTS[each.__name__] = (each, OF_ALL)
for kind, name in KINDS.items():
    # Of a namespace `help` of the store tells too.
    TEXTS[name] = (kind, OF_A_METHOD if kind in SPACES else OF_ALL)
    TEXTS |= {method: (function, OF_A_METHOD) for method, function in functions_of(kind)}


def test_everything_public_is_looked_at() -> None:
    assert {"Store.query", "Client.query", "Clusters.of", "RemoteClusters.of", "QueryOptions"} <= {
        *TEXTS
    }
    assert len(TEXTS) > 400


def test_what_is_said_of_everything_public_fits_80_columns() -> None:
    too_long = {
        name: line
        for name, (found, width) in TEXTS.items()
        for line in (inspect.getdoc(found) or "").splitlines()
        if len(line) > width
    }
    assert too_long == {}


def test_help_of_the_package_begins_with_a_screen_that_fits() -> None:
    description = pydoc.plain(pydoc.render_doc(simstore)).partition("PACKAGE CONTENTS")[0]
    assert "DESCRIPTION" in description
    assert [line for line in description.splitlines() if len(line) > 80] == []
    assert len(description.splitlines()) < 60


def test_help_of_a_class_fits_but_for_signatures() -> None:
    """Python writes a signature in one line before 3.13; no text of ours is in it."""
    for kind in [Store, *SPACES]:
        lines = pydoc.plain(pydoc.render_doc(kind)).splitlines()[1:]
        signature = re.compile(r"^( \|  )?(class |\w+ = )?\w+\(.*\)")
        assert [line for line in lines if len(line) > 80 and not signature.match(line)] == []


RETURNING = {
    name: function
    for kind in (Store, Client, *SPACES)
    for name, function in functions_of(kind)
    if function.__annotations__.get("return") not in ("None", "Never")
}


def test_a_method_says_what_it_returns() -> None:
    for name in RETURNING:
        text = inspect.getdoc(RETURNING[name]) or ""
        summary = text.partition("\n")[0]
        is_said = re.search(r"^(Returns|Yields):$|As :meth:`simstore.Store", text, re.M)
        is_a_thing = isinstance(
            inspect.getattr_static(kind_of(name), name.partition(".")[2]), property
        )
        opens = name in ("Store.open", "Store.create")
        assert is_said or is_a_thing or opens or re.match("Return |Yield |.*; return ", summary), (
            text
        )


def kind_of(name: str) -> type:
    wanted = name.partition(".")[0]
    return next(kind for kind in (Store, Client, *SPACES) if kind.__name__ == wanted)


EVERYDAY = (
    "add", "add_many", "ingest", "query", "query_many", "check", "check_many", "compare", "get",
    "list", "remove", "expire", "seen", "export", "stats", "report",
)  # fmt: skip


def test_the_everyday_verbs_have_a_section_of_what_they_return() -> None:
    for name in EVERYDAY:
        text = inspect.getdoc(getattr(Store, name)) or ""
        assert re.search(r"^(Returns|Yields):$", text, re.M)
        # What can be given wrong is named.
        assert name in ("add", "list", "stats") or "Raises:" in text
