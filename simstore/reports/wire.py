"""Dataclasses as JSON values and back, for the service and its client.

A dataclass is an object with its fields by name, a tuple a list, bytes are base64. What has its
default is written too, so that a reader need not know defaults. A string that is not UTF-8 is
shown with its bytes escaped, and ``NAME_base64`` beside it has them; a list of strings the same.
Numbers are not rounded.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from simstore.errors import InvalidParameter
from simstore.reports.lines import key_text
from simstore.reports.wire_types import SUFFIX, reader_of
from simstore.text.decoding import encode

T = TypeVar("T")


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
