"""Pages that well-known programs make: documentation, listings, tables, code, none an article."""

from __future__ import annotations

import calendar
import difflib
import importlib
import inspect
import json
import pydoc
import string
import textwrap
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler
from io import BytesIO
from pathlib import Path

# Modules of pure Python whose pages pydoc makes, each with other kinds of contents.
MODULES = (
    "argparse", "calendar", "colorsys", "dataclasses", "difflib", "fnmatch", "json", "keyword",
    "queue", "shlex", "statistics", "string", "textwrap", "types",
)  # fmt: skip


def _pydoc(name: str) -> str:
    made = pydoc.HTMLDoc()
    module = importlib.import_module(name)
    return made.page(name, made.docmodule(module))


def _index() -> str:
    made = pydoc.HTMLDoc()
    return made.page("index", made.index(str(Path(json.__file__).parent)))


def _topic() -> str:
    from pydoc_data.topics import topics

    made = pydoc.HTMLDoc()
    return made.page("topic", made.markup(topics["assignment"]))


def _difference() -> str:
    lines = inspect.getsource(textwrap).splitlines()[:200]
    changed = [line.upper() if place % 40 == 7 else line for place, line in enumerate(lines)]
    return difflib.HtmlDiff(wrapcolumn=70).make_file(lines, changed)


def _listing() -> str:
    """Return the listing of a folder by the web server of the standard library."""

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self) -> None:
            self.path = "/"

        def send_response(self, code: int, message: str | None = None) -> None:
            pass

        def send_header(self, keyword: str, value: str) -> None:
            pass

        def end_headers(self) -> None:
            pass

    found = Handler().list_directory(str(Path(json.__file__).parent))
    assert isinstance(found, BytesIO)
    return found.read().decode()


def _code() -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    formatter = HtmlFormatter(full=True, linenos="table", title="textwrap.py")
    return str(highlight(inspect.getsource(string), PythonLexer(), formatter))


def _rst() -> str:
    from docutils.core import publish_string
    from docutils.writers.html5_polyglot import Writer

    names = ("wrap", "fill", "shorten", "dedent", "indent")
    source = "Functions\n=========\n\n.. contents::\n\n" + "\n\n".join(
        f"{name}\n{'-' * len(name)}\n\n{' '.join((getattr(textwrap, name).__doc__ or '').split())}"
        for name in names
    )
    options = {"report_level": 5, "output_encoding": "unicode"}
    return str(publish_string(source, writer=Writer(), settings_overrides=options))


def _markdown() -> str:
    from markdown import markdown

    items = "\n".join(
        f"| `{name}` | {' '.join((getattr(textwrap, name).__doc__ or '').split())[:200]} |"
        for name in ("wrap", "fill", "shorten", "dedent", "indent")
    )
    body = markdown(
        f"# Names\n\n[TOC]\n\n| name | what |\n|---|---|\n{items}", extensions=["tables"]
    )
    return f"<html><head><title>Names</title></head><body>{body}</body></html>"


PAGES: dict[str, Callable[[], str]] = {
    **{f"pydoc {name}": lambda name=name: _pydoc(name) for name in MODULES},  # type: ignore[misc]
    "pydoc, a topic": _topic,
    "pydoc, a folder": _index,
    "difflib": _difference,
    "calendar": lambda: calendar.HTMLCalendar().formatyearpage(2026).decode(),
    "a folder by http.server": _listing,
    "code by pygments": _code,
    "functions by docutils": _rst,
    "a table by markdown": _markdown,
}
