"""Explain in words why a document is in its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from simstore.errors import printable
from simstore.model import ClusterMember, LeastShares
from simstore.text.patterns import Expression


@dataclass(frozen=True, slots=True)
class ClusterRule:
    """The rule by which documents were clustered.

    Attributes:
        policy: ``first``, ``longest`` or ``prefer:REGEX``.
        least: What a member reaches one of.
    """

    policy: str
    least: LeastShares

    def reason(self, member: ClusterMember, *, canonical: bool) -> str:
        """Return why a document is in its cluster."""
        if canonical:
            return f"canonical: {self._canonical_reason(member.key)}"
        if member.basis == "same":
            return "same text"
        least = self.least
        if least.resemblance is not None and member.resemblance >= least.resemblance:
            estimated = "estimated " if member.basis == "sketch" else ""
            return f"{estimated}resemblance {member.resemblance:.3f} >= {least.resemblance:g}"
        return (
            f"likeness {member.likeness or 0:.3f} >= {least.likeness or 0:g} "
            f"with a cosine >= {least.cosine:g}"
        )

    def _canonical_reason(self, key: str) -> str:
        if self.policy == "longest":
            return "longest"
        expression = self.policy.removeprefix("prefer:")
        if expression != self.policy and _expression(expression).is_in(key):
            return f"first seen of the keys that match {expression}"
        return "first seen"


@lru_cache(1)
def _expression(expression: str) -> Expression:
    return Expression(expression, f"policy {printable(expression)!r}")
