"""Routes for health checks, readiness, metrics and the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from simstore.errors import Unavailable
from simstore.server import metrics
from simstore.server.access.gate import GuardedRoute, requires
from simstore.server.bodies import reply
from simstore.server.metrics import build_lines, family, gauge, store_lines
from simstore.server.openapi import answers, problems
from simstore.server.service import Service, service_of

# Who scrapes waits so long for figures of the store; then older ones will do.
_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Status:
    """The status of the server."""

    status: str


router = APIRouter(route_class=GuardedRoute, tags=["operation"])


@router.head("/healthz", dependencies=[requires(None)], include_in_schema=False)
@router.get(
    "/healthz",
    dependencies=[requires(None)],
    summary="Whether the server lives",
    responses=answers(Status),
)
async def healthz() -> Response:
    """Answer as long as the server runs, also while it stops."""
    return reply({"status": "ok"})


@router.head("/readyz", dependencies=[requires(None)], include_in_schema=False)
@router.get(
    "/readyz",
    dependencies=[requires(None)],
    summary="Whether the server takes requests",
    responses=answers(Status),
)
async def readyz(request: Request) -> Response:
    """Answer with 200 where requests are welcome, else with 503 and why they are not."""
    reason = service_of(request).unready()
    if reason is not None:
        raise Unavailable(f"{reason}; ask another server, or try again later", 5)
    return reply({"status": "ready"})


@router.get(
    "/metrics",
    dependencies=[requires("metrics")],
    summary="Figures for Prometheus",
    response_class=PlainTextResponse,
    responses=problems(),
)
async def tell_metrics(request: Request) -> Response:
    """Return the figures of server and store in the text format of Prometheus.

    Those of the store may be some seconds old.
    """
    service = service_of(request)
    figures = await service.figures.value(_PATIENCE_SECONDS)
    is_file = service.store.maintenance.path is not None
    lines = chain(
        build_lines(figures, is_file=is_file),
        service.metrics.lines(),
        _service_lines(service),
        store_lines(figures),
    )
    return Response("\n".join(lines) + "\n", media_type=metrics.CONTENT_TYPE)


@router.get(
    "/openapi.json",
    dependencies=[requires(None)],
    summary="This description",
    include_in_schema=False,
)
async def openapi(request: Request) -> Response:
    """Return the OpenAPI document of the server."""
    return reply(request.app.openapi())


def _service_lines(service: Service) -> Iterator[str]:
    """Yield what there is to tell of the server, and of what waits."""
    writes = service.writes
    done = writes.counters
    yield from gauge(
        "simstore_ready", "1 where /readyz answers with 200.", int(service.unready() is None)
    )
    yield from gauge(
        "simstore_write_queue_documents", "Documents that wait to be written.", writes.depth
    )
    yield from gauge("simstore_writer_up", "1 while the writer works.", int(writes.failure is None))
    yield from gauge(
        "simstore_query_processes",
        "Processes that answer queries; 0 where none is up, or the one that listens does.",
        service.query_processes,
    )
    yield from family(
        "simstore_process_restarts_total",
        "counter",
        "Processes that had died and were started again.",
        (({"process": name}, count) for name, count in service.restarts.items()),
    )
    for name, told, value in (
        ("groups", "Transactions of the writer.", done.groups),
        ("requests", "Requests that the writer answered.", done.requests),
        ("failed_requests", "Requests that failed in the writer.", done.failed),
        ("refused_requests", "Requests that found the queue full.", done.refused),
        ("seconds", "Time that commits took.", done.seconds),
    ):
        yield from family(f"simstore_writer_{name}_total", "counter", told, [({}, value)])
    executors = (("reader", service.readers), ("heavy", service.heavy))
    yield from family(
        "simstore_lane_requests",
        "gauge",
        "Requests that run or wait in threads.",
        (({"lane": name}, executor.taken) for name, executor in executors),
    )
