"""The route that finds stored documents near a text."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from simstore.errors import MalformedRequest, TooLarge
from simstore.model import Document, DocumentFilter, QueryOptions, QueryRun, SampleResult
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


@dataclass(frozen=True, slots=True)
class QueryBody(DocumentFilter):
    """One text, or some samples; and how to look for them, as ``simstore.QueryOptions``."""

    text: str | None = None
    samples: tuple[Sample, ...] | None = None
    radius: int | None = None
    first: bool = False
    limit: int | None = None
    exclude_self: bool = False
    since: int | str | None = None
    where: tuple[tuple[str, str | int | float | bool], ...] = ()
    plan: str = "auto"
    channels: tuple[str, ...] = ()
    verify: bool = True
    min_resemblance: float | None = None
    min_containment: float | None = None
    min_features: int | None = None
    min_character_resemblance: float | None = None


@dataclass(frozen=True, slots=True)
class QueryReply:
    """The matches of each sample, in their order, and what they go by.

    Attributes:
        samples: One result a sample; one for a lone text.
        radius: The radius that was used, in bits.
        bits: Fingerprint length.
        scheme: Scheme of the store.
        stale: Why some documents may not be found yet; null where all are.
        unknown_fields: Fields of `where` that no document has, if nothing was found.
    """

    samples: tuple[SampleResult, ...]
    radius: int
    bits: int
    scheme: str
    stale: str | None
    unknown_fields: tuple[str, ...] = ()


_OPTIONS = tuple(name for name in QueryBody.__dataclass_fields__ if name not in ("text", "samples"))


@router.post(
    "/v1/query",
    dependencies=[requires("read")],
    summary="Documents near a text",
    responses=answers(QueryReply, 413, 415),
    openapi_extra=json_body(QueryBody),
)
async def query(request: Request) -> Response:
    """Return the documents near each sample, by distance, then order of ingest."""
    wanted = await read_body(request, QueryBody, service_of(request).readers)
    service = service_of(request)
    if (wanted.text is None) == (wanted.samples is None):
        raise MalformedRequest("body", "give either text or samples")
    options = QueryOptions(**{name: getattr(wanted, name) for name in _OPTIONS})
    if wanted.text is not None and len(wanted.text) > _LONG:
        service.metrics.samples += 1
        sample = Document("", wanted.text)
        return await service.heavy.run(
            lambda: _reply_of(service.reader.query_many([sample], options))
        )
    if wanted.text is not None:
        service.metrics.samples += 1
        run = await asyncio.wrap_future(service.queries.submit(Document("", wanted.text), options))
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
    facts = (run.radius, run.bits, run.scheme, run.stale, run.unknown_fields)
    return reply(to_wire(QueryReply(run.samples, *facts)))
