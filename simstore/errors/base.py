"""The base exception classes, from which all other errors of simstore derive."""

from __future__ import annotations

from typing import Any

from simstore.errors.printing import shortened
from simstore.errors.remedies import Caller, in_words


class SimstoreError(Exception):
    """Base of all errors of simstore. They can be pickled."""

    exit_code = 1
    http_status = 500

    def __init__(self, *args: object) -> None:
        # What was given may be long, and is quoted.
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
        """Return how it is made anew: without its constructor, which makes the message."""
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
        message: What is told.
        retry_after: When to try again, in seconds from now; None: nobody knows.
    """

    exit_code = 6
    http_status = 503

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.message = message
        self.retry_after = retry_after
        super().__init__(message)
