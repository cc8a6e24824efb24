"""Write the reference pages that are made of the program: ``python docs/make_reference.py``.

docs/reference/http.md of the server's OpenAPI document, tables.md of the tables of a store, and
api.md of the names of ``import simstore``. The documentation site shows api.md with signatures and
docstrings (docs/site_pages.py). tests/e2e/test_generated_pages.py fails when a file does not say
what the program says.
"""

from __future__ import annotations

import inspect
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import simstore
from simstore.store.opened import NamespaceAttribute

DOCS = Path(__file__).resolve().parent
ARCHITECTURE = DOCS / "explanation" / "architecture.md"
# A name that Sphinx would link.
ROLE = re.compile(r":(?:class|meth|func|mod|attr|data|exc):`~?([^`]+)`")


def pages() -> dict[Path, str]:
    """Return what each page is to say, by its file."""
    made = {"api": api(), "http": http(), "tables": tables()}
    return {DOCS / "reference" / f"{name}.md": text for name, text in made.items()}


def api() -> str:
    """Return the page of the names that ``import simstore`` offers."""
    parts = [
        "# Python API\n\nEverything here is imported from `simstore`: "
        "`from simstore import Store`. The guide [From Python](../how-to/python.md) shows how they "
        "are used together. In Python `help(simstore.Store)` shows signatures, arguments and "
        "examples, and so does this page on the documentation site (`mkdocs serve` in a "
        "checkout).\n"
    ]
    for kind, names in public_names().items():
        parts.append(f"## {kind}\n\n| name | what |\n|---|---|")
        for name in names:
            value = getattr(simstore, name)
            is_told = inspect.isclass(value) or inspect.isfunction(value)
            told = (value.__doc__ or "").partition("\n")[0] if is_told else f"`{shown(value)}`"
            told = _cell(ROLE.sub(r"`\1`", told))
            parts.append(f"| `{name}` | {told} |")
        parts.append("")
        if kind == "Start here":
            parts.append("## Namespaces of a store\n\n| method | what |\n|---|---|")
            for namespace, found in namespaces().items():
                methods = (name for name in dir(found) if not name.startswith("_"))
                for name in methods:
                    told = (getattr(found, name).__doc__ or "").partition("\n")[0]
                    told = _cell(ROLE.sub(r"`\1`", told))
                    parts.append(f"| `store.{namespace}.{name}` | {told} |")
            parts.append("")
    return "\n".join(parts)


def namespaces() -> dict[str, type]:
    """Return the classes of a store's namespaces, by the names of its attributes."""
    attributes = vars(simstore.Store).items()
    held = (name for name, one in attributes if isinstance(one, NamespaceAttribute))
    return {name: getattr(simstore.Store, name) for name in held}


def public_names() -> dict[str, list[str]]:
    """Return the names that ``import simstore`` offers, by the heading that they stand under."""
    kinds: dict[str, list[str]] = {
        "Start here": [],
        "Functions": [],
        "Options and results": [],
        "Errors": [],
        "Constants and types": [],
    }
    names = {*dir(simstore)}
    # What `dir` does not show is shown by these; all of it is imported from the package.
    for room in (simstore.errors, simstore.types):
        names |= {name for name in dir(room) if name[0].isupper() and not name.isupper()}
    for name in sorted(names, key=lambda name: (name != "Store", name)):
        value = getattr(simstore, name)
        if name.startswith("__") or inspect.ismodule(value):
            continue
        if name in ("Store", "Client"):
            kinds["Start here"].append(name)
        elif inspect.isfunction(value):
            kinds["Functions"].append(name)
        elif not inspect.isclass(value):
            kinds["Constants and types"].append(name)
        elif issubclass(value, Exception):
            kinds["Errors"].append(name)
        else:
            kinds["Options and results"].append(name)
    return kinds


def shown(value: object) -> str:
    """Return a constant or an alias of a type as it is written."""
    return repr(value).replace("typing.", "")


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
    scopes = [f"`{scope}`" for one in told.get("security", ()) for scope in one["token"]]
    yield f"Scope of the token: {', '.join(scopes) or 'none is needed'}\n"
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
    from simstore.storage.tables import RECORD_VIEWS, metadata

    parts = [
        "# Tables and views\n\nThe schema of a store, for who asks by SQL. "
        "[Architecture](../explanation/architecture.md#the-tables) tells how the tables work "
        "together. Times are whole seconds since 1970-01-01 UTC; keys, names of sources and terms "
        "are bytes. Read as much as you like; write through the program only.\n"
    ]
    told = dict(_told_of_tables())
    views = {name for name in told if "_segments_" in name} | set(RECORD_VIEWS)
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
        if name in RECORD_VIEWS:
            parts.append("| column | type | |\n|---|---|---|")
            for column, kind, what in RECORD_COLUMNS[name]:
                parts.append(f"| `{column}` | {kind} | {what} |")
            parts.append("")
    return "\n".join(parts)


_TIMES = [
    ("first_seen", "BIGINT", "when it was first seen"),
    ("last_seen", "BIGINT", "when it was last seen"),
]
# What tests/e2e/test_generated_pages.py compares with the views of a store.
RECORD_COLUMNS = {
    "documents": [
        ("document_id", "BIGINT", "its number, in order of ingest"),
        ("key", "TEXT", "its key"),
        ("title", "TEXT", "may be null"),
        ("collection", "TEXT", "may be null"),
        ("source", "TEXT", "the file it was read from; may be null"),
        ("position", "BIGINT", "which record of the source, from 0; may be null"),
        ("run_id", "BIGINT", "the ingest run"),
        ("byte_count", "BIGINT", "bytes of the text in UTF-8"),
        ("token_count", "BIGINT", "features of the text"),
        ("first_seen", "BIGINT", "when it was first seen"),
        ("first_seen_basis", "VARCHAR(10)", "who says so: ingest, crawl or published"),
        ("last_seen", "BIGINT", "when it was last seen"),
        ("revision", "INTEGER", "grows when the text changes, from 1"),
        ("digest", "TEXT", "BLAKE2b-128 of the text, hexadecimal: equal texts have equal ones"),
        ("metadata", "JSON", "its other fields; may be null"),
    ],
    "duplicates": [
        ("duplicate_id", "BIGINT", "its number"),
        ("key", "TEXT", "its key"),
        ("original_key", "TEXT", "key of the document it duplicates"),
        ("state", "VARCHAR(10)", "flagged, skipped, uncovered or orphaned"),
        ("resemblance", "FLOAT", "0 to 1"),
        ("distance", "INTEGER", "differing bits of the fingerprints; may be null"),
        ("basis", "VARCHAR(10)", "what was compared: same, text or sketch"),
        ("document_id", "BIGINT", "its document where it was stored too; may be null"),
        ("original_id", "BIGINT", "the original, while it is stored; may be null"),
        ("run_id", "BIGINT", "the ingest run"),
        *_TIMES,
    ],
    "clusters": [
        ("cluster_id", "BIGINT", "number of the cluster, given to no other"),
        ("document_id", "BIGINT", "a document of the cluster"),
        ("key", "TEXT", "its key"),
        ("canonical_key", "TEXT", "key of the canonical document"),
        ("is_canonical", "INTEGER", "1 where it is the canonical document, else 0"),
        ("resemblance", "FLOAT", "with the canonical document, 0 to 1"),
        ("size", "BIGINT", "documents of the cluster"),
    ],
}


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


if __name__ == "__main__":
    for target, text in pages().items():
        target.write_text(text, encoding="utf-8")
        print(f"wrote {target}")
