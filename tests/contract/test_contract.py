"""The contract of simstore: one table of cases, driven over each of its faces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from oracle_texts import containment, is_plain, resemblance
from postgres_places import place_of

from contract.cli_face import CliFace
from contract.faces import KINDS, Face, FaceError
from contract.fingerprints import computed
from contract.http_face import HttpFace
from contract.making import make_store, write_files
from contract.python_faces import ClientFace, StoreFace
from contract.table import Case, Step, difference, read_cases
from simstore.errors import SimstoreError

_CASES = read_cases(Path(__file__).parent / "cases")
_FACES: dict[str, type[Face]] = {
    "store": StoreFace,
    "client": ClientFace,
    "http": HttpFace,
    "cli": CliFace,
}


def _marks(case: Case, face: str) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.sqlite()] if case.only_files else []
    # The short run of the tests leaves a server out of cases that need none.
    if face in ("client", "http") and "cli" in case.faces:
        marks.append(pytest.mark.slow())
    return marks


@pytest.mark.parametrize(
    ("case", "face_name"),
    [
        pytest.param(case, face, id=f"{face}: {case.name}", marks=_marks(case, face))
        for case in _CASES
        for face in case.faces
    ],
)
def test_each_face_keeps_the_contract(
    case: Case, face_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, case.files)
    place = place_of(tmp_path / "store.db")
    make_store(tmp_path / "store.db", case.store)
    face = _FACES[face_name](place, tmp_path)
    stored: dict[str, str] = {}
    try:
        for number, step in enumerate(case.steps, start=1):
            expected = computed(step.expected, case, stored)
            _take(face, replace(step, expected=expected), f"step {number}, {step.verb}", stored)
    finally:
        face.close()


def _take(face: Face, step: Step, place: str, stored: dict[str, str]) -> None:
    face.shown = {}
    result: Any
    try:
        result = getattr(face, step.verb)(**step.arguments)
    except FaceError as error:
        result = {"error": error.kind, "message": str(error)}
        if error.status is not None:
            face.shown["status"] = error.status
    except TypeError as error:
        # Python's own error for a keyword that a method does not have.
        if "unexpected keyword argument 'unknown_option'" not in str(error):
            raise
        result = {"error": "usage", "message": str(error)}
    except SimstoreError as error:
        kind = "denied" if error.http_status in (401, 403) else KINDS[error.exit_code]
        result = {"error": kind, "message": str(error)}
    found = difference(step.expected, result, place)
    assert found is None, found
    if isinstance(result, dict) and "error" in result:
        expects = isinstance(step.expected, dict) and "error" in step.expected
        assert expects, f"{place}: an unexpected error {result}"
    for name, value in step.shown.items():
        assert face.shown.get(name, value) == value, f"{place}: {name} is {face.shown[name]}"
    if "exit" in face.shown and "exit" not in step.shown and "error" not in str(step.expected):
        assert face.shown["exit"] == 0, f"{place}: exit code {face.shown['exit']}"
    _remember(step, stored)
    if step.verb == "query" and isinstance(result, list):
        _check_measures(step.arguments["text"], result, stored, place)


def _remember(step: Step, stored: dict[str, str]) -> None:
    """Note the texts that were submitted under each key."""
    given = step.arguments
    verb = given["verb"] if step.verb == "elsewhere" else step.verb
    if verb == "add":
        stored[given["key"]] = given["text"]
    elif verb == "remove":
        for key in given["keys"]:
            stored.pop(key, None)
    elif verb == "write":
        stored |= {one["key"]: one["text"] for one in given["documents"] if "text" in one}


def _check_measures(sample: str, matches: list[Any], stored: dict[str, str], place: str) -> None:
    """Check the reported resemblance and containment of each match by plain loops."""
    for match in matches:
        text = stored.get(match["key"])
        if (
            text is None
            or match.get("basis") != "text"
            or not (is_plain(text) and is_plain(sample))
        ):
            continue
        expected = {
            "resemblance": round(resemblance(sample, text), 4),
            "containment": round(containment(sample, text), 4),
        }
        found = difference(expected, match, f"{place}: {match['key']}")
        assert found is None, found
