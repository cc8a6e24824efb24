"""Pages of the site that are made of the program: the Python API, HTTP, the tables of the file.

MkDocs calls :func:`on_files` (``hooks`` in mkdocs.yml). The pages are in no commit, so they cannot
say other things than the program does.
"""

from __future__ import annotations

import inspect
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import simstore

ARCHITECTURE = Path(__file__).resolve().parent / "explanation" / "architecture.md"
_ROLE = re.compile(r":(?:class|meth|func|mod|attr|data|exc):`~?([^`]+)`")


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
            shown.append(line if fenced or example else _ROLE.sub(r"`\1`", line))
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
    """Add the pages to those of the folder."""
    for name, text in (("api", api()), ("http", http()), ("tables", tables())):
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def api() -> str:
    """Return the page of what ``import simstore`` offers, from the docstrings."""
    kinds: dict[str, list[str]] = {"Start here": [], "Functions": [], "Options and results": []}
    errors: list[str] = []
    constants = ["## Constants and types\n\n| name | value |\n|---|---|"]
    shown = dict.fromkeys(dir(simstore), simstore)
    for room in ("errors", "options", "protocol", "results"):
        of_room = getattr(simstore, room)
        names = getattr(of_room, "__all__", None) or dir(of_room)
        shown |= {name: of_room for name in names if name[0].isupper()}
    for name in sorted(shown, key=lambda name: (name != "Store", name)):
        value = getattr(shown[name], name)
        if name.startswith("__") or inspect.ismodule(value):
            continue
        if not inspect.isclass(value) and not inspect.isfunction(value):
            constants.append(f"| `{name}` | `{repr(value).replace('typing.', '')}` |")
            continue
        entry = f"::: {value.__module__}.{value.__name__}\n"
        if isinstance(value, type) and issubclass(value, Exception):
            errors.append(entry)
        elif name in ("Store", "Client"):
            kinds["Start here"].append(entry)
        else:
            kinds["Options and results" if isinstance(value, type) else "Functions"].append(entry)
    kinds["Errors"] = errors
    parts = [
        "# Python API\n\nEverything here is imported from `simstore`: "
        "`from simstore import Store`. The guide [From Python](../how-to/python.md) shows how they "
        "are used together.\n"
    ]
    parts += [f"## {kind}\n\n" + _deeper("\n".join(found)) for kind, found in kinds.items()]
    return "\n".join([*parts, *constants, ""])


def _deeper(entries: str) -> str:
    """Return the entries with headings one level below that of their group."""
    options = "    options:\n      heading_level: 3\n"
    return re.sub(r"^(::: .+)\n", rf"\1\n{options}\n", entries, flags=re.MULTILINE)


def http() -> str:
    """Return the page of the paths of a server, from its OpenAPI document."""
    from simstore.server.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        document: dict[str, Any] = create_app(Path(folder) / "none.db").openapi()
    parts = [
        "# HTTP\n\nWhat `simstore serve` answers, from its OpenAPI document; a running server has "
        "the same at `/openapi.json`. The guide [Serving](../how-to/serving.md) shows how it is "
        "used.\n"
    ]
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            parts.append("\n".join(_operation(method, path, told)))
    parts.append("## Bodies\n")
    for name, told in sorted(document["components"]["schemas"].items()):
        parts.append("\n".join(_body(name, told)))
    return "\n".join(parts)


def _operation(method: str, path: str, told: dict[str, Any]) -> Iterator[str]:
    yield f"## {method.upper()} `{path}`\n"
    yield told.get("description") or told.get("summary", "")
    yield ""
    if told.get("parameters"):
        yield "| parameter | in | type | what |\n|---|---|---|---|"
        for one in told["parameters"]:
            needed = " (required)" if one.get("required") else ""
            what = _cell(one.get("description", ""))
            yield f"| `{one['name']}`{needed} | {one['in']} | {_type(one['schema'])} | {what} |"
        yield ""
    for kind, of in told.get("requestBody", {}).get("content", {}).items():
        yield f"Body: `{kind}`, {_type(of.get('schema', {}))}\n"
    if told.get("responses"):
        yield "| status | what | body |\n|---|---|---|"
        for status, one in sorted(told["responses"].items()):
            bodies = [
                f"`{kind}` {_type(of.get('schema', {}))}".strip()
                for kind, of in one.get("content", {}).items()
            ]
            yield f"| {status} | {_cell(one.get('description', ''))} | {'; '.join(bodies)} |"
        yield ""


def _body(name: str, told: dict[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    if told.get("description"):
        yield told["description"].partition("\n\n")[0] + "\n"
    if told.get("enum"):
        yield "One of " + ", ".join(f"`{one}`" for one in told["enum"]) + ".\n"
    if told.get("properties"):
        required = set(told.get("required", ()))
        yield "| field | type | needed |\n|---|---|---|"
        for field, one in told["properties"].items():
            yield f"| `{field}` | {_type(one)} | {'yes' if field in required else ''} |"
        yield ""


def _type(schema: dict[str, Any]) -> str:
    """Return a type in a few words, with a link where it is a body of its own."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[word]))
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def tables() -> str:
    """Return the page of the tables of the file: what they are for, and their columns."""
    from simstore.storage.tables import metadata

    parts = [
        "# Tables and views\n\nThe schema of a store, for who asks by SQL. "
        "[Architecture](../explanation/architecture.md#the-tables) tells how the tables work "
        "together. Times are whole seconds since 1970-01-01 UTC; keys, names of sources and terms "
        "are bytes. Read as much as you like; write through the program only.\n"
    ]
    told = dict(_told_of_tables())
    views = [name for name in told if "_segments_" in name]
    for table in sorted(metadata.tables.values(), key=lambda table: table.name):
        row, purpose = told[table.name]
        parts.append(f"## {table.name}\n\nOne row is {row}. {purpose[:1].upper()}{purpose[1:]}\n")
        parts.append("| column | type | |\n|---|---|---|")
        unique = {column for index in table.indexes if index.unique for column in index.columns}
        for column in table.columns:
            facts = ["key"] if column.primary_key else []
            facts += [f"of `{one.target_fullname}`" for one in column.foreign_keys]
            facts += ["may be null"] if column.nullable else []
            facts += ["unique"] if column in unique else []
            parts.append(f"| `{column.name}` | {column.type} | {', '.join(facts)} |")
        parts.append("")
    for name in sorted(views):
        row, purpose = told[name]
        parts.append(f"## {name}\n\nA view. One row is {row}: {purpose}\n")
    return "\n".join(parts)


def _told_of_tables() -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each table or view with what the table of the architecture says of it."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    section = text.partition("\n## The tables\n")[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or not cells[0].startswith("`"):
            continue
        first = ""
        for name in re.findall(r"`(\w+)`", cells[0]):
            # `fingerprint_64`, `_128`: the second has the beginning of the first.
            full = first.rpartition("_")[0] + name if name.startswith("_") else name
            first = first or full
            yield full, (cells[1], cells[2])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", r"\|").split())
