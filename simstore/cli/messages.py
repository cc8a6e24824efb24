"""Set up log messages on standard error: plain or JSON, as verbose as ``-v`` and ``-q`` ask."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import click

from simstore.reports.lines import to_json

log = logging.getLogger("simstore")
# What a context remembers of the options.
VERBOSITY = "simstore.verbosity"
AS_JSON = "simstore.json"
STORE = "simstore.db"
SERVER = "simstore.server"
DEFAULT_STORE = "simstore.db"


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        from datetime import UTC, datetime

        return to_json(
            {
                "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
                "level": record.levelname.lower(),
                "message": record.getMessage(),
                **getattr(record, "facts", {}),
            },
        )


class _StderrHandler(logging.StreamHandler[Any]):
    """Writes to the standard error of the moment, which tests and callers may replace."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def set_up_logging(ctx: click.Context) -> None:
    """Send the messages of a command to standard error, as its options ask."""
    handler = _StderrHandler()
    as_json = bool(ctx.meta.get(AS_JSON))
    handler.setFormatter(_JsonFormatter() if as_json else logging.Formatter("%(message)s"))
    log.handlers = [handler]
    log.propagate = False
    level = int(ctx.meta.get(VERBOSITY, 0))
    log.setLevel(logging.ERROR if level < 0 else logging.INFO if level == 0 else logging.DEBUG)


def is_quiet() -> bool:
    """Return whether ``-q`` was given."""
    return int(click.get_current_context().meta.get(VERBOSITY, 0)) < 0


def logs_json() -> bool:
    """Return whether ``--log-json`` was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(AS_JSON))


def shows_bars() -> bool:
    """Return whether bars are shown: to people, on a terminal that can take lines back."""
    return (
        not is_quiet()
        and not logs_json()
        and sys.stderr.isatty()
        and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    )
