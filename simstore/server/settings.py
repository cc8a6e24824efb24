"""Settings of a server: addresses, limits, processes."""

from __future__ import annotations

from dataclasses import dataclass

from simstore.errors import InvalidParameter

DEFAULT_PORT = 8765
# What timers of operating systems take, and more than anyone waits.
MOST_SECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of a server.

    Attributes:
        host: Address to listen on.
        port: Port to listen on; 0: any that is free.
        require_tokens: Ask for a token on the loopback too, where the store has none.
        behind_proxy: Address of a proxy that is believed who asks, and whether by TLS; None: none.
        body_bytes: Largest body of a request, bytes; of NDJSON: longest line.
        bodies_bytes: Largest bodies of all requests at a time together, bytes.
        batch_documents: Most documents, samples or keys of a request that is no NDJSON.
        request_seconds: Longest time for a request; of NDJSON: for a line.
        header_seconds: Longest time for the head of a request.
        keep_alive_seconds: How long a connection is kept for another request.
        queue_documents: Most documents that wait to be written.
        queue_bytes: Most bytes of their texts.
        group_documents: Most documents of a commit.
        waiting_queries: Most queries that wait for an answer.
        writer_process: Let :func:`simstore.server.serving.serve` write in a process of its own, so
            that writing holds up no query; it takes memory of its own.
        query_processes: Processes of their own that answer queries, each with its own index in
            memory; 0: the one that listens does, and checks papers, too.
        heavy_requests: Checks, comparisons and the like at once.
        rate: Requests a second of a token, as a mean; None: as many as it likes.
        drain_seconds: How long replies may take when the server stops.
        notice_seconds: How long the server still listens when it is told to stop, and says at
            ``/readyz`` that it does.
        figures_seconds: How old the figures of the store that ``/metrics`` tells may be.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    require_tokens: bool = False
    behind_proxy: str | None = None
    body_bytes: int = 32 << 20
    bodies_bytes: int = 512 << 20
    batch_documents: int = 1_000
    request_seconds: float = 30.0
    header_seconds: float = 10.0
    keep_alive_seconds: int = 30
    queue_documents: int = 20_000
    queue_bytes: int = 256 << 20
    group_documents: int = 1_000
    waiting_queries: int = 2_000
    writer_process: bool = True
    query_processes: int = 1
    heavy_requests: int = 2
    rate: float | None = None
    drain_seconds: float = 30.0
    notice_seconds: float = 0.0
    figures_seconds: float = 15.0

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise InvalidParameter(f"port {self.port}: 0 to 65535")
        for name in (
            "body_bytes", "bodies_bytes", "batch_documents", "request_seconds", "header_seconds",
            "keep_alive_seconds", "queue_documents", "queue_bytes", "group_documents",
            "waiting_queries", "heavy_requests", "drain_seconds",
        ):  # fmt: skip
            if not getattr(self, name) > 0:
                raise InvalidParameter(f"{name} {getattr(self, name)}: more than 0 is needed")
        if self.query_processes < 0:
            raise InvalidParameter(f"query_processes {self.query_processes}: 0 or more is needed")
        if self.rate is not None and not self.rate > 0:
            raise InvalidParameter(f"rate {self.rate:g}: more than 0 is needed")
        for name in (
            "request_seconds", "header_seconds", "keep_alive_seconds", "drain_seconds",
            "notice_seconds", "figures_seconds",
        ):  # fmt: skip
            if not 0 <= getattr(self, name) <= MOST_SECONDS:
                raise InvalidParameter(
                    f"{name} {getattr(self, name)}: 0 to {MOST_SECONDS:,} is needed"
                )
