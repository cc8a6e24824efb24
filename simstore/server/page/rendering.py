"""Render the web interface's pages from HTML templates, with every string escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from simstore.errors import MissingExtra
from simstore.reports.html_page import LANGUAGE_TAGS, percent, shown
from simstore.reports.lines import key_text, time_text
from simstore.server.page.browser_request import (
    LANGUAGE_COOKIE,
    asked_values,
    in_address,
    language_of,
    same_address,
)
from simstore.server.page.files import address_of
from simstore.server.page.words import LANGUAGES, page_words
from simstore.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

_YEAR_SECONDS = 31_536_000
_SIZES = ("B", "kB", "MB", "GB", "TB")
# Styles and scripts are files of the page; nothing else is loaded, and nothing sent elsewhere.
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def answer(
    request: Request,
    template: str,
    told: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Return a page.

    Args:
        request: What it answers.
        template: File of the templates.
        told: What it says, by the template's names.
        status: HTTP status.
        headers: Further headers.
    """
    lang = language_of(request)
    text = (
        _environment()
        .get_template(template)
        .render(
            {
                "t": page_words(lang),
                "lang": LANGUAGE_TAGS[lang],
                "path": request.url.path,
                "version": __version__,
                "address": lambda name, value: same_address(request, name, value),
                "signed_in": signed_in(request),
                **(told or {}),
            }
        )
    )
    response = HTMLResponse(
        text.encode("utf-8", "replace"),
        status,
        {
            "Content-Security-Policy": _POLICY,
            "Cache-Control": "no-store",
            "Vary": "Cookie, Accept-Language",
            **(headers or {}),
        },
    )
    if (chosen := asked_values(request).get("lang")) in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE,
            str(chosen),
            max_age=_YEAR_SECONDS,
            samesite="lax",
            secure=request.url.scheme == "https",
            httponly=True,
        )
    return response


@cache
def _environment() -> Environment:
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtra("the page", "server") from error
    loaders = [PackageLoader("simstore.server.page"), PackageLoader("simstore.reports")]
    environment = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["asset"] = address_of
    filters: dict[str, Callable[..., Any]] = {
        "key": key_text,
        "address": in_address,
        "shown": shown,
        "count": lambda number: f"{number:,}",
        "percent": percent,
        "size": size_text,
        "time": time_text,
        "moment": moment,
        "machine_time": machine_time,
    }
    environment.filters |= filters
    return environment


def signed_in(request: Request) -> bool:
    """Return whether who asks has signed in, and can sign out."""
    principal = getattr(request.state, "principal", None)
    return principal is not None and principal.by_cookie


def size_text(count: int) -> str:
    """Return a number of bytes as people write it: ``3.2 MB``; round binary ones too: ``32 MB``."""
    if count >= 1 << 20 and count % (1 << 20) == 0:
        return f"{count >> 20:,} MB"
    size = float(count)
    for name in _SIZES:
        if size < 1000 or name == _SIZES[-1]:
            break
        size /= 1000
    return f"{size:.0f} {name}" if name == "B" or size >= 100 else f"{size:.1f} {name}"


def moment(seconds: int) -> str:
    """Return a time to the minute, ``2026-05-01 12:00``; what no calendar has, in seconds."""
    return time_text(seconds).removesuffix(" UTC").rpartition(":")[0] or time_text(seconds)


def machine_time(seconds: int) -> str:
    """Return a time as HTML wants it; empty for what no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""
