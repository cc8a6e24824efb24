"""The HTTP connection to a server: requests, retries, and replies as values or errors."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from simstore.client.retries import Retries, RetryLater
from simstore.errors import (
    BadReply,
    DocumentNotFound,
    InvalidParameter,
    MissingExtra,
    ServerUnreachable,
    SimstoreError,
    TimedOut,
    printable,
)
from simstore.model.arguments import CheckedArguments
from simstore.outputs import check_output, check_store_file, written
from simstore.text.decoding import encode
from simstore.version import __version__
from simstore.wire import decoded, encoded, from_wire

if TYPE_CHECKING:
    import httpx
import binascii
import re

from simstore import errors
from simstore.errors import (
    BadInput,
    Conflict,
    NotFound,
)
from simstore.errors.remedies import from_http

_TYPE = re.compile(r"urn:simstore:([A-Za-z]{1,60})")
_SUFFIX = "_base64"
_MEMBERS = frozenset(("type", "title", "status", "detail", "exit_code", "request_id"))
# An unreadable request is the fault of an argument here.
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


T = TypeVar("T")
Parameters = Mapping[str, str | int | float | list[str] | None]
_PROBLEM = "application/problem+json"
# A server that is overloaded, or stops, or a proxy before it that cannot reach it.
_PASSING = frozenset((408, 429, 502, 503))
_CONNECT_SECONDS = 10.0
# For what a server makes wholly before it answers.
_LONG_SECONDS = 600.0
# A server reads 64 KiB of a request's head.
_MOST_ADDRESS = 60_000


def checked_url(url: str) -> str:
    """Return the address of a server without a slash at its end.

    Raises:
        InvalidParameter: It is none.
    """
    shown = printable(url)
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise InvalidParameter(f"{shown}: write the address of a server as http://127.0.0.1:8765")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidParameter(
            "the address of a server has no password, no ? and no #; a token goes separately"
        )
    return url.rstrip("/")


def key_path(key: str) -> str:
    """Return a key as a part of a path: all that could mean something there is escaped."""
    shown = quote(encode(key), safe="")
    # What is all dots would be taken for a step up.
    return shown.replace(".", "%2E") if not shown.strip(".") else shown


def document_path(key: str) -> str:
    """Return the path of a document.

    Raises:
        DocumentNotFound: The key is empty.
    """
    if not key:
        raise DocumentNotFound(key)
    return f"/v1/documents/{key_path(key)}"


def flag(wanted: bool) -> str | None:
    """Return the value of a boolean query parameter: ``true``, or None to leave it out."""
    return "true" if wanted else None


def checked_token(token: str) -> str:
    """Return a token that can stand in the head of a request.

    Raises:
        InvalidParameter: It cannot.
    """
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidParameter("a token is what `simstore token add` printed, without white space")
    return token


def seconds_of(header: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` header; None where the server sent none."""
    if not header:
        return None
    if header.isascii() and header.isdecimal():
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


class HttpConnection(CheckedArguments):
    """A connection to a server, or a few of them, to be shared by threads."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        patience: float = 60.0,
    ) -> None:
        """Connect; nothing is sent before the first request.

        Args:
            url: Where the server is, as ``http://127.0.0.1:8765``; a path is
                put before those of the API.
            token: A token that ``simstore token add`` made; None: the server
                asks for none.
            timeout: Longest time for a reply, in seconds.
            patience: For how many seconds a request is sent again that was not
                served: the server is overloaded, is restarted, or the
                connection breaks. A document that was stored already is then
                unchanged. 0: each is sent once. A server that has
                never answered is not waited for.

        Raises:
            InvalidParameter: The address is none, or a time is not above 0.
            MissingExtra: httpx is not installed.
        """
        try:
            import httpx
        except ImportError:
            raise MissingExtra("a client of a server", "client") from None
        self._url = checked_url(url)
        if not timeout > 0 or not patience >= 0:
            raise InvalidParameter("a timeout is above 0 seconds, patience 0 or more")
        self._timeout = timeout
        self._retries = Retries(patience)
        headers = {"User-Agent": f"simstore/{__version__}", "Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {checked_token(token)}"
        self._http = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    def _get(self, path: str, parameters: Parameters | None = None) -> Any:
        """Return the JSON values at a path."""
        return self._values(self._ask("GET", path, parameters))

    def _post(self, path: str, value: Any, parameters: Parameters | None = None) -> Any:
        """Return the JSON values that are replied to such."""
        return self._values(self._ask("POST", path, parameters, encoded(value)))

    def _ask(
        self,
        method: str,
        path: str,
        parameters: Parameters | None = None,
        body: bytes | None = None,
    ) -> bytes:
        """Return the body of the reply.

        Raises:
            SimstoreError: What the server tells of, as if it were raised here.
            ServerUnreachable: No server answers.
            BadReply: It is no server of ours.
            TimedOut: It took too long.
        """
        sent = {} if body is None else {"Content-Type": "application/json"}
        url = self._address(path, parameters)

        def send() -> bytes:
            with self._translated():
                reply = self._http.request(method, url, content=body, headers=sent)
            if reply.is_success:
                return reply.content
            raise self._failure(reply)

        return self._retries.run(send)

    def _save(
        self,
        path: str,
        target: str | os.PathLike[str],
        *,
        replace: bool,
        on_progress: Callable[[int, int], None] | None,
    ) -> int:
        """Write a store that a server sends to a file, which appears when all of it came.

        Args:
            path: What is asked for.
            target: The file.
            replace: It may take the place of a file that is there.
            on_progress: Called with bytes that came, and bytes in all.

        Returns:
            The bytes of the file.

        Raises:
            OutputExists: There is a file already.
            Conflict: It is to be replaced, and is no store.
            BadReply: It is not as the server's digest of it says.
        """
        check_output(target, replace=replace)
        if os.path.isfile(target):
            check_store_file(target, replace=replace)
        url = self._address(path, None)

        def send() -> int:
            with (
                self._translated(),
                # The server makes the whole of it before it answers.
                self._http.stream("POST", url, timeout=_LONG_SECONDS) as reply,
            ):
                if not reply.is_success:
                    reply.read()
                    raise self._failure(reply)
                with written(target, replace=replace, compress=False) as stream:
                    return self._received(reply, stream, on_progress)

        return self._retries.run(send)

    def _received(
        self,
        reply: httpx.Response,
        stream: BinaryIO,
        on_progress: Callable[[int, int], None] | None,
    ) -> int:
        total = int(reply.headers.get("content-length", 0))
        digest = hashlib.sha256()
        size = 0
        for piece in reply.iter_raw():
            stream.write(piece)
            digest.update(piece)
            size += len(piece)
            if on_progress is not None:
                on_progress(size, max(total, size))
        expected = f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
        if reply.headers.get("repr-digest") != expected:
            raise BadReply(self._url, "what came is not what its digest says; try again")
        return size

    def _pages(
        self, path: str, name: str, parameters: Parameters, *, page: int, limit: int | None = None
    ) -> Iterator[Any]:
        """Yield the JSON values of a list that is fetched page by page.

        Args:
            path: Where it is.
            name: The field of the reply that has a page of it.
            parameters: What is asked.
            page: Most values a request.
            limit: Most values in all; None: all.
        """
        left, after = limit, parameters.get("after")
        while left is None or left > 0:
            wanted = page if left is None else min(page, left)
            value = self._get(path, {**parameters, "limit": wanted, "after": after})
            found = self._as(list[Any], self._member(value, name))
            yield from found
            after = self._as(_Next, {"next": self._member(value, "next")}).next
            if after is None:
                return
            left = None if left is None else left - len(found)

    def _address(self, path: str, parameters: Parameters | None) -> str:
        given = [
            (name, encode(one) if isinstance(one, str) else one)
            for name, value in (parameters or {}).items()
            if value is not None
            for one in (value if isinstance(value, list) else [value])
        ]
        found = f"{self._url}{path}?{urlencode(given)}" if given else self._url + path
        if len(found) > _MOST_ADDRESS:
            raise InvalidParameter(
                f"an address of {len(found)} characters: servers take {_MOST_ADDRESS} at most, so "
                "what is that long can be asked for only where the store lies"
            )
        return found

    def _translated(self) -> _Translated:
        return _Translated(self._url, self._timeout)

    def _failure(self, reply: httpx.Response) -> Exception:
        """Return what a reply that is no success tells of."""
        error: SimstoreError
        if reply.headers.get("content-type", "").startswith(_PROBLEM):
            error = error_of(self._problem(reply.content))
        elif reply.status_code in _PASSING:
            error = ServerUnreachable(self._url, f"{reply.status_code} {reply.reason_phrase}")
        else:
            error = BadReply(self._url, f"{reply.status_code} {reply.reason_phrase}")
        if reply.status_code in _PASSING:
            return RetryLater(error, seconds_of(reply.headers.get("retry-after")))
        return error

    def _problem(self, content: bytes) -> dict[str, Any]:
        value = self._values(content)
        if not isinstance(value, dict):
            raise BadReply(self._url, "an error that is no object")
        return value

    def _values(self, content: bytes) -> Any:
        try:
            return decoded(content)
        except InvalidParameter as error:
            raise BadReply(self._url, str(error)) from None

    def _as(self, kind: type[T], value: Any) -> T:
        """Return the value of a type that JSON values of a reply stand for."""
        try:
            return from_wire(kind, value, lenient=True)
        except InvalidParameter as error:
            raise BadReply(self._url, str(error)) from None

    def _made(self, make: Callable[[dict[str, Any]], T], record: dict[str, Any]) -> T:
        """Return what a record of a reply is made into."""
        try:
            return make(record)
        except (KeyError, TypeError, ValueError) as error:
            raise BadReply(self._url, f"a record that cannot be read: {error!r}") from None

    def _member(self, value: Any, name: str) -> Any:
        """Return a field of an object of a reply."""
        if not isinstance(value, dict) or name not in value:
            raise BadReply(self._url, f"a reply without {name}")
        return value[name]


@dataclass(frozen=True, slots=True)
class _Next:
    """The cursor of the next page of a list; None: there is none."""

    next: str | int | None


class _Translated:
    """Turns errors of httpx into ours."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url = url
        self._timeout = timeout

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        import httpx

        if not isinstance(error, httpx.HTTPError | httpx.InvalidURL):
            return
        reason = str(error) or type(error).__name__
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            raise RetryLater(ServerUnreachable(self._url, reason), refused=True) from error
        if isinstance(error, httpx.TimeoutException):
            raise TimedOut(self._timeout) from error
        if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
            raise RetryLater(ServerUnreachable(self._url, reason)) from error
        raise BadReply(self._url, reason) from error
