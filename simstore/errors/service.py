"""Exceptions of a server (limits, rights, conflicts, malformed requests) and of Spark jobs."""

from __future__ import annotations

from simstore.errors.base import (
    BadInput,
    Denied,
    InvalidParameter,
    NotFound,
    SimstoreError,
    Unavailable,
)
from simstore.errors.printing import printable


class MethodNotAllowed(InvalidParameter):
    """The address exists, but not for this HTTP method."""

    http_status = 405

    def __init__(self, method: str, path: str, allowed: str) -> None:
        self.method = method
        self.path = path
        self.allowed = allowed
        super().__init__(f"{printable(path)} takes no {printable(method)}; it takes {allowed}")


class NotServed(InvalidParameter):
    """A store can do this, but a server does not offer it."""

    http_status = 501

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what}: not over a server; do it where the store is, with --db")


class Unauthorized(Denied):
    """A server needs a valid token and got none."""

    http_status = 401

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{reason}; send a token, `Authorization: Bearer sst_...`; "
            "`simstore token add` on the server makes one"
        )


class Forbidden(Denied):
    """The token is valid, but not for this request."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class RouteNotFound(NotFound):
    """A server has nothing at this address."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"nothing is at {printable(path)}; /openapi.json lists what there is")


class MalformedRequest(BadInput):
    """A request is not of the form that a server reads.

    Attributes:
        place: Where in the request, as ``body`` or ``query.limit``.
        reason: What is wrong there.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{printable(place)}: {printable(reason)}")


class TooLarge(BadInput):
    """A request is larger than a server accepts."""

    http_status = 413

    def __init__(self, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        super().__init__(f"{what}: at most {limit:,} at once; send it in parts")


class ProtocolError(BadInput):
    """The received bytes are no HTTP request that the server accepts."""

    http_status = 400

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the request is refused: {printable(reason)}")


class HeadTooLarge(BadInput):
    """The request line and header fields are longer than a server accepts."""

    http_status = 431

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the head of the request is longer than {limit:,} bytes; send less in it")


class UnsupportedMedia(BadInput):
    """The body of a request has a media type that a server does not read here."""

    http_status = 415

    def __init__(self, kind: str, accepted: str) -> None:
        self.kind = kind
        self.accepted = accepted
        super().__init__(f"a body of {printable(kind)!r} is not read here; send {accepted}")


class Overloaded(Unavailable):
    """More requests are waiting than a server accepts."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(
            f"more is waiting than can be taken on; nothing was changed, try again in "
            f"{retry_after:g} s",
            retry_after,
        )


class Stopping(Unavailable):
    """A server is stopping and accepts no new requests."""

    def __init__(self, retry_after: float = 5) -> None:
        super().__init__(
            "the server stops and takes nothing new; what it acknowledged is stored: try again "
            "when it is back",
            retry_after,
        )


class RateLimited(Unavailable):
    """The caller has sent too many requests."""

    http_status = 429

    def __init__(self, retry_after: float, what: str = "requests") -> None:
        self.what = what
        super().__init__(f"too many {what}; try again in {retry_after:g} s", retry_after)


class ServerUnreachable(Unavailable):
    """No server answers at this address."""

    http_status = 502

    def __init__(self, url: str, reason: str) -> None:
        self.url = url
        self.reason = reason
        super().__init__(
            f"no server answers at {printable(url)} ({printable(reason)}); is `simstore serve` "
            "running there?"
        )


class BadReply(Unavailable):
    """The answering server is no simstore server, or one of another version."""

    http_status = 502

    def __init__(self, url: str, reason: str) -> None:
        self.url = url
        self.reason = reason
        super().__init__(
            f"{printable(url)} does not answer as a simstore server does: {printable(reason)}"
        )


class TimedOut(Unavailable, TimeoutError):
    """A request took longer than the server or the caller allows."""

    http_status = 504

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"it was not done in {seconds:g} s; ask for less, or set a longer time")


class TooSlow(Unavailable, TimeoutError):
    """The body of a request did not arrive in the time that a server allows."""

    http_status = 408

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"the body of the request did not come within {seconds:g} s; send it anew")


class JobFailed(SimstoreError):
    """A Spark job failed; the output of earlier runs is unchanged.

    Attributes:
        reason: What Spark, or the code on an executor, says.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the job failed: {printable(reason)}; what was there before is unchanged, and the "
            "same command begins anew"
        )
