"""Render errors for people: an HTML page instead of problem details (JSON)."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi.responses import RedirectResponse, Response

from simstore.errors import (
    BadInput,
    DocumentNotFound,
    Forbidden,
    InvalidParameter,
    MethodNotAllowed,
    NotFound,
    RouteNotFound,
    SimstoreError,
    TimedOut,
    TooLarge,
    TooSlow,
    Unauthorized,
    Unavailable,
)
from simstore.reports.lines import key_text
from simstore.server.page.browser_request import language_of
from simstore.server.page.rendering import answer, size_text
from simstore.server.page.words import page_words

if TYPE_CHECKING:
    from fastapi import Request

# Whoever asks for these is a program, whatever it says that it reads.
_FOR_PROGRAMS = ("/v1/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/static/")


class FormError(InvalidParameter):
    """An invalid form input, reported in the language of the page.

    Attributes:
        name: Name of what the page says of it, without ``problem_``.
        values: What it is about, or names of what the page says.
    """

    def __init__(self, name: str, *values: str) -> None:
        self.name = name
        self.values = values
        words = page_words("en")
        shown = (words.get(value, value) for value in values)
        super().__init__(words[f"problem_{name}"].format(*shown))


class ReportGone(NotFound):
    """A report is no longer cached, or belongs to another user."""

    def __init__(self) -> None:
        super().__init__(page_words("en")["report_gone"])


def wants_page(request: Request) -> bool:
    """Return whether a request is for an HTML page."""
    if request.scope["path"].startswith(_FOR_PROGRAMS):
        return False
    return "text/html" in request.headers.get("accept", "").lower()


def headers_of(error: SimstoreError) -> dict[str, str]:
    """Return the headers of a reply that tells of an error."""
    headers = {}
    if isinstance(error, Unavailable) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, ceil(error.retry_after)))
    elif error.http_status == 503:
        headers["Retry-After"] = "1"
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = error.allowed
    return headers


def problem_page(request: Request, error: SimstoreError) -> Response:
    """Return an error as a page; where a token is needed, the way to the page that asks for it."""
    if isinstance(error, Unauthorized):
        place = "/login"
        if request.method in ("GET", "HEAD"):
            query = request.scope["query_string"].decode("latin-1")
            address = quote(request.scope["path"], safe="/") + (f"?{query}" if query else "")
            place += f"?next={quote(address, safe='')}"
        return RedirectResponse(place, 303, {"Cache-Control": "no-store"})
    template, shown = getattr(request.state, "filled_form", ("problem.html", {}))
    problem = problem_words(error, page_words(language_of(request)))
    shown = {**shown, "problem": problem}
    return answer(request, template, shown, status=error.http_status, headers=headers_of(error))


def keep_form(request: Request, template: str, shown: Mapping[str, Any]) -> None:
    """From now on, tell of what goes wrong on the page of a form, with what was typed into it.

    Args:
        request: What the form sent.
        template: File of the templates.
        shown: What the page says, by the template's names; the error will be ``problem``.
    """
    request.state.filled_form = (template, shown)


def problem_words(error: SimstoreError, words: Any) -> dict[str, Any]:
    """Return the texts of an error page: title, help, detail, remedy."""
    shown = {"title": "", "help": "", "detail": "", "remedy": "", "translated": False}
    if isinstance(error, FormError):
        values = (words.get(value, value) for value in error.values)
        said = words[f"problem_{error.name}"].format(*values)
        title = f"problem_{error.name}_title"
        return shown | {"title": words.get(title, words["problem_bad_title"]), "help": said}
    if isinstance(error, ReportGone):
        return shown | {"title": words["report_gone_title"], "help": words["report_gone"]}
    if isinstance(error, DocumentNotFound):
        said = key_text(error.key)
        return shown | {"title": words["document_unknown_title"], "help": words["document_unknown"],
                       "detail": said, "translated": True}  # fmt: skip
    if isinstance(error, TooLarge):
        said = words["problem_large"].format(size_text(error.limit))
        return shown | {"title": words["problem_large_title"], "help": said}
    if isinstance(error, TimedOut | TooSlow):
        return shown | {"title": words["problem_time_title"], "help": words["problem_time"]}
    if isinstance(error, Unavailable):
        seconds = max(1, ceil(error.retry_after or 1))
        said = words["problem_busy"].format(seconds)
        return shown | {"title": words["problem_busy_title"], "help": said}
    if isinstance(error, RouteNotFound):
        return shown | {"title": words["problem_missing_title"], "help": words["problem_missing"]}
    titles = (
        (Forbidden, "problem_denied_title"),
        (BadInput, "problem_bad_title"),
        (InvalidParameter, "problem_bad_title"),
        (NotFound, "problem_missing_title"),
    )
    title = next((name for kind, name in titles if isinstance(error, kind)), "problem_store_title")
    return shown | {"title": words[title], "detail": str(error)}
