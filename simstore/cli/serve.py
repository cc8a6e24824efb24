"""``simstore serve``."""

from __future__ import annotations

from typing import Any

import click

from simstore.cli.interrupts import uninterruptible
from simstore.cli.options import common_options, store_place


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  simstore serve                            http://127.0.0.1:8765, this machine only\n"
        "  simstore serve --port 0                   any free port; stderr says which\n"
        "  simstore serve --host 0.0.0.0             all machines; the store needs a token first:\n"
        "      simstore token add crawler --scope write --expires 90d"
    )
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8765,
    show_default=True,
    help="Port to listen on; 0: any that is free.",
)
@click.option("--require-tokens", is_flag=True, help="Ask for a token on the loopback, too.")
@click.option(
    "--behind-proxy",
    metavar="ADDRESS",
    help="Believe the proxy at this address who asks, and whether by TLS (X-Forwarded-*).",
)
@click.option(
    "--body-bytes",
    type=click.IntRange(min=1),
    default=32 << 20,
    show_default=True,
    metavar="N",
    help="Largest body of a request; of NDJSON: longest line.",
)
@click.option(
    "--bodies-bytes",
    type=click.IntRange(min=1),
    default=512 << 20,
    show_default=True,
    metavar="N",
    help="Largest bodies of all requests at a time together.",
)
@click.option(
    "--batch-documents",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    metavar="N",
    help="Most documents, samples or keys of a request that is no NDJSON.",
)
@click.option(
    "--request-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="S",
    help="Longest time for a request; of NDJSON: for a line.",
)
@click.option(
    "--header-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="S",
    help="Longest time for the head of a request to come.",
)
@click.option(
    "--queue-documents",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    metavar="N",
    help="Most documents that wait to be written.",
)
@click.option(
    "--writer-process/--no-writer-process",
    default=True,
    show_default=True,
    help="Write in a process of its own, which holds up no query and takes memory of its own.",
)
@click.option(
    "--query-processes",
    type=click.IntRange(0, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that answer queries, each with an index in memory; 0: the one that listens.",
)
@click.option(
    "--heavy-requests",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="Checks, comparisons and the like at once.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="R",
    help="Most requests a second of a token, as a mean.  [default: no limit]",
)
@click.option(
    "--drain-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="S",
    help="How long what was taken may take when the server stops.",
)
@click.option(
    "--notice-seconds",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    metavar="S",
    help="When told to stop, say so at /readyz so long before new connections are refused.",
)
@click.option(
    "--figures-seconds",
    type=click.FloatRange(min=0),
    default=15.0,
    show_default=True,
    metavar="S",
    help="How old the figures of the store at /metrics may be.",
)
@common_options
def serve(**options: Any) -> None:
    """Serve the store over HTTP, until SIGTERM or Ctrl-C.

    What was taken by then is written and answered; a second signal ends it at once.
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
