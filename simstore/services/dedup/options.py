"""Options of a run over files of rows, its summary, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from simstore.errors import InvalidParameter
from simstore.fingerprint.channels import CHARACTERS, Channels
from simstore.fingerprint.minhash import BandLayout
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.sketching import SketchRecipe
from simstore.fingerprint.web import WebScheme
from simstore.model import Ignored, Progress, Rejection
from simstore.model.arguments import check_fields
from simstore.model.channels import DEFAULT_CHANNELS, duplicate_measure
from simstore.model.results import Shown
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

# Fewer near-duplicates of one text are no sign of a template.
_CROWD = 5
# Columns that are added to rows.
MARKS = ("duplicate_of", "resemblance", "cluster")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """Options of :func:`simstore.dedup_rows`.

    The first seven are part of the answer, and mean what they mean for
    ``simstore spark dedup``.

    Attributes:
        min_resemblance: Least resemblance of a row that is dropped to the one
            that is kept, above 0, at most 1; None: 0.8, and 0.5 with ``mark``
            and without a store, or by characters.
        policy: Which row of a group is kept: ``first``, ``longest`` or
            ``prefer:REGEX`` (the first whose key has a match).
        channels: By which pairs are found: ``simhash``, ``minhash`` or both,
            or ``characters`` alone, for scans and typed copies. Then the
            resemblance is that of runs of characters.
        radius: Of fingerprints, bits; None: 3.
        layout: Bands of sketches of words; None: 42 of 3 values.
        short_texts: With ``characters``, rows of at most 24 words (characters
            of Chinese) are dropped too; else only where they are the same text.
        mark: Keep all rows, and add the columns ``duplicate_of``,
            ``resemblance`` and ``cluster``.
        on_reject: What becomes of rows that cannot be read: ``drop`` or
            ``keep``, as they are.
        log: A file to write each dropped row to; JSON Lines.
        rejects: A file to write the rows to that cannot be read; JSON Lines.
        replace: Replace files that exist.
        threads: Threads that sign rows; None: as many as processors, at most 4.
        read: How inputs are read.
    """

    min_resemblance: float | None = None
    policy: str = "first"
    channels: tuple[str, ...] = DEFAULT_CHANNELS
    radius: int | None = None
    layout: BandLayout | None = None
    short_texts: bool = False
    mark: bool = False
    on_reject: Literal["drop", "keep"] = "drop"
    log: str | None = None
    rejects: str | None = None
    replace: bool = False
    threads: int | None = None
    read: ReadOptions = field(default_factory=ReadOptions)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.threads is not None and self.threads < 1:
            raise InvalidParameter(f"{self.threads} threads: there must be at least 1")
        self.rule()

    @property
    def least(self) -> float:
        """Return the least resemblance, of the runs by which rows are compared."""
        return found_share(self.channels, self.min_resemblance, drops=not self.mark)

    @property
    def stored_channels(self) -> tuple[str, ...]:
        """Return by which channels a store is to look; none: by those of words that it has."""
        return self.channels if duplicate_measure(self.channels) == "characters" else ()

    def check_stored(self) -> None:
        """Raise InvalidParameter where an option is one that a store decides."""
        is_told = self.radius is not None or self.layout is not None
        if is_told or (self.channels != DEFAULT_CHANNELS and not self.stored_channels):
            raise InvalidParameter(
                "with a store, --radius, --bands and channels of words are those of the store: "
                "leave them out"
            )

    def rule(self) -> RowRule:
        """Return the rule that the options define.

        Raises:
            InvalidParameter: One is out of its range.
        """
        scheme = WebScheme()
        channels = found_channels(
            self.channels,
            scheme.normalization,
            layout=self.layout,
            radius=self.radius,
            short_texts=self.short_texts,
        )
        radius = default_radius(scheme.bits) if self.radius is None else self.radius
        check_radius(radius, scheme.bits)
        recipe = compared_recipe(channels)
        least = self.least
        return RowRule(
            scheme,
            channels,
            radius,
            edge_rule(recipe, least, scheme.least_features, short_texts=self.short_texts),
            CanonicalOrder.parse(self.policy),
            recipe,
        )


@dataclass(frozen=True, slots=True)
class RowRule:
    """The rule by which rows are near-duplicates.

    Attributes:
        scheme: The scheme.
        channels: By which pairs are found.
        radius: Of fingerprints, bits.
        edge: What makes an edge.
        order: Which row is kept.
        recipe: Makes the sets by which rows are compared, and their sketches.
    """

    scheme: Scheme
    channels: Channels
    radius: int
    edge: EdgeRule
    order: CanonicalOrder
    recipe: SketchRecipe

    @property
    def is_sketched(self) -> bool:
        """Return whether rows whose sketches agree in a band are compared."""
        return self.recipe.name in self.channels.names

    @property
    def layout(self) -> BandLayout:
        """Return the bands that sketches are cut into."""
        least = self.edge.min_resemblance or 1.0
        if self.recipe.name == CHARACTERS:
            return clusters_layout(self.recipe, least)
        return self.recipe.layout.enough_for(least)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RowSummary(Shown):
    r"""Counts of the rows of a run.

    >>> size = Path("rye.csv").write_text("id,text\n1,Rye.\n2,rye\n3,Oats.\n")
    >>> summary = dedup_rows("rye.csv", "one-each.csv")
    >>> summary.read, summary.kept, summary.outputs
    (3, 2, ('one-each.csv',))

    Attributes:
        read: Rows that were read, rejected ones too.
        kept: Rows that are kept as the first of their kind.
        dropped: Near-duplicates; with ``mark`` they are written too.
        rejected: Rows that cannot be read, and files that break off.
        clusters: Groups of two rows and more.
        most_differing: Rows that are near-duplicates of one text with a
            resemblance below 1; of the text that has most of them.
        written: Rows that were written.
        outputs: The files that were written.
    """

    read: int = 0
    kept: int = 0
    dropped: int = 0
    rejected: int = 0
    clusters: int = 0
    most_differing: int = 0
    written: int = 0
    outputs: tuple[str, ...] = ()

    @property
    def is_crowded(self) -> bool:
        """Return whether rows of one template may have been taken for copies.

        >>> RowSummary(read=12, most_differing=11).is_crowded
        True
        >>> RowSummary(read=1_000, most_differing=100).is_crowded
        False

        Returns:
            One text has at least 5 near-duplicates that differ from it, and
            they are more than a tenth of all rows, and more than 20 of them or
            more than half.
        """
        most = self.most_differing
        return most >= _CROWD and most > min(max(self.read / 10, 20), self.read / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowObserver:
    r"""Callbacks of a run: progress, and what cannot be read.

    >>> size = Path("odd.jsonl").write_text('{"id": 1}\n')
    >>> observer = RowObserver(on_reject=lambda row: print(row.position))
    >>> dedup_rows("odd.jsonl", "none.jsonl", observer=observer).rejected
    0
    1

    Attributes:
        on_progress: Called with bytes read, and in all.
        on_stage: Called with what begins: ``read``, ``compare``, ``write``.
        on_reject: Called for each row that cannot be read.
        on_pass_over: Called for each file that is passed over.
        on_doubt: Called with what is doubtful of how a file is read.
    """

    on_progress: Progress = lambda _done, _total: None
    on_stage: Callable[[str], None] = lambda _stage: None
    on_reject: Callable[[Rejection], None] = lambda _rejection: None
    on_pass_over: Callable[[Ignored], None] = lambda _part: None
    on_doubt: Callable[[str], None] = lambda _told: None
