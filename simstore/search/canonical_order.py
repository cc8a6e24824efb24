"""The order in which a policy takes documents: the first of a cluster is canonical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simstore.errors import InvalidParameter, printable
from simstore.text.patterns import Expression

POLICIES = ("first", "longest", "prefer")
_PREFER = "prefer:"


@dataclass(frozen=True, slots=True)
class CanonicalOrder:
    """An order of documents; of two the smaller place comes first.

    Attributes:
        name: ``first``, ``longest`` or ``prefer``.
        preferred: The regular expression of ``prefer``; None with the others.
    """

    name: str
    preferred: str | None = None

    @classmethod
    def parse(cls, policy: str) -> CanonicalOrder:
        """Return the order of ``first``, ``longest`` or ``prefer:REGEX``.

        Raises:
            InvalidParameter: There is no such policy, or the expression is not one.
        """
        if policy.startswith(_PREFER) and len(policy) > len(_PREFER):
            order = cls("prefer", policy.removeprefix(_PREFER))
            order.expression()
            return order
        if policy in POLICIES[:2]:
            return cls(policy)
        raise InvalidParameter(
            f"policy {printable(policy)!r}: choose first, longest or prefer:REGEX"
        )

    def __str__(self) -> str:
        """Return it as it is given."""
        return self.name if self.preferred is None else f"{_PREFER}{self.preferred}"

    def expression(self) -> Expression | None:
        """Return the compiled expression of ``prefer``; None with the others.

        Raises:
            InvalidParameter: It is no regular expression, or one that is not supported, as those
                kept by earlier versions may be.
        """
        if self.preferred is None:
            return None
        try:
            return Expression(self.preferred, f"policy {printable(str(self))!r}")
        except InvalidParameter as error:
            raise InvalidParameter(
                f"{error}; where clusters are kept by it, choose another: "
                "`simstore clusters --rebuild --policy POLICY`"
            ) from None

    def majors(self, keys: Sequence[str], byte_counts: Sequence[int]) -> list[int]:
        """Return of documents what is compared before the time of first sight and the ingest.

        Args:
            keys: The key of each.
            byte_counts: The bytes of each text.
        """
        if self.name == "longest":
            return [-count for count in byte_counts]
        if (expression := self.expression()) is not None:
            return [0 if expression.is_in(key) else 1 for key in keys]
        return [0] * len(keys)
