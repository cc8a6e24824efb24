"""The web page that checks a submitted paper for copied passages and shows the report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from simstore.errors import (
    BadInput,
    DocumentNotFound,
    InvalidParameter,
    SimstoreError,
    UnreadableSource,
)
from simstore.model import CheckedPaper, CheckOptions, Document
from simstore.reports.check_html import html_report, report_contents
from simstore.server.access.gate import GuardedRoute, requires
from simstore.server.page.browser_request import from_address, in_address, language_of
from simstore.server.page.problems import FormError, ReportGone, keep_form
from simstore.server.page.rendering import answer
from simstore.server.page.state import CachedReport, page_state_of
from simstore.server.page.words import page_words
from simstore.server.service import Service, library_of, service_of
from simstore.server.workers.bounded_executor import Step, while_wanted
from simstore.server.workers.uploads import UploadLimits, read_paper
from simstore.sources.encodings import checked_encoding

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

MOST_PAPERS = 20
# Beyond, the form is not read to its end.
_MOST_FILES = 1_000
_MOST_FIELDS = 40
_LONGEST_TITLE = 80
# Others may be typed.
_OFFERED = ("gb18030", "big5", "shift_jis", "euc-jp", "euc-kr", "windows-1251", "windows-1252")


@dataclass(frozen=True, slots=True)
class FormInput:
    """The input of the form: papers to check.

    Attributes:
        text: What was pasted.
        key: Key of a stored document, in place of it.
        files: Names and contents of files.
        options: How to check.
        encoding: That of the files that are texts or pages; ``auto``: as it is found.
    """

    text: str
    key: str
    files: tuple[tuple[str, bytes], ...]
    options: CheckOptions
    encoding: str = "auto"


@dataclass(frozen=True, slots=True)
class FormContents:
    """The contents of the form: its defaults, or what was sent with it.

    Attributes:
        has_options: Some of it is an option, so the options are open.
    """

    text: str = ""
    high: str = "0.8"
    moderate: str = "0.5"
    by: str = "sentences"
    exclude: str = ""
    exclude_quotations: str = ""
    exclude_bibliography: str = ""
    include_self: str = ""
    sentences: str = "1"
    simhash: str = ""
    encoding: str = ""
    has_options: bool = False


@router.get("/", dependencies=[requires("read")])
async def home(request: Request) -> Response:
    """Show where to paste a paper."""
    return answer(request, "home.html", await _home(request, FormContents()) | {"problem": None})


async def _home(
    request: Request, typed: FormContents, *, had_files: bool = False
) -> dict[str, Any]:
    """Return what the first page says, but for an error."""
    service = service_of(request)
    now = await page_state_of(request).store.value()
    return {
        "store": now.figures,
        "can_check": now.passages == "ready",
        "reason": now.reason,
        "simhash": now.passage_fingerprints,
        "most_bytes": service.settings.body_bytes,
        # Without one, all who reach the server are the same person to it.
        "by_token": request.state.principal.token is not None,
        "typed": typed,
        "encodings": _OFFERED,
        "had_files": had_files,
    }


@router.post("/check", dependencies=[requires("read")])
async def check(request: Request) -> Response:
    """Check what was pasted or sent, and lead to its report.

    Where that fails the form is shown again with what was typed into it.
    """
    service = service_of(request)
    most = service.settings.body_bytes
    async with request.form(
        max_files=_MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=most
    ) as form:
        files = await _files(form)
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
    if "key" not in fields:
        typed = await _home(request, _typed(fields), had_files=bool(files))
        keep_form(request, "home.html", typed)
    given = _given(fields, files)
    pasted = page_words(language_of(request))["pasted"]
    with while_wanted() as step:
        report = await service.heavy.run(_check, service, given, pasted, step)
    name = page_state_of(request).reports.keep(report, request.state.principal.owner)
    return RedirectResponse(f"/report/{name}", 303)


@router.get("/report/{name}", dependencies=[requires("read")])
async def show_report(request: Request, name: str) -> Response:
    """Show a report."""
    # A long paper makes a long page: others are answered meanwhile.
    return await service_of(request).readers.run(_shown, request, name, _found(request, name))


def _shown(request: Request, name: str, report: CachedReport) -> Response:
    context = report_contents(
        report.papers,
        lang=language_of(request),
        generated_at=report.made_at,
        compared_with=report.compared_with,
        mutual=report.mutual,
        address_of=lambda key: f"/document?key={in_address(key)}",
    )
    mine = {
        "file_address": f"/report/{name}/file",
        "forget_address": f"/report/{name}/forget",
        "left_out": report.left_out,
    }
    return answer(request, "report_page.html", context | mine)


@router.get("/report/{name}/file", dependencies=[requires("read")])
async def save_report(request: Request, name: str) -> Response:
    """Send a report as a file that needs nothing but itself."""
    report = _found(request, name)
    lang = language_of(request)
    text = await service_of(request).readers.run(
        html_report,
        report.papers,
        lang=lang,
        generated_at=report.made_at,
        compared_with=report.compared_with,
        mutual=report.mutual,
    )
    headers = {"Content-Disposition": 'attachment; filename="report.html"'}
    return Response(text.encode(), 200, headers, "text/html; charset=utf-8")


@router.post("/report/{name}/forget", dependencies=[requires("read")])
async def forget_report(request: Request, name: str) -> Response:
    """Forget a report."""
    page_state_of(request).reports.forget(name, request.state.principal.owner)
    return RedirectResponse("/", 303)


def _found(request: Request, name: str) -> CachedReport:
    owner = request.state.principal.owner
    report = page_state_of(request).reports.find(name, owner)
    if report is None:
        raise ReportGone()
    return report


async def _files(form: FormData) -> tuple[tuple[str, bytes], ...]:
    # A form without a chosen file sends one without a name.
    return tuple(
        [
            (item.filename or "", await item.read())
            for item in form.getlist("file")
            if isinstance(item, UploadFile) and (item.filename or item.size)
        ]
    )


def _given(fields: Mapping[str, str], files: tuple[tuple[str, bytes], ...]) -> FormInput:
    text = fields.get("text", "").replace("\r\n", "\n")
    named = fields.get("encoding", "").strip() or "auto"
    try:
        encoding = checked_encoding(named)
    except InvalidParameter:
        raise FormError("encoding", named) from None
    return FormInput(text, from_address(fields.get("key", "")), files, _options(fields), encoding)


def _typed(fields: Mapping[str, str]) -> FormContents:
    """Return what the form was filled with."""
    untouched = FormContents()
    names = [one.name for one in fields_of(FormContents) if one.name in fields]
    sent = {name: fields[name].replace("\r\n", "\n") for name in names if name != "has_options"}
    # What is ticked by default and was unticked is not sent.
    sent.setdefault("sentences", "")
    others = [name for name in sent if name != "text" and sent[name] != getattr(untouched, name)]
    return replace(untouched, **sent, has_options=bool(others))


def _options(fields: Mapping[str, str]) -> CheckOptions:
    high = _share(fields.get("high", "0.8"), "option_high")
    moderate = _share(fields.get("moderate", "0.5"), "option_moderate")
    if moderate > high:
        raise FormError("limits")
    lines = fields.get("exclude", "").splitlines()
    return CheckOptions(
        high=high,
        moderate=moderate,
        exclude=tuple(line.strip() for line in lines if line.strip()),
        exclude_quotations="exclude_quotations" in fields,
        exclude_bibliography="exclude_bibliography" in fields,
        include_self="include_self" in fields,
        by="window" if fields.get("by") == "window" else "sentences",
        channels=("anchors", *(name for name in ("sentences", "simhash") if name in fields)),
    )


def _share(said: str, name: str) -> float:
    try:
        share = float(said.strip().replace(",", "."))
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise FormError("number", name)
    return share


def _check(service: Service, given: FormInput, pasted: str, step: Step) -> CachedReport:
    """Return the report of all that was given; what cannot be read is left out, if any can be.

    Args:
        service: The service.
        given: What was given.
        pasted: The name of a text without one.
        step: Called between pieces of work; what it raises ends them.

    Raises:
        Trouble: There is nothing to check, or too much.
        BadInput: Nothing of it can be read.
    """
    left_out: list[tuple[str, str]] = []
    failure: SimstoreError | None = None
    papers: list[CheckedPaper] = []
    limits = UploadLimits(text_bytes=service.settings.body_bytes)
    if len(given.files) > MOST_PAPERS:
        raise FormError("many", str(MOST_PAPERS))
    for name, data in given.files:
        step()
        try:
            upload = read_paper(service.store, name, data, given.encoding, limits=limits)
            documents = [one for one in upload.documents if one.text.strip()]
            if not documents:
                raise UnreadableSource(name, "there is no text in it")
        except BadInput as error:
            failure = error
            left_out.append((name, str(error)))
            continue
        left_out += [(name, one.reason) for one in upload.rejections]
        papers += _checked(service, documents, given.options, len(papers), step)
    if given.key:
        stored = service.store.get(given.key, with_text=True)
        if stored.text is None:
            raise DocumentNotFound(given.key)
        document = Document(stored.key, stored.text, title=stored.title)
        papers += _checked(service, [document], given.options, len(papers), step)
    elif given.text.strip():
        document = Document(pasted, given.text, title=_first_line(given.text))
        options = _of_all(given.options)
        papers += _checked(service, [document], options, len(papers), step)
    if not papers:
        raise failure or FormError("empty")
    mutual = None
    if len(papers) > 1:
        step()
        texts = [Document(paper.key, paper.text, title=paper.title) for paper in papers]
        mutual = service.check_mutual(texts, given.options, step)
    library = library_of(service, given.options)
    return CachedReport(tuple(papers), tuple(left_out), int(time.time()), library, mutual)


def _checked(
    service: Service,
    documents: Sequence[Document],
    options: CheckOptions,
    before: int,
    step: Step,
) -> list[CheckedPaper]:
    if before + len(documents) > MOST_PAPERS:
        raise FormError("many", str(MOST_PAPERS))
    return service.check_many(documents, options, step)


def _of_all(options: CheckOptions) -> CheckOptions:
    """Return the options for a text without a name: every stored document is a source."""
    return replace(options, include_self=True)


def _first_line(text: str) -> str:
    line = next(line.strip() for line in text.splitlines() if line.strip())
    if len(line) <= _LONGEST_TITLE:
        return line
    cut = line[:_LONGEST_TITLE]
    return (cut.rpartition(" ")[0] if " " in cut[_LONGEST_TITLE // 2 :] else cut) + " …"
