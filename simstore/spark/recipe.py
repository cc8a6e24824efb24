"""The recipe of signatures and edges as plain values, for executors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simstore.fingerprint.channels import Channels
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.scheme_json import scheme_json
from simstore.fingerprint.schemes import open_scheme
from simstore.search.resemblance import EdgeRule
from simstore.search.stars import CanonicalOrder
from simstore.spark.options import Checked

# Opened once a process; an executor serves one job after the other.
_opened: dict[str, tuple[Scheme, Channels]] = {}


@dataclass(frozen=True, slots=True)
class Recipe:
    """The rule of a run, which can be sent to other machines.

    Attributes:
        scheme: The record of the scheme, with its known answers.
        channels: The record of the channels, with theirs.
        radius: Bits, inclusive.
        min_resemblance: Least resemblance of an edge.
        order: The policy.
    """

    scheme: SchemeRecord
    channels: Mapping[str, Any]
    radius: int
    min_resemblance: float
    order: CanonicalOrder

    @classmethod
    def of(cls, checked: Checked) -> Recipe:
        """Return the recipe of a rule."""
        return cls(
            checked.scheme.record(),
            checked.channels.record(),
            checked.radius,
            checked.min_resemblance,
            checked.order,
        )

    def open(self) -> tuple[Scheme, Channels]:
        """Return scheme and channels, after their known answers came out right here.

        Raises:
            SchemeMismatch: This machine would make other fingerprints or sketches.
            MissingExtra: It lacks a package.
        """
        name = repr((self.scheme, self.channels))
        if name not in _opened:
            scheme = open_scheme(self.scheme)
            channels = Channels.from_record(self.channels, scheme.normalization, scheme.label)
            _opened[name] = scheme, channels
        return _opened[name]

    def rule(self) -> EdgeRule:
        """Return the rule of an edge."""
        return EdgeRule(self.min_resemblance, self.open()[0].least_features)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        values = {
            "scheme": scheme_json(self.scheme),
            "channels": self.channels,
            "radius": self.radius,
            "min_resemblance": self.min_resemblance,
            "policy": str(self.order),
        }
        made: dict[str, Any] = json.loads(json.dumps(values))
        return made
