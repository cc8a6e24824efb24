"""Routes for statistics, rejected records, runs, and the filter of known keys and texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from simstore.model import StoredRejection, StoreStatistics
from simstore.server.access.gate import GuardedRoute, requires
from simstore.server.bodies import reply
from simstore.server.cached_value import CachedValue
from simstore.server.known_filter import FilterAsked
from simstore.server.listings import listing
from simstore.server.openapi import LARGEST, answers, problems
from simstore.server.service import service_of
from simstore.wire import to_wire

router = APIRouter(route_class=GuardedRoute, tags=["store"])
_RUNS = Annotated[int, Query(ge=1, le=1_000)]
Kinds = Annotated[tuple[Literal["keys", "digests"], ...], Query(min_length=1, max_length=2)]
_MOST_REJECTS = 10_000
# Room for more would take the memory of others.
_MOST_MEMBERS = 50_000_000
_BINARY = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class RejectsReply:
    """Records that could not be stored; ``next`` is the ``after`` of the next page."""

    rejects: tuple[StoredRejection, ...]
    more: bool
    next: int | None


@dataclass(frozen=True, slots=True)
class RunsReply:
    """Runs, the latest first."""

    runs: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class RunReply:
    """A run, and the keys of documents that it removed and of skipped ones that it forgot."""

    run: dict[str, Any]
    removed_keys: tuple[str, ...]


@router.get(
    "/v1/stats",
    dependencies=[requires("read")],
    summary="The store in numbers",
    responses=answers(StoreStatistics),
)
async def stats(request: Request, sizes: bool = False) -> Response:
    """Return the store in numbers; where they take time, they may be some times that old.

    With ``sizes``: with the bytes of texts, sketches and passages, all of which are read for it.
    """
    counted = _sizes_of(request) if sizes else service_of(request).statistics
    return reply(to_wire(await counted.value()))


@router.get(
    "/v1/scheme",
    dependencies=[requires("read")],
    summary="How the store makes fingerprints",
    responses=answers(dict[str, Any]),
)
async def scheme(request: Request) -> Response:
    """Return the scheme's name, version, bits and options."""
    service = service_of(request)
    found = await service.readers.run(service.store.maintenance.scheme)
    return reply(to_wire(found.record()))


@router.get(
    "/v1/rejects",
    dependencies=[requires("read")],
    summary="Records that could not be stored",
    responses=answers(RejectsReply, lines=StoredRejection),
)
async def rejects(
    request: Request,
    after: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    limit: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
) -> Response:
    """Return records that could not be stored, and why, the oldest first.

    With ``Accept: application/x-ndjson`` all, a line each.
    """
    service = service_of(request)
    return await listing(
        request,
        service.readers,
        "rejects",
        lambda wanted: iter(service.store.rejects.list(limit=wanted, after=after)),
        limit=limit,
        most=_MOST_REJECTS,
        cursor=lambda one: one.reject_id,
    )


@router.get(
    "/v1/runs",
    dependencies=[requires("read")],
    summary="Runs that stored or removed documents",
    responses=answers(RunsReply),
)
async def runs(request: Request, limit: _RUNS = 20) -> Response:
    """Return the latest runs that stored or removed documents.

    The server itself is one as long as it runs.
    """
    service = service_of(request)
    found = await service.readers.run(service.store.runs.ingest, limit)
    return reply({"runs": to_wire([run.record() for run in found])})


@router.get(
    "/v1/runs/{run_id}",
    dependencies=[requires("read")],
    summary="A run and the keys that it removed",
    responses=answers(RunReply, 404),
)
async def run(request: Request, run_id: Annotated[int, Path(ge=1, le=LARGEST)]) -> Response:
    """Return a run that stored or removed documents, with the keys that it removed."""
    service = service_of(request)
    found = await service.readers.run(service.store.runs.show, run_id)
    return reply(to_wire(found) | {"run": to_wire(found.run.record())})


@router.get(
    "/v1/query-runs",
    dependencies=[requires("read")],
    summary="Query runs",
    responses=answers(RunsReply),
)
async def query_runs(request: Request, limit: _RUNS = 20) -> Response:
    """Return the latest query runs that are recorded; queries of the server are not."""
    service = service_of(request)
    found = await service.readers.run(service.store.runs.query, limit)
    return reply({"runs": to_wire([run.record() for run in found])})


@router.get(
    "/v1/known-keys",
    dependencies=[requires("read")],
    summary="A known-keys filter",
    responses={
        200: {
            "description": "The filter, as simstore.KnownFilter reads it",
            "content": {_BINARY: {"schema": {"type": "string", "format": "binary"}}},
            "headers": {"ETag": {"schema": {"type": "string"}}},
        },
        304: {"description": "The filter that you have is good"},
        **problems(),
    },
)
async def known_filter(
    request: Request,
    false_positive_rate: Annotated[float, Query(gt=0, lt=1, allow_inf_nan=False)] = 0.001,
    of: Kinds = ("keys", "digests"),
    capacity: Annotated[int | None, Query(ge=1, le=_MOST_MEMBERS)] = None,
) -> Response:
    """Return a known-keys filter, of the keys and texts that the store knows, for a crawler.

    It is made anew when the store has changed, and then kept for ten times as long as that took.
    Send its ``ETag`` as ``If-None-Match``: where it is good still, the answer is 304, without it.
    """
    service = service_of(request)
    held = request.headers.get("if-none-match", "").split(",")
    tags = frozenset(tag.strip().removeprefix("W/") for tag in held)
    parameters = FilterAsked(false_positive_rate, of, capacity)
    found = await service.filters.filter(parameters, tags)
    if isinstance(found, str):
        return Response(status_code=304, headers={"ETag": found, "Cache-Control": "no-cache"})
    headers = {"ETag": found.tag, "Cache-Control": "no-cache"}
    return Response(found.data, headers=headers, media_type=_BINARY)


def _sizes_of(request: Request) -> CachedValue[StoreStatistics]:
    """Return what counts the store with its sizes, once for all who ask at a time."""
    service = service_of(request)
    held = getattr(request.app.state, "sizes", None)
    if held is None or held[0] is not service:
        counted = CachedValue(partial(service.store.stats, sizes=True), service.heavy)
        held = request.app.state.sizes = (service, counted)
    found: CachedValue[StoreStatistics] = held[1]
    return found
