"""Every public value goes over the wire and comes back the same."""

import dataclasses
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore import model
from simstore.errors import InvalidParameter
from simstore.wire import decoded, encoded, from_wire, to_wire

KINDS = [
    getattr(model, name)
    for name in sorted(model.__all__)
    # What an upgrade says of its backup stays on the machine where it lies.
    if dataclasses.is_dataclass(getattr(model, name)) and name != "UpgradeSummary"
]
# Texts as the store has them: bytes that are not UTF-8 are surrogate escapes.
TEXTS = st.one_of(
    st.binary(max_size=12).map(lambda data: data.decode("utf-8", "surrogateescape")),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), NUMBERS, st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)),
    max_leaves=5,
)


def values_of(kind: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a type as it is written in a dataclass; made here, not by the code under test."""
    origin, inside = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        hints = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
        return st.builds(kind, **{name: values_of(hint, depth) for name, hint in hints.items()})
    if origin is Literal:
        return st.sampled_from(inside)
    if origin is tuple and inside[1:] == (...,):
        # Strings within lists of lists are those of options: conditions on metadata.
        inner = PLAIN if depth and inside[0] is str else values_of(inside[0], depth + 1)
        return st.lists(inner, max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(PLAIN if kind is str else values_of(kind, depth + 1) for kind in inside))
    if origin is Mapping:
        return st.dictionaries(PLAIN, JSON if inside[1] is Any else values_of(inside[1], 1))
    if timedelta in inside:
        # A time, which options hold in seconds however it is given.
        return st.one_of(st.none(), st.integers(0, 2**37))
    if origin is not None:
        return st.one_of(*(PLAIN if depth and k is str else values_of(k, depth) for k in inside))
    plain = {
        str: TEXTS, int: st.integers(), float: NUMBERS, bool: st.booleans(), type(None): st.none(),
        bytes: st.binary(max_size=12),
    }  # fmt: skip
    return plain[kind]


def test_every_public_value_is_tested():
    assert len(KINDS) > 35


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_value_comes_back_the_same_and_a_field_of_another_kind_is_refused(kind):
    @settings(max_examples=20)
    @given(values_of(kind), st.data())
    def check(value, data):
        line = encoded(to_wire(value))
        assert b"\n" not in line
        assert from_wire(kind, decoded(line)) == value
        record = to_wire(value)
        name = data.draw(st.sampled_from(sorted(record)))
        hint = get_type_hints(kind).get(name)
        if hint is None or hint is Any or Mapping in map(get_origin, (hint, *get_args(hint))):
            return
        record[name] = {"another": "kind"}
        record.pop(f"{name}_base64", None)
        with pytest.raises(InvalidParameter, match=name):
            from_wire(kind, record)

    check()


@pytest.mark.slow
@settings(max_examples=300)
@given(kind=st.sampled_from(KINDS), junk=JSON)
def test_a_value_of_no_such_kind_is_refused_or_taken_whole(kind, junk):
    found, refused = None, "-"
    try:
        found = from_wire(kind, junk)
    except InvalidParameter as error:
        refused = str(error)
    assert refused.isprintable()
    if found is not None:
        assert from_wire(kind, decoded(encoded(to_wire(found)))) == found


@given(values_of(model.Match))
def test_fields_of_a_newer_service_are_passed_over_where_that_is_wanted(match):
    record = {**to_wire(match), "colour": "red"}
    assert from_wire(model.Match, record, lenient=True) == match
    with pytest.raises(InvalidParameter, match="colour"):
        from_wire(model.Match, record)


def test_what_is_not_utf8_is_shown_and_kept():
    seen = model.Document("caf\udce9", "Río \udcff", links=("a", "b\udc80"))
    record = to_wire(seen)
    assert (record["key"], record["key_base64"]) == ("caf\\xe9", "Y2Fm6Q==")
    assert record["links"] == ["a", "b\\x80"]
    # Readers that know only UTF-8 can read it.
    assert json.loads(encoded(record).decode("utf-8")) == record


@dataclasses.dataclass(frozen=True)
class Asked:
    """Strings that need not be there, as requests have them."""

    names: tuple[str, ...] | None = None
    others: list[str] | None = None


@given(st.builds(Asked, st.none() | st.lists(TEXTS).map(tuple), st.none() | st.lists(TEXTS)))
def test_strings_that_need_not_be_there_come_back_the_same(asked):
    assert from_wire(Asked, decoded(encoded(to_wire(asked)))) == asked


def test_half_a_character_of_json_is_no_byte():
    document = from_wire(model.Document, json.loads('{"key": "caf\\udce9", "text": "\\ud800"}'))
    assert (document.key, document.text) == ("caf\ufffd", "\ufffd")


def test_half_a_character_has_no_bytes():
    with pytest.raises(InvalidParameter, match="half a character"):
        to_wire(model.Document("a", "\ud800"))


def test_defaults_may_be_left_out_and_what_has_none_not():
    assert from_wire(model.QueryOptions, {}) == model.QueryOptions()
    with pytest.raises(InvalidParameter, match="text: the field is missing"):
        from_wire(model.Document, {"key": "a"})


def test_what_is_wrong_is_said_with_its_place():
    for kind, value, message in (
        (model.QueryOptions, {"radius": True}, "radius: a whole number is needed, not True"),
        (model.QueryOptions, {"radius": 3.0}, "radius: a whole number"),
        (model.QueryOptions, {"plan": "guess"}, "plan: 'guess': choose one of auto"),
        (model.QueryOptions, {"where": [["a"]]}, r"where\[0\]: a list of 2"),
        (model.CheckOptions, {"high": "much"}, "high: a number is needed, not a string of 4"),
        (model.CheckOptions, {"exclude": "a"}, "exclude: a list is needed"),
        (model.Document, {"key": "a", "text_base64": "?"}, "text_base64: base64 is needed"),
        (model.QueryOptions, {"radius_base64": "Mw=="}, "radius_base64: there is no such field"),
        (list[model.Match], {}, "the value: a list is needed, not an object of 0"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            from_wire(kind, value)


def test_what_is_no_json_is_refused():
    for data in (b"", b"{", b"[NaN]", b"\xff", b"[" * 100_000):
        with pytest.raises(InvalidParameter, match="not JSON"):
            decoded(data)


def test_a_number_without_a_form_in_json_is_refused():
    with pytest.raises(InvalidParameter, match="no form"):
        encoded({"a": float("inf")})
