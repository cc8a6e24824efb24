"""Options and result of checking a paper for text reuse: matched passages with their sources.

Offsets are spans [start, end) in characters (code points) of a text as it was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from simstore.model.arguments import check_fields
from simstore.model.documents import Decoding, PaperWarning
from simstore.model.results import Shown

CopyEvidence = Literal["text", "words", "anchors", "simhash"]
PassageKind = Literal["high", "moderate", "none"]
# Why something does not count; of several reasons the first one is told.
ExcludedAs = Literal[
    "template", "quotation", "bibliography", "excluded source", "small source", "small match"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Options for checking a paper for text reuse.

    >>> status = store.passages.build()
    >>> options = CheckOptions(exclude=("ferry-2026",))
    >>> [source.key for source in store.check(text, options).sources]
    ['ferry-2025']

    Attributes:
        high: Least similarity of a highly similar passage, 0 to 1.
        moderate: Least similarity of a moderately similar passage, 0 to
            ``high``; what is less similar is not told of.
        min_words: Shortest copied stretch that counts, in words of a script
            with blanks between words; None: the length that the passage index
            guarantees to find.
        min_characters: The same in characters of a script without blanks.
        exclude: Keys of documents, or patterns of keys with ``*`` and ``?``,
            that are no sources: the author's own earlier work.
        exclude_author: Authors whose documents are no sources, as their
            documents name them, whatever the case of letters.
        exclude_collection: Collections whose documents are no sources.
        template: Texts that papers are made from, such as the assignment or a
            form: what a paper has of them does not count.
        min_source_words: Least words (of scripts without blanks: characters)
            that a source has in common with the paper, in all its copies; what
            smaller ones have does not count.
        exclude_quotations: Leave what stands in quotation marks out of the
            passages' classes and of the shares.
        exclude_bibliography: Leave the list of references at the end out of
            them.
        include_self: A stored document with the paper's own key is a source
            too.
        fast: Stop at the first source of each passage; which of several that
            is, is not said.
        by: What a passage is: a sentence, or a window.
        window: Characters a window.
        channels: By which to look: ``anchors``; ``sentences``, which finds
            sentences in which words were changed and stretches whose words
            stand in another order, where the passage index has their terms and
            not with ``fast``; ``simhash`` where it has fingerprints.
    """

    high: float = 0.8
    moderate: float = 0.5
    min_words: int | None = None
    min_characters: int | None = None
    exclude: tuple[str, ...] = ()
    exclude_author: tuple[str, ...] = ()
    exclude_collection: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    min_source_words: int | None = None
    exclude_quotations: bool = False
    exclude_bibliography: bool = False
    include_self: bool = False
    fast: bool = False
    by: Literal["sentences", "window"] = "sentences"
    window: int = 30
    channels: tuple[str, ...] = ("anchors", "sentences")

    def __post_init__(self) -> None:
        check_fields(self)


class CheckKeywords(TypedDict, total=False):
    """The options of a check by name, as :class:`CheckOptions` describes them."""

    high: float
    moderate: float
    min_words: int | None
    min_characters: int | None
    exclude: tuple[str, ...]
    exclude_author: tuple[str, ...]
    exclude_collection: tuple[str, ...]
    template: tuple[str, ...]
    min_source_words: int | None
    exclude_quotations: bool
    exclude_bibliography: bool
    include_self: bool
    fast: bool
    by: Literal["sentences", "window"]
    window: int
    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Copy(Shown):
    """A stretch of the paper, and the similar stretch of a source.

    >>> status = store.passages.build()
    >>> copy = store.check("It is well known. " + text).copies[0]
    >>> copy.source_key, copy.start, copy.source_start, copy.similarity
    ('ferry-2025', 18, 0, 1.0)

    Attributes:
        start: Where it begins in the paper.
        end: Where it ends in the paper.
        source_key: Key of the source.
        source_document_id: The source's place in the order of ingest.
        source_start: Where it begins in the source.
        source_end: Where it ends in the source.
        similarity: Share of the units of both stretches that they have in
            common in one order, 0 to 1, where the evidence is ``text``; of
            ``words`` the cosine of the two bags of units, in which rare ones
            weigh more; else an estimate.
        evidence: ``text``: both texts were aligned; ``words``: their words are
            the same for the most part, in another order or among others;
            ``anchors``: the store keeps no text, and the places of common runs
            were aligned; ``simhash``: the fingerprints of two passages.
        blocks: The stretches that are the same in both, in order: start and end
            in the paper, start and end in the source. Empty where the evidence
            is ``simhash``.
        source_text: The source's stretch; None where the store keeps no text.
    """

    start: int
    end: int
    source_key: str
    source_document_id: int
    source_start: int
    source_end: int
    similarity: float
    evidence: CopyEvidence
    blocks: tuple[tuple[int, int, int, int], ...] = ()
    source_text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Case(Shown):
    """A copied stretch of the paper: neighbouring copies of one source, joined.

    >>> status = store.passages.build()
    >>> case = store.check("It is well known. " + text).cases[0]
    >>> case.source_key, case.start, case.copies, case.identical_share
    ('ferry-2025', 18, (0,), 1.0)

    What lies between its copies belongs to it, and does not count as copied.

    Attributes:
        start: Where it begins in the paper.
        end: Where it ends in the paper.
        source_key: Key of the source.
        source_document_id: The source's place in the order of ingest.
        source_start: Where it begins in the source.
        source_end: Where it ends in the source.
        characters: Characters of the paper between its ends, without white
            space and what is excluded.
        identical: Those of words (of scripts without blanks: characters) that
            are the same in the source, as for :class:`Totals`.
        identical_share: identical / characters, 0 to 1: 1 is a verbatim copy.
        copies: Which of the paper's copies it consists of.
    """

    start: int
    end: int
    source_key: str
    source_document_id: int
    source_start: int
    source_end: int
    characters: int
    identical: int
    identical_share: float
    copies: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CheckedPassage(Shown):
    """A sentence or a window of the paper.

    >>> status = store.passages.build()
    >>> paper = store.check("It is well known. " + text)
    >>> for passage in paper.passages:
    ...     print(passage.kind, paper.text[passage.start : passage.end][:16])
    none It is well known
    high The ferry to the
    high It takes forty m
    high Tickets are sold

    None overlap, and what is in none has no letter or digit.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        similarity: How like the stretch of its best copy it is, 0 to 1: twice
            the units that they have in common, in one order, by the units of
            both. 0 without a copy.
        kind: ``high``, ``moderate`` or ``none``, by the options' limits.
        copy: Which of the paper's copies is the best one; None without one.
        excluded: Why it does not count; None where it does.
        others: The other copies that it has units in common with, at most 100:
            which of the paper's copies, and how like its stretch the passage
            is; the likest first.
        flags: What in it hides words and honest texts hardly have:
            ``hidden characters``, ``mixed scripts``, ``stacked marks``,
            ``spaced letters``, ``letters between words``.
    """

    start: int
    end: int
    similarity: float
    kind: PassageKind
    copy: int | None = None
    excluded: ExcludedAs | None = None
    others: tuple[tuple[int, float], ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SourceShare(Shown):
    """A source, and how much of the paper is from it.

    >>> status = store.passages.build()
    >>> source = store.check("It is well known. " + text).sources[0]
    >>> source.key, round(source.share, 2)
    ('ferry-2025', 0.94)

    Overlapping copies count once.

    What the options exclude does not count, as in :class:`Totals`.

    Attributes:
        key: Its key.
        title: Its title, where it has one.
        document_id: Its place in the order of ingest.
        characters: Characters of the paper that are in copies from it.
        share: The same as a share of the paper's characters, 0 to 1.
        copies: Copies from it.
        cases: Cases that they belong to.
        identical: Characters that are the same in it, as for :class:`Totals`.
        identical_share: The same as a share of the paper's characters, 0 to 1.
        order: Its place among the primary sources, from 1: each is the one that
            explains most of what those before it leave. None: they explain all
            that it has, or so much of it that no run is left.
        added: Characters that it explains beside those before it; 0 without a
            place.
        added_share: The same as a share of the paper's characters, 0 to 1.
        author: Who wrote it, where its document says so; several with commas.
        date: When it was published, where its document says so.
        url: Its address, where its document has one, or its key is one.
    """

    key: str
    title: str | None
    document_id: int
    characters: int
    share: float
    copies: int
    cases: int = 0
    identical: int = 0
    identical_share: float = 0.0
    order: int | None = None
    added: int = 0
    added_share: float = 0.0
    author: str | None = None
    date: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Excluded(Shown):
    """A stretch of the paper that does not count, and why.

    >>> status = store.passages.build()
    >>> paper = store.check("It is well known. " + text, template=[text])
    >>> [(one.reason, one.start) for one in paper.excluded], paper.totals.share
    ([('template', 18)], 0.0)

    Attributes:
        start: Where it begins.
        end: Where it ends.
        reason: ``template``, ``quotation``, ``bibliography``; ``excluded
            source``: only such sources have it; ``small source``: only sources
            with fewer words than ``min_source_words`` have it; ``small match``:
            only copies shorter than ``min_words`` have it.
        characters: Its characters without white space.
    """

    start: int
    end: int
    reason: ExcludedAs
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChapterShare(Shown):
    r"""A chapter of the paper, and how much of it is copied.

    >>> status = store.passages.build()
    >>> paper = f"# Own\n{'All of this is mine. ' * 9}\n# Copied\n{text}"
    >>> for chapter in store.check(paper).chapters:
    ...     print(chapter.title, round(chapter.share, 1))
    Own 0.0
    Copied 1.0

    Attributes:
        title: Its heading; empty for what stands before the first one.
        start: Where it begins, with its heading.
        end: Where it ends.
        characters: Its characters without white space.
        copied: Those in copies, as for :class:`Totals`.
        share: copied / characters, 0 to 1.
        identical: Those that are the same in a source.
        identical_share: identical / characters.
    """

    title: str
    start: int
    end: int
    characters: int
    copied: int
    share: float
    identical: int
    identical_share: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Totals(Shown):
    """Statistics of a checked paper. Characters are counted without white space.

    >>> status = store.passages.build()
    >>> totals = store.check("It is well known. " + text).totals
    >>> round(totals.share, 2), totals.high, totals.none
    (0.94, 3, 1)

    A paper that was copied and edited has a high ``share`` and a lower
    ``identical_share``; a verbatim copy has the same in both.

    What the options exclude (templates, sources, quotations) counts as copied
    in ``share_with_excluded`` alone.

    Attributes:
        characters: Characters of the paper.
        copied: Characters in copies; what several sources have counts once.
        share: copied / characters; 0 for an empty paper.
        share_without_quotations: The same where nothing in quotation marks
            counts as copied.
        share_with_excluded: The same with all that the options exclude.
        largest_source_share: Share of the source with the most characters.
        high: Passages of high similarity that are not excluded.
        moderate: Passages of moderate similarity that are not excluded.
        none: The other passages that are not excluded.
        cases: Copied stretches of the paper: its cases, but what several
            sources have counts once.
        identical: Those of the copied characters that belong to words (of
            scripts without blanks: to characters) that are the same in a
            source, in one order; what several sources have counts once. An
            estimate where the store keeps no text.
        identical_share: identical / characters; 0 for an empty paper.
    """

    characters: int
    copied: int
    share: float
    share_without_quotations: float
    share_with_excluded: float
    largest_source_share: float
    high: int
    moderate: int
    none: int
    cases: int = 0
    identical: int = 0
    identical_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CheckedPaper(Shown):
    """The result of checking a paper.

    >>> status = store.passages.build()
    >>> paper = store.check("It is well known. " + text)
    >>> paper.sources[0].key, round(paper.totals.share, 2)
    ('ferry-2025', 0.94)

    Attributes:
        key: The paper's key.
        title: Its title, where it has one.
        text: Its text.
        passages: In the order of the text.
        copies: In the order of the paper, then of similarity, the highest
            first.
        sources: By their characters, the most first.
        totals: The paper in numbers.
        method: How it was looked for, in a sentence.
        guarantee: What is surely found, in a sentence.
        verified_by: ``text``: copies are aligned texts; ``positions``: the
            store keeps no text, and only places are known.
        high: Least similarity of a highly similar passage, as it was asked for.
        moderate: Least similarity of a moderately similar passage, as it was
            asked for.
        decoding: How its bytes were decoded, where that may be wrong or has
            lost some.
        flags: What in it hides words from a program, as for its passages,
            whether the index folds it or not.
        cases: The copied stretches, in the order of the paper: neighbouring
            copies of one source are one case.
        excluded: The stretches that do not count, in the order of the paper.
        chapters: Its chapters, in order; none where it has no headings.
        warnings: The flags with how often and where each occurs, and
            ``hidden text``: what its file hides from a reader.
    """

    _HOLDS = ("sources", SourceShare)

    key: str
    title: str | None
    text: str
    passages: tuple[CheckedPassage, ...]
    copies: tuple[Copy, ...]
    sources: tuple[SourceShare, ...]
    totals: Totals
    method: str
    guarantee: str
    verified_by: Literal["text", "positions"]
    high: float = 0.8
    moderate: float = 0.5
    decoding: Decoding | None = None
    flags: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    chapters: tuple[ChapterShare, ...] = ()
    warnings: tuple[PaperWarning, ...] = ()
