"""Options of a run, and its scheme and thresholds in a form that is sent to Spark's executors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simstore.errors import InvalidParameter
from simstore.fingerprint.channels import CHARACTERS, WORD_SKETCHES, Channels
from simstore.fingerprint.minhash import BandLayout
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.schemes import open_scheme, scheme_json
from simstore.fingerprint.sketching import Sketching, SketchRecipe
from simstore.fingerprint.web import WebScheme
from simstore.model.channels import CHANNELS, DEFAULT_CHANNELS
from simstore.search.duplicate_measure import (
    clusters_layout,
    compared_recipe,
    edge_rule,
    found_channels,
    found_share,
)
from simstore.search.plan import check_radius, default_radius
from simstore.search.resemblance import EdgeRule
from simstore.search.stars import CanonicalOrder
from simstore.sources.reader import ReadOptions

# Rows of a crowded value that are compared with each other in one task; docs/explanation/scale.md.
CELL_ROWS = 4_000
# The column of each channel of sketches, of texts that are read and kept.
SKETCH_COLUMNS = {
    one.name: "sketch" if one.name == WORD_SKETCHES else f"sketch_{one.name}"
    for one in CHANNELS
    if one.sketching and one.measure is not None
}
# Edges that one process puts together faster than a cluster does.
FEW_EDGES = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupOptions:
    """Options for finding near-duplicates.

    Settings other than ``read``, ``cell_rows`` and ``few_edges`` are part of the answer.

    Attributes:
        scheme: One whose fingerprints depend on the text alone; None: ``web``.
        channels: By which pairs are found: ``simhash``, ``minhash`` or both, or ``characters``
            alone, for scans and typed copies. Then the resemblance is that of runs of characters.
        radius: Bits, inclusive; None: the default.
        layout: Bands of the sketches of words; None: 42 of 3 values.
        min_resemblance: Least resemblance of an edge, above 0, at most 1, inclusive; None: 0.5.
        short_texts: With ``characters``, texts of at most 24 words (characters of Chinese) have
            edges too.
        policy: ``first``, ``longest`` or ``prefer:REGEX``: which document is canonical.
        read: How inputs are read.
        cell_rows: Rows of a crowded key that one part of its pairs has at most.
        few_edges: Up to so many edges, components are put together on the driver.
    """

    scheme: Scheme | None = None
    channels: tuple[str, ...] = DEFAULT_CHANNELS
    radius: int | None = None
    layout: BandLayout | None = None
    min_resemblance: float | None = None
    short_texts: bool = False
    policy: str = "first"
    read: ReadOptions = field(default_factory=ReadOptions)
    cell_rows: int = CELL_ROWS
    few_edges: int = FEW_EDGES

    def recipe(self) -> Recipe:
        """Validate the options; return the rule that they define.

        Raises:
            InvalidParameter: One is out of its range, or the scheme needs a corpus.
        """
        scheme = WebScheme() if self.scheme is None else self.scheme
        if scheme.depends_on_corpus:
            raise InvalidParameter(
                f"the fingerprints of {scheme.label} depend on all documents with "
                f"{'ranks' if scheme.corpus == 'ranks' else 'idf weights'}, which one pass cannot "
                "know; choose the scheme web without idf"
            )
        if scheme.reads_metadata:
            raise InvalidParameter("fields of metadata take no part here: leave out --field")
        least = found_share(self.channels, self.min_resemblance)
        if self.cell_rows < 2:
            raise InvalidParameter(f"cell rows {self.cell_rows}: at least 2")
        channels = found_channels(
            self.channels,
            scheme.normalization,
            layout=self.layout,
            radius=self.radius,
            short_texts=self.short_texts,
        )
        radius = default_radius(scheme.bits) if self.radius is None else self.radius
        check_radius(radius, scheme.bits)
        order = CanonicalOrder.parse(self.policy)
        return Recipe(scheme.record(), channels.record(), radius, least, order, self.short_texts)


@dataclass(frozen=True, slots=True)
class Sketches:
    """The sketches of texts in a table, and the bands they are cut into.

    Attributes:
        column: Their column.
        sketching: How they are made.
        layout: The bands.
    """

    column: str
    sketching: Sketching
    layout: BandLayout


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
        short_texts: By characters, short texts have edges too.
    """

    scheme: SchemeRecord
    channels: Mapping[str, Any]
    radius: int
    min_resemblance: float
    order: CanonicalOrder
    short_texts: bool

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
        least_features = self.open()[0].least_features
        return edge_rule(
            self.compared(), self.min_resemblance, least_features, short_texts=self.short_texts
        )

    def compared(self) -> SketchRecipe:
        """Return the recipe of the sets by which texts are compared."""
        return compared_recipe(self.open()[1])

    def sketches(self) -> Sketches | None:
        """Return the sketches that find pairs, and rule pairs out; None: there are none."""
        recipe = self.compared()
        if recipe.name not in self.open()[1].names:
            return None
        layout = recipe.layout
        if recipe.name == CHARACTERS:
            layout = clusters_layout(recipe, self.min_resemblance)
        return Sketches(SKETCH_COLUMNS[recipe.name], recipe.sketching, layout)

    def as_json(self) -> dict[str, Any]:
        """Return the recipe as JSON values."""
        values = {
            "scheme": scheme_json(self.scheme),
            "channels": self.channels,
            "radius": self.radius,
            "min_resemblance": self.min_resemblance,
            "policy": str(self.order),
            "short_texts": self.short_texts,
        }
        made: dict[str, Any] = json.loads(json.dumps(values))
        return made
