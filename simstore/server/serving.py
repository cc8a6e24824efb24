"""Run the HTTP server: bind its socket, run the event loop, handle signals."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from math import ceil
from types import FrameType

import uvicorn

from simstore.errors import (
    DatabaseBusy,
    InvalidParameter,
    SimstoreError,
    counted,
    printable,
    shown_place,
)
from simstore.server.access.gate import check_listening
from simstore.server.app import create_app
from simstore.server.background_log import log_in_background
from simstore.server.protocol import patient_protocol
from simstore.server.service import Service
from simstore.server.settings import ServerSettings
from simstore.server.workers.store_worker import StoreWorker
from simstore.services.maintenance.killed_runs import end_killed_runs
from simstore.version import __version__

# Ten times as often as Python does by itself.
_SWITCH_SECONDS = 0.0005
# Objects that came and did not go, after which young ones are looked at; and how often old ones.
_COLLECTED_AFTER = (20_000, 20, 20)

# A connection is kept so long for another request.
_KEEP_ALIVE_SECONDS = 30
# After the time that a server has to stop, it is cut off.
_CUT_SECONDS = 10.0
_NOT_MARKED = "runs that were killed are not marked: %s"
log = logging.getLogger("simstore")


def serve(place: str | os.PathLike[str], settings: ServerSettings) -> None:
    """Serve a store until a signal says to stop.

    The first SIGTERM or SIGINT: nothing new is taken, what was taken is written and answered, the
    store is closed. The second: the process ends at once; what was acknowledged is stored.

    Args:
        place: Path of the store, or an SQLAlchemy URL.
        settings: How to serve it.

    Raises:
        InvalidParameter: The address cannot be listened on.
        StorageError: The store cannot be opened.
    """
    # A query may wait so long for the writer's thread at each of its statements.
    sys.setswitchinterval(_SWITCH_SECONDS)
    # What was imported stays: no collection looks at it again.
    gc.freeze()
    # What a request leaves behind goes by itself, but for few cycles.
    gc.set_threshold(*_COLLECTED_AFTER)
    try:
        _end_killed_runs(place)
    except DatabaseBusy as error:
        log.warning(_NOT_MARKED, error)
    # They import meanwhile.
    writer = StoreWorker(place, "writer") if settings.writer_process else None
    readers = [StoreWorker(place, "reader") for _ in range(settings.query_processes)]
    with log_in_background() as settle_log:
        ended = _serve(place, settings, writer, readers, settle_log)
    if not ended:
        # A thread still looks something up that nobody waits for; it would hold the process.
        logging.shutdown()
        os._exit(0)


def _serve(
    place: str | os.PathLike[str],
    settings: ServerSettings,
    writer: StoreWorker | None,
    readers: list[StoreWorker],
    settle_log: Callable[[], None],
) -> bool:
    """Serve until a signal says to stop; return whether nothing runs any more."""
    app = create_app(place, settings, writer, readers)
    service: Service = app.state.service
    try:
        service.open()
        book = service.store.tokens.book()
        check_listening(book, settings.host, require_tokens=settings.require_tokens)
        with bound(settings.host, settings.port) as listening:
            config = uvicorn.Config(
                app,
                http=patient_protocol(settings.header_seconds, service.metrics.count_error),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=settings.behind_proxy is not None,
                forwarded_allow_ips=settings.behind_proxy,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=ceil(settings.drain_seconds),
                ws="none",
            )
            line = (
                f"serving {shown_place(str(place))} at {address_of(listening)}; "
                f"simstore {__version__}; Ctrl-C stops it"
            )
            _Server(config, service, line, settle_log).run([listening])
    finally:
        ended = service.close()
        for process in (*([] if writer is None else [writer]), *readers):
            process.close()
    faulthandler.cancel_dump_traceback_later()
    if service.lost is None:
        log.info("stopped; what was acknowledged is stored")
    else:
        log.error("stopped; %s, and what was acknowledged before is in that file", service.lost)
    if ended and service.lost is None:
        # Of a writer that was killed meanwhile, or did not end in time.
        try:
            _end_killed_runs(place)
        except SimstoreError as error:
            log.warning(_NOT_MARKED, error)
    return ended


def _end_killed_runs(place: str | os.PathLike[str]) -> None:
    """Mark the runs of servers and ingests that were killed, where nobody has the store open."""
    ended = end_killed_runs(place)
    if ended:
        log.warning(
            "%s by a kill: marked as interrupted",
            counted(ended, "run that ended", "runs that ended"),
        )


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address.

    Raises:
        InvalidParameter: It cannot be.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InvalidParameter(
            f"{printable(host)} is no address here: {error.strerror}; name another with --host"
        ) from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as error:
        made.close()
        raise InvalidParameter(
            f"{printable(host)} port {port} cannot be listened on: {error.strerror}; "
            "take another --port or --host"
        ) from None
    made.set_inheritable(False)
    return made


def address_of(listening: socket.socket) -> str:
    """Return the URL of what listens."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """A server that stops in order: first nothing new, then the end."""

    def __init__(
        self, config: uvicorn.Config, service: Service, line: str, settle_log: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._settle_log = settle_log
        self._service = service
        self._line = line

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests, and say so."""
        await super().startup(sockets)
        log.info("%s", self._line)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - its signature
        """Stop at the first signal; end at once at the second."""
        # It may come in the middle of a line of the log, which then takes no other.
        if self._service.stopping.is_set():
            with suppress(RuntimeError):
                log.warning("ended at once; what was acknowledged is stored")
                self._settle_log()
            os._exit(128 + sig)
        self._service.stop()
        settings = self._service.settings
        # By a thread that needs no interpreter, whatever this one does then; it says what that was.
        cut = settings.notice_seconds + settings.drain_seconds + _CUT_SECONDS
        faulthandler.dump_traceback_later(cut, exit=True)
        name = signal.Signals(sig).name
        loop = asyncio.get_running_loop()
        loop.call_soon_threadsafe(log.info, "%s: no new requests; what was taken is written", name)
        if settings.notice_seconds:
            loop.call_soon_threadsafe(loop.call_later, settings.notice_seconds, self._stop)
        else:
            self._stop()

    def _stop(self) -> None:
        self.should_exit = True
