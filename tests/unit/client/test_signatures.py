"""What a client and a store have in common is the same to the letter."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from simstore import Store
from simstore.client import Client

# What concerns the store as a file or as a whole, and is done where it lies.
NOT_SERVED = {
    "abort_reindex", "add_fingerprints", "backup", "build_passages", "check_options",
    "clear_rejections", "clusters", "compact", "create", "drop_clusters", "drop_passages",
    "duplicate", "evaluate", "exact_pairs", "expire", "export", "figures", "fsck",
    "import_deduped", "ingest_query", "keep_clusters",
    "known_count", "known_mark", "open", "pack", "passage_status", "path", "query_run",
    "query_runs", "reader",
    "refresh", "reindex", "remove_fingerprints", "report", "retry_rejections", "set_policy",
    "unpack", "vitals", "vocabulary", "vocabulary_status", "warm", "writer",
    "add_token", "tokens", "revoke_token", "token_book",
}  # fmt: skip
# What a server sees to by itself, or is asked for page by page.
LEFT_OUT = {
    "add": {"refresh"},
    "add_many": {"refresh", "threads"},
    "check": {"on_step", "threads"},
    "check_sources": {"threads"},
    "cluster_merges": {"after"},
    "documents": {"after"},
    "duplicates": {"after"},
    "kept_clusters": {"after"},
    "query_many": {"threads"},
    "query_sources": {"threads"},
    "rejections": {"after"},
    "remove": {"refresh", "on_refresh"},
    "story": {"on_step"},
}
# A server keeps no query runs.
OTHER_DEFAULTS = {("query_sources", "record")}
SPECIAL = {"__iter__", "__len__", "__contains__", "__enter__", "__exit__"}


def methods_of(kind: type) -> dict[str, Any]:
    return {
        name: value
        for name, value in inspect.getmembers(kind)
        if (callable(value) or isinstance(value, property))
        and (not name.startswith("_") or name in SPECIAL)
    }


def test_every_method_of_a_store_is_served_or_said_not_to_be() -> None:
    stored, served = set(methods_of(Store)), set(methods_of(Client))
    assert served - stored == set()
    assert stored - served == NOT_SERVED


@pytest.mark.parametrize("name", sorted(methods_of(Client)))
def test_a_method_takes_and_returns_what_that_of_a_store_does(name: str) -> None:
    ours, theirs = (inspect.signature(methods_of(kind)[name]) for kind in (Client, Store))
    assert ours.return_annotation == theirs.return_annotation
    left_out = LEFT_OUT.get(name, set())
    expected = {n: p for n, p in theirs.parameters.items() if n not in left_out}
    assert left_out <= set(theirs.parameters)
    assert list(ours.parameters) == list(expected)
    for parameter, its in expected.items():
        mine = ours.parameters[parameter]
        assert mine.kind == its.kind
        if (name, parameter) not in OTHER_DEFAULTS:
            assert mine.default == its.default
        # What is done in steps there is told of by the same name.
        progress = {"Progress | None", "Callable[[int, int], None] | None"}
        assert mine.annotation == its.annotation or {mine.annotation, its.annotation} == progress
