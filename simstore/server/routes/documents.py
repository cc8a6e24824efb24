"""Routes that add, list, show and remove documents."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from simstore.errors import MalformedRequest, TooLarge
from simstore.model import (
    DocumentFilter,
    DocumentOutcome,
    OnDuplicate,
    RemoveRequest,
    Seen,
    StoredDocument,
    Story,
    WriteReply,
    WriteRequest,
)
from simstore.model.channels import searched_names
from simstore.server.access.gate import GuardedRoute, requires
from simstore.server.bodies import (
    LARGE_BYTES,
    check_coding,
    checked_json,
    parsed,
    read_body,
    reply,
    value_of,
)
from simstore.server.documents import GivenDocument, documents_of
from simstore.server.listings import listing
from simstore.server.openapi import LARGEST, answers, json_body
from simstore.server.request_context import is_ndjson
from simstore.server.request_keys import key_in_path
from simstore.server.routes.document_stream import OUTCOMES, DocumentStream
from simstore.server.service import Service, service_of
from simstore.server.workers.bounded_executor import while_wanted
from simstore.wire import to_wire

router = APIRouter(route_class=GuardedRoute, tags=["documents"])

Resemblance = Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class DocumentsBody:
    """Documents to add or update, as if one after the other."""

    documents: tuple[GivenDocument, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of documents by outcome."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    flagged: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class DocumentsReply:
    """Outcomes of the documents, in their order; each is durable.

    ``uncovered``: keys that had been skipped as duplicates of documents whose new text no longer
    says all that the former one said: they should be added again, and so should ``orphans``, whose
    documents have gone; ``unflagged``: keys that were flagged because of those, and are originals
    now.
    """

    documents: tuple[DocumentOutcome, ...]
    counts: Counts
    orphans: tuple[str, ...] = ()
    unflagged: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentsPage:
    """Some documents; ``next`` is the ``after`` of the next page."""

    documents: tuple[StoredDocument, ...]
    more: bool
    next: int | None


@dataclass(frozen=True, slots=True)
class SeenBody:
    """Keys of documents, or a text by its digest: BLAKE2b-128 of its UTF-8, hexadecimal."""

    keys: tuple[str, ...] | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveBody:
    """Keys of documents to remove: all of them, or none where one is not there."""

    keys: tuple[str, ...]
    missing_ok: bool = False


@dataclass(frozen=True, slots=True)
class RemovedReply:
    """The number of documents removed, and the keys orphaned or unflagged."""

    removed: int
    orphans: tuple[str, ...] = ()
    unflagged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeenReply:
    """The state of each key; null where it was never seen."""

    seen: tuple[Seen | None, ...]


@router.post(
    "/v1/documents",
    dependencies=[requires("write")],
    summary="Add or update documents",
    responses=answers(DocumentsReply, 409, 413, 415, 507),
    openapi_extra=json_body(GivenDocument, DocumentsBody, lines=GivenDocument),
)
async def add_documents(
    request: Request,
    on_duplicate: OnDuplicate | None = None,
    min_resemblance: Resemblance | None = None,
    radius: Annotated[int | None, Query(ge=0, le=128)] = None,
    channels: str = "",
    *,
    short_texts: bool = False,
) -> Response:
    """Look each document up and store it; the reply means that it is durable.

    A request may be sent again: a document that is stored with the same text is ``unchanged``.

    The body is a document, or an object with ``documents``; all of them are stored, or none. Or it
    is NDJSON, a document a line and as many as you like: then the reply is NDJSON too, a line a
    document in their order, each as soon as it is durable; a line that cannot be used is answered
    by an ``error``, and the others are stored; the last line has the ``counts``,
    and the keys that are ``orphans`` or ``unflagged`` now.
    """
    service = service_of(request)
    wish = WriteRequest(
        (),
        on_duplicate,
        min_resemblance,
        radius=radius,
        channels=searched_names(channels),
        short_texts=short_texts,
    )
    if is_ndjson(request.scope):
        check_coding(request)
        return DocumentStream(request, service, wish)
    body = await checked_json(request)

    def submitted() -> Future[WriteReply]:
        documents = documents_of(parsed(body), service.settings.batch_documents)
        return service.take(replace(wish, documents=documents))

    # Reading and checking a large body holds up nobody.
    large = len(body) > LARGE_BYTES
    done = await asyncio.wrap_future(await service.readers.run(submitted) if large else submitted())
    return reply(_reply_of(service, done))


@router.get(
    "/v1/documents",
    dependencies=[requires("read")],
    summary="Documents in order of ingest",
    responses=answers(DocumentsPage, lines=StoredDocument),
)
async def documents(
    request: Request,
    wanted: Annotated[DocumentFilter, Depends()],
    after: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    limit: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    with_text: bool = False,
    run_id: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
) -> Response:
    """Return a page of documents; with ``Accept: application/x-ndjson`` all, a line each.

    With ``run_id`` those that this run of ingest added or updated, and none since.
    """
    service = service_of(request)
    most = service.settings.batch_documents
    return await listing(
        request,
        service.readers,
        "documents",
        lambda most_wanted: service.store.list(
            **wanted.chosen, limit=most_wanted, with_text=with_text, after=after, run_id=run_id
        ),
        limit=limit,
        most=most,
        cursor=lambda one: one.document_id,
    )


@router.get(
    "/v1/documents/{key:key}",
    dependencies=[requires("read")],
    summary="A document, or its story",
    responses=answers(StoredDocument | Story, 404),
)
async def document(
    request: Request,
    key: str,
    with_text: bool = False,
    story: bool = False,
    original: str = "first-seen",
) -> Response:
    """Return a document by its key, percent-encoded; with ``story``, its history."""
    service = service_of(request)
    name = key_in_path(request, key)
    if story:
        with while_wanted() as step:
            return await service.readers.run(
                lambda: reply(
                    to_wire(service.store.duplicates.story(name, original=original, on_step=step))
                )
            )
    return await service.readers.run(
        lambda: reply(to_wire(service.store.get(name, with_text=with_text)))
    )


@router.delete(
    "/v1/documents/{key:key}",
    dependencies=[requires("write")],
    summary="Remove a document",
    responses=answers(RemovedReply, 404, 409),
)
async def remove_document(request: Request, key: str) -> Response:
    """Remove a document by its key, percent-encoded; the reply means that it is durable."""
    return await _remove(service_of(request), RemoveRequest((key_in_path(request, key),)))


@router.post(
    "/v1/remove",
    dependencies=[requires("write")],
    summary="Remove documents",
    responses=answers(RemovedReply, 404, 409, 413, 415),
    openapi_extra=json_body(RemoveBody),
)
async def remove_documents(request: Request) -> Response:
    """Remove documents by their keys; the reply means that it is durable."""
    service = service_of(request)
    body = await checked_json(request)
    body_fields = await value_of(body, RemoveBody, service.readers)
    _check_count(body_fields.keys, service)
    return await _remove(service, RemoveRequest(body_fields.keys, body_fields.missing_ok))


@router.post(
    "/v1/seen",
    dependencies=[requires("read")],
    summary="What became of keys",
    responses=answers(SeenReply, 413, 415),
    openapi_extra=json_body(SeenBody),
)
async def seen(request: Request) -> Response:
    """Return the state of each key; null where it was never seen, or was forgotten.

    Of a ``digest``: of each key under which the text was seen, the first seen in front.
    """
    service = service_of(request)
    body_fields = await read_body(request, SeenBody, service_of(request).readers)
    if (body_fields.keys is None) == (body_fields.digest is None):
        raise MalformedRequest("body", "give either keys or digest")
    if body_fields.keys is None:
        digest = digest_of(body_fields.digest or "")
        return await service.readers.run(
            lambda: reply({"seen": to_wire(service.store.seen(digest=digest))})
        )
    keys = body_fields.keys
    _check_count(keys, service)
    return await service.readers.run(lambda: reply({"seen": to_wire(service.store.seen(keys))}))


def digest_of(text: str) -> bytes:
    """Return a digest from its hexadecimal digits."""
    if re.fullmatch("[0-9a-fA-F]{32}", text) is None:
        raise MalformedRequest("body.digest", "32 hexadecimal digits are needed")
    return bytes.fromhex(text)


def _check_count(keys: tuple[str, ...], service: Service) -> None:
    if len(keys) > service.settings.batch_documents:
        raise TooLarge("keys of a request", service.settings.batch_documents)


async def _remove(service: Service, body_fields: RemoveRequest) -> Response:
    done = await service.submit(body_fields)
    service.metrics.documents["removed"] += done.removed
    return reply(
        {
            "removed": done.removed,
            "orphans": to_wire(done.orphans),
            "unflagged": to_wire(done.unflagged),
        }
    )


def _reply_of(service: Service, done: WriteReply) -> dict[str, Any]:
    """Return what a request did, as JSON values, and count it."""
    counts = Counter[str](one.outcome for one in done.outcomes)
    service.metrics.documents.update(counts)
    shown = {name: counts[name] for name in OUTCOMES}
    return {
        "documents": to_wire(done.outcomes),
        "counts": shown,
        "orphans": to_wire(done.orphans),
        "unflagged": to_wire(done.unflagged),
        "uncovered": to_wire(done.uncovered),
    }
