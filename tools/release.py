"""Build a release, check it, and try it in an empty environment on each Python that is here.

Usage: python tools/release.py [--tag vX.Y.Z] [--dist FOLDER] [--python PYTHON]...

In a clean checkout, in this order; the first thing that is wrong ends it with exit code 1:

1. the version is a release's; CHANGELOG.md, CITATION.cff and the tag, where one is given, have it;
2. the source archive is built, and the wheel from it;
3. ``twine check --strict`` accepts both, and the metadata and contents are those that we expect;
4. the wheel is installed into a new environment of each Python from 3.11 on, and the commands of
   the README run there, far from the checkout.

Needs ``pip install build hatchling twine`` and a package index. Publishing is the business of
.github/workflows/publish.yml, which runs this first.
"""

from __future__ import annotations

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
# What a run of the installed commands prints last.
EXPECTED = "sample-01\n1:news-en-002"


class Wrong(Exception):
    """The release is not fit to be published."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all steps; return the exit code."""
    given = argparse.ArgumentParser(description="Build, check and try a release.")
    given.add_argument("--tag", help="the tag of the release, vX.Y.Z: must be the version")
    given.add_argument(
        "--dist", type=Path, default=REPOSITORY / "dist", help="folder to build into"
    )
    given.add_argument("--python", action="append", help="try these instead of all that are found")
    options = given.parse_args(arguments)
    try:
        version = told_version()
        check_texts(version, options.tag)
        source, wheel = build(options.dist, version)
        check_archives(source, wheel, version)
        pythons = options.python or list(found_pythons())
        if not pythons:
            raise Wrong("no Python from 3.11 on was found to try the wheel on")
        for python in pythons:
            try_wheel(wheel, python, version)
    except Wrong as error:
        print(f"Not released: {error}", file=sys.stderr)
        return 1
    print(f"{source.name} and {wheel.name} are fit to be published")
    return 0


def told_version() -> str:
    """Return the version that the package tells."""
    text = (REPOSITORY / "simstore" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if found is None or not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", found[1]):
        raise Wrong("simstore/version.py has no version such as 1.2.3 or 1.2.3rc1")
    return found[1]


def check_texts(version: str, tag: str | None) -> None:
    """Raise where a file or the tag tells another version."""
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    if (
        re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE)
        is None
    ):
        raise Wrong(
            f"CHANGELOG.md has no heading '## [{version}] - YYYY-MM-DD': write it below "
            "'## [Unreleased]', above what changed"
        )
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {version}\n" not in citation:
        raise Wrong(f"CITATION.cff has another version than {version}")
    if tag is not None and tag != f"v{version}":
        raise Wrong(f"the tag is {tag}, the version {version}: tag v{version}")


def build(dist: Path, version: str) -> tuple[Path, Path]:
    """Build both archives into a folder that has no others; return them."""
    shutil.rmtree(dist, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", dist, REPOSITORY], REPOSITORY)
    source = dist / f"simstore-{version}.tar.gz"
    wheel = dist / f"simstore-{version}-py3-none-any.whl"
    if {source, wheel} != set(dist.iterdir()):
        raise Wrong(f"built were {sorted(path.name for path in dist.iterdir())}")
    return source, wheel


def check_archives(source: Path, wheel: Path, version: str) -> None:
    """Raise where metadata or contents are not as they should be."""
    run([sys.executable, "-m", "twine", "check", "--strict", source, wheel], REPOSITORY)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = email.message_from_bytes(archive.read(f"simstore-{version}.dist-info/METADATA"))
    expected = {
        "Name": "simstore",
        "Version": version,
        "License-Expression": "Apache-2.0",
        "Requires-Python": ">=3.11",
        "Description-Content-Type": "text/markdown",
    }
    for field, value in expected.items():
        if metadata[field] != value:
            raise Wrong(f"the metadata say {field}: {metadata[field]}, not {value}")
    tops = {name.partition("/")[0] for name in names}
    if tops != {"simstore", f"simstore-{version}.dist-info"}:
        raise Wrong(f"the wheel would install {sorted(tops)}")
    for needed in ("simstore/py.typed", "simstore/migrations/env.py"):
        if needed not in names:
            raise Wrong(f"the wheel has no {needed}")
    with tarfile.open(source) as sources:
        within = {name.partition("/")[2] for name in sources.getnames()}
    for needed in ("README.md", "LICENSE", "CHANGELOG.md", "mkdocs.yml", "tests/conftest.py"):
        if needed not in within:
            raise Wrong(f"the source archive has no {needed}")


def found_pythons() -> Iterator[str]:
    """Yield a command of each Python from 3.11 on: in the path, and those of pyenv."""
    seen: set[tuple[int, ...]] = set()
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    commands = [sys.executable, *(f"python3.{minor}" for minor in range(11, 20))]
    commands += [str(path) for path in sorted(roots.glob("*/bin/python"))]
    for command in commands:
        if shutil.which(command) is None:
            continue
        told = subprocess.run(
            [command, "-c", "import sys, venv; print(*sys.version_info[:2])"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        version = tuple(map(int, told.stdout.split())) if told.returncode == 0 else ()
        if version >= OLDEST and version not in seen:
            seen.add(version)
            yield command


def try_wheel(wheel: Path, python: str, version: str) -> None:
    """Raise where the wheel does not install, or its commands do not give the README's result."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([python, "-m", "venv", folder / "venv"], folder)
        scripts = folder / "venv" / "bin"
        run([scripts / "python", "-m", "pip", "install", "--quiet", wheel], folder)
        for example in ("article.txt", "sample.txt"):
            shutil.copy(REPOSITORY / "examples" / example, folder)
        told = run([scripts / "simstore", "--version"], folder).strip()
        if version not in told:
            raise Wrong(f"simstore --version tells {told}")
        for command in (["ingest", "article.txt"], ["query", "sample.txt"], ["report"]):
            run([scripts / "simstore", *command], folder)
        result = (folder / "result.txt").read_text(encoding="utf-8")
        if not result.startswith(EXPECTED):
            raise Wrong(f"on {python} the result begins {result[:60]!r}")
        with_python = run([scripts / "python", "--version"], folder).strip()
        print(f"{with_python}: installed and tried")


def run(command: Sequence[str | Path], folder: Path) -> str:
    """Run a command where no setting of ours reaches it; return what it prints."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "SIMSTORE_", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=kept, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        shown = " ".join(map(str, command))
        raise Wrong(f"{shown}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
