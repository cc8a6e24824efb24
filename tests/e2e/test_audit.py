"""The audit of dependencies says what is vulnerable, and fails where it could not ask."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pip_audit", reason="no auditor: pip install pip-audit")
pytestmark = pytest.mark.deployment
AUDIT = Path(__file__).resolve().parents[2] / ".ci" / "audit"
PATIENCE_SECONDS = 120
ADVISORY = {
    "id": "GHSA-0000-0000-0000",
    "modified": "2026-01-01T00:00:00Z",
    "summary": "It does what it should not.",
    "affected": [
        {
            "package": {"name": "click", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "999"}]}],
        }
    ],
}
Answer = Callable[[str], tuple[int, dict[str, Any]]]


@contextmanager
def advisories(answer: Answer) -> Iterator[str]:
    """Run a service that speaks as osv.dev does; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, told = answer(asked["package"]["name"])
            data = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/query"
        finally:
            server.shutdown()
            thread.join()


def audit(folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    options = ["--vulnerability-service", "osv", "--osv-url", url, "--timeout", "5"]
    return subprocess.run(
        [sys.executable, str(AUDIT), *options, "--cache-dir", str(folder)],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, cwd=folder,
    )  # fmt: skip


def test_audit_that_finds_nothing_says_how_many_were_asked_for(tmp_path: Path) -> None:
    asked = []
    with advisories(lambda name: asked.append(name) or (200, {})) as url:
        done = audit(tmp_path, url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"audited {len(set(asked))} packages: none is known to be vulnerable\n"
    assert {"click", "numpy", "sqlalchemy"} <= {name.lower() for name in asked}


def test_audit_names_what_is_vulnerable_and_fails(tmp_path: Path) -> None:
    with advisories(lambda name: (200, {"vulns": [ADVISORY]} if name == "click" else {})) as url:
        done = audit(tmp_path, url)
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert line.startswith("VULNERABLE: click ")
    assert "GHSA-0000-0000-0000" in line
    assert "999" in line


@pytest.mark.parametrize("status", [500, 404])
def test_audit_that_was_not_answered_fails_loudly(tmp_path: Path, status: int) -> None:
    with advisories(lambda name: (status if name == "click" else 200, {})) as url:
        done = audit(tmp_path, url)
    assert done.returncode == 3
    assert "NOT AUDITED" in done.stderr
    assert "none is known" not in done.stdout


def test_audit_without_a_service_fails_loudly(tmp_path: Path) -> None:
    with advisories(lambda _: (200, {})) as url:
        pass
    done = audit(tmp_path, url)
    assert done.returncode == 3
    assert "NOT AUDITED" in done.stderr
    assert "This is no clean audit" in done.stderr
    assert done.stdout == ""
