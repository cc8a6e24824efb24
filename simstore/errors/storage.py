"""Exceptions of a store: it is missing, busy, damaged, or of another version."""

from __future__ import annotations

from typing import Self

from simstore.errors.base import Conflict, NotFound, StorageError
from simstore.errors.printing import printable


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
