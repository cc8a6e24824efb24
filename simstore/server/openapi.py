"""Build the OpenAPI document: schemas of the request bodies and replies of each route."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from simstore.server.access.gate import scopes_of

# The largest number that the store can hold.
LARGEST = (1 << 63) - 1
_REFERENCE = "#/components/schemas/{model}"
_SCHEMAS: dict[str, Any] = {}
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of the scope that is named, or of one above it: metrics, read, write, "
    "admin. A store without tokens asks none of who is on the server's machine.",
}
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "exit_code", "request_id"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:simstore:DocumentNotFound"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "exit_code": {"type": "integer"},
        "request_id": {"type": "string"},
    },
}
PROBLEM_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


@cache
def schema(kind: Any, *, strict: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a type; the schemas of its parts are registered by name.

    Args:
        kind: A dataclass, or a list of such.
        strict: It takes no other fields.
    """
    made = TypeAdapter(kind).json_schema(ref_template=_REFERENCE, mode="validation")
    for name, part in made.pop("$defs", {}).items():
        _SCHEMAS[name] = _tidied(part, strict)
    name = made.get("title")
    if name is None or made.get("type") != "object":
        return made
    _SCHEMAS[name] = _tidied(made, strict)
    return {"$ref": _REFERENCE.format(model=name)}


def _tidied(part: dict[str, Any], strict: bool) -> dict[str, Any]:
    """Return a schema with a summary for a description, and bytes beside what may be no UTF-8."""
    part = dict(part)
    if "description" in part:
        part["description"] = part["description"].partition("\n\n")[0].replace("\n", " ")
    properties = part.get("properties")
    if part.get("type") == "object" and properties is not None and strict:
        part["additionalProperties"] = False
        for name in [name for name in properties if name in ("key", "keys", "text", "links")]:
            one: dict[str, Any] = {"type": "string", "contentEncoding": "base64"}
            if name.endswith("s"):
                one = {"type": "array", "items": one}
            one["description"] = f"The bytes of {name}, where it is not UTF-8."
            properties[f"{name}_base64"] = one
    return part


def json_body(
    *kinds: type, lines: type | None = None, form: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the OpenAPI request body of a route: JSON of some types, and other media types.

    Args:
        kinds: The types, each a dataclass.
        lines: What a line of NDJSON is.
        form: The schema of a form with files.
    """
    schemas = [schema(kind, strict=True) for kind in kinds]
    content = {"application/json": {"schema": _any_of(schemas)}}
    if lines is not None:
        content["application/x-ndjson"] = {"schema": schema(lines, strict=True)}
    if form is not None:
        content["multipart/form-data"] = {"schema": dict(form)}
    return {"requestBody": {"required": True, "content": content}}


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of a route for its errors."""
    return {
        status: {"description": _STATUSES[status], "content": PROBLEM_CONTENT}
        for status in (*statuses, *_ALWAYS)
    }


_ALWAYS = (400, 401, 403, 408, 422, 429, 500, 503, 504)
_STATUSES = {
    400: "A parameter is out of its range",
    401: "A token is needed",
    403: "The token is not for this",
    404: "Not found",
    408: "The body did not come in time",
    409: "It contradicts the state of the store",
    413: "The request is too large",
    415: "A body of another kind",
    422: "The request cannot be read",
    429: "Too many requests",
    500: "A fault of the server or of the store",
    501: "A package is not installed",
    503: "Try again later",
    504: "It took too long",
    507: "No space is left",
}


def answers(
    kind: Any, *errors: int, lines: Any = None, page: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of a route: its reply and its errors.

    Args:
        kind: What the JSON of the reply is.
        errors: Statuses of its errors, besides those of every route.
        lines: What a line is, where it may be NDJSON, too.
        page: It may be HTML, too.
    """
    content = {"application/json": {"schema": schema(kind)}}
    if lines is not None:
        content["application/x-ndjson"] = {"schema": schema(lines)}
    if page:
        content["text/html"] = {"schema": {"type": "string"}}
    return {200: {"description": "Done", "content": content}, **problems(*errors)}


def publish(app: FastAPI) -> None:
    """Let the application's document hold the schemas of what its routes read, and their scopes."""
    made = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = made()
            schemas = found.setdefault("components", {}).setdefault("schemas", {})
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            schemas.update({"Problem": _PROBLEM, **_SCHEMAS})
            found["components"]["securitySchemes"] = {"token": _TOKEN}
            for route in app.state.routes:
                for method in route.methods:
                    operation = found["paths"].get(route.path_format, {}).get(method.lower())
                    if operation is not None:
                        scopes = [scope for scope in scopes_of(route) if scope is not None]
                        operation["security"] = [{"token": scopes}] if scopes else []
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]
