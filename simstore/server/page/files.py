"""Load the static files of the web interface: its own styles and scripts, and the report's."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from simstore.reports.html_page import part

# Of the report: it and the page are one design.
_OF_REPORT = ("light.css", "dark.css", "report.css", "report.js")
_OWN = ("frame.css", "page.css", "page.js", "icon.svg")
NAMES = (*_OF_REPORT, *_OWN)
_KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file that every page may load.

    Attributes:
        content: Its bytes.
        kind: Its media type.
        digest: Of its content, hexadecimal; in its address, so that it may be kept for long.
    """

    content: bytes
    kind: str
    digest: str


@cache
def static_file(name: str) -> StaticFile:
    """Return a file.

    Raises:
        KeyError: There is none of this name.
    """
    if name not in NAMES:
        raise KeyError(name)
    if name in _OF_REPORT:
        content = part(name).encode()
    else:
        content = (resources.files("simstore.server.page") / "static" / name).read_bytes()
    kind = _KINDS[name.rpartition(".")[2]]
    return StaticFile(content, kind, hashlib.sha256(content).hexdigest()[:16])


def address_of(name: str) -> str:
    """Return the address of a file."""
    return f"/static/{name}?v={static_file(name).digest}"
