"""The route that finds stored documents near a text."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields

from fastapi import APIRouter, Request, Response

from simstore.errors import MalformedRequest, TooLarge
from simstore.model import Document, QueryOptions, QueryRun
from simstore.server.access.gate import GuardedRoute, requires
from simstore.server.bodies import read_body, reply
from simstore.server.openapi import answers, json_body
from simstore.server.service import service_of
from simstore.wire import to_wire

router = APIRouter(route_class=GuardedRoute, tags=["search"])
# Characters of a text that takes long enough for others to notice, if it were theirs to wait.
_LONG = 200_000
# Matches of which a reply is as long.
_MANY = 1_000


@dataclass(frozen=True, slots=True)
class Sample:
    """A text to look for.

    Attributes:
        text: The text.
        key: How its results are called; with ``exclude_self``, the stored document that is left
            out.
    """

    text: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryBody(QueryOptions):
    """One text, or some samples; and how to look for them, as ``simstore.QueryOptions``."""

    text: str | None = None
    samples: tuple[Sample, ...] | None = None
    # The options refuse an unknown name, as on every face.
    plan: str = "auto"  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Leave the values to the options that are made of them."""


@router.post(
    "/v1/query",
    dependencies=[requires("read")],
    summary="Documents near a text",
    responses=answers(QueryRun, 413, 415),
    openapi_extra=json_body(QueryBody),
)
async def query(request: Request) -> Response:
    """Return the documents near each sample, by distance, then order of ingest."""
    wanted = await read_body(request, QueryBody, service_of(request).readers)
    service = service_of(request)
    if (wanted.text is None) == (wanted.samples is None):
        raise MalformedRequest("body", "give either text or samples")
    options = QueryOptions(**{one.name: getattr(wanted, one.name) for one in fields(QueryOptions)})
    if wanted.text is not None:
        service.metrics.samples += 1
        sample = Document("", wanted.text)
        if len(wanted.text) > _LONG:
            return await service.heavy.run(
                lambda: _reply_of(service.reader.query_many([sample], options))
            )
        run = await asyncio.wrap_future(service.queries.submit(sample, options))
        if len(run.samples[0].matches) > _MANY:
            return await service.readers.go_on(lambda: _reply_of(run))
        return _reply_of(run)
    samples = wanted.samples or ()
    if len(samples) > service.settings.batch_documents:
        raise TooLarge("samples of a request", service.settings.batch_documents)
    service.metrics.samples += len(samples)

    def answered() -> Response:
        documents = [Document(one.key, one.text) for one in samples]
        return _reply_of(service.reader.query_many(documents, options))

    return await service.readers.run(answered)


def _reply_of(run: QueryRun) -> Response:
    return reply(to_wire(run))
