"""Show the Python API on the site, with signatures and with docstrings as they are written.

MkDocs calls :func:`on_files` (``hooks`` in mkdocs.yml). In a checkout docs/reference/api.md lists
the names (docs/make_reference.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import make_reference
from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import simstore

_API = "reference/api.md"


class _Docstrings(Preprocessor):
    """Show examples of docstrings as code, and names that Sphinx would link as names."""

    def run(self, lines: list[str]) -> list[str]:
        shown: list[str] = []
        fenced = example = False
        for line in lines:
            if line.startswith("```"):
                fenced = not fenced
            if not fenced and line.startswith(">>> ") and not example:
                shown.append("```pycon")
                example = True
            elif example and not line.strip():
                shown.append("```")
                example = False
            shown.append(line if fenced or example else make_reference.ROLE.sub(r"`\1`", line))
        return [*shown, "```"] if example else shown


class _ReadDocstrings(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name that it has there
        # Before fenced blocks are taken out (25).
        md.preprocessors.register(_Docstrings(md), "docstrings", 40)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Have docstrings read as they are written."""
    config.markdown_extensions.append(_ReadDocstrings())  # type: ignore[arg-type]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Put the page of the API with signatures and docstrings in the place of the list of names."""
    listed = files.get_file_from_path(_API)
    if listed is not None:
        files.remove(listed)
    files.append(File.generated(config, _API, content=api()))
    return files


def api() -> str:
    """Return the page of what ``import simstore`` offers, from the docstrings."""
    parts = [
        "# Python API\n\nEverything here is imported from `simstore`: "
        "`from simstore import Store`. The guide [From Python](../how-to/python.md) shows how they "
        "are used together.\n"
    ]
    for kind, names in make_reference.public_names().items():
        values = {name: getattr(simstore, name) for name in names}
        if kind == "Constants and types":
            parts.append(f"## {kind}\n\n| name | value |\n|---|---|")
            shown = make_reference.shown
            parts += [f"| `{name}` | `{shown(value)}` |" for name, value in values.items()]
            continue
        parts.append(f"## {kind}\n\n" + _entries(values.values()))
        if kind == "Start here":
            found = make_reference.namespaces().values()
            parts.append("## Namespaces of a store\n\n" + _entries(found))
    return "\n".join([*parts, ""])


def _entries(values: Iterable[Any]) -> str:
    """Return the entries of objects, with headings one level below that of their group."""
    options = "    options:\n      heading_level: 3\n"
    return "\n".join(f"::: {one.__module__}.{one.__name__}\n{options}\n" for one in values)
