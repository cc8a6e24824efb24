"""Options of a run, and its scheme and thresholds in a form that is sent to Spark's executors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simstore.errors import InvalidParameter
from simstore.fingerprint.channels import WORD_SKETCHES, Channels
from simstore.fingerprint.minhash import DEFAULT_LAYOUT, BandLayout
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.schemes import open_scheme, scheme_json
from simstore.fingerprint.web import Web2Scheme
from simstore.model.channels import CHANNELS, DEFAULT_CHANNELS, check_word_channels
from simstore.search.plan import check_radius, default_radius
from simstore.search.resemblance import EdgeRule, check_share
from simstore.search.stars import CanonicalOrder
from simstore.sources.reader import ReadOptions

# Rows of a crowded value that are compared with each other in one task; docs/explanation/scale.md.
CELL_ROWS = 4_000
# The column of each channel of sketches, of texts that are read and kept.
SKETCH_COLUMNS = {
    one.name: "sketch" if one.name == WORD_SKETCHES else f"sketch_{one.name}"
    for one in CHANNELS
    if one.sketching and one.measure == "words"
}
# Edges that one process puts together faster than a cluster does.
FEW_EDGES = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupOptions:
    """Options for finding near-duplicates.

    The first five settings are part of the answer, and those of a later run must be the same. No
    other one changes it.

    Attributes:
        scheme: One whose fingerprints depend on the text alone; None: ``web``.
        channels: By which pairs are found.
        radius: Bits, inclusive; None: the default.
        layout: Bands of the sketches.
        min_resemblance: Least resemblance of an edge, above 0, at most 1, inclusive.
        policy: ``first``, ``longest`` or ``prefer:REGEX``: which document is canonical.
        read: How inputs are read.
        cell_rows: Rows of a crowded key that one part of its pairs has at most.
        few_edges: Up to so many edges, components are put together on the driver.
    """

    scheme: Scheme | None = None
    channels: tuple[str, ...] = DEFAULT_CHANNELS
    radius: int | None = None
    layout: BandLayout = DEFAULT_LAYOUT
    min_resemblance: float = 0.5
    policy: str = "first"
    read: ReadOptions = field(default_factory=ReadOptions)
    cell_rows: int = CELL_ROWS
    few_edges: int = FEW_EDGES

    def checked(self) -> Checked:
        """Validate the options; return the rule that they define.

        Raises:
            InvalidParameter: One is out of its range, or the scheme needs a corpus.
        """
        scheme = Web2Scheme() if self.scheme is None else self.scheme
        if scheme.depends_on_corpus:
            raise InvalidParameter(
                f"the fingerprints of {scheme.label} depend on all documents with "
                f"{'ranks' if scheme.corpus == 'ranks' else 'idf weights'}, which one pass cannot "
                "know; choose the scheme web without idf"
            )
        if scheme.reads_metadata:
            raise InvalidParameter("fields of metadata take no part here: leave out --field")
        check_share("min_resemblance", self.min_resemblance)
        check_word_channels(self.channels)
        if self.cell_rows < 2:
            raise InvalidParameter(f"cell rows {self.cell_rows}: at least 2")
        radius = default_radius(scheme.bits) if self.radius is None else self.radius
        check_radius(radius, scheme.bits)
        order = CanonicalOrder.parse(self.policy)
        channels = Channels.of(self.channels, scheme.normalization).with_layout(
            WORD_SKETCHES, self.layout
        )
        return Checked(scheme, channels, radius, self.min_resemblance, order)


@dataclass(frozen=True, slots=True)
class Checked:
    """The validated settings that determine the result of a run."""

    scheme: Scheme
    channels: Channels
    radius: int
    min_resemblance: float
    order: CanonicalOrder


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
        """Return the recipe as JSON values."""
        values = {
            "scheme": scheme_json(self.scheme),
            "channels": self.channels,
            "radius": self.radius,
            "min_resemblance": self.min_resemblance,
            "policy": str(self.order),
        }
        made: dict[str, Any] = json.loads(json.dumps(values))
        return made
