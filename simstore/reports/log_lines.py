"""Write log messages as lines on standard error: plain, with time and level, or JSON."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from simstore.reports.lines import to_json

Form = Literal["plain", "text", "json"]


class LogStyle(NamedTuple):
    """The form of the lines of a log, and the least level that is written.

    A server sends it to the processes that it starts, as a plain tuple: one of another version may
    not have this class.

    Attributes:
        form: ``plain``: the message; ``text``: with time and level; ``json``: an object a line.
        level: The least level that is written, as :mod:`logging` counts.
    """

    form: Form
    level: int


class TextLines(logging.Formatter):
    """Formats ``2026-11-24T13:40:00.123Z INFO message``; the time is UTC.

    >>> made = logging.makeLogRecord({"created": 0.25, "levelname": "INFO", "msg": "stopped"})
    >>> TextLines().format(made)
    '1970-01-01T00:00:00.250Z INFO stopped'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a message; of a fault its traceback follows."""
        return f"{_moment(record)} {record.levelname} {super().format(record)}"


class JsonLines(logging.Formatter):
    """Formats an object with time, level, message, and the facts that the message is about.

    >>> made = logging.makeLogRecord({"created": 0.25, "levelname": "INFO", "msg": "stopped"})
    >>> JsonLines().format(made)
    '{"time": "1970-01-01T00:00:00.250Z", "level": "info", "message": "stopped"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a message; ``facts`` of the record may replace its message."""
        told = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return to_json(told)


_FORMATTERS = {"plain": logging.Formatter, "text": TextLines, "json": JsonLines}


class _StderrHandler(logging.StreamHandler[Any]):
    """Writes to the standard error of the moment, which tests and callers may replace."""

    def __init__(self, style: LogStyle) -> None:
        super().__init__(sys.stderr)
        self.style = style
        self.setFormatter(_FORMATTERS[style.form]())

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def write_log(style: LogStyle) -> None:
    """Send the messages of simstore in this process to standard error.

    Args:
        style: How.
    """
    log = logging.getLogger("simstore")
    log.handlers = [_StderrHandler(style)]
    log.propagate = False
    log.setLevel(style.level)


def log_style() -> LogStyle | None:
    """Return how this process writes its log; None where it was not told by :func:`write_log`."""
    for handler in logging.getLogger("simstore").handlers:
        style = getattr(handler, "style", None)
        if isinstance(style, LogStyle):
            return style
    return None


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
