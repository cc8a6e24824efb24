"""Requests that are committed together do what they do one after the other, each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore.errors import DocumentNotFound
from simstore.model import Document, RemoveRequest, WriteReply, WriteRequest
from simstore.services.ingest.write_groups import Reply, Request
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

from .state import state_of
from .strategies import cuts_of, parts_of
from .test_batches import new_store
from .test_check_insert import KEYS, LEAST, PAGES, THREE_BITS, Plain, assert_is

few = settings(max_examples=max(settings.default.max_examples // 2, 1))
MODES = st.sampled_from(["keep", "flag", "skip"])
WRITES = st.builds(
    lambda pages, mode: WriteRequest(tuple(Document(key, text) for key, text in pages[:4]), mode),
    PAGES,
    MODES,
)
REMOVALS = st.builds(
    RemoveRequest,
    st.lists(st.sampled_from(KEYS), max_size=2).map(tuple),
    st.booleans(),
)
REQUESTS = st.lists(WRITES | WRITES | REMOVALS, max_size=9)
SCHEMES = st.sampled_from(
    [
        SchemeChoice("web"),
        SchemeChoice("simtool", bits=24, features=4),
        SchemeChoice("web", bits=24, weights="tf-idf"),
    ]
)


def told(replies: Sequence[Reply]) -> list[Any]:
    """Return replies without what the time or the number of a run has to do with."""
    return [
        (type(one).__name__, str(one))
        if isinstance(one, Exception)
        else (
            one.removed,
            [(each.key, each.outcome, each.same_text_as) for each in one.outcomes],
            one.orphans,
            one.unflagged,
        )
        for one in replies
    ]


def duplicates_of(store: Store) -> list[Any]:
    return [
        (one.key, one.state, one.original, one.distance, one.resemblance, one.digest)
        for one in store.duplicates.list()
    ]


@pytest.mark.slow
@few
@given(REQUESTS, st.data(), SCHEMES)
def test_how_requests_are_grouped_changes_nothing(
    requests: list[Request], data: st.DataObject, scheme: SchemeChoice
) -> None:
    outcomes = []
    groupings = [[[one] for one in requests], parts_of(requests, data.draw(cuts_of(len(requests))))]
    for groups in groupings:
        with new_store(scheme) as (_, store):
            replies: list[Reply] = []
            with store.runs.writer() as writer:
                for group in groups:
                    if group:
                        checked = [writer.checked(one) for one in group]
                        replies += writer.commit(writer.prepare(checked))
            store.vocabulary.refresh()
            assert store.maintenance.fsck() == []
            outcomes.append((told(replies), state_of(store), duplicates_of(store)))
            runs = store.runs.ingest()
            assert all(run.state == "finished" for run in runs)
            assert len(runs) <= 1
    assert outcomes[0] == outcomes[1]


@pytest.mark.slow
@few
@given(REQUESTS, st.data(), LEAST)
def test_groups_do_what_the_rule_says(
    requests: list[Request], data: st.DataObject, least: Fraction
) -> None:
    plain = Plain(least)

    def expected(request: Request) -> Any:
        if isinstance(request, RemoveRequest):
            keys = list(dict.fromkeys(request.keys))
            held = [key for key in keys if key in plain.texts or key in plain.duplicates]
            if held != keys and not request.missing_ok:
                return DocumentNotFound
            for key in held:
                if key in plain.texts:
                    plain.remove(key)
                else:
                    plain.duplicates.pop(key)
            return len(held), []
        pages = [(one.key, one.text) for one in request.documents]
        return 0, [plain.add(key, text, request.on_duplicate) for key, text in pages]

    with new_store(THREE_BITS) as (_, store), store.runs.writer() as writer:
        for group in parts_of(requests, data.draw(cuts_of(len(requests)))):
            asked: list[Request] = [
                replace(one, min_resemblance=float(least)) if isinstance(one, WriteRequest) else one
                for one in group
            ]
            for request, reply in zip(asked, writer.commit(writer.prepare(asked)), strict=True):
                made = (
                    (reply.removed, [one.outcome for one in reply.outcomes])
                    if isinstance(reply, WriteReply)
                    else type(reply)
                )
                assert made == expected(request)
            assert_is(store, plain)


def test_an_uncovered_key_is_told_of_though_it_comes_again_in_the_group() -> None:
    old, new = " ".join(f"old{n}" for n in range(20)), " ".join(f"new{n}" for n in range(20))
    requests = [
        WriteRequest((Document("a", old), Document("b", old), Document("a", new)), "skip"),
        WriteRequest((Document("b", "river stone lamp harbour bridge tide mill"),), "skip"),
    ]
    replies = []
    for groups in ([requests], [[one] for one in requests]):
        with new_store(SchemeChoice("web")) as (_, store), store.runs.writer() as writer:
            replies.append([one for group in groups for one in writer.write(group)])
    assert [one.uncovered for one in replies[1] if isinstance(one, WriteReply)] == [("b",), ()]
    assert told(replies[0]) == told(replies[1])
