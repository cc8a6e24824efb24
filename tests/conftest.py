"""Settings and fixtures that all tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import forked
import pytest
from hypothesis import HealthCheck, Phase, settings
from postgres_places import Places, give_back, paths_are_on
from postgres_servers import PostgresServer, running_server

REPOSITORY = Path(__file__).resolve().parent.parent
BUNDLED_COURSE = Path(__file__).parent / "data" / "course"

# Seconds for tests that start a browser, Java or a server, or that search long. Others have
# 60 (pyproject.toml) or a mark of their own.
LONG_SECONDS = dict.fromkeys(
    ("browser", "deployment", "postgres", "quality", "site", "spark", "torture", "wheel"), 300
)
LONG_SECONDS |= {"spark": 600, "thorough": 1800}

settings.register_profile(
    "local",
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_local = settings.get_profile("local")
settings.register_profile("ci", _local, derandomize=True, print_blob=True)
# pytest --hypothesis-profile=thorough: a long search; quick: a short one that shrinks nothing.
settings.register_profile("thorough", _local, max_examples=400)
settings.register_profile("quick", _local, max_examples=5, phases=[Phase.explicit, Phase.generate])
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--backend",
        choices=("sqlite", "postgresql"),
        default="sqlite",
        help="where stores are: files, or a real PostgreSQL server that the tests start",
    )


def pytest_configure() -> None:
    """Hear SIGINT, as commands under test do: what a script begins with ``&`` ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class TimeLimitExceeded(BaseException):
    """A test ran for longer than its limit."""


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer() -> Iterator[None]:
    """End a test that searches too: Hypothesis catches ``pytest.fail`` and would search on."""
    started = yield
    fail = signal.getsignal(signal.SIGALRM)

    def end(number: int, frame: FrameType | None) -> None:
        try:
            fail(number, frame)
        except pytest.fail.Exception as error:
            raise TimeLimitExceeded(str(error)) from None

    signal.signal(signal.SIGALRM, end)
    return started


def pytest_unconfigure() -> None:
    forked.close_nursery()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Set the limits of long tests; skip tests of SQLite files if stores are on a server."""
    on_server = config.getoption("--backend") != "sqlite"
    for item in items:
        marks = [marker.name for marker in item.iter_markers()] + ["postgres"] * on_server
        limits = [LONG_SECONDS[mark] for mark in marks if mark in LONG_SECONDS]
        if limits and "timeout" not in marks:
            item.add_marker(pytest.mark.timeout(max(limits)))
        marker = item.get_closest_marker("sqlite")
        if marker and on_server:
            why = ": ".join(("tells of an SQLite file", *marker.args))
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A real PostgreSQL server; skips where it cannot be had."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep the stores of all tests where the option says."""
    if request.config.getoption("--backend") == "sqlite":
        yield
        return
    from postgres_schemas import Schemas

    places = Places(Schemas(request.getfixturevalue("postgres_server")))
    with paths_are_on(places), closing(places.schemas):
        yield


@pytest.fixture(autouse=True)
def stores_given_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let other tests use the places of the stores of this one."""
    yield
    if request.config.getoption("--backend") != "sqlite":
        give_back(request.node.funcargs.get("tmp_path"))


@dataclass(frozen=True)
class Course:
    """The bytes of the four input files of the course tool, and where they lie."""

    folder: Path
    article: bytes
    sample: bytes
    stopwords: bytes
    hashvalue: bytes

    @classmethod
    def read(cls, folder: Path) -> Course:
        names = ("article.txt", "sample.txt", "stopwords.txt", "hashvalue.txt")
        return cls(folder, *((folder / name).read_bytes() for name in names))


@pytest.fixture(scope="session")
def bundled_course() -> Course:
    """The course files that the project carries."""
    return Course.read(BUNDLED_COURSE)


@pytest.fixture(scope="session")
def real_course() -> Course:
    """The course's own files; skips where they are not there."""
    folder = real_data() / "simtool"
    if not folder.is_dir():
        pytest.skip(f"no course data in {folder}: SIMSTORE_TEST_DATA names their folder")
    return Course.read(folder)


@pytest.fixture(scope="session")
def labelled_documents() -> Path:
    """The labelled documents, JSON Lines; skips where they are not there."""
    path = real_data() / "labelled" / "docs.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no labelled documents at {path}: SIMSTORE_TEST_DATA names their folder")
    return path


@pytest.fixture(scope="session")
def foreign_encodings() -> Path:
    """Files in many encodings, in folders named by them; skips where they are not there."""
    folder = real_data() / "foreign" / "encodings"
    if not folder.is_dir():
        pytest.skip(f"no foreign files in {folder}: SIMSTORE_TEST_DATA names their folder")
    return folder


def real_data() -> Path:
    given = os.environ.get("SIMSTORE_TEST_DATA")
    return Path(given) if given else REPOSITORY.parent / "shared" / "data"
