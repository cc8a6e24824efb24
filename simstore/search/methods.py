"""The names of the ways to look, and what each can do."""

from __future__ import annotations

from simstore.errors import InvalidParameter
from simstore.search.segments import probe_count

METHODS = ("auto", "scan", "probe", "expanded", "tables4", "tables16", "segments")
# Those of :mod:`simstore.search.classic`; the others are the planner's own.
CLASSIC_METHODS = ("probe", "expanded", "tables4", "tables16")
_MOST_PROBES = 50_000
_MOST_EXPANDED = 200_000_000
_MOST_EXPANDED_RADIUS = 2
# The tables are made for this case: a match has three different bits at most, and 4 > 3 parts.
_TABLE_BITS = 64
_TABLE_RADIUS = 3


def check_method(method: str, bits: int, radius: int, fingerprint_count: int = 0) -> None:
    """Raise InvalidParameter where a method cannot do what is asked; others always can.

    Args:
        method: One of :data:`METHODS`.
        bits: M.
        radius: Largest distance, in bits, inclusive.
        fingerprint_count: Stored fingerprints.
    """
    if method in ("tables4", "tables16") and (bits != _TABLE_BITS or radius > _TABLE_RADIUS):
        raise InvalidParameter(
            f"plan {method} with {bits} bits and radius {radius}: it is for {_TABLE_BITS} bits and "
            f"a radius of at most {_TABLE_RADIUS}; use auto"
        )
    if method == "probe" and probe_count(bits, radius) > _MOST_PROBES:
        raise InvalidParameter(
            f"plan probe with radius {radius}: {probe_count(bits, radius):,} values of {bits} bits "
            f"to look up; at most {_MOST_PROBES:,}, so a radius of at most {_probed_radius(bits)} "
            "here; use auto"
        )
    if method != "expanded":
        return
    if radius > _MOST_EXPANDED_RADIUS:
        raise InvalidParameter(
            f"plan expanded with radius {radius}: it is for a radius of at most "
            f"{_MOST_EXPANDED_RADIUS}; use auto"
        )
    if fingerprint_count * probe_count(bits, radius) > _MOST_EXPANDED:
        raise InvalidParameter(
            f"plan expanded with radius {radius}: {fingerprint_count:,} fingerprints have "
            f"{fingerprint_count * probe_count(bits, radius):,} values near them; at most "
            f"{_MOST_EXPANDED:,}; use auto"
        )


def _probed_radius(bits: int) -> int:
    """Return the largest radius that can be probed."""
    radius = 0
    while radius < bits and probe_count(bits, radius + 1) <= _MOST_PROBES:
        radius += 1
    return radius
