"""Turn error replies of a server (problem details, RFC 9457) back into exceptions."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from simstore import errors
from simstore.errors import (
    BadInput,
    Conflict,
    InvalidParameter,
    NotFound,
    SimstoreError,
)
from simstore.errors.remedies import from_http

_TYPE = re.compile(r"urn:simstore:([A-Za-z]{1,60})")
_SUFFIX = "_base64"
_MEMBERS = frozenset(("type", "title", "status", "detail", "exit_code", "request_id"))
# What the server cannot read in a request is here what was given for a parameter.
_OTHERWISE = {"MalformedRequest": InvalidParameter}
_BY_STATUS: dict[int, type[SimstoreError]] = {
    400: InvalidParameter,
    404: NotFound,
    409: Conflict,
    422: BadInput,
}


def error_of(problem: Mapping[str, Any]) -> SimstoreError:
    """Return the error that problem details (RFC 9457) tell of.

    Its message is the server's, the remedy in the words of who uses this process; the facts are
    attributes, as if it were raised here; ``request_id`` names the request in the server's log. A
    kind of error that only a newer server knows is one of the family that its status says.
    """
    name = _TYPE.fullmatch(str(problem.get("type")))
    kind = _kind(name[1] if name else "", problem.get("status"))
    error = kind.__new__(kind)
    Exception.__init__(error, from_http(str(problem.get("detail") or kind.__name__)))
    for fact, value in problem.items():
        if fact in _MEMBERS or not fact.isidentifier() or hasattr(kind, fact):
            continue
        if not fact.endswith(_SUFFIX):
            setattr(error, fact, _exact(value, problem.get(fact + _SUFFIX)))
    error.request_id = problem.get("request_id")  # type: ignore[attr-defined]
    return error


def _kind(name: str, status: Any) -> type[SimstoreError]:
    if name in _OTHERWISE:
        return _OTHERWISE[name]
    known = getattr(errors, name, None)
    if isinstance(known, type) and issubclass(known, SimstoreError):
        return known
    return _BY_STATUS.get(status, SimstoreError)


def _exact(shown: Any, data: Any) -> Any:
    """Return a fact; from its bytes where it is a string that is not UTF-8."""
    if not isinstance(data, str):
        return shown
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "surrogateescape")
    except (ValueError, binascii.Error):
        return shown
