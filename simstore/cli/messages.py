"""Set up log messages on standard error: plain or JSON, as verbose as ``-v`` and ``-q`` ask."""

from __future__ import annotations

import logging
import os
import sys

import click

from simstore.reports.log_lines import Form, LogStyle, write_log

log = logging.getLogger("simstore")
# What a context remembers of the options.
VERBOSITY = "simstore.verbosity"
AS_JSON = "simstore.json"
TIMED = "simstore.timed"
STORE = "simstore.db"
SERVER = "simstore.server"
DEFAULT_STORE = "simstore.db"


def set_up_logging(ctx: click.Context) -> None:
    """Send the messages of a command to standard error, as its options ask."""
    verbosity = int(ctx.meta.get(VERBOSITY, 0))
    level = logging.ERROR if verbosity < 0 else logging.INFO if verbosity == 0 else logging.DEBUG
    form: Form = "json" if ctx.meta.get(AS_JSON) else "text" if ctx.meta.get(TIMED) else "plain"
    write_log(LogStyle(form, level))


def is_quiet() -> bool:
    """Return whether ``-q`` was given."""
    return int(click.get_current_context().meta.get(VERBOSITY, 0)) < 0


def logs_json() -> bool:
    """Return whether ``--log-json`` was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(AS_JSON))


def logs_times() -> bool:
    """Return whether each message has its time: of a server, whose messages are a log."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(TIMED))


def shows_bars() -> bool:
    """Return whether bars are shown: to people, on a terminal that can take lines back."""
    return (
        not is_quiet()
        and not logs_json()
        and sys.stderr.isatty()
        and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    )
