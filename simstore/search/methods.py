"""The names of the Hamming search methods, and a check that one supports a given radius."""

from __future__ import annotations

from simstore.errors import InvalidParameter
from simstore.index.segments import probe_count

# Ways to look up sorted, permuted tables; see :mod:`simstore.classic.hamming_plans`.
TABLE_METHODS = ("tables4", "tables10", "tables16", "tables20")
# Those of :mod:`simstore.classic.hamming_plans`; the others are the planner's own.
CLASSIC_METHODS = ("probe", "interpolation", "expanded", *TABLE_METHODS)
METHODS = ("auto", "scan", *CLASSIC_METHODS, "segments")
_MOST_PROBES = 50_000
# Values near stored fingerprints, of all and of one; 8 bytes each, sorted in blocks.
_MOST_EXPANDED = 200_000_000
_MOST_EXPANDED_OF_ONE = 1_000_000
# The tables are made for this case: a match has three different bits at most, and 4 > 3 parts.
_TABLE_BITS = 64
_TABLE_RADIUS = 3
# Interpolation is between numbers of one machine word.
_WORD_BITS = 64


def check_method(method: str, bits: int, radius: int, fingerprint_count: int = 0) -> None:
    """Raise InvalidParameter where a method cannot do what is asked; others always can.

    Args:
        method: One of :data:`METHODS`.
        bits: M.
        radius: Largest distance, in bits, inclusive.
        fingerprint_count: Stored fingerprints.
    """
    if method in TABLE_METHODS and (bits != _TABLE_BITS or radius > _TABLE_RADIUS):
        raise InvalidParameter(
            f"plan {method} with {bits} bits and radius {radius}: it is for {_TABLE_BITS} bits and "
            f"a radius of at most {_TABLE_RADIUS}; use auto"
        )
    if method == "interpolation" and bits > _WORD_BITS:
        raise InvalidParameter(
            f"plan interpolation with {bits} bits: it is for at most {_WORD_BITS} bits; use auto"
        )
    if method in ("probe", "interpolation") and probe_count(bits, radius) > _MOST_PROBES:
        raise InvalidParameter(
            f"plan {method} with radius {radius}: {probe_count(bits, radius):,} values of {bits} "
            f"bits to look up; at most {_MOST_PROBES:,}, so a radius of at most "
            f"{_probed_radius(bits)} here; use auto"
        )
    if method != "expanded":
        return
    of_one = probe_count(bits, radius)
    if of_one > _MOST_EXPANDED_OF_ONE:
        raise InvalidParameter(
            f"plan expanded with radius {radius}: {of_one:,} values of {bits} bits are near one "
            f"fingerprint; at most {_MOST_EXPANDED_OF_ONE:,}; use auto"
        )
    if fingerprint_count * of_one > _MOST_EXPANDED:
        raise InvalidParameter(
            f"plan expanded with radius {radius}: {fingerprint_count:,} fingerprints have "
            f"{fingerprint_count * of_one:,} values near them; at most {_MOST_EXPANDED:,}, so "
            f"{_MOST_EXPANDED // of_one:,} fingerprints; use auto"
        )


def _probed_radius(bits: int) -> int:
    """Return the largest radius that can be probed."""
    radius = 0
    while radius < bits and probe_count(bits, radius + 1) <= _MOST_PROBES:
        radius += 1
    return radius
