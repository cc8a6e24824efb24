"""The model of the campaign with load: what senders were told, held against a store."""

from __future__ import annotations

import random

import pytest

from simstore.services.maintenance.scheme_choice import SchemeChoice, make_scheme

from .load_ledger import Found, Held, Ledger, judge
from .load_sender import text_of


def ledger_of(**told: str) -> Ledger:
    """Return the ledger of a sender whose documents were all added."""
    ledger = Ledger("one")
    ledger.added("request", told, dict.fromkeys(told, "added"))
    return ledger


def found(duplicates: dict[str, str] | None = None, **documents: tuple[str, int]) -> Found:
    return Found({key: Held(*held) for key, held in documents.items()}, duplicates or {})


def test_store_that_has_what_was_acknowledged_is_right() -> None:
    assert judge([ledger_of(a="x", b="y")], found(a=("x", 1), b=("y", 1))) == []


def test_acknowledged_document_that_is_lost_is_a_fault() -> None:
    [fault] = judge([ledger_of(a="x", b="y")], found(a=("x", 1)))
    assert "b: acknowledged as revision 1 'y', and is absent" in fault


def test_document_with_another_text_or_revision_is_a_fault() -> None:
    assert len(judge([ledger_of(a="x")], found(a=("z", 1)))) == 1
    assert len(judge([ledger_of(a="x")], found(a=("x", 2)))) == 1


def test_document_that_nobody_sent_is_a_fault() -> None:
    [fault] = judge([ledger_of(a="x")], found(a=("x", 1), b=("y", 1)))
    assert "nobody sent ['b']" in fault


def test_removed_document_that_is_there_is_a_fault() -> None:
    ledger = ledger_of(a="x")
    ledger.removed("removal", ["a"], 1)
    assert judge([ledger], found()) == []
    assert len(judge([ledger], found(a=("x", 1)))) == 1


def test_request_that_was_done_twice_is_told_by_its_outcome() -> None:
    ledger = Ledger("one")
    ledger.added("request", {"a": "x"}, {"a": "unchanged"})
    [fault] = judge([ledger], found(a=("x", 1)))
    assert "('unchanged', 'added')" in fault
    ledger = ledger_of(a="x")
    ledger.removed("removal", ["a"], 0)
    [fault] = judge([ledger], found())
    assert "removed 0, and there were 1" in fault


def test_request_whose_answer_was_lost_is_done_as_a_whole_or_not_at_all() -> None:
    ledger = ledger_of(a="x")
    ledger.lost("batch", ledger.after({"a": "z", "b": "y"}))
    assert judge([ledger], found(a=("x", 1))) == []
    assert judge([ledger], found(a=("z", 2), b=("y", 1))) == []
    for partly in (found(a=("z", 2)), found(a=("x", 1), b=("y", 1)), found()):
        [fault] = judge([ledger], partly)
        assert "neither done nor not done" in fault


def test_keys_of_a_lost_request_are_left_alone() -> None:
    ledger = ledger_of(a="x", b="y")
    ledger.lost("batch", ledger.after({"a": "z"}))
    assert ledger.keys() == ["b"]


def test_documents_that_were_looked_for_are_as_they_were_told() -> None:
    ledger = Ledger("one")
    told = {"a": "added", "b": "flagged", "c": "skipped"}
    ledger.added_if_new({"a": "x", "b": "y", "c": "z"}, told)
    held = {"b": "flagged", "c": "skipped"}
    assert judge([ledger], found(held, a=("x", 1), b=("y", 1))) == []
    assert len(judge([ledger], found(held, a=("x", 1), b=("y", 1), c=("z", 1)))) == 1
    assert len(judge([ledger], found({"c": "skipped"}, a=("x", 1), b=("y", 1)))) == 1
    assert len(judge([ledger], found(held, b=("y", 1)))) == 1


def test_lost_documents_that_were_looked_for_are_all_decided_or_none() -> None:
    ledger = Ledger("one")
    ledger.lost("batch", ledger.after({"a": "x", "b": "y"}), checked=True)
    assert judge([ledger], found()) == []
    assert judge([ledger], found({"b": "skipped"}, a=("x", 1))) == []
    assert len(judge([ledger], found(a=("x", 1)))) == 1


@pytest.mark.parametrize("scheme", ["web", "simtool"])
def test_texts_are_of_many_words_for_each_scheme(scheme: str) -> None:
    # Were they all alike for a scheme, a text would be found whatever is searched.
    chance = random.Random(1)
    counts = make_scheme(SchemeChoice(scheme)).count([text_of(chance) for _ in range(200)])
    assert len(counts.terms) >= 600
