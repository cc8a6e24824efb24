"""Plans forced upon code that would choose its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simstore.search.plan import Plan, choose_plan


def by_segments(
    costs: Sequence[Sequence[float]], radius: int, fingerprint_count: int, **options: Any
) -> Plan:
    """Look up segments, however much it costs."""
    return choose_plan(costs, radius, fingerprint_count, **options | {"method": "segments"})


def by_scan(
    costs: Sequence[Sequence[float]], radius: int, fingerprint_count: int, **options: Any
) -> Plan:
    """Look at everything, however much it costs."""
    return choose_plan(costs, radius, fingerprint_count, **options | {"method": "scan"})
