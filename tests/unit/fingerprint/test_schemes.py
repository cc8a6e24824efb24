from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import simstore
from simstore.errors import SchemeMismatch
from simstore.fingerprint.schemes import make_scheme, open_scheme
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.web import WebScheme

SCHEMES = [WebScheme(), WebScheme(128), SimtoolScheme(50, 100)]


def test_record_with_other_known_answers_is_refused() -> None:
    for scheme in SCHEMES:
        record = scheme.record()
        answers = (*record.known_answers[:-1], "0" * len(record.known_answers[0]))
        with pytest.raises(SchemeMismatch, match=r"known text (6|11)") as raised:
            open_scheme(replace(record, known_answers=answers))
        assert raised.value.scheme == scheme.label, scheme
        with pytest.raises(SchemeMismatch, match="number"):
            open_scheme(replace(record, known_answers=record.known_answers[:-1]))


def test_unknown_scheme_is_refused() -> None:
    for change in ({"version": 3}, {"name": "other"}):
        with pytest.raises(SchemeMismatch, match="known here: given/1, simtool/1, web/1"):
            make_scheme(replace(WebScheme().record(), **change))  # type: ignore[arg-type]


def test_scheme_can_be_made_whatever_the_known_answers_were() -> None:
    for scheme in SCHEMES:
        record = replace(scheme.record(), known_answers=())
        assert make_scheme(record).record() == scheme.record(), scheme


def test_known_answers_do_not_depend_on_the_process() -> None:
    for seed in ("0", "1"):
        program = (
            "from simstore.fingerprint.web import WebScheme\n"
            "from simstore.fingerprint.simtool import SimtoolScheme\n"
            "print(WebScheme().known_answers(), SimtoolScheme(50, 100).known_answers())"
        )
        package = Path(simstore.__file__).resolve().parent.parent
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": str(package), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        expected = f"{WebScheme().known_answers()} {SimtoolScheme(50, 100).known_answers()}\n"
        assert done.stdout == expected, seed
