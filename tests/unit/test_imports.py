"""What importing costs: the heavy packages are not loaded before they are needed."""

from __future__ import annotations

import ast
import gc
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from public_names import NAMES

import simstore
from simstore.cli.imports import uncollected

HEAVY = ("sqlalchemy", "alembic", "numpy", "numba", "rich", "xxhash", "jinja2")
PROGRAMS = {
    "import simstore": "import simstore; dir(simstore); simstore.__version__",
    "simstore --help": (
        "from simstore.cli import main\n"
        "for line in (['--help'], *([name, '--help'] for name in main.list_commands(None))):\n"
        "    main(line, standalone_mode=False)"
    ),
    "simstore --version": "from simstore.cli import main; main(['-V'], standalone_mode=False)",
    "simtool --help": (
        "from simstore.cli.simtool import main; main(['--help'], standalone_mode=False)"
    ),
    "errors and values": "from simstore import Document, SimstoreError",
}

# What a query of one text does without.
NOT_FOR_A_QUERY = (
    "rich", "numba", "alembic", "numpy.ma", "sqlalchemy", "asyncio", "multiprocessing",
    "subprocess", "decimal", "simstore.storage.tables.documents",
    "simstore.services.ingest.ingest", "simstore.services.ingest.batches",
    "simstore.services.maintenance.maintain", "simstore.services.fingerprints.reader",
    "simstore.services.open_store.resident_index", "simstore.services.clusters.cluster",
    "simstore.services.evaluate.evaluate", "simstore.services.compare.compare",
)  # fmt: skip
# Modules of simstore, packages among them, that a query of one text imports, and all others with
# them.
MODULES_OF_A_QUERY = 149
ALL_MODULES_OF_A_QUERY = 440
# The same of `from simstore import Store`.
MODULES_OF_THE_STORE = 119
ALL_MODULES_OF_THE_STORE = 375
NOT_FOR_THE_STORE = (*NOT_FOR_A_QUERY, "click", "socket")


def run(program: str) -> subprocess.CompletedProcess[str]:
    package = Path(simstore.__file__).resolve().parent.parent
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_heavy_packages_are_not_loaded(name: str) -> None:
    done = run(
        f"import sys\n{PROGRAMS[name]}\n"
        f"print('loaded', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert done.stdout.splitlines()[-1] == "loaded []"
    assert done.stderr == ""


@pytest.mark.slow
def test_a_client_loads_no_database() -> None:
    done = run(
        "import sys\n"
        "from simstore.client import Client\n"
        "Client('http://127.0.0.1:1').close()\n"
        "print([n for n in ('sqlalchemy', 'alembic', 'numba') if n in sys.modules])"
    )
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_opening_a_store_loads_neither_alembic_nor_numba(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    done = run(
        "import sys\n"
        "from simstore import Store\n"
        f"with Store.open({str(path)!r}, create=True) as store:\n"
        "    store.add('a', 'some text')\n"
        "    assert store.query('some text')\n"
        "print([name for name in ('alembic', 'numba', 'click', 'rich') if name in sys.modules])"
    )
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_a_query_loads_only_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with simstore.Store.open(path, create=True) as store:
        store.add("a", "some text")
    (tmp_path / "a.txt").write_text("some text")
    done = run(
        "import gc, sys\n"
        "from simstore.cli import main\n"
        f"main(['--db', {str(path)!r}, 'query', '--format', 'jsonl', "
        f"{str(tmp_path / 'a.txt')!r}], standalone_mode=False)\n"
        f"print([name for name in {NOT_FOR_A_QUERY!r} if name in sys.modules])\n"
        "print(sum(name.startswith('simstore') for name in sys.modules), len(sys.modules))\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 0)"
    )
    *_, loaded, count, collected = done.stdout.splitlines()
    assert (loaded, collected) == ("[]", "True True")
    ours, every = map(int, count.split())
    assert ours <= MODULES_OF_A_QUERY
    assert every <= ALL_MODULES_OF_A_QUERY
    assert '"distance": 0' in done.stdout or '"distance":0' in done.stdout


def test_the_store_is_imported_without_a_database_or_compiler() -> None:
    done = run(
        "import gc, sys\n"
        "from simstore import Store\n"
        f"print([name for name in {NOT_FOR_THE_STORE!r} if name in sys.modules])\n"
        "print(sum(name.startswith('simstore') for name in sys.modules), len(sys.modules))\n"
        "print(gc.isenabled())"
    )
    loaded, count, collected = done.stdout.splitlines()
    assert (loaded, collected) == ("[]", "True")
    ours, every = map(int, count.split())
    assert ours <= MODULES_OF_THE_STORE
    assert every <= ALL_MODULES_OF_THE_STORE


def test_what_a_query_does_without_is_there() -> None:
    for name in NOT_FOR_THE_STORE:
        if name == "numba":
            pytest.importorskip(name, reason="Numba is not installed")
        assert find_spec(name) is not None


def imported_by(path: Path, name: str, modules: set[str]) -> Iterator[str]:
    """Yield the modules of the package that a file imports anywhere, for type checkers too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} imports by a relative name"
            for one in node.names:
                full = f"{node.module}.{one.name}"
                yield full if full in modules else str(node.module)


@pytest.mark.slow
def test_no_modules_import_each_other_in_a_circle() -> None:
    package = Path(simstore.__file__).resolve().parent
    files = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        files[".".join(parts).removesuffix(".__init__")] = path
    modules = set(files)
    graph = {
        name: {other for other in imported_by(path, name, modules) if other in modules} - {name}
        for name, path in files.items()
        if not name.startswith("simstore.migrations")
    }
    TopologicalSorter(graph).prepare()  # it raises an error that shows a circle


def test_garbage_is_collected_after_imports() -> None:
    before = gc.get_freeze_count()
    with uncollected("simstore"):
        assert gc.isenabled()
    assert gc.get_freeze_count() == before
    with pytest.raises(ModuleNotFoundError), uncollected():
        import_module("simstore.nothing")
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_documents_name_only_what_can_be_imported() -> None:
    repository = Path(__file__).resolve().parents[2]
    if not (repository / "README.md").exists():
        pytest.skip("the documents are not beside the tests")
    documents = [repository / "README.md", *repository.glob("docs/**/*.md")]
    documents += repository.glob("simstore/**/*.py")
    for path in documents:
        named = re.findall(r"`simstore\.([A-Z]\w+)", path.read_text(encoding="utf-8"))
        assert set(named) <= set(NAMES), path
