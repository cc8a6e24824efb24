"""Options of a run over files of rows, its summary, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from simstore.errors import InvalidParameter
from simstore.fingerprint.channels import WORD_SKETCHES, Channels
from simstore.fingerprint.minhash import DEFAULT_LAYOUT, BandLayout
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.web import Web2Scheme
from simstore.model import Ignored, Progress, Rejection
from simstore.model.arguments import check_fields
from simstore.model.channels import DEFAULT_CHANNELS, check_word_channels
from simstore.model.results import Shown
from simstore.search.plan import check_radius, default_radius
from simstore.search.resemblance import EdgeRule, check_share
from simstore.search.stars import CanonicalOrder
from simstore.sources.reader import ReadOptions

# Columns that are added to rows.
MARKS = ("duplicate_of", "resemblance", "cluster")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """Options of :func:`simstore.dedup_rows`.

    The first five are part of the answer, and mean what they mean for
    ``simstore spark dedup``.

    Attributes:
        min_resemblance: Least resemblance of a row that is dropped to the one
            that is kept, above 0, at most 1.
        policy: Which row of a group is kept: ``first``, ``longest`` or
            ``prefer:REGEX`` (the first whose key has a match).
        channels: By which pairs are found.
        radius: Of fingerprints, bits; None: 3.
        layout: Bands of sketches.
        mark: Keep all rows, and add the columns ``duplicate_of``,
            ``resemblance`` and ``cluster``.
        on_reject: What becomes of rows that cannot be read: ``drop`` or
            ``keep``, as they are.
        log: A file to write each dropped row to; JSON Lines.
        rejects: A file to write the rows to that cannot be read; JSON Lines.
        force: Take the place of files that are there, and begin anew where an
            interrupted run cannot be gone on with.
        threads: Threads that sign rows; None: as many as processors, at most 4.
        read: How inputs are read.
    """

    min_resemblance: float = 0.5
    policy: str = "first"
    channels: tuple[str, ...] = DEFAULT_CHANNELS
    radius: int | None = None
    layout: BandLayout = DEFAULT_LAYOUT
    mark: bool = False
    on_reject: Literal["drop", "keep"] = "drop"
    log: str | None = None
    rejects: str | None = None
    force: bool = False
    threads: int | None = None
    read: ReadOptions = field(default_factory=ReadOptions)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.threads is not None and self.threads < 1:
            raise InvalidParameter(f"{self.threads} threads: there must be at least 1")
        self.rule()

    def rule(self) -> RowRule:
        """Return the rule that the options define.

        Raises:
            InvalidParameter: One is out of its range.
        """
        scheme = Web2Scheme()
        check_share("min_resemblance", self.min_resemblance)
        radius = default_radius(scheme.bits) if self.radius is None else self.radius
        check_radius(radius, scheme.bits)
        check_word_channels(self.channels)
        channels = Channels.of(self.channels, scheme.normalization).with_layout(
            WORD_SKETCHES, self.layout
        )
        return RowRule(
            scheme,
            channels,
            radius,
            EdgeRule(self.min_resemblance, scheme.least_features),
            CanonicalOrder.parse(self.policy),
        )


@dataclass(frozen=True, slots=True)
class RowRule:
    """Return the rule by which rows are near-duplicates."""

    scheme: Scheme
    channels: Channels
    radius: int
    edge: EdgeRule
    order: CanonicalOrder


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
        written: Rows that were written.
        resumed_at: Rows that an interrupted run had read before; 0: it began
            at the first.
        outputs: The files that were written.
    """

    read: int = 0
    kept: int = 0
    dropped: int = 0
    rejected: int = 0
    clusters: int = 0
    written: int = 0
    resumed_at: int = 0
    outputs: tuple[str, ...] = ()


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
