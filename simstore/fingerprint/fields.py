"""Metadata fields as features: one of a list of values each, coded to differ in many bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from simstore.errors import InvalidParameter

MAX_WEIGHT = 1_000_000
CODES = ("enum", "enum-slides")
_FORM = "NAME:enum:VALUE,VALUE,...:WEIGHT"


@dataclass(frozen=True, slots=True)
class EnumeratedField:
    """A metadata field whose value is a feature.

    A document without the field, or with a value that is not listed, has no such feature.

    Attributes:
        name: Name of the field; it holds a letter or a digit, and no colon.
        values: The values, distinct; numbers and truth values as JSON writes them.
        weight: What the value weighs: as much as so many words that occur once; 1 to 1,000,000.
        code: How a value becomes bits: ``enum``, or ``enum-slides``, the code of the lecture; see
            :meth:`hashes`.

    Raises:
        InvalidParameter: One of those does not hold.
    """

    name: str
    values: tuple[str, ...]
    weight: int = 1
    code: str = "enum"

    def __post_init__(self) -> None:
        if ":" in self.name or not any(c.isalnum() for c in self.name):
            raise InvalidParameter(f"field name {self.name!r}: give it a letter, and no colon")
        if not self.values or "" in self.values or len(set(self.values)) < len(self.values):
            raise InvalidParameter(f"field {self.name!r}: list its values once each, as in a,b,c")
        if self.code not in CODES:
            raise InvalidParameter(
                f"field {self.name!r}: code {self.code!r}; choose one of {', '.join(CODES)}"
            )
        if not 1 <= self.weight <= MAX_WEIGHT:
            raise InvalidParameter(
                f"field {self.name!r}: weight {self.weight}; it must be from 1 to {MAX_WEIGHT:,}"
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the field that ``NAME:CODE:VALUE,VALUE,...:WEIGHT`` describes."""
        name, code, rest = (*text.split(":", 2), "", "")[:3]
        values, colon, weight = rest.rpartition(":")
        if code not in CODES or not colon or not weight.isascii() or not weight.isdigit():
            raise InvalidParameter(f"field {text!r}: write it as {_FORM}, WEIGHT a whole number")
        return cls(name, tuple(values.split(",")), int(weight), code)

    def __str__(self) -> str:
        return f"{self.name}:{self.code}:{','.join(self.values)}:{self.weight}"

    def term(self, value: str) -> str:
        """Return the feature of a value: no text has one with ``=`` beside a letter."""
        return f"{self.name}={value}"

    def term_of(self, metadata: Mapping[str, Any]) -> str | None:
        """Return the feature of a document with these metadata; None where it has none."""
        value = metadata.get(self.name)
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, int | float):
            value = str(value)
        return self.term(value) if isinstance(value, str) and value in self.values else None

    def hashes(self, bits: int) -> dict[str, int]:
        """Return the hash of each value's feature: its place in the list, over and over.

        With b bits for the number of values, the place from 0 on is repeated ``bits // b`` times,
        so that two values differ in at least that many bits. Bits that are left over are 0; with
        ``enum-slides`` they hold the low bits of one more copy, as in the Java code of the lecture
        (64 bits there).

        Args:
            bits: Fingerprint length M.

        Raises:
            InvalidParameter: M bits cannot tell the values apart.
        """
        width = max((len(self.values) - 1).bit_length(), 1)
        if width > bits:
            raise InvalidParameter(
                f"field {self.name!r}: {bits} bits cannot tell {len(self.values)} values apart"
            )
        copies = bits // width + (self.code == "enum-slides")
        ones = sum(1 << width * n for n in range(copies))
        mask = (1 << bits) - 1
        return {self.term(value): place * ones & mask for place, value in enumerate(self.values)}
