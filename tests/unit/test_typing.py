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


# Programs of users, one for a store and a client alike, and lines that are all wrong.
EXPECTED = {"programs.py": set(), "both_programs.py": set(), "wrong_programs.py": WRONG}


def mypy() -> list[tuple[str, int]]:
    pytest.importorskip("mypy")
    words = ["-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, *words, *(str(PROGRAMS / name) for name in EXPECTED)],
        capture_output=True, text=True, cwd=REPOSITORY, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found = re.findall(r"^(\S+):(\d+): error", done.stdout, re.MULTILINE)
    return [(Path(name).name, int(line)) for name, line in found]


def basedpyright() -> list[tuple[str, int]]:
    pytest.importorskip("basedpyright")
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--level", "error", "--outputjson",
         "--pythonpath", sys.executable, *(str(PROGRAMS / name) for name in EXPECTED)],
        capture_output=True, text=True, cwd=PROGRAMS, check=False,
    )  # fmt: skip
    return [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1)
        for one in json.loads(done.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    ]


@types
@pytest.mark.parametrize("checker", [mypy, basedpyright])
def test_right_programs_pass_and_every_wrong_line_is_found(checker: Any) -> None:
    found = checker()
    lines = {name: {line for file, line in found if file == name} for name in EXPECTED}
    assert lines == EXPECTED


def test_keywords_are_the_fields_of_the_options() -> None:
    for keywords, options in [
        (QueryKeywords, QueryOptions),
        (CheckKeywords, CheckOptions),
        (ClusterKeywords, ClusterOptions),
        (CompareKeywords, CompareOptions),
        (EvaluateKeywords, EvaluateOptions),
        (ExportKeywords, ExportOptions),
        (IngestKeywords, IngestOptions),
        (ReadKeywords, ReadOptions),
    ]:
        hints = get_type_hints(options)
        expected = {field.name: hints[field.name] for field in fields(options)}
        assert get_type_hints(keywords) == expected
