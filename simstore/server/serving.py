"""Runs the server: a socket, a loop, signals."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from math import ceil
from types import FrameType

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from simstore.errors import InvalidParameter, printable, shown_place
from simstore.server.access import check_listening
from simstore.server.app import create_app
from simstore.server.reader_process import ReaderProcess
from simstore.server.service import Service
from simstore.server.settings import Settings
from simstore.server.store_process import StoreProcess
from simstore.server.writer_process import WriterProcess

# Ten times as often as Python does by itself.
_SWITCH_SECONDS = 0.0005
# Objects that came and did not go, after which young ones are looked at; and how often old ones.
_COLLECTED_AFTER = (20_000, 20, 20)

# Bytes of a request's head, beyond what comes with its last part.
_LONGEST_HEAD = 64 << 10

log = logging.getLogger("simstore")


def serve(place: str | os.PathLike[str], settings: Settings) -> None:
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
    # What was imported stays: no collection looks at it again, and all processes share its pages.
    gc.freeze()
    # What a request leaves behind goes by itself, but for few cycles.
    gc.set_threshold(*_COLLECTED_AFTER)
    # Before there are threads: they would not be in it, and their locks would.
    writer = WriterProcess(place) if settings.writer_process else None
    beside: list[StoreProcess] = [writer] if writer is not None else []
    readers: list[ReaderProcess] = []
    for _ in range(settings.query_processes):
        readers.append(ReaderProcess(place, elder=[*beside, *readers]))
    app = create_app(place, settings, writer, readers)
    service: Service = app.state.service
    try:
        service.open()
        book = service.store.token_book()
        check_listening(book, settings.host, require_tokens=settings.require_tokens)
        with bound(settings.host, settings.port) as listening:
            config = uvicorn.Config(
                app,
                http=patient_protocol(settings.header_seconds),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=settings.behind_proxy is not None,
                forwarded_allow_ips=settings.behind_proxy,
                timeout_keep_alive=settings.keep_alive_seconds,
                timeout_graceful_shutdown=ceil(settings.drain_seconds),
                ws="none",
            )
            told = f"serving {shown_place(str(place))} at {address_of(listening)}; Ctrl-C stops it"
            _Server(config, service, told).run([listening])
    finally:
        ended = service.close()
        for process in (*beside, *readers):
            process.close()
    log.info("stopped; what was acknowledged is stored")
    if not ended:
        # A thread still looks something up that nobody waits for; it would hold the process.
        logging.shutdown()
        os._exit(0)


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

    def __init__(self, config: uvicorn.Config, service: Service, told: str) -> None:
        super().__init__(config)
        self._service = service
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests, and say so."""
        await super().startup(sockets)
        log.info("%s", self._told)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - its signature
        """Stop at the first signal; end at once at the second."""
        # It may come in the middle of a line of the log, which then takes no other.
        if self._service.stopping.is_set():
            with suppress(RuntimeError):
                log.warning("ended at once; what was acknowledged is stored")
            os._exit(128 + sig)
        self._service.stop()
        name = signal.Signals(sig).name
        loop = asyncio.get_running_loop()
        loop.call_soon_threadsafe(log.info, "%s: no new requests; what was taken is written", name)
        notice = self._service.settings.notice_seconds
        if notice:
            loop.call_soon_threadsafe(loop.call_later, notice, self._stop)
        else:
            self._stop()

    def _stop(self) -> None:
        self.should_exit = True


def patient_protocol(header_seconds: float) -> type[HttpToolsProtocol]:
    """Return the protocol of a connection whose patience has an end.

    A connection is cut where the head of a request, or what is left of a body after its reply,
    does not come in time, or where a head is too long.

    Args:
        header_seconds: How long each may take.
    """

    class PatientProtocol(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None
        _has_all = True
        _in_head = False
        _head_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._come()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if not self._in_head:
                return
            self._head_bytes += len(data)
            if self._head_bytes > _LONGEST_HEAD:
                self.transport.abort()

        def on_message_begin(self) -> None:
            self._wait()
            self._has_all, self._in_head, self._head_bytes = False, True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._come()
            self._in_head = False
            super().on_headers_complete()
            self.scope["state"]["simstore.abort"] = self.transport.abort

        def on_message_complete(self) -> None:
            self._come()
            self._has_all = True
            super().on_message_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self._has_all and not self.transport.is_closing():
                self._wait()

        def _wait(self) -> None:
            self._come()
            self._timer = self.loop.call_later(header_seconds, self.transport.abort)

        def _come(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return PatientProtocol
