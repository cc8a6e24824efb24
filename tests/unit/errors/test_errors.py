from __future__ import annotations

import inspect
from typing import Any

from simstore import errors
from simstore.errors import SimstoreError, printable

# As the tree in the docstring of the module has it.
TREE = {
    "JobFailed": (1, 500, Exception),
    "InvalidParameter": (2, 400, ValueError),
    "MissingExtra": (2, 501, ImportError),
    "MethodNotAllowed": (2, 405, ValueError),
    "NotServed": (2, 501, ValueError),
    "Denied": (2, 403, Exception),
    "Unauthorized": (2, 401, Exception),
    "Forbidden": (2, 403, Exception),
    "NotFound": (3, 404, KeyError),
    "DocumentNotFound": (3, 404, KeyError),
    "StoreNotFound": (3, 404, KeyError),
    "DatabaseNotFound": (3, 404, KeyError),
    "SourceNotFound": (3, 404, KeyError),
    "RunNotFound": (3, 404, KeyError),
    "RouteNotFound": (3, 404, KeyError),
    "Conflict": (4, 409, Exception),
    "StoreExists": (4, 409, Exception),
    "StaleGeneration": (4, 409, Exception),
    "ReindexInProgress": (4, 409, Exception),
    "OutputExists": (4, 409, Exception),
    "ClosedStore": (4, 409, Exception),
    "ForkedStore": (4, 409, Exception),
    "StreamConsumed": (4, 409, Exception),
    "BadInput": (5, 422, ValueError),
    "MalformedRecord": (5, 422, ValueError),
    "UnreadableSource": (5, 422, ValueError),
    "MalformedRequest": (5, 422, ValueError),
    "TooLarge": (5, 413, ValueError),
    "ProtocolError": (5, 400, ValueError),
    "HeadTooLarge": (5, 431, ValueError),
    "UnsupportedMedia": (5, 415, ValueError),
    "StorageError": (6, 500, Exception),
    "DatabaseBusy": (6, 503, Exception),
    "DatabaseUnreachable": (6, 503, Exception),
    "StatementTimeout": (6, 503, TimeoutError),
    "StatementCancelled": (6, 503, Exception),
    "NotAFile": (6, 500, Exception),
    "DiskFull": (6, 507, Exception),
    "ReadOnlyStore": (6, 500, Exception),
    "NotAStore": (6, 500, Exception),
    "SchemaOutOfDate": (6, 500, Exception),
    "SchemaTooNew": (6, 500, Exception),
    "SchemeMismatch": (6, 500, Exception),
    "CorruptStore": (6, 500, Exception),
    "Unavailable": (6, 503, Exception),
    "Overloaded": (6, 503, Exception),
    "Stopping": (6, 503, Exception),
    "RateLimited": (6, 429, Exception),
    "ServerUnreachable": (6, 502, Exception),
    "BadReply": (6, 502, Exception),
    "TimedOut": (6, 504, TimeoutError),
    "TooSlow": (6, 408, TimeoutError),
}
CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, SimstoreError)
}
AWKWARD = "a\nb\x1b[31m\udcff\u202e"
VALUES: dict[str, Any] = {
    "key": AWKWARD,
    "kind": AWKWARD,
    "path": AWKWARD,
    "name": AWKWARD,
    "feature": "a feature",
    "extra": "fast",
    "position": 7,
    "run_id": 7,
    "count": 7,
    "slots": 7,
    "reason": "a reason",
    "remedy": "a remedy",
    "scheme": "web/1",
    "revision": "0001",
    "expected": "0002",
    "detail": "a detail",
    "method": AWKWARD,
    "allowed": "GET",
    "what": "a thing",
    "place": AWKWARD,
    "limit": 7,
    "url": AWKWARD,
    "accepted": "application/json",
    "message": "a message",
    "retry_after": 7,
    "seconds": 7,
    "setting": "statement_timeout",
    "state": "closed",
}


def made(kind: type[SimstoreError]) -> SimstoreError:
    if "__init__" not in vars(kind):
        return kind("a message")
    return kind(*(VALUES[name] for name in facts_of(kind)))


def facts_of(kind: type[SimstoreError]) -> list[str]:
    """Return what an error is made of and has as attributes; more of one kind has none."""
    parameters = inspect.signature(kind).parameters.values()
    return [one.name for one in parameters if one.kind is not one.VAR_POSITIONAL]


def test_tree_is_complete() -> None:
    assert set(CLASSES) - set(TREE) == {"SimstoreError"}
    assert set(TREE) - set(CLASSES) == set()


def test_each_error_has_its_exit_code_status_and_builtin() -> None:
    found = {name: (kind.exit_code, kind.http_status) for name, kind in CLASSES.items()}
    expected = {name: (exit_code, status) for name, (exit_code, status, _) in TREE.items()}
    assert found == expected | {"SimstoreError": (1, 500)}
    for name, (_, _, builtin) in TREE.items():
        assert issubclass(CLASSES[name], builtin), name
        assert name in (errors.__doc__ or "")


def test_each_message_is_one_printable_line_and_facts_are_attributes() -> None:
    for name in TREE:
        error = made(CLASSES[name])
        message = str(error)
        assert message, name
        assert message.isprintable(), name
        message.encode("utf-8")
        if "__init__" in vars(CLASSES[name]):
            for parameter in facts_of(CLASSES[name]):
                assert getattr(error, parameter) == VALUES[parameter], name


def test_what_cannot_be_printed_is_escaped() -> None:
    for text, shown in (
        ("plain é字", "plain é字"),
        ("caf\udce9", "caf\\xe9"),
        ("a\nb\t", "a\\nb\\t"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202e", "\\u202e"),
        ("\u00ad\u200b", "\\xad\\u200b"),
        ("a b", "a b"),
        ("", ""),
        ("\x00", "\\x00"),
    ):
        assert printable(text) == shown, text


def test_any_string_can_be_shown() -> None:
    for text in ("\ud800", "a\udfffb", "\udcff\ud800"):
        shown = printable(text)
        assert shown.isprintable(), text
        shown.encode("utf-8")


def test_long_argument_is_cut_in_the_message_and_whole_beside_it() -> None:
    for key in ("k" * 70_000, "k " * 35_000, "\x00" * 70_000):
        error = errors.DocumentNotFound(key)
        assert len(str(error)) < 4_000, key
        assert str(error).startswith("no document has the key '"), key
        assert str(error).endswith("`store.list()` shows the keys"), key
        assert error.key == key, key


def test_short_words_of_a_message_stay_as_they_are() -> None:
    words = " ".join(("a" * 300, "b" * 200, "c"))
    assert str(errors.StorageError(words)) == words
