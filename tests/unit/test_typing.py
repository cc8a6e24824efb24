"""Type checkers on programs of users: right ones pass, and each wrong line is found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from simstore import CheckOptions, QueryOptions
from simstore.model import CheckKeywords, QueryKeywords
from simstore.services.clusters.cluster import ClusterKeywords, ClusterOptions
from simstore.services.compare.compared import CompareKeywords, CompareOptions
from simstore.services.evaluate.evaluate import EvaluateKeywords, EvaluateOptions
from simstore.services.export.export import ExportKeywords, ExportOptions
from simstore.services.ingest.options import IngestKeywords, IngestOptions
from simstore.sources.reader import ReadKeywords, ReadOptions

# Two checkers and their stubs: packages of dev, not of the README's command.
types = pytest.mark.types

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "tests" / "typing"
WRONG = {
    number
    for number, line in enumerate(
        (PROGRAMS / "wrong_programs.py").read_text("utf-8").splitlines(), 1
    )
    if line.endswith("# wrong")
}


def mypy(program: str) -> set[int]:
    pytest.importorskip("mypy")
    words = ["-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, *words, str(PROGRAMS / program)],
        capture_output=True, text=True, cwd=REPOSITORY, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return {int(line) for line in re.findall(rf"{program}:(\d+): error", done.stdout)}


def basedpyright(program: str) -> set[int]:
    pytest.importorskip("basedpyright")
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--level", "error", "--outputjson",
         "--pythonpath", sys.executable, str(PROGRAMS / program)],
        capture_output=True, text=True, cwd=PROGRAMS, check=False,
    )  # fmt: skip
    told = json.loads(done.stdout)["generalDiagnostics"]
    return {
        one["range"]["start"]["line"] + 1
        for one in told
        if one["severity"] == "error" and one["file"].endswith(program)
    }


@types
@pytest.mark.parametrize("checker", [mypy, basedpyright])
def test_programs_of_users_are_typed(checker: Any) -> None:
    assert checker("programs.py") == set()


@types
@pytest.mark.parametrize("checker", [mypy, basedpyright])
def test_a_store_and_a_client_are_what_their_protocol_says(checker: Any) -> None:
    assert checker("protocol_programs.py") == set()


@types
@pytest.mark.parametrize("checker", [mypy, basedpyright])
def test_every_wrong_line_is_found_and_no_other(checker: Any) -> None:
    assert checker("wrong_programs.py") == WRONG


@pytest.mark.parametrize(
    ("keywords", "options"),
    [
        (QueryKeywords, QueryOptions), (CheckKeywords, CheckOptions),
        (ClusterKeywords, ClusterOptions), (CompareKeywords, CompareOptions),
        (EvaluateKeywords, EvaluateOptions), (ExportKeywords, ExportOptions),
        (IngestKeywords, IngestOptions), (ReadKeywords, ReadOptions),
    ],
)  # fmt: skip
def test_keywords_are_the_fields_of_the_options(keywords: Any, options: Any) -> None:
    hints = get_type_hints(options)
    expected = {field.name: hints[field.name] for field in fields(options)}
    if keywords in (QueryKeywords, ClusterKeywords, IngestKeywords):
        # Another word for one of them.
        expected["threshold"] = hints["min_resemblance"]
    assert get_type_hints(keywords) == expected
