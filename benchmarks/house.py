"""Measure the structure of the code: `python benchmarks/house.py`.

Counts what makes a code base hard to carry on (circles of imports, names with two meanings, calls
whose arguments nobody can read) and prints a table beside the figures at the first measurement.
Two rows come from a trace of calls: the files of `services` of which a function runs while one
batch is checked and stored, and the functions that are given a document's text, or what holds it,
on its way from an HTTP request to its row.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "simstore"
# Figures of the first measurement; None: it was not taken, or in another way.
BEFORE = {
    "folders of services in a circle": 10,
    "modules in a circle of imports": None,
    "public class names with two meanings": 15,
    "files": 498,
    "files with one importer, in their own folder": 103,
    "lines of code": 44_877,
    "longest file, lines": None,
    "modules whose first sentence begins with What, Who, How, Whether": 103,
    "functions with opened, connection and state": 46,
    "calls with 8 positional arguments and more": None,
    "public members of Store": 74,
    "usage examples in docstrings": 1,
    "modules that a query of one text imports": 232,
    "files of services on the way of a batch": None,
    "functions on the way of a document by HTTP": None,
    "functions that digest a text": 5,
    "functions that only decode with surrogate escapes": 8,
    "checks of the bounds of a resemblance": 4,
    "aliases of the callback of progress": 6,
}
_VARIADIC = {"Table", "_words", "execute", "group", "info", "section", "select"}
# Prints the files of `services` of which a function runs while a batch is checked and stored.
_BATCH = """
import sys
from simstore import Store
lines = ["one lamp stands on the table by the window %d" % number for number in range(20)]
with Store.create(sys.argv[1], on_duplicate="flag") as store:
    store.add_many((str(number), line) for number, line in enumerate(lines[:10]))
    found = set()
    def called(frame, event, _argument):
        if event == "call":
            found.add(str(frame.f_globals.get("__name__")))
    sys.setprofile(called)
    store.add_many(((str(number), line) for number, line in enumerate(lines)), threads=1)
    sys.setprofile(None)
print(sum(name.startswith("simstore.services.") for name in found))
"""
# Prints how many functions are given a text, or what holds it, on its way from a request.
_REQUEST = """
import asyncio, sys, threading
import httpx
from simstore import Store
from simstore.server.app import create_app
MARK = "a lamp that no other text has"
Store.create(sys.argv[1]).close()
found = set()
def holds(value):
    if isinstance(value, str | bytes | bytearray | memoryview):
        plain = value if isinstance(value, str) else bytes(value).decode("utf-8", "ignore")
        return MARK in plain
    if isinstance(value, list | tuple) and len(value) < 5:
        return any(map(holds, value))
    text = getattr(value, "text", None)
    return isinstance(text, str) and MARK in text
def called(frame, event, _argument):
    if event == "call" and str(frame.f_globals.get("__name__")).startswith("simstore"):
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(holds(frame.f_locals.get(name)) for name in names):
            found.add((code.co_filename, code.co_firstlineno))
async def post():
    app = create_app(sys.argv[1])
    transport = httpx.ASGITransport(app)
    base = "http://127.0.0.1:8765"
    async with app.router.lifespan_context(app):
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            for key in "ab":  # the first warms up
                found.clear()
                reply = await client.post("/v1/documents", json={"key": key, "text": MARK + key})
                assert reply.is_success, reply.text
threading.setprofile(called)
sys.setprofile(called)
asyncio.run(post())
sys.setprofile(None)
threading.setprofile(None)
print(sum(not name.startswith("<") for name, _ in found))
"""
_QUERY = """
import sys
from simstore.cli import main
main(["--db", sys.argv[1], "query", sys.argv[2]], standalone_mode=False)
print(sum(name.partition(".")[0] == "simstore" for name in sys.modules))
"""


@dataclass(slots=True)
class Module:
    """A file of the package.

    Attributes:
        name: Its dotted name.
        tree: What it says.
        text: Its source.
        imports: Modules of the package that it imports anywhere, for type checkers too.
    """

    name: str
    tree: ast.Module
    text: str
    imports: set[str] = field(default_factory=set)


def modules() -> dict[str, Module]:
    """Read all modules of the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        found[name] = Module(name, ast.parse(text), text)
    for module in found.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                module.imports |= {one.name for one in node.names} & found.keys()
            elif isinstance(node, ast.ImportFrom) and node.module:
                for one in node.names:
                    full = f"{node.module}.{one.name}"
                    module.imports |= {full if full in found else node.module} & found.keys()
        module.imports.discard(module.name)
    return found


def in_circles(graph: dict[str, set[str]]) -> list[str]:
    """Return the nodes that can be reached from themselves."""
    return [node for node in graph if node in _reached(graph, node)]


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += graph.get(node, ())
    return seen


def folders_of_services(every: dict[str, Module]) -> dict[str, set[str]]:
    """Return which folders of ``services`` import which others."""
    graph: dict[str, set[str]] = defaultdict(set)
    for module in every.values():
        mine = _folder(module.name)
        if mine is not None:
            others = {_folder(name) for name in module.imports} - {None, mine}
            graph[mine] |= {other for other in others if other is not None}
    return dict(graph)


def _folder(name: str) -> str | None:
    parts = name.split(".")
    return parts[2] if parts[1:2] == ["services"] and len(parts) > 2 else None


def functions(every: dict[str, Module]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield all functions and methods."""
    for module in every.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


def lone_importers(every: dict[str, Module]) -> list[str]:
    """Return the modules that one other imports, from the same folder."""
    importers: dict[str, list[str]] = defaultdict(list)
    for module in every.values():
        for name in module.imports:
            importers[name].append(module.name)
    return [
        name
        for name, by in importers.items()
        if len(by) == 1 and by[0].rpartition(".")[0] == name.rpartition(".")[0]
    ]


def classes_with_two_meanings(every: dict[str, Module]) -> list[str]:
    """Return public class names that are defined in two modules."""
    names = Counter(
        node.name
        for module in every.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return [name for name, count in names.items() if count > 1]


def long_calls(every: dict[str, Module]) -> list[ast.Call]:
    """Return the calls with eight positional arguments and more.

    Calls that take a list by their nature do not count: columns, options, words, values of a
    statement or message.
    """
    return [
        node
        for module in every.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and len(node.args) >= 8
        and ast.unparse(node.func).rpartition(".")[2] not in _VARIADIC
    ]


def modules_of_a_query() -> int:
    """Return how many modules of the package `simstore query` of one small file imports."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "a.txt"
        text.write_text("a lamp stands on the table\n", encoding="utf-8")
        store = str(Path(folder) / "s.db")
        add = [sys.executable, "cli.py", "--db", store, "-q", "ingest", str(text)]
        subprocess.run(add, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        asked = [sys.executable, "-c", _QUERY, store, str(text)]
        done = subprocess.run(asked, check=True, cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout.splitlines()[-1])


def traced(program: str) -> int:
    """Return the figure that a program prints, which is given the place of a new store."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", program, str(Path(folder) / "s.db")]
        done = subprocess.run(words, check=True, cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout.splitlines()[-1])


def copies(every: dict[str, Module]) -> dict[str, int]:
    """Return how often is written down what should be written once."""
    nodes = [node for module in every.values() for node in ast.walk(module.tree)]
    sources = [ast.unparse(one) for one in functions(every) if len(one.body) < 8]
    return {
        "functions that digest a text": sum(
            "hashlib.blake2b(" in source and "digest_size=DIGEST_BYTES" in source
            for source in sources
        ),
        "functions that only decode with surrogate escapes": sum(
            re.fullmatch(
                r"return (\w+\()?\w+\.decode\('utf-8', 'surrogateescape'\)\)?",
                ast.unparse(one.body[-1]),
            )
            is not None
            and len(one.body) <= 2
            for one in functions(every)
        ),
        "checks of the bounds of a resemblance": sum(
            re.fullmatch(r"0 < (\w+\.)?min_resemblance <= 1", ast.unparse(node)) is not None
            for node in nodes
            if isinstance(node, ast.Compare)
        ),
        "aliases of the callback of progress": sum(
            ast.unparse(node.value) == "Callable[[int, int], None]"
            for node in nodes
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        ),
    }


def measure() -> dict[str, int]:
    """Return the figures of the code as it is."""
    from simstore import Store
    from tools.size import code_lines

    every = modules()
    firsts = [(ast.get_docstring(module.tree) or "").split(" ")[0] for module in every.values()]
    state = {"opened", "connection", "state"}
    return {
        "folders of services in a circle": len(in_circles(folders_of_services(every))),
        "modules in a circle of imports": len(
            in_circles({name: module.imports for name, module in every.items()})
        ),
        "public class names with two meanings": len(classes_with_two_meanings(every)),
        "files": len(every),
        "files with one importer, in their own folder": len(lone_importers(every)),
        "lines of code": sum(code_lines(one.text) for one in every.values()),
        "longest file, lines": max(one.text.count("\n") for one in every.values()),
        "modules whose first sentence begins with What, Who, How, Whether": sum(
            first in ("What", "Who", "Whom", "How", "Whether") for first in firsts
        ),
        "functions with opened, connection and state": sum(
            state <= {argument.arg.strip("_") for argument in one.args.args}
            for one in functions(every)
        ),
        "calls with 8 positional arguments and more": len(long_calls(every)),
        "public members of Store": sum(not name.startswith("_") for name in dir(Store)),
        "usage examples in docstrings": sum(
            bool(re.search(r"^\s*>>> ", ast.get_docstring(one) or "", re.MULTILINE))
            for module in every.values()
            for one in ast.walk(module.tree)
            if isinstance(one, ast.Module | ast.ClassDef | ast.FunctionDef)
        ),
        "modules that a query of one text imports": modules_of_a_query(),
        "files of services on the way of a batch": traced(_BATCH),
        "functions on the way of a document by HTTP": traced(_REQUEST),
        **copies(every),
    }


@click.command()
def main() -> None:
    """Print the table, in Markdown."""
    click.echo("| what | at first | now |\n|---|---|---|")
    for name, count in measure().items():
        before = BEFORE[name]
        click.echo(f"| {name} | {'' if before is None else f'{before:,}'} | {count:,} |")


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT)]
    main()
