"""The OpenAPI document: complete, as it was, and true."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from simstore.model import SCOPES
from simstore.server.app import create_app

GOLDEN = Path(__file__).parents[2] / "data" / "openapi.json"


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    return create_app(tmp_path / "s.db").openapi()


def test_paths_and_parameters_are_as_they_were(document: dict[str, Any]) -> None:
    """What clients rely on changes with intent only: SIMSTORE_WRITE_GOLDEN=1 writes it anew."""
    found = {
        path: {
            method: {
                "parameters": sorted(
                    f"{one['in']} {one['name']}" for one in operation.get("parameters", [])
                ),
                "bodies": sorted(operation.get("requestBody", {}).get("content", {})),
                "reply": sorted(operation["responses"]["200"].get("content", {})),
                "statuses": " ".join(sorted(operation["responses"])),
            }
            for method, operation in sorted(operations.items())
        }
        for path, operations in sorted(document["paths"].items())
    }
    if os.environ.get("SIMSTORE_WRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(GOLDEN.read_text())


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return found.union(*map(references, value.values()))
    if isinstance(value, list):
        return set().union(*map(references, value))
    return set()


def test_every_schema_that_is_named_is_there(document: dict[str, Any]) -> None:
    names = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= names


def test_every_operation_says_what_it_does_and_how_it_fails(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            place = f"{method} {path}"
            assert operation["summary"], place
            assert operation["description"], place
            assert operation["tags"], place
            for status, reply in operation["responses"].items():
                if status >= "400":
                    assert list(reply["content"]) == ["application/problem+json"], place


def test_objects_in_requests_take_no_other_fields(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    bodies = [
        body["schema"]
        for operations in document["paths"].values()
        for operation in operations.values()
        for kind, body in operation.get("requestBody", {}).get("content", {}).items()
        if kind != "multipart/form-data"
    ]
    names = sorted(name.rpartition("/")[2] for name in references(bodies))
    assert names
    for name in names:
        assert schemas[name]["additionalProperties"] is False, name


def test_every_operation_names_the_scope_of_its_token(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    found: dict[str, set[str]] = {}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            (scope,) = [scope for one in operation["security"] for scope in one["token"]] or [
                "none"
            ]
            found.setdefault(scope, set()).add(path)
    assert found["none"] == {"/healthz", "/readyz"}
    assert found["metrics"] == {"/metrics"}
    assert found["admin"] == {"/v1/backup"}
    assert found["write"] >= {"/v1/documents", "/v1/remove"}
    assert found["read"] >= {"/v1/query", "/v1/stats", "/v1/documents/{key}"}
    assert set(found) == {"none", *SCOPES}
