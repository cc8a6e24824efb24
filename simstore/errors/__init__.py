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

from simstore.errors.base import (
    BadInput,
    Conflict,
    Denied,
    InvalidParameter,
    NotFound,
    SimstoreError,
    StorageError,
    Unavailable,
)
from simstore.errors.inputs import (
    DocumentNotFound,
    MalformedRecord,
    MissingExtra,
    NotAFile,
    OutputExists,
    SourceNotFound,
    UnreadableSource,
    check_numbers,
)
from simstore.errors.printing import counted, printable, shortened, shown_place
from simstore.errors.service import (
    BadReply,
    Forbidden,
    HeadTooLarge,
    JobFailed,
    MalformedRequest,
    MethodNotAllowed,
    NotServed,
    Overloaded,
    ProtocolError,
    RateLimited,
    RouteNotFound,
    ServerUnreachable,
    Stopping,
    TimedOut,
    TooLarge,
    TooSlow,
    Unauthorized,
    UnsupportedMedia,
)
from simstore.errors.storage import (
    ClosedStore,
    CorruptStore,
    DatabaseBusy,
    DatabaseNotFound,
    DatabaseUnreachable,
    DiskFull,
    ForkedStore,
    NotAStore,
    ReadOnlyStore,
    ReindexInProgress,
    RunNotFound,
    SchemaOutOfDate,
    SchemaTooNew,
    SchemeMismatch,
    StaleGeneration,
    StatementCancelled,
    StatementTimeout,
    StoreExists,
    StoreNotFound,
    StreamConsumed,
)

__all__ = [
    "BadInput",
    "BadReply",
    "ClosedStore",
    "Conflict",
    "CorruptStore",
    "DatabaseBusy",
    "DatabaseNotFound",
    "DatabaseUnreachable",
    "Denied",
    "DiskFull",
    "DocumentNotFound",
    "Forbidden",
    "ForkedStore",
    "HeadTooLarge",
    "InvalidParameter",
    "JobFailed",
    "MalformedRecord",
    "MalformedRequest",
    "MethodNotAllowed",
    "MissingExtra",
    "NotAFile",
    "NotAStore",
    "NotFound",
    "NotServed",
    "OutputExists",
    "Overloaded",
    "ProtocolError",
    "RateLimited",
    "ReadOnlyStore",
    "ReindexInProgress",
    "RouteNotFound",
    "RunNotFound",
    "SchemaOutOfDate",
    "SchemaTooNew",
    "SchemeMismatch",
    "ServerUnreachable",
    "SimstoreError",
    "SourceNotFound",
    "StaleGeneration",
    "StatementCancelled",
    "StatementTimeout",
    "Stopping",
    "StorageError",
    "StoreExists",
    "StoreNotFound",
    "StreamConsumed",
    "TimedOut",
    "TooLarge",
    "TooSlow",
    "Unauthorized",
    "Unavailable",
    "UnreadableSource",
    "UnsupportedMedia",
    "check_numbers",
    "counted",
    "printable",
    "shortened",
    "shown_place",
]

# Tracebacks and logs name them as callers do.
for _name in __all__:
    globals()[_name].__module__ = __name__
