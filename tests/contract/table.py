"""The contract table: cases of the files in ``cases/``, read and checked.

A file of cases is TOML::

    [texts]
    ferry = "the ferry to the island leaves at nine every morning"

    [[case]]
    name = "a stored text is found by itself"
    store = { bits = 64 }
    steps = [
      ["add", { key = "a", text = "@ferry" }, { outcome = "added" }],
      ["query", { text = "@ferry", radius = 3 }, [{ key = "a", distance = 0 }]],
    ]

A step is a verb, its arguments, the expected result and perhaps what only some faces show
(``{ exit = 5, status = 422 }``). ``@name`` stands for a text of ``[texts]``. A case may have
``faces`` (default: all), ``store`` (options of the new store) and ``files`` (name and content,
written before the first step; ``making.py`` has the forms); ``only_files = true`` leaves it out
for stores on PostgreSQL.

Expected results: an object matches if its fields match, other fields may follow; a list matches
item by item; a number matches to three decimals; ``"none"`` is an absent value, ``"*"`` any value
that is there, ``"~words"`` a text that contains the words; ``{ error = KIND }`` is an error of that
kind, perhaps with a ``message``: usage, denied, not_found, conflict, bad_input, storage (``*``: of
any kind). ``fingerprints.py`` has the forms of fingerprints that oracles compute.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FACES = ("store", "client", "http", "cli")
ERRORS = {"usage", "denied", "not_found", "conflict", "bad_input", "storage"}
_FIELDS = {"name", "faces", "store", "files", "only_files", "steps"}
_SHOWN = {"exit", "status"}


@dataclass(frozen=True)
class Step:
    """One call and its expected result."""

    verb: str
    arguments: dict[str, Any]
    expected: Any
    shown: dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A scenario on a new store."""

    name: str
    faces: tuple[str, ...]
    store: dict[str, Any]
    files: dict[str, Any]
    steps: tuple[Step, ...]
    only_files: bool


def read_cases(folder: Path) -> list[Case]:
    """Read all cases of a folder, in the order of their files.

    Raises:
        ValueError: A case has an unknown field or face, or no expected result, or a name twice.
    """
    cases = [case for path in sorted(folder.glob("*.toml")) for case in _of_file(path)]
    names = [case.name for case in cases]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"cases with one name: {sorted(repeated)}")
    return cases


def _of_file(path: Path) -> list[Case]:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    texts = content.get("texts", {})
    unknown = set(content) - {"texts", "case"}
    if unknown:
        raise ValueError(f"{path.name}: unknown tables {sorted(unknown)}")
    return [_case(path.name, _filled(record, texts)) for record in content["case"]]


def _case(file: str, record: dict[str, Any]) -> Case:
    place = f"{file}: {record.get('name')}"
    unknown = set(record) - _FIELDS
    faces = tuple(record.get("faces", FACES))
    if unknown or not faces or not set(faces) <= set(FACES):
        raise ValueError(f"{place}: unknown {sorted(unknown)}, faces {faces}")
    steps = tuple(_step(place, step) for step in record["steps"])
    if all(step.expected == "" for step in steps):
        raise ValueError(f"{place}: no step has an expected result")
    return Case(
        name=record["name"],
        faces=faces,
        store=record.get("store", {}),
        files=record.get("files", {}),
        steps=steps,
        only_files=record.get("only_files", False),
    )


def _step(place: str, parts: list[Any]) -> Step:
    verb, arguments, expected, shown = (*parts, *("", {})[len(parts) - 2 :])
    if isinstance(expected, dict) and expected.get("error", "*") not in ERRORS | {"*"}:
        raise ValueError(f"{place}: unknown error {expected['error']!r}")
    if set(shown) - _SHOWN:
        raise ValueError(f"{place}: a face shows only {sorted(_SHOWN)}")
    return Step(verb, arguments, expected, shown)


def _filled(value: Any, texts: dict[str, str]) -> Any:
    """Return a value in which ``@name`` is replaced by the text of that name."""
    if isinstance(value, dict):
        return {name: _filled(part, texts) for name, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, texts) for part in value]
    if isinstance(value, str) and value.startswith("@"):
        return texts[value[1:]]
    if isinstance(value, str) and ":@" in value:
        form, _, name = value.rpartition(":@")
        return f"{form}:{texts[name]}"
    return value


def difference(expected: Any, actual: Any, place: str = "result") -> str | None:
    """Return the first difference between an expected result and the actual one, or None."""
    if expected in ("", "*"):
        return f"{place}: absent" if expected == "*" and actual in (None, "") else None
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name, part in expected.items():
            if name not in actual:
                return f"{place}.{name}: not shown in {actual!r}"
            if found := difference(part, actual[name], f"{place}.{name}"):
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, (list, tuple)):
        if len(expected) != len(actual):
            return f"{place}: {len(expected)} expected, not {len(actual)}: {actual!r}"
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            if found := difference(one, other, f"{place}[{number}]"):
                return found
        return None
    return None if _agrees(expected, actual) else f"{place}: {expected!r} expected, not {actual!r}"


def _agrees(expected: Any, actual: Any) -> bool:
    if expected == "none":
        return actual is None
    if isinstance(expected, str) and expected.startswith("~"):
        return isinstance(actual, str) and expected[1:] in actual
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        return abs(expected - actual) <= (0.000501 if isinstance(expected, float) else 0)
    return type(expected) is type(actual) and bool(expected == actual)
