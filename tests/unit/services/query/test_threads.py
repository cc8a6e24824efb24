"""Threads of one process that ask at once give up the interpreter's lock no more than they need."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from simstore.compiled import Kernel

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")


@needs_numba
def test_a_kernel_that_keeps_the_lock_is_not_taken_from_disk_for_one_that_lets_go() -> None:
    def twice(number: int) -> int:
        return 2 * number

    kinds = [Kernel(twice, ["int64(int64)"], lets_go=lets_go) for lets_go in (True, False)]
    assert [kind(21) for kind in kinds] == [42, 42]
    compiled_forms: list[Any] = [kind._compiled for kind in kinds]
    assert [form.targetoptions["nogil"] for form in compiled_forms] == [True, False]
    assert len({form.py_func.__qualname__ for form in compiled_forms}) == 2
