"""Requests made from the OpenAPI document: whatever is asked, the answer is what it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from served import PATIENCE_SECONDS, Served, serve

from simstore import Store

from .service.asked import NEAR, OTHER, TEXT

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")
_CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance",
)  # fmt: skip
_EXAMPLES = 4


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("schema") / "s.db"
    with Store.create(place) as store:
        store.passages.build()
        store.add_many([("a", TEXT), ("b", NEAR), ("c", OTHER)], on_duplicate="flag")
        store.clusters.build()
    with serve(place, "--batch-documents", "20") as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_answers_are_as_described(served: Served, mode: str) -> None:
    described = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    checks = schemathesis.checks.CHECKS.get_by_names(_CHECKS)
    asked = set()
    for result in described.get_all_operations():
        operation = result.ok()
        asked.add(operation.label)
        cases = operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode))

        @settings(max_examples=_EXAMPLES, suppress_health_check=list(HealthCheck))
        @given(case=cases)
        def ask(case: Any) -> None:
            case.call_and_validate(checks=checks, timeout=PATIENCE_SECONDS)

        # There is nothing that is wrong with a request that has no parameters.
        with suppress(Unsatisfiable):
            ask()
    assert len(asked) > 20
