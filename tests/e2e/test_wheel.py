"""The wheel, installed where no checkout is near, works; the source archive is whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from runpy import run_path

import pytest

from simstore import __version__

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 600

pytestmark = pytest.mark.wheel


def run(arguments: Sequence[str | Path], folder: Path, code: int = 0) -> str:
    """Run a command far from the checkout; return what it prints."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "SIMSTORE_", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    output = done.stdout.decode("utf-8", "backslashreplace")
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}\n{output}"
    return output


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build the source archive, and the wheel from it; return both."""
    for package in ("build", "hatchling"):
        pytest.importorskip(package, reason=f"no {package}: pip install '.[dev]'")
    if not (REPOSITORY / "pyproject.toml").is_file():
        pytest.skip("no project to build here")
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY]
    run(build, folder)
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return source, wheel


@pytest.fixture(scope="module")
def scripts(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, without extras, into a new environment; return its scripts' folder."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    try:
        run([python, "-m", "pip", "install", "--quiet", archives[1]], folder)
    except AssertionError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"pip cannot install the wheel here: {str(error).splitlines()[-1]}")
    return python.parent


def test_wheel_holds_the_package_and_the_migrations(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[1]) as wheel:
        names = set(wheel.namelist())
    scripts = {f"simstore/{path}" for path in migration_files()}
    assert scripts < names
    assert {"simstore/py.typed", "simstore/cli/__init__.py"} < names
    templates = {f"simstore/{path}" for path in template_files()}
    assert len(templates) >= 5
    assert templates < names
    assert {name.partition("/")[0] for name in names} == {
        "simstore",
        f"simstore-{__version__}.dist-info",
    }


def test_source_archive_holds_what_the_tests_need(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[0]) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert migration_files() < names
    assert template_files() < {name.removeprefix("simstore/") for name in names}
    assert {"README.md", "LICENSE", "pyproject.toml", "cli.py", "examples/article.txt"} < names
    assert {"tests/conftest.py", "tests/data/course/hashvalue.txt"} < names


def test_release_tool_accepts_the_archives(archives: tuple[Path, Path]) -> None:
    pytest.importorskip("twine", reason="no twine: pip install '.[dev]'")
    run_path(str(REPOSITORY / "tools" / "release.py"))["check_archives"](*archives, __version__)


def migration_files() -> set[str]:
    files = [*REPOSITORY.glob("migrations/*.py*"), *REPOSITORY.glob("migrations/versions/*.py")]
    return {str(path.relative_to(REPOSITORY)) for path in files}


def template_files() -> set[str]:
    package = REPOSITORY / "simstore"
    files = [
        path
        for folder in ("templates", "static")
        for path in package.rglob(f"{folder}/*")
        if path.is_file()
    ]
    return {str(path.relative_to(package)) for path in files}


def test_installed_wheel_does_a_day_of_work(scripts: Path, tmp_path: Path) -> None:
    examples = tmp_path / "data"
    shutil.copytree(REPOSITORY / "examples", examples)
    empty = tmp_path / "empty"
    empty.mkdir()
    simstore = scripts / "simstore"
    assert __version__ in run([simstore, "--version"], empty)
    location = run([scripts / "python", "-c", "import simstore; print(simstore.__file__)"], empty)
    assert location.startswith(str(scripts.parent))
    run([scripts / "python", "-c", "import numba"], empty, code=1)

    assert "scheme web/1" in run([simstore, "init"], empty)
    assert "36 added" in run([simstore, "ingest", examples / "article.txt"], empty)
    answer = run([simstore, "query", "-q", "--format", "simtool", examples / "sample.txt"], empty)
    assert "sample-03\n0:manual-en-001 \n" in answer
    run([simstore, "report", "-q"], empty)
    assert (empty / "result.txt").read_text(encoding="utf-8") == answer
    assert "sound" in run([simstore, "fsck"], empty)


def test_installed_wheel_brings_the_course_tool(scripts: Path, tmp_path: Path) -> None:
    simtool = scripts / "simtool"
    assert "Usage: simtool [OPTIONS] N M" in run([simtool, "--help"], tmp_path)
    for path in (REPOSITORY / "tests" / "data" / "course").glob("*.txt"):
        shutil.copy(path, tmp_path)
    shown = run([simtool, "300", "64"], tmp_path)
    assert (tmp_path / "result.txt").read_text(encoding="utf-8").startswith(shown)
