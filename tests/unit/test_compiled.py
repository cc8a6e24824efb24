from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from simstore import compiled
from simstore.compiled import Kernel

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")


@pytest.fixture(autouse=True)
def _default() -> Iterator[None]:
    yield
    compiled.enable()


def twice(number: int) -> int:
    return 2 * number


def sum_of_twice(numbers: list[int]) -> int:
    total = 0
    for number in numbers:
        total += twice(number)
    return total


@needs_numba
def test_kernel_calls_its_parts_and_leaves_the_plain_functions() -> None:
    kernel = Kernel(sum_of_twice, ["int64(int64[::1])"], parts=[twice])
    assert kernel(np.array([1, 2, 3])) == 12
    assert sum_of_twice([1, 2, 3]) == 12
    assert type(twice).__name__ == "function"


@needs_numba
def test_kernel_with_another_part_is_another_kernel() -> None:
    def thrice(number: int) -> int:
        return 3 * number

    thrice.__name__ = "twice"
    numbers = np.array([1, 2, 3])
    assert Kernel(sum_of_twice, ["int64(int64[::1])"], parts=[twice])(numbers) == 12
    assert Kernel(sum_of_twice, ["int64(int64[::1])"], parts=[thrice])(numbers) == 18


@needs_numba
def test_compiled_forms_pay_when_asked_for_and_never_when_disabled() -> None:
    compiled.enable(0)
    assert compiled.pays(0)
    compiled.disable()
    assert not compiled.pays(1e9)


def test_compiled_forms_do_not_pay_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_is_usable", lambda: False)
    compiled.enable(0)
    assert not compiled.pays(1e9)


def run_kernels(folder: Path, level: int, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program with two kernels in a folder, with messages on standard error."""
    module = folder / "added.py"
    module.write_text(
        "from simstore.compiled import Kernel\n"
        "from simstore.reports.log_lines import LogStyle, write_log\n"
        "def added(a, b):\n    return a + b\n"
        "def less(a, b):\n    return a - b\n"
        f"write_log(LogStyle('plain', {level}))\n"
        "for one in (added, less):\n"
        "    print(Kernel(one, ['int64(int64, int64)'])(20, 22))\n"
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    root = str(Path(compiled.__file__).parent.parent)
    return subprocess.run(
        [sys.executable, str(module)],
        env={**kept, "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@needs_numba
def test_compilation_is_reported_once_and_not_for_kernels_from_disk(tmp_path: Path) -> None:
    quiet = run_kernels(tmp_path, logging.ERROR, NUMBA_CACHE_DIR=str(tmp_path / "quiet"))
    assert (quiet.stdout, quiet.stderr) == ("42\n-2\n", "")
    cache = str(tmp_path / "cache")
    first = run_kernels(tmp_path, logging.INFO, NUMBA_CACHE_DIR=cache)
    assert (first.stdout, first.stderr) == (
        "42\n-2\n",
        "compiling once for this machine, about 20 s\n",
    )
    second = run_kernels(tmp_path, logging.INFO, NUMBA_CACHE_DIR=cache)
    assert (second.stdout, second.stderr) == ("42\n-2\n", "")


@pytest.mark.slow
@needs_numba
def test_kernels_work_where_nothing_can_be_kept(tmp_path: Path) -> None:
    # No folder beside the module and none in the user's home: files are in their places.
    (tmp_path / "__pycache__").write_text("")
    home = tmp_path / "home"
    home.write_text("")
    done = run_kernels(tmp_path, logging.INFO, HOME=str(home))
    assert done.stdout == "42\n-2\n"
    assert done.stderr == (
        "compiling, about 20 s; no folder can store the result (NUMBA_CACHE_DIR names one)\n"
    )
