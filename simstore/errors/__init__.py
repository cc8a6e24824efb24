"""The exception classes of simstore, with their exit codes and HTTP statuses.

The tree, with the exit code of the command line and the HTTP status of a service::

    SimstoreError                      1  500
    ├── JobFailed                      1  500
    ├── InvalidParameter (ValueError)  2  400
    │   ├── MissingExtra (ImportError) 2  501
    │   ├── MethodNotAllowed           2  405
    │   └── NotServed                  2  501
    ├── Denied                         2  403
    │   ├── Unauthorized               2  401
    │   └── Forbidden                  2  403
    ├── NotFound (KeyError)            3  404
    │   ├── DocumentNotFound
    │   ├── StoreNotFound
    │   ├── DatabaseNotFound
    │   ├── SourceNotFound
    │   ├── RunNotFound
    │   └── RouteNotFound
    ├── Conflict                       4  409
    │   ├── StoreExists
    │   ├── StaleGeneration
    │   ├── ReindexInProgress
    │   ├── OutputExists
    │   ├── ClosedStore
    │   ├── ForkedStore
    │   └── StreamConsumed
    ├── BadInput (ValueError)          5  422
    │   ├── MalformedRecord
    │   ├── UnreadableSource
    │   ├── MalformedRequest
    │   ├── TooLarge                   5  413
    │   ├── ProtocolError              5  400
    │   ├── HeadTooLarge               5  431
    │   └── UnsupportedMedia           5  415
    ├── StorageError                   6  500
    │   ├── DatabaseBusy               6  503
    │   ├── DatabaseUnreachable        6  503
    │   ├── StatementTimeout (TimeoutError) 6  503
    │   ├── StatementCancelled         6  503
    │   ├── DiskFull                   6  507
    │   ├── ReadOnlyStore
    │   ├── NotAFile
    │   ├── NotAStore
    │   ├── SchemaOutOfDate
    │   ├── SchemaTooNew
    │   ├── SchemeMismatch
    │   └── CorruptStore
    └── Unavailable                    6  503
        ├── Overloaded                 6  503
        ├── Stopping                   6  503
        ├── RateLimited                6  429
        ├── ServerUnreachable          6  502
        ├── BadReply                   6  502
        ├── TimedOut (TimeoutError)    6  504
        └── TooSlow (TimeoutError)     6  408

Facts are attributes; the message says what, where, and the remedy, in one line.
"""

from __future__ import annotations

import re
from typing import Any, Self

from simstore.errors.remedies import Caller, in_words

# Characters of a word, and of a message, that are shown whole; of longer ones as many at the start.
_WORD, _MESSAGE = 300, 4_000
_LONG_WORD = re.compile(rf"\S{{{_WORD + 1},}}")
_PASSWORD = re.compile(r"(://[^:/@]*):[^@]*@")


def printable(text: str) -> str:
    """Return text that is safe to print: control characters are escaped.

    Args:
        text: Any string; bytes that are not UTF-8 are surrogate escapes (PEP
            383).
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "backslashreplace")
    text = data.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number with what it counts, in the singular or the plural.

    >>> counted(1, "exact duplicate"), counted(1_200, "document")
    ('1 exact duplicate', '1,200 documents')
    >>> counted(1, "document holds", "documents hold")
    '1 document holds'

    Args:
        count: How many.
        one: What one is called, and does.
        many: What several are called; None: the same with an ``s``.
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def shown_place(place: str) -> str:
    """Return a path or a database URL to be shown: printable, without a password."""
    return printable(_PASSWORD.sub(r"\1:***@", place) if "://" in place else place)


def shortened(message: str) -> str:
    """Return a message in which long words are cut in the middle.

    >>> len(shortened(f"no document has the key {'k' * 70_000!r}"))
    285

    Args:
        message: Of an error.
    """
    if len(message) <= _WORD:
        return message
    found = _LONG_WORD.sub(lambda word: _cut(word[0], 200, 60), message)
    return found if len(found) <= _MESSAGE else _cut(found, 3_000, 600)


def _cut(text: str, first: int, last: int) -> str:
    return f"{text[:first]}…{text[-last:]}"


class SimstoreError(Exception):
    """Base of all errors of simstore. They can be pickled."""

    exit_code = 1
    http_status = 500

    def __init__(self, *args: object) -> None:
        # A message quotes its argument, which may be long.
        super().__init__(*(shortened(one) if isinstance(one, str) else one for one in args))

    def __str__(self) -> str:
        """Return the message, its remedy in the words of who uses this process."""
        return in_words(Exception.__str__(self))

    @property
    def page(self) -> str:
        """Return the place in the documentation that explains this kind of error.

        >>> InvalidParameter("a radius of -1").page
        'docs/reference/errors.md#invalidparameter'
        """
        return f"docs/reference/errors.md#{type(self).__name__.lower()}"

    def told(self, caller: Caller) -> str:
        """Return the message with its remedy worded for a caller."""
        return in_words(Exception.__str__(self), caller)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is unpickled: without its constructor, which words the message."""
        return _made_anew, (type(self), self.args), self.__dict__


def _made_anew(kind: type[SimstoreError], args: tuple[Any, ...]) -> SimstoreError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class InvalidParameter(SimstoreError, ValueError):
    """A parameter is out of its range, or parameters contradict each other."""

    exit_code = 2
    http_status = 400


class Denied(SimstoreError):
    """A server refuses this request to the caller."""

    exit_code = 2
    http_status = 403


class NotFound(SimstoreError, KeyError):
    """Something that was named does not exist. It is a ``KeyError``."""

    exit_code = 3
    http_status = 404


class Conflict(SimstoreError):
    """The request contradicts the state of the store."""

    exit_code = 4
    http_status = 409


class BadInput(SimstoreError, ValueError):
    """Input is malformed or cannot be used."""

    exit_code = 5
    http_status = 422


class StorageError(SimstoreError):
    """The store cannot do what was asked of it."""

    exit_code = 6
    http_status = 500


class Unavailable(SimstoreError):
    """A server does not do this now; the same request may succeed later.

    Attributes:
        message: The message.
        retry_after: When to try again, in seconds from now; None: nobody knows.
    """

    exit_code = 6
    http_status = 503

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.message = message
        self.retry_after = retry_after
        super().__init__(message)


# Databases hold no larger number.
_LARGEST = (1 << 63) - 1


def check_numbers(**given: int | None) -> None:
    """Refuse numbers of more than 64 bits, which no database holds.

    >>> check_numbers(limit=20, after=0)

    Args:
        given: Numbers by their names; None: not given.

    Raises:
        InvalidParameter: One is too large.
    """
    for name, value in given.items():
        if value is not None and not -_LARGEST <= value <= _LARGEST:
            shown = str(value) if abs(value) < 10**40 else f"of {value.bit_length():,} bits"
            raise InvalidParameter(
                f"{name.replace('_', ' ')} {shown}: it must be at most {_LARGEST:,}"
            )


def _packages_of(extra: str) -> list[str]:
    """Return the requirements of an extra, as this installation knows them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("simstore") or []
    except PackageNotFoundError:  # on the path, not installed
        return []
    # NAME>=VERSION; extra == 'EXTRA'. The build has put what an extra takes over into each.
    parted = (line.replace('"', "'").partition(";") for line in lines)
    return [name.strip() for name, _, when in parted if when.endswith(f"extra == '{extra}'")]


class MissingExtra(InvalidParameter, ImportError):
    """An optional package is needed and not installed.

    The message names packages, not the extra: that is true however simstore was
    installed.
    """

    http_status = 501

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        packages = _packages_of(extra)
        remedy = (
            "pip install " + " ".join(f"'{package}'" for package in packages)
            if packages
            else f"install simstore with it (in a checkout: pip install '.[{extra}]')"
        )
        super().__init__(f"{feature} needs the extra {extra!r}: {remedy}")


class DocumentNotFound(NotFound):
    """No document has this key."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"no document has the key {printable(key)!r}; `simstore list` shows the keys"
        )


class SourceNotFound(NotFound):
    """A file, folder or pattern to read does not exist."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{printable(name)}: no such file or folder")


class OutputExists(Conflict):
    """The output file exists already."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{printable(path)} exists already; name another file, or replace it with --force"
        )


class NotAFile(StorageError):
    """The output path is something else than a file."""

    def __init__(self, path: str, kind: str) -> None:
        self.path = path
        self.kind = kind
        super().__init__(
            f"{printable(path)} cannot be written: it is {printable(kind)}, not a file; "
            "name another"
        )


class MalformedRecord(BadInput):
    """One record of a source cannot be used.

    Attributes:
        path: Name of the source.
        position: Number of the record in its source, from 0; None where it
            has none.
        reason: What is wrong with it.
    """

    def __init__(self, path: str, position: int | None, reason: str) -> None:
        self.path = path
        self.position = position
        self.reason = reason
        place = printable(path) if position is None else f"{printable(path)}, record {position}"
        super().__init__(f"{place}: {reason}")


class UnreadableSource(BadInput):
    """A source exists and cannot be read."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{printable(name)}: {reason}")


class StoreNotFound(NotFound):
    """No store exists at this path or URL."""

    def __init__(
        self,
        path: str,
        remedy: str = "make one with `simstore init` or `simstore ingest SOURCE`, or name another "
        "with --db",
    ) -> None:
        self.path = path
        self.remedy = remedy
        super().__init__(f"no store at {printable(path)}; {remedy}")


class DatabaseNotFound(NotFound):
    """The server has no such database."""

    def __init__(self, path: str, name: str) -> None:
        self.path = path
        self.name = name
        super().__init__(
            f"{printable(path)}: the server has no database {printable(name)}; "
            f"`createdb {printable(name)}` makes it"
        )


class RunNotFound(NotFound):
    """The store holds no such query run."""

    def __init__(self, run_id: int | None) -> None:
        self.run_id = run_id
        what = (
            "no query run is recorded" if run_id is None else f"query run {run_id} is not recorded"
        )
        super().__init__(
            f"{what}; run `simstore query SAMPLE` first (only the latest runs are kept)"
        )


class StoreExists(Conflict):
    """A store exists at this path or URL already."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{printable(path)} exists already; name another file, or remove it first")


class StaleGeneration(Conflict):
    """The fingerprints in use (a generation) do not cover every document."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}; run `simstore vocabulary refresh`")


class ReindexInProgress(Conflict):
    """A reindex is not finished; until then the store takes no documents."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        super().__init__(
            f"a reindex to {scheme} is under way; finish it with `simstore reindex --resume` "
            "or give it up with `simstore reindex --abort`"
        )


class ClosedStore(Conflict):
    """A store was used after it was closed."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"this store is closed; open it again by Store({printable(path)!r})")


class StreamConsumed(Conflict):
    """A stream of results is read that was read to its end, or closed, before."""

    def __init__(self, kind: str, state: str) -> None:
        self.kind = kind
        self.state = state
        super().__init__(
            f"this stream of {printable(kind)}s was {state}; call the method again, or keep what "
            "it returns: found = list(...)"
        )


class ForkedStore(Conflict):
    """A store was used in another process than the one that opened it."""

    def __init__(self) -> None:
        super().__init__("this store was opened before a fork; open it again in the child process")


class DatabaseBusy(StorageError):
    """Another process held the store's write lock for too long."""

    http_status = 503

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{printable(path)} is locked by another writer; nothing was changed, try again later"
        )


class DatabaseUnreachable(StorageError):
    """The server of a store does not answer, or has ended the connection."""

    http_status = 503

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"{printable(path)} cannot be reached: {printable(reason)}; start the server, or "
            "name another, and run the same command again: what is committed is safe"
        )


class StatementTimeout(StorageError, TimeoutError):
    """A database server ended a statement that took longer than a limit set there.

    Attributes:
        path: The store.
        setting: The server's setting that is the limit.
    """

    http_status = 503

    def __init__(self, path: str, setting: str) -> None:
        self.path = path
        self.setting = setting
        super().__init__(
            f"{printable(path)}: the server's {setting} ended the work; what is committed is safe: "
            f"raise the limit for this role (ALTER ROLE name SET {setting} = '1h'), or do less at "
            "once"
        )


class StatementCancelled(StorageError):
    """A user or the database server cancelled a statement."""

    http_status = 503

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"{printable(path)}: the work was cancelled on the server ({printable(reason)}); what "
            "is committed is safe: run the same command again"
        )


class DiskFull(StorageError):
    """The disk has no room left to write."""

    http_status = 507

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"no space left to write {printable(path)}; everything committed so far is safe: "
            "free some space and run the same command again"
        )


class ReadOnlyStore(StorageError):
    """The store's file or folder cannot be written, or its server takes no writes."""

    def __init__(
        self, path: str, remedy: str = "make the file and its folder writable, or copy it"
    ) -> None:
        self.path = path
        self.remedy = remedy
        super().__init__(f"{printable(path)} is read-only; {remedy}")


class NotAStore(StorageError):
    """The file is not a simstore database."""

    def __init__(
        self,
        path: str,
        reason: str = "it is not a simstore database",
        remedy: str = "name a store with --db",
    ) -> None:
        self.path = path
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{printable(path)} cannot be opened: {reason}; {remedy}")

    @classmethod
    def of_earlier_build(cls, path: str) -> Self:
        """Return the error for a store that a build before 0.1.0 made."""
        return cls(
            path,
            "a build before simstore 0.1.0 made it",
            "export it with that build, and ingest the export here",
        )


class SchemaOutOfDate(StorageError):
    """The store was made by an older simstore."""

    def __init__(self, path: str, revision: str, expected: str) -> None:
        self.path = path
        self.revision = revision
        self.expected = expected
        super().__init__(
            f"{printable(path)} has the older schema {revision} (this simstore: {expected}); "
            "run `simstore upgrade` (it makes a backup first)"
        )


class SchemaTooNew(StorageError):
    """The store was made by a newer simstore."""

    def __init__(self, path: str, revision: str) -> None:
        self.path = path
        self.revision = revision
        super().__init__(
            f"{printable(path)} has the schema {revision}, which this simstore does not know; "
            "install a newer simstore, or the build before 0.1.0 that made it"
        )


class SchemeMismatch(StorageError):
    """This installation computes other fingerprints than the store's."""

    def __init__(self, scheme: str, detail: str) -> None:
        self.scheme = scheme
        self.detail = detail
        super().__init__(
            f"scheme {scheme} gives other fingerprints here than in the store ({detail}); "
            "install the simstore that made the store, or run `simstore reindex`"
        )


class CorruptStore(StorageError):
    """The store contradicts itself or cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"{printable(path)}: {reason}; run `simstore fsck`, "
            "or restore a copy made by `simstore backup`"
        )


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
    """A Spark job failed.

    Attributes:
        reason: What Spark, or the code on an executor, says.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the job failed: {printable(reason)}; the same command begins again")


def __dir__() -> list[str]:
    kinds = (one for one in globals().values() if isinstance(one, type))
    return [kind.__name__ for kind in kinds if issubclass(kind, SimstoreError)]
