"""Explain in words why a document is in its cluster."""

from __future__ import annotations

from collections.abc import Sequence
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

    def reason(self, members: Sequence[ClusterMember], place: int) -> str:
        """Return why a document is in its cluster.

        Args:
            members: All documents of the cluster, the canonical one first.
            place: Which of them.
        """
        if place == 0:
            return f"canonical: {self._canonical_reason(members)}"
        return self.member_reason(members[place])

    def member_reason(self, member: ClusterMember) -> str:
        """Return why a document other than the canonical one is in its cluster."""
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

    def _canonical_reason(self, members: Sequence[ClusterMember]) -> str:
        if self.policy == "longest":
            return "longest"
        others, which = members, ""
        expression = self.policy.removeprefix("prefer:")
        if expression != self.policy and _expression(expression).is_in(members[0].key):
            others = [one for one in members if _expression(expression).is_in(one.key)]
            which = f" of the keys that match {expression}"
        # A document that was ingested after another one is in front of it by its date alone.
        is_first = all(members[0].document_id <= one.document_id for one in others)
        return f"{'first seen' if is_first else 'earliest date'}{which}"


@lru_cache(1)
def _expression(expression: str) -> Expression:
    return Expression(expression, f"policy {printable(expression)!r}")
