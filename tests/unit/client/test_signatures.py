"""What a client and a store have in common is the same to the letter."""

from __future__ import annotations

import inspect
import re
from functools import partial
from typing import Any, get_type_hints

import pytest

from simstore import Client, NotServed, Store

# What concerns the store as a file or as a whole, and is done where it lies.
NOT_SERVED = {
    "expire", "export", "report",
    "evaluate.exact_pairs", "evaluate.run", "fingerprints.add", "fingerprints.reader",
    "fingerprints.remove", "passages.build", "passages.status", "tokens.add",
    "tokens.book", "tokens.list", "tokens.revoke", "vocabulary.refresh", "vocabulary.set_policy",
    "vocabulary.status", "vocabulary.terms",
    "clusters.build", "clusters.drop", "clusters.once", "duplicates.of", "filters.known_count",
    "filters.known_mark", "rejects.clear", "runs.writer",
    "maintenance.abort_reindex", "maintenance.check_file", "maintenance.check_options",
    "maintenance.compact", "maintenance.fsck",
    "maintenance.import_deduped", "maintenance.quick_stats",
    "maintenance.reindex",
    "maintenance.warm",
}  # fmt: skip
# What reads a list that is not served, and so is not.
OF_NOT_SERVED = {"tokens.to_frame", "vocabulary.to_frame"}
# What a server sees to by itself, or is asked for page by page.
LEFT_OUT = {
    "add": {"refresh"},
    "clusters.list": {"after"},
    "clusters.merges": {"after"},
    "duplicates.list": {"after"},
    "duplicates.story": {"on_step"},
    "list": {"after"},
    "rejects.list": {"after"},
    "remove": {"refresh", "on_refresh"},
}
SPECIAL = {"__getitem__", "__iter__", "__len__", "__contains__", "__enter__", "__exit__"}


NAMESPACES = (
    "clusters", "duplicates", "evaluate", "filters", "fingerprints", "maintenance", "passages",
    "rejects", "runs", "tokens", "vocabulary",
)  # fmt: skip


def methods_of(kind: type) -> dict[str, Any]:
    """Return the public methods of a store or a client, those of namespaces by dotted names."""
    found = {}
    for name, value in inspect.getmembers(kind):
        if name in NAMESPACES:
            space = value if isinstance(value, type) else get_type_hints(value.fget)["return"]
            members = inspect.getmembers(space, callable)
            paths = inspect.getmembers(space, lambda one: isinstance(one, property))
            found |= {
                f"{name}.{each}": method
                for each, method in [*members, *paths]
                if not each.startswith("_")
            }
        elif not name.startswith("_") or name in SPECIAL:
            found[name] = value
    return found


def test_every_method_of_a_store_is_served_or_said_not_to_be() -> None:
    stored, served = set(methods_of(Store)), set(methods_of(Client))
    assert served - stored == set()
    assert stored - served == {"create", "open"}


def test_a_method_takes_and_returns_what_that_of_a_store_does() -> None:
    for name in sorted(set(methods_of(Client)) - NOT_SERVED - {"maintenance.path"}):
        ours, theirs = (inspect.signature(methods_of(kind)[name]) for kind in (Client, Store))
        # A class with a method `list` says `builtins.list` of the type.
        returned = (one.return_annotation.replace("builtins.", "") for one in (ours, theirs))
        assert next(returned) == next(returned)
        left_out = LEFT_OUT.get(name, set())
        expected = {n: p for n, p in theirs.parameters.items() if n not in left_out}
        assert left_out <= set(theirs.parameters)
        assert list(ours.parameters) == list(expected), name
        for parameter, its in expected.items():
            mine = ours.parameters[parameter]
            assert (mine.kind, mine.default) == (its.kind, its.default), (name, parameter)
            # What is done in steps there is told of by the same name.
            progress = {"Progress | None", "Callable[[int, int], None] | None"}
            kinds = {mine.annotation, its.annotation}
            assert len(kinds) == 1 or kinds == progress, (name, parameter)


def test_what_a_server_does_not_serve_is_said_by_name() -> None:
    for name in sorted(NOT_SERVED):
        *spaces, member = name.split(".")
        found: Any = Client("http://127.0.0.1:1")
        for space in spaces:
            found = getattr(found, space)
        with pytest.raises(NotServed, match=re.escape(name)):
            getattr(found, member)("any", thing=1)


def test_a_frame_of_what_is_not_served_is_not_either() -> None:
    for name in sorted(OF_NOT_SERVED):
        space, _, member = name.partition(".")
        found: Any = getattr(Client("http://127.0.0.1:1"), space)
        for ask in (getattr(found, member), partial(list, found)):
            with pytest.raises(NotServed, match=rf"{space}\.(list|terms)"):
                ask()


def test_where_the_file_is_is_not_served() -> None:
    with pytest.raises(NotServed, match=r"maintenance\.path"):
        _ = Client("http://127.0.0.1:1").maintenance.path


def test_a_name_that_no_store_has_is_an_attribute_error() -> None:
    client = Client("http://127.0.0.1:1")
    assert not hasattr(client, "find")
    assert not hasattr(client.clusters, "find")
