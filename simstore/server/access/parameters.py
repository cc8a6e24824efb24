"""Parse the query string of an address."""

from __future__ import annotations

from collections.abc import Collection

from starlette.requests import Request

from simstore.errors import MalformedRequest


def check_parameters(request: Request, known: Collection[str]) -> None:
    """Refuse a parameter that is not known: it is meant to change something, and would not.

    Args:
        request: The request.
        known: The names of those that the route takes.

    Raises:
        MalformedRequest: There is another.
    """
    for name in request.query_params:
        if name not in known:
            takes = f"; it takes {', '.join(sorted(known))}" if known else ""
            raise MalformedRequest(f"query.{name[:40]}", f"there is no such parameter{takes}")
