"""Routes of the web interface: overview, runs, rejected records, signing in, static files."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from simstore.errors import RouteNotFound, SimstoreError, Unauthorized, printable
from simstore.server.access.gate import GuardedRoute, gate_of, requires
from simstore.server.page import check, search
from simstore.server.page.browser_request import asked_values, language_of, local_place
from simstore.server.page.files import static_file
from simstore.server.page.rendering import answer
from simstore.server.page.state import page_state_of
from simstore.server.page.words import page_words
from simstore.server.service import service_of

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)
router.include_router(check.router)
router.include_router(search.router)

_RUNS = 50
_REJECTS = 50
_RUN_KINDS = ("added", "updated", "unchanged", "flagged", "skipped", "rejected", "removed")
_WEEK_SECONDS = 604_800


@router.get("/overview", dependencies=[requires("read")])
async def overview(request: Request) -> Response:
    """Show the store in numbers."""
    now = await page_state_of(request).store.value()
    return answer(
        request,
        "overview.html",
        {
            "store": now.figures,
            # Where it lies on the server is nobody's business.
            "place": printable(now.figures.path).rpartition("/")[2],
            "only_fingerprints": now.passages == "fingerprints",
            "passages": now.passages in ("ready", "unfinished"),
        },
    )


@router.get("/runs", dependencies=[requires("read")])
async def runs(request: Request) -> Response:
    """List the latest runs that stored or removed documents."""
    service = service_of(request)
    found = await service.readers.run(service.store.runs.ingest, _RUNS)
    return answer(
        request, "runs.html", {"runs": [run.record() for run in found], "kinds": _RUN_KINDS}
    )


@router.get("/rejects", dependencies=[requires("read")])
async def rejects(request: Request) -> Response:
    """List records that could not be stored, the latest first."""
    service = service_of(request)
    found = await service.readers.run(service.store.rejects.list)
    found.reverse()
    begin = asked_values(request).get("from", "")
    first = int(begin) if begin.isascii() and begin.isdigit() and len(begin) < 10 else 0
    first = first if first < len(found) else 0
    context = {
        "rejects": found[first : first + _REJECTS],
        "first": first,
        "total": len(found),
        "step": _REJECTS,
        "head": lambda data: printable(data.decode("utf-8", "surrogateescape")),
    }
    return answer(request, "rejects.html", context)


@router.get("/login", dependencies=[requires(None)])
async def login(request: Request) -> Response:
    """Show where to give a token."""
    words = page_words(language_of(request))
    place = local_place(asked_values(request).get("next", "/"))
    try:
        principal = await gate_of(request).principal(request)
    except SimstoreError:
        said = words["login_needed"] if place != "/" else ""
        if "out" in asked_values(request):
            said = words["signed_out"]
        return _login(request, place, said)
    said = words["login_open" if principal.token is None else "already"]
    return answer(
        request, "login.html", {"next": place, "said": said, "wrong": False, "needed": False}
    )


@router.post("/login", dependencies=[requires(None)])
async def sign_in(request: Request) -> Response:
    """Begin a session, and lead to where it was asked for."""
    words = page_words(language_of(request))
    async with request.form(max_files=0, max_fields=10) as form:
        secret, place = str(form.get("token", "")), local_place(str(form.get("next", "/")))
    if not secret.strip():
        return _login(request, place, words["login_missing"], wrong=True)
    response = RedirectResponse(place, 303)
    try:
        await gate_of(request).sign_in(request, response, secret)
    except Unauthorized as error:
        # The page says it in its own words; the log and the figures say it as ever.
        request.scope["simstore"].error = error
        return _login(request, place, words["login_wrong"], wrong=True)
    return response


@router.post("/logout", dependencies=[requires(None)])
async def sign_out(request: Request) -> Response:
    """End a session."""
    response = RedirectResponse("/login?out=1", 303)
    gate_of(request).sign_out(request, response)
    return response


def _login(request: Request, place: str, said: str, *, wrong: bool = False) -> Response:
    context = {"next": place, "said": said, "wrong": wrong, "needed": True}
    return answer(request, "login.html", context, status=401 if wrong else 200)


@router.get("/static/{name}", dependencies=[requires(None)])
async def static(request: Request, name: str) -> Response:
    """Send a style or a script."""
    try:
        found = static_file(name)
    except KeyError:
        raise RouteNotFound(request.url.path) from None
    tag = f'"{found.digest}"'
    known = asked_values(request).get("v") == found.digest
    headers = {
        "ETag": tag,
        "Cache-Control": f"public, max-age={_WEEK_SECONDS}, immutable" if known else "no-cache",
    }
    if request.headers.get("if-none-match") in (tag, "*"):
        return Response(status_code=304, headers=headers)
    return Response(found.content, 200, headers, found.kind)
