"""Convert dataclasses to JSON values and back, for the server and its client.

A dataclass is an object with its fields by name, a tuple a list, bytes are base64. What has its
default is written too, so that a reader need not know defaults. A string that is not UTF-8 is
shown with its bytes escaped, and ``NAME_base64`` beside it has them; a list of strings the same.
Numbers are not rounded.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import types
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from simstore.errors import InvalidParameter, printable
from simstore.reports.lines import key_text
from simstore.text.decoding import encode, well_formed

# Beside NAME, a field NAME_base64 has the bytes of what is not UTF-8.
SUFFIX = "_base64"
_SCALARS = (str, int, float, bool, type(None))
# What callers may give beside scalars, which stand for it in JSON.
_NOT_SENT = (datetime, date, timedelta)
# Takes a value, its place for messages, and whether unknown fields are passed over.
Reader = Callable[[Any, str, bool], Any]
T = TypeVar("T")


@cache
def reader_of(kind: Any) -> Reader:
    """Return the function that reads values of a type; made once per type."""
    if kind is Any:
        return lambda value, _place, _lenient: value
    if dataclasses.is_dataclass(kind):
        return _dataclass_reader(kind)
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Literal:
        return _literal_reader(inside)
    if origin in (Union, types.UnionType):
        return _union_reader(inside)
    if origin is tuple and inside[-1:] == (...,):
        return _list_reader(inside[0], tuple)
    if origin is tuple:
        return _places_reader(inside)
    if origin is list:
        return _list_reader(inside[0], list)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_reader(inside[1])
    if kind in _SCALARS:
        return _scalar_reader(kind)
    raise TypeError(f"{kind!r} has no form in JSON")


def _scalar_reader(kind: type) -> Reader:
    wanted = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
    accepted = (float, int) if kind is float else (kind,)

    def read(value: Any, place: str, _lenient: bool) -> Any:
        # By its very type: True is no number.
        if type(value) not in accepted:
            raise _wrong(place, wanted.get(kind, "null"), value)
        if kind is float:
            try:
                return float(value)
            except OverflowError:
                raise InvalidParameter(f"{place or 'the value'}: too large a number") from None
        # Half a character of JSON must not be taken for a byte that is not UTF-8.
        return well_formed(value) if kind is str else value

    return read


def _literal_reader(choices: tuple[Any, ...]) -> Reader:
    shown = ", ".join(map(str, choices))

    def read(value: Any, place: str, _lenient: bool) -> Any:
        if type(value) not in {type(choice) for choice in choices} or value not in choices:
            told = value if isinstance(value, str) and len(value) < 40 else type(value).__name__
            raise InvalidParameter(
                f"{place or 'the value'}: {printable(str(told))!r}: choose one of {shown}"
            )
        return value

    return read


def _union_reader(kinds: tuple[Any, ...]) -> Reader:
    optional = type(None) in kinds
    others = [kind for kind in kinds if kind is not type(None)]
    takes_mapping = len(others) > 1 and any(get_origin(kind) is Mapping for kind in others)
    if takes_mapping:
        others = [kind for kind in others if get_origin(kind) is not Mapping]
    if len(others) == 1:
        inner = reader_of(others[0])

        def read(value: Any, place: str, lenient: bool) -> Any:
            if takes_mapping and isinstance(value, dict):
                # An object may be given for pairs; pairs are sent.
                value = [list(pair) for pair in value.items()]
            return None if value is None and optional else inner(value, place, lenient)

        return read
    if not all(kind in _SCALARS or kind in _NOT_SENT for kind in others):
        raise TypeError(f"{kinds!r}: only scalars can stand for one another")

    def read_scalar(value: Any, place: str, _lenient: bool) -> Any:
        if type(value) not in kinds:
            raise _wrong(place, "another kind of value", value)
        return well_formed(value) if type(value) is str else value

    return read_scalar


def _list_reader(kind: Any, made: type) -> Reader:
    inner = reader_of(kind)

    def read(value: Any, place: str, lenient: bool) -> Any:
        if not isinstance(value, list):
            raise _wrong(place, "a list", value)
        return made(inner(item, f"{place}[{n}]", lenient) for n, item in enumerate(value))

    return read


def _places_reader(kinds: tuple[Any, ...]) -> Reader:
    inner = [reader_of(kind) for kind in kinds]

    def read(value: Any, place: str, lenient: bool) -> Any:
        if not isinstance(value, list) or len(value) != len(inner):
            raise _wrong(place, f"a list of {len(inner)}", value)
        return tuple(
            reader(item, f"{place}[{n}]", lenient)
            for n, (reader, item) in enumerate(zip(inner, value, strict=True))
        )

    return read


def _mapping_reader(kind: Any) -> Reader:
    inner = reader_of(kind)

    def read(value: Any, place: str, lenient: bool) -> Any:
        if not isinstance(value, dict):
            raise _wrong(place, "an object", value)
        return {name: inner(item, _within(place, name), lenient) for name, item in value.items()}

    return read


def _within(place: str, name: str) -> str:
    shown = printable(name)
    return f"{place}.{shown}" if place else shown


def _dataclass_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    fields = [field for field in dataclasses.fields(kind) if field.init]
    readers = {field.name: _field_reader(hints[field.name]) for field in fields}
    needed = [
        field.name
        for field in fields
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    in_bytes = (name for name in readers if _has_bytes(hints[name]))
    known = {*readers, *(name + SUFFIX for name in in_bytes)}

    def read(value: Any, place: str, lenient: bool) -> Any:
        if not isinstance(value, dict):
            raise _wrong(place, "an object", value)
        if not lenient and (strange := sorted(value.keys() - known)):
            shown = printable(_within(place, strange[0][:40]))
            raise InvalidParameter(f"{shown}: there is no such field")
        taken = {
            name: reader(value, name, _within(place, name), lenient)
            for name, reader in readers.items()
            if name in value or name + SUFFIX in value
        }
        for name in needed:
            if name not in taken:
                raise InvalidParameter(f"{_within(place, name)}: the field is missing")
        return kind(**taken)

    return read


def _choices(kind: Any) -> tuple[Any, ...]:
    """Return the types that a field may have."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _has_bytes(kind: Any) -> bool:
    """Return whether bytes may stand beside a field."""
    return any(each in (str, bytes, list[str], tuple[str, ...]) for each in _choices(kind))


def _field_reader(kind: Any) -> Callable[[dict[str, Any], str, str, bool], Any]:
    """Return what reads a field of an object: its value, or the bytes beside it."""
    if kind is bytes:
        return lambda record, name, place, _lenient: _bytes(record.get(name + SUFFIX), place)
    inner = reader_of(kind)
    choices = _choices(kind)
    one = str in choices
    many = next(
        (get_origin(each) for each in choices if each in (list[str], tuple[str, ...])), None
    )

    def read(record: dict[str, Any], name: str, place: str, lenient: bool) -> Any:
        held = record.get(name + SUFFIX)
        if held is None or not (one or many):
            return inner(record.get(name), place, lenient)
        if one:
            return _bytes(held, place + SUFFIX).decode("utf-8", "surrogateescape")
        if many is None or not isinstance(held, list):
            raise _wrong(place + SUFFIX, "a list", held)
        return many(
            _bytes(item, place + SUFFIX).decode("utf-8", "surrogateescape") for item in held
        )

    return read


def _bytes(value: Any, place: str) -> bytes:
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        pass
    raise _wrong(place, "base64", value)


def _wrong(place: str, wanted: str, value: Any) -> InvalidParameter:
    shown = f" of {len(value):,}" if isinstance(value, str | list | dict) else f" {value!r}"
    kind = {str: "a string", list: "a list", dict: "an object", type(None): "null"}.get(type(value))
    told = kind + shown if kind and value is not None else (kind or shown.strip())
    return InvalidParameter(f"{place or 'the value'}: {wanted} is needed, not {told}")


def to_wire(value: Any) -> Any:
    """Return a value as JSON values: a dataclass, or scalars, lists and mappings, with such inside.

    Raises:
        InvalidParameter: A string holds half a character, which has no bytes.
        TypeError: It holds something else.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_wire_fields((name, getattr(value, name)) for name in _names(type(value)))
    if isinstance(value, Mapping):
        return {name: to_wire(item) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [to_wire(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def to_wire_fields(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return names and values as the fields of an object; as :func:`to_wire` of a dataclass."""
    record: dict[str, Any] = {}
    for name, value in fields:
        _put(record, name, value)
    return record


def from_wire(kind: type[T], value: Any, *, lenient: bool = False) -> T:
    """Return the value of a type that JSON values stand for; each of them is checked.

    Args:
        kind: A dataclass, or a list, tuple or mapping of such, a literal, a scalar.
        value: What :func:`to_wire` returns for it. Fields with a default may be left out.
        lenient: Pass over fields that the type has not, as a newer service may send them.

    Raises:
        InvalidParameter: The value is none of this type; says where.
    """
    written: Any = kind
    found: T = reader_of(written)(value, "", lenient)
    return found


def encoded(value: Any) -> bytes:
    """Return JSON values as bytes, compact, in one line; :func:`decoded` reads them.

    Raises:
        InvalidParameter: A number is infinite or none at all.
    """
    try:
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            return text.encode()
        except UnicodeEncodeError:
            # Half a character within metadata: only an escape can stand for it.
            return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        raise InvalidParameter("a number that JSON has no form for: infinite, or none") from None


def decoded(data: bytes | str) -> Any:
    """Return JSON values from their bytes.

    Raises:
        InvalidParameter: They are no JSON.
    """
    try:
        return json.loads(data, parse_constant=_no_constant)
    except RecursionError:
        raise InvalidParameter("not JSON that can be used: nested too deeply") from None
    except ValueError as error:
        raise InvalidParameter(f"not JSON: {error}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _put(record: dict[str, Any], name: str, value: Any) -> None:
    if isinstance(value, bytes):
        record[name + SUFFIX] = _base64(value)
    elif isinstance(value, str):
        record[name] = value
        if not _is_utf8(value):
            record[name] = key_text(value)
            record[name + SUFFIX] = _base64(encode(value))
    elif isinstance(value, tuple | list) and value and all(isinstance(v, str) for v in value):
        record[name] = list(value)
        if not all(map(_is_utf8, value)):
            record[name] = list(map(key_text, value))
            record[name + SUFFIX] = [_base64(encode(item)) for item in value]
    else:
        record[name] = to_wire(value)


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
