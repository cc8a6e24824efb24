"""A test that hangs is ended and named, and the others run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PROGRAM = """
import threading
from hypothesis import given, strategies

def test_hangs():
    threading.Event().wait()

@given(strategies.integers())
def test_hangs_in_a_search(number):
    threading.Event().wait()

def test_ends():
    pass
"""


@pytest.mark.slow
def test_a_test_that_hangs_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_limits.py").write_text(PROGRAM)
    settings = TESTS.parent / "pyproject.toml"
    command = f"-m pytest -p conftest -c {settings} --rootdir {tmp_path} -o timeout=1 {tmp_path}"
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=tmp_path,
        env={**os.environ, "CI": "true", "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"},
        capture_output=True,
        encoding="utf-8",
    )
    limit = "conftest.TimeLimitExceeded: Timeout (>1.0s) from pytest-timeout."
    assert done.stdout.splitlines()[-3:-1] == [
        f"FAILED test_limits.py::test_hangs - {limit}",
        f"FAILED test_limits.py::test_hangs_in_a_search - {limit}",
    ]
    assert "2 failed, 1 passed" in done.stdout
