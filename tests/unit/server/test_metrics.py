"""The text format of Prometheus, and what is counted."""

from __future__ import annotations

import math

from simstore.server.metrics import BOUNDS, Metrics, family


def values(metrics: Metrics) -> dict[str, float]:
    found = {}
    for line in metrics.lines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            found[name] = float(value)
    return found


def test_latencies_are_counted_up_to_their_bounds_inclusive() -> None:
    metrics = Metrics()
    given = [0.0, BOUNDS[0], math.nextafter(BOUNDS[0], 1), BOUNDS[-1], BOUNDS[-1] * 2]
    for seconds in given:
        metrics.observe("GET", "/x", 200, seconds)
    found = values(metrics)
    labels = 'simstore_http_request_seconds_bucket{method="GET",route="/x",le='
    for bound in BOUNDS:
        assert found[f'{labels}"{bound:g}"}}'] == sum(one <= bound for one in given)
    assert found[f'{labels}"+Inf"}}'] == len(given)
    assert found['simstore_http_request_seconds_count{method="GET",route="/x"}'] == len(given)
    assert found['simstore_http_request_seconds_sum{method="GET",route="/x"}'] == sum(given)


def test_labels_are_escaped() -> None:
    lines = list(family("a", "gauge", "A thing.", [({"x": 'a"b\\c\nd'}, 1)]))
    assert lines == ["# HELP a A thing.", "# TYPE a gauge", 'a{x="a\\"b\\\\c\\nd"} 1']
