"""What importing costs: the heavy packages are not loaded before they are needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import simstore

HEAVY = ("sqlalchemy", "alembic", "numpy", "numba", "rich", "xxhash", "matplotlib")
PROGRAMS = {
    "import simstore": "import simstore; dir(simstore); simstore.__version__",
    "simstore --help": (
        "from simstore.cli import main\n"
        "for line in (['--help'], *([name, '--help'] for name in main.commands)):\n"
        "    main(line, standalone_mode=False)"
    ),
    "simstore --version": "from simstore.cli import main; main(['-V'], standalone_mode=False)",
    "simtool --help": (
        "from simstore.cli.simtool import main; main(['--help'], standalone_mode=False)"
    ),
    "errors and values": "from simstore import Document, SimstoreError",
}


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


def test_public_names_are_there_and_unknown_ones_are_not() -> None:
    for name in simstore.__all__:
        assert getattr(simstore, name) is not None
    assert dir(simstore) == sorted(simstore.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = simstore.nothing  # type: ignore[attr-defined]
