"""Routes that list clusters of near-duplicates, and duplicates found at ingest."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from simstore.errors import MalformedRequest, NotFound
from simstore.model import (
    ClusterMerge,
    ClusterPlace,
    ClustersStatus,
    Duplicate,
    DuplicateState,
    StoredCluster,
)
from simstore.server.access.gate import GuardedRoute, requires
from simstore.server.bodies import reply
from simstore.server.listings import listing
from simstore.server.openapi import LARGEST, answers
from simstore.server.request_keys import query_text
from simstore.server.service import service_of
from simstore.text.decoding import encode
from simstore.wire import to_wire


def cursor_of(listed: Duplicate) -> str:
    """Return the cursor for the position after an item of a list by keys."""
    return base64.urlsafe_b64encode(encode(listed.key)).decode()


def key_of(cursor: str | None) -> str | None:
    """Return the key behind which a page of a list by keys begins; None: at the beginning.

    Raises:
        MalformedRequest: It is no cursor of such a list.
    """
    if cursor is None:
        return None
    try:
        return base64.b64decode(cursor, b"-_", validate=True).decode("utf-8", "surrogateescape")
    except ValueError:
        raise MalformedRequest(
            "query.after", "give what the page before has as next, or nothing"
        ) from None


router = APIRouter(route_class=GuardedRoute, tags=["clusters"])
Limit = Annotated[int | None, Query(ge=1, le=LARGEST)]
_NEXT = "``next`` of the page before"
After = Annotated[int, Query(ge=0, le=LARGEST, description=_NEXT)]


@dataclass(frozen=True, slots=True)
class ClustersPage:
    """Some of the clusters; ``next``: what to ask for as ``after``, if there are more."""

    clusters: tuple[StoredCluster, ...]
    more: bool
    next: int | None


@dataclass(frozen=True, slots=True)
class MergesPage:
    """Some of the clusters that have ended; ``next`` as in the clusters."""

    merges: tuple[ClusterMerge, ...]
    more: bool
    next: int | None


@dataclass(frozen=True, slots=True)
class DuplicatesPage:
    """Some of the duplicates; ``next`` as in the clusters."""

    duplicates: tuple[Duplicate, ...]
    more: bool
    next: str | None


@dataclass(frozen=True, slots=True)
class SummaryReply:
    """The status of the stored clusters; null where none are stored."""

    summary: ClustersStatus | None


@dataclass(frozen=True, slots=True)
class PlaceReply:
    """The stored cluster of a document; null where it is in none."""

    place: ClusterPlace | None


@router.get(
    "/v1/clusters",
    dependencies=[requires("read")],
    summary="Kept clusters",
    responses=answers(ClustersPage, 404, lines=StoredCluster),
)
async def clusters(
    request: Request,
    min_size: Annotated[int, Query(ge=1, le=LARGEST)] = 2,
    limit: Limit = None,
    after: After = 0,
) -> Response:
    """Return a page of clusters by their names; with ``Accept: application/x-ndjson`` all."""
    service = service_of(request)
    return await listing(
        request,
        service.heavy,
        "clusters",
        # Those that are too small pass here, so that a request that has ended is noticed.
        lambda _wanted: service.store.clusters.list(min(min_size, 2), after=after),
        limit=limit,
        most=service.settings.batch_documents,
        cursor=lambda one: one.cluster_id,
        passing=lambda one: len(one.members) >= min_size,
    )


@router.get(
    "/v1/clusters/of",
    dependencies=[requires("read")],
    summary="The cluster of a document",
    responses=answers(PlaceReply, 404),
)
async def cluster_of(request: Request, key: str) -> Response:
    """Return the stored cluster of a document."""
    service = service_of(request)
    found = await service.readers.run(service.store.clusters.of, query_text(request, "key", key))
    return reply({"place": to_wire(found)})


@router.get(
    "/v1/clusters/summary",
    dependencies=[requires("read")],
    summary="Clusters in numbers",
    responses=answers(SummaryReply),
)
async def cluster_summary(request: Request, largest: bool = False) -> Response:
    """Return what there is of clusters; ``largest`` looks at every text."""
    service = service_of(request)
    executor = service.heavy if largest else service.readers
    found = await executor.run(lambda: service.store.clusters.status(largest=largest))
    return reply({"summary": to_wire(found)})


@router.get(
    "/v1/clusters/merges",
    dependencies=[requires("read")],
    summary="Clusters that have ended",
    responses=answers(MergesPage, lines=ClusterMerge),
)
async def cluster_merges(request: Request, limit: Limit = None, after: After = 0) -> Response:
    """Return a page of the clusters that have ended, by their names; as lines, all of them."""
    service = service_of(request)
    return await listing(
        request,
        service.readers,
        "merges",
        lambda _wanted: service.store.clusters.merges(after=after),
        limit=limit,
        most=service.settings.batch_documents,
        cursor=lambda one: one.cluster_id,
    )


@router.get(
    "/v1/clusters/{cluster_id}",
    dependencies=[requires("read")],
    summary="A cluster",
    responses=answers(StoredCluster, 404),
)
async def cluster(request: Request, cluster_id: int) -> Response:
    """Return a cluster by its number."""
    service = service_of(request)

    def answered() -> Response:
        found = None
        if abs(cluster_id) <= LARGEST:
            found = service.store.clusters.members(cluster_id)
        if found is None:
            raise NotFound(f"no cluster is called {str(cluster_id)[:30]}; /v1/clusters lists them")
        return reply(to_wire(found))

    return await service.readers.run(answered)


@router.get(
    "/v1/duplicates",
    dependencies=[requires("read")],
    summary="Duplicates that were found before the insert",
    responses=answers(DuplicatesPage, lines=Duplicate),
)
async def duplicates(
    request: Request,
    state: DuplicateState | None = None,
    original: str | None = None,
    limit: Limit = None,
    after: Annotated[str | None, Query(description=_NEXT)] = None,
) -> Response:
    """Return a page of duplicates by their keys; with ``Accept: application/x-ndjson`` all."""
    service = service_of(request)
    begin = key_of(after)
    named: Any = None if original is None else query_text(request, "original", original)
    return await listing(
        request,
        service.readers,
        "duplicates",
        lambda _wanted: service.store.duplicates.list(state=state, original=named, after=begin),
        limit=limit,
        most=service.settings.batch_documents,
        cursor=cursor_of,
    )
