"""Routes that check submitted papers for copied passages, and compare two texts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData, UploadFile

from simstore.errors import MalformedRequest, NotFound, TooLarge, UnsupportedMedia
from simstore.model import CheckedPaper, CheckOptions, Comparison, Document, MutualCheck
from simstore.reports.check_html import html_report
from simstore.reports.html_page import Library, content_policy
from simstore.reports.html_words import Language
from simstore.server.access.gate import GuardedRoute, requires
from simstore.server.bodies import (
    JSON,
    accepts,
    check_coding,
    content_type,
    parsed,
    read_body,
    reply,
    taken,
)
from simstore.server.documents import GivenDocument, document_of_given
from simstore.server.openapi import answers, json_body
from simstore.server.service import Service, library_of, service_of
from simstore.server.workers.bounded_executor import while_wanted
from simstore.server.workers.uploads import UploadLimits, read_paper
from simstore.services.compare.compared import CompareOptions
from simstore.sources.encodings import checked_encoding
from simstore.wire import to_wire

router = APIRouter(route_class=GuardedRoute, tags=["search"])
_FORM = "multipart/form-data"
_HTML = "text/html"
# More would take the memory and the time of others.
_MOST_COUNTERS, _MOST_LENGTHS = 1 << 24, 16
_FIELDS = frozenset(("file", "text", "key", "options", "encoding"))


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper to check.

    Attributes:
        text: Its text.
        key: Its key; a stored document with the same key is no source.
        title: Its title.
    """

    text: str
    key: str = ""
    title: str | None = None


@dataclass(frozen=True, slots=True)
class CheckBody:
    """The input of a check (a text, a stored document by its key, or papers) and its options."""

    text: str | None = None
    stored: str | None = None
    papers: tuple[Paper, ...] | None = None
    options: CheckOptions = field(default_factory=CheckOptions)


@dataclass(frozen=True, slots=True)
class CheckReply:
    """The results of a check: one for each paper, in order."""

    papers: tuple[CheckedPaper, ...]


@dataclass(frozen=True, slots=True)
class MutualBody:
    """Papers that are compared with one another, and how."""

    papers: tuple[Paper, ...]
    options: CheckOptions = field(default_factory=CheckOptions)


@dataclass(frozen=True, slots=True)
class Compared:
    """One of two texts: a stored document by its key, or a document that is given."""

    key: str | None = None
    document: GivenDocument | None = None


@dataclass(frozen=True, slots=True)
class CompareBody:
    """Two texts, and how to compare them."""

    first: Compared
    second: Compared
    options: CompareOptions = field(default_factory=CompareOptions)


_FORM_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "format": "binary", "description": "A file, of any kind"},
        "text": {"type": "string"},
        "key": {"type": "string"},
        "encoding": {
            "type": "string",
            "description": "That of a file that is a text or a page: its name, auto or keep",
        },
        "options": {"type": "string", "description": "How to check, as JSON"},
    },
}


@router.post(
    "/v1/check",
    dependencies=[requires("read")],
    summary="Which passages were taken, and from where",
    responses=answers(CheckReply, 404, 413, 415, 501, page=True),
    openapi_extra=json_body(CheckBody, form=_FORM_SCHEMA),
)
async def check(request: Request, lang: Language = "en") -> Response:
    """Check papers passage by passage; nothing is stored. With ``Accept: text/html``: a report."""
    service = service_of(request)
    kind = content_type(request)
    if kind == _FORM:
        papers, options = await _of_form(request, service)
    elif kind in (JSON, ""):
        papers, options = await _of_json(request, service)
    else:
        raise UnsupportedMedia(kind, f"{JSON} or {_FORM}")
    with while_wanted() as step:
        found = await service.heavy.run(service.check_many, papers, options, step)
    if accepts(request, _HTML):
        return _page(
            await service.heavy.go_on(lambda: _report(found, lang, library_of(service, options)))
        )
    return await service.heavy.go_on(lambda: reply(to_wire(CheckReply(tuple(found)))))


@router.post(
    "/v1/check/mutual",
    dependencies=[requires("read")],
    summary="Which papers have text in common",
    responses=answers(MutualCheck, 404, 413, 415, 501, page=True),
    openapi_extra=json_body(MutualBody),
)
async def check_mutual(request: Request, lang: Language = "en") -> Response:
    """Compare papers with one another; nothing is stored.

    Pairs are ranked by text that stored documents do not have. With ``Accept: text/html``: a report
    of the papers, in which they are compared with the library too, if it has a passage index.
    """
    service = service_of(request)
    wanted = await read_body(request, MutualBody, service.readers)
    papers, options = _papers(service, wanted.papers), wanted.options
    is_page = accepts(request, _HTML)
    if is_page and not papers:
        raise MalformedRequest("body.papers", "a report needs a paper")
    with while_wanted() as step:
        found = await service.heavy.run(service.check_mutual, papers, options, step)
        if is_page:
            try:
                checked = await service.heavy.go_on(service.check_many, papers, options, step)
                library = await service.heavy.go_on(lambda: library_of(service, options))
            except NotFound:
                checked, library = list(found.papers), None
    if is_page:
        page = await service.heavy.go_on(lambda: _report(checked, lang, library, found))
        return _page(page)
    return await service.heavy.go_on(lambda: reply(to_wire(found)))


@router.post(
    "/v1/compare",
    dependencies=[requires("read")],
    summary="Two texts side by side",
    responses=answers(Comparison, 404, 413, 415),
    openapi_extra=json_body(CompareBody),
)
async def compare(request: Request) -> Response:
    """Compare two texts by every algorithm; texts that are given are not stored."""
    service = service_of(request)
    wanted = await read_body(request, CompareBody, service.readers)
    if len(wanted.options.bits) > _MOST_LENGTHS:
        raise TooLarge("lengths of fingerprints", _MOST_LENGTHS)
    if (wanted.options.filter_counters or 0) > _MOST_COUNTERS:
        raise TooLarge("counters of a filter", _MOST_COUNTERS)
    first, second = _compared(wanted.first, "first"), _compared(wanted.second, "second")
    with while_wanted() as step:
        found = await service.heavy.run(
            lambda: service.store.compare(
                first, second, wanted.options, on_progress=lambda _done, _all: step()
            )
        )
    return await service.heavy.go_on(lambda: reply(to_wire(found)))


async def _of_json(request: Request, service: Service) -> tuple[list[Document], CheckOptions]:
    wanted = await read_body(request, CheckBody, service.readers)
    if sum(one is not None for one in (wanted.text, wanted.stored, wanted.papers)) != 1:
        raise MalformedRequest("body", "give one of text, stored and papers")
    if wanted.text is not None:
        return [Document("", wanted.text)], wanted.options
    if wanted.stored is not None:
        return [await service.readers.run(_stored, service, wanted.stored)], wanted.options
    return _papers(service, wanted.papers or ()), wanted.options


def _papers(service: Service, papers: tuple[Paper, ...]) -> list[Document]:
    if len(papers) > service.settings.batch_documents:
        raise TooLarge("papers of a request", service.settings.batch_documents)
    return [Document(one.key, one.text, title=one.title) for one in papers]


async def _of_form(request: Request, service: Service) -> tuple[list[Document], CheckOptions]:
    check_coding(request)
    most = service.settings.body_bytes
    async with request.form(max_files=1, max_fields=len(_FIELDS), max_part_size=most) as form:
        strange = sorted(set(form) - _FIELDS)
        if strange:
            raise MalformedRequest(f"body.{strange[0][:40]}", "there is no such field")
        options = taken(CheckOptions, parsed(_text(form, "options") or b"{}", "body.options"))
        key = _text(form, "key").decode("utf-8", "surrogateescape")
        encoding = checked_encoding(_text(form, "encoding").decode(errors="replace") or "auto")
        file = form.get("file")
        if isinstance(file, UploadFile):
            if "text" in form:
                raise MalformedRequest("body", "give either a file or a text")
            name, data = file.filename or "file", await file.read()
            limits = UploadLimits(text_bytes=service.settings.body_bytes)
            read = await service.heavy.run(
                read_paper, service.store, name, data, encoding, limits=limits
            )
            return list(read.documents), options
        if file is not None or "text" not in form:
            raise MalformedRequest("body.file", "a file is needed, or a text")
        return [Document(key, _text(form, "text").decode("utf-8", "replace"))], options


def _text(form: FormData, name: str) -> bytes:
    value = form.get(name, "")
    if not isinstance(value, str):
        raise MalformedRequest(f"body.{name}", "a text is needed, not a file")
    return value.encode("utf-8", "surrogateescape")


def _stored(service: Service, key: str) -> Document:
    found = service.store.get(key, with_text=True)
    if found.text is None:
        raise NotFound("the store keeps no texts; send the text")
    return Document(found.key, found.text, title=found.title)


def _compared(one: Compared, name: str) -> str | Document:
    if (one.key is None) == (one.document is None):
        raise MalformedRequest(f"body.{name}", "give either key or document")
    if one.document is not None:
        return document_of_given(one.document, f"body.{name}.document")
    return one.key or ""


def _report(
    papers: list[CheckedPaper],
    lang: Language,
    library: Library | None,
    mutual: MutualCheck | None = None,
) -> str:
    return html_report(
        papers,
        lang=lang,
        generated_at=int(time.time()),
        compared_with=library,
        mutual=mutual,
    )


def _page(report: str) -> Response:
    headers = {"Content-Security-Policy": content_policy()}
    return Response(report, headers=headers, media_type=_HTML)
