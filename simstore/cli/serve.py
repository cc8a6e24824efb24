"""The command ``simstore serve``: serve a store over HTTP."""

from __future__ import annotations

from typing import Any

import click

from simstore.cli.interrupts import uninterruptible
from simstore.cli.messages import AS_JSON, TIMED, set_up_logging
from simstore.cli.options import common_options, store_place
from simstore.cli.parameters import choice, command, count, flag, option, section


def _log_in_form(ctx: click.Context, _parameter: click.Parameter, value: str) -> None:
    ctx.meta[TIMED] = True
    if value == "json":
        ctx.meta[AS_JSON] = True
    set_up_logging(ctx)


@command()
@section(
    "Address and access",
    option("--host", "Address to listen on.", default="127.0.0.1"),
    option(
        "--port",
        "Port to listen on; 0: any that is free.",
        type=click.IntRange(0, 65_535),
        default=8765,
    ),
    flag("--require-tokens", "Ask for a token on the loopback, too."),
    option(
        "--behind-proxy",
        "Believe the proxy at this address who asks, and whether by TLS (X-Forwarded-*).",
        metavar="ADDRESS",
    ),
)
@section(
    "Limits of a request",
    count("--body-bytes", "Largest body of a request; of NDJSON: longest line.", default=32 << 20),
    count(
        "--bodies-bytes", "Largest bodies of all requests at a time together.", default=512 << 20
    ),
    count(
        "--batch-documents",
        "Most documents, samples or keys of a request that is no NDJSON.",
        default=1_000,
    ),
    option(
        "--request-seconds",
        "Longest time for a request; of NDJSON: for a line.",
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        metavar="S",
    ),
    option(
        "--header-seconds",
        "Longest time for the head of a request to come.",
        type=click.FloatRange(min=0, min_open=True),
        default=10.0,
        metavar="S",
    ),
    option(
        "--rate",
        "Most requests a second of a token, as a mean.  [default: no limit]",
        type=click.FloatRange(min=0, min_open=True),
        metavar="R",
    ),
)
@section(
    "Work",
    count("--queue-documents", "Most documents that wait to be written.", default=20_000),
    option(
        "--writer-process/--no-writer-process",
        "Write in a process of its own, which holds up no query and takes memory of its own.",
        default=True,
    ),
    option(
        "--query-processes",
        "Processes that answer queries, each with an index in memory; 0: the one that listens.",
        type=click.IntRange(0, 64),
        default=1,
        metavar="N",
    ),
    count("--heavy-requests", "Checks, comparisons and the like at once.", default=2),
    option(
        "--figures-seconds",
        "How old the figures of the store at /metrics may be.",
        type=click.FloatRange(min=0),
        default=15.0,
        metavar="S",
    ),
)
@section(
    "Log",
    choice(
        "--log-format",
        ("text", "json"),
        "How lines on stderr are written: time, level and message, or an object each.",
        default="text",
        expose_value=False,
        callback=_log_in_form,
    ),
)
@section(
    "Stopping",
    option(
        "--drain-seconds",
        "How long what was taken may take when the server stops.",
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        metavar="S",
    ),
    option(
        "--notice-seconds",
        "When told to stop, say so at /readyz so long before new connections are refused.",
        type=click.FloatRange(min=0),
        default=0.0,
        metavar="S",
    ),
)
@common_options
def serve(**options: Any) -> None:
    """Serve the store over HTTP, until SIGTERM or Ctrl-C.

    What was taken by then is written and answered; a second signal ends it at once.

    Examples:
      simstore serve                 http://127.0.0.1:8765, this machine only
      simstore serve --port 0        any free port; stderr says which
      simstore serve --host 0.0.0.0  all machines; the store needs a token first:
          simstore token add crawler --scope write --expires 90d
    """
    from simstore.errors import MissingExtra
    from simstore.server.settings import ServerSettings

    settings = ServerSettings(**options)
    try:
        from simstore.server import serving
    except ImportError as error:
        if error.name is None or error.name.startswith("simstore"):
            raise
        raise MissingExtra("simstore serve", "server") from None
    with uninterruptible():
        serving.serve(store_place(), settings)
