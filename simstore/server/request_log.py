"""Log each request in one line, without what was sent: who asked for what, and how it ended."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simstore.errors import Denied, SimstoreError, Unavailable, printable

if TYPE_CHECKING:
    from starlette.types import Scope

# Characters of an address or a path.
_LONGEST = 300
# What follows is known to nobody but whose report it is.
_REPORTS = "/report/"
# The level of a line by the status of the reply; below all of them: information.
_ERRORS_FROM = 500
_BUSY = 503
_REFUSED = frozenset((401, 403, 429, _BUSY))

log = logging.getLogger("simstore")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLine:
    """A request as the log tells of it.

    >>> line = RequestLine(
    ...     client="192.0.2.7", token="crawler-1", method="GET", path="/v1/stats",
    ...     status=200, seconds=0.0123, request_id="8f3c", error=None)
    >>> line.text()
    '192.0.2.7 crawler-1 GET /v1/stats 200 12.3ms 8f3c'

    Attributes:
        client: Address that asks; behind a proxy that is believed the one that it names.
        token: Name of the token; None: none, or a wrong one.
        method: GET, POST and the like; empty where no request could be read.
        path: Path as it was sent, without parameters.
        status: Of the reply; 499: the sender went away.
        seconds: From the head of the request to the end of the reply.
        request_id: The number in the reply's header ``X-Request-Id``.
        error: What was replied with; None: no error.
    """

    client: str
    token: str | None
    method: str
    path: str
    status: int
    seconds: float
    request_id: str
    error: SimstoreError | None

    @property
    def reason(self) -> str | None:
        """Return why the request was refused; None: it was not, or the reason quotes the request.

        Errors of other kinds quote keys and parameters.
        """
        if not isinstance(self.error, Denied | Unavailable):
            return None
        return printable(self.error.told("http"))

    def text(self) -> str:
        """Return the line without its time."""
        client = printable(self.client)[:_LONGEST] or "-"
        line = (
            f"{client} {self.token or '-'} {self.method or '-'} {self.path or '-'} {self.status} "
            f"{1000 * self.seconds:.1f}ms {self.request_id}"
        )
        if self.error is not None:
            line += f" {type(self.error).__name__}"
            if self.reason is not None:
                line += f": {self.reason}"
        return line

    def facts(self) -> dict[str, Any]:
        """Return the fields of the line as JSON."""
        told = {
            "message": "request",
            "client": printable(self.client)[:_LONGEST],
            "token": self.token,
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "seconds": round(self.seconds, 6),
            "request_id": self.request_id,
        }
        if self.error is not None:
            told |= {"error": type(self.error).__name__, "reason": self.reason}
        return told

    def write(self) -> None:
        """Write the line, as a warning where the request was refused."""
        level = logging.INFO
        if self.status in _REFUSED or isinstance(self.error, Denied):
            level = logging.WARNING
        elif self.status >= _ERRORS_FROM:
            level = logging.ERROR
        if log.isEnabledFor(level):
            log.log(level, "%s", self.text(), extra={"facts": self.facts()})


def shown_path(scope: Scope) -> str:
    """Return the path of a request as a log may show it: percent-encoded, without parameters.

    The path of a report is a secret of who made it, where the server asks for no token.
    """
    if scope["path"].startswith(_REPORTS):
        return f"{_REPORTS}..."
    raw = scope.get("raw_path") or scope["path"].encode("utf-8", "backslashreplace")
    shown = printable(raw.partition(b"?")[0].decode("ascii", "backslashreplace"))
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def token_of(scope: Scope) -> str | None:
    """Return the name of the token that a request was sent with; None: none that is good."""
    principal = scope.get("state", {}).get("principal")
    token = getattr(principal, "token", None)
    return None if token is None else str(token.name)
