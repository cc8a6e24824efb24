"""Every error that simstore raises on purpose.

The tree, with the exit code of the command line and the HTTP status of a service::

    SimstoreError                      1  500
    ├── InvalidParameter (ValueError)  2  400
    │   └── MissingExtra (ImportError) 2  501
    ├── NotFound (LookupError)         3  404
    │   ├── DocumentNotFound
    │   ├── StoreNotFound
    │   ├── SourceNotFound
    │   └── RunNotFound
    ├── Conflict                       4  409
    │   ├── StoreExists
    │   ├── StaleGeneration
    │   ├── ReindexInProgress
    │   ├── FilterFull
    │   ├── OutputExists
    │   └── ForkedStore
    ├── BadInput (ValueError)          5  422
    │   ├── MalformedRecord
    │   └── UnreadableSource
    └── StorageError                   6  500
        ├── DatabaseBusy               6  503
        ├── DiskFull                   6  507
        ├── ReadOnlyStore
        ├── NotAStore
        ├── SchemaOutOfDate
        ├── SchemaTooNew
        ├── SchemeMismatch
        └── CorruptStore

Facts are attributes; the message says what, where, and the remedy, in one line.
"""

from __future__ import annotations


class SimstoreError(Exception):
    """Base of all errors raised by simstore."""

    exit_code = 1
    http_status = 500


class InvalidParameter(SimstoreError, ValueError):
    """A parameter is out of its range, or parameters contradict each other."""

    exit_code = 2
    http_status = 400


class MissingExtra(InvalidParameter, ImportError):
    """An optional package is needed and not installed."""

    http_status = 501

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        super().__init__(f"{feature} needs an optional package: pip install 'simstore[{extra}]'")


class NotFound(SimstoreError, LookupError):
    """Something that was named does not exist."""

    exit_code = 3
    http_status = 404


class DocumentNotFound(NotFound):
    """No document has this key."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"no document has the key {printable(key)!r}; `simstore list` shows the keys"
        )


class StoreNotFound(NotFound):
    """There is no store at this place."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"no store at {printable(path)}; make one with `simstore init` or "
            "`simstore ingest SOURCE`, or name another with --db"
        )


class SourceNotFound(NotFound):
    """A file, folder or pattern to read does not exist."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{printable(name)}: no such file or folder")


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


class Conflict(SimstoreError):
    """The request contradicts the state of the store."""

    exit_code = 4
    http_status = 409


class StoreExists(Conflict):
    """There is a store at this place already."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{printable(path)} exists already; name another file, or remove it first")


class StaleGeneration(Conflict):
    """The standing generation does not cover every stored document."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}; run `simstore vocabulary refresh`")


class ReindexInProgress(Conflict):
    """A reindex has begun and is not finished; the store takes no new documents until then."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        super().__init__(
            f"a reindex to {scheme} is under way; finish it with `simstore reindex --resume` "
            "or give it up with `simstore reindex --abort`"
        )


class FilterFull(Conflict):
    """A filter of known keys has no room for another member."""

    def __init__(self, count: int, slots: int) -> None:
        self.count = count
        self.slots = slots
        super().__init__(
            f"the filter is full: {count:,} of its {slots:,} slots are taken; export one with a "
            "larger --capacity"
        )


class OutputExists(Conflict):
    """There is a file already where one is to be written."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{printable(path)} exists already; name another file, or replace it with --force"
        )


class ForkedStore(Conflict):
    """A store was used in another process than the one that opened it."""

    def __init__(self) -> None:
        super().__init__("this store was opened before a fork; open it again in the child process")


class BadInput(SimstoreError, ValueError):
    """Input cannot be used as it is."""

    exit_code = 5
    http_status = 422


class MalformedRecord(BadInput):
    """One record of a source cannot be used.

    Attributes:
        path: Name of the source.
        position: Number of the record in its source, from 0; None where it has none.
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


class StorageError(SimstoreError):
    """The store cannot do what was asked of it."""

    exit_code = 6
    http_status = 500


class DatabaseBusy(StorageError):
    """Another process held the store's write lock for too long."""

    http_status = 503

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{printable(path)} is locked by another writer; nothing was changed, try again later"
        )


class DiskFull(StorageError):
    """There is no room left to write."""

    http_status = 507

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"no space left to write {printable(path)}; everything committed so far is safe: "
            "free some space and run the same command again"
        )


class ReadOnlyStore(StorageError):
    """The store's file or folder cannot be written."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{printable(path)} is read-only; make the file and its folder writable, or copy it"
        )


class NotAStore(StorageError):
    """The file is not a simstore database."""

    def __init__(self, path: str, reason: str = "it is not a simstore database") -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{printable(path)} cannot be opened: {reason}; name a store with --db")


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
            "install a newer simstore: pip install --upgrade simstore"
        )


class SchemeMismatch(StorageError):
    """This installation computes other fingerprints than the store's scheme promises."""

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


def printable(text: str) -> str:
    """Return text that is safe to print: what is not UTF-8 or a control character is escaped.

    Args:
        text: Any string; bytes that are not UTF-8 are surrogate escapes (PEP 383).
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
