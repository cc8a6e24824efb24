"""Check submitted papers for passages that also occur in stored documents (text reuse)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.model import (
    CheckedPaper,
    CheckedPassage,
    CheckOptions,
    Copy,
    Document,
    PaperWarning,
    Rejection,
)
from simstore.model.documents import folded_name
from simstore.search import alignment
from simstore.search.alignment import CoveredUnits, Stretch, aligned
from simstore.services.check.check_index import PassageIndex, StoredPassages
from simstore.services.check.checked_paper import judge
from simstore.services.check.copies import CopyFinder, FindOptions, FoundCopy, Step, no_step
from simstore.services.check.counted_copies import PaperMeasure, UnitCopy
from simstore.services.check.exclusions import Templates
from simstore.services.check.paper_units import PaperUnits, paper_units, source_units
from simstore.services.check.passage_lookup import NearPassages
from simstore.services.check.position_only import copies_by_place, span_by_place
from simstore.services.check.reworded import ComparedSentences
from simstore.services.check.sentence_lookup import (
    AskedSentences,
    LikeSentence,
    like_sentences,
    sentence_pairs,
    unit_weights,
)
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.storage.engine import Database
from simstore.storage.rows import chunks
from simstore.text.decoding import encode, exact_text
from simstore.text.disguises import fold_disguises
from simstore.text.passages import Span
from simstore.text.patterns import Globs
from simstore.text.separators import letters_between_words, without_letters_between
from simstore.workers.shared_work import SharedWork, early_workers, in_order, worker_count

# A reported sentence must be more alike than one that a query shows. With these limits, at most
# 4 % of the halves of real papers that share nothing with the library had a reported sentence.
LEAST_SIMILARITY = 0.75
LEAST_WORDS, LEAST_CHARACTERS = 6, 8
# So must their bags of units be, in which rare ones weigh more: set phrases differ in those.
LEAST_LIKENESS_OF_WORDS, LEAST_LIKENESS_OF_CHARACTERS = 0.65, 0.84
# Two terms that are in more sentences than these must be shared: one and a unit are chance.
RARE_POSTINGS = 40
# A sentence that is in more different surroundings is a phrase that many write, and no copy.
MOST_SURROUNDINGS = 3


def edited_sentences(paper: PaperUnits, found: Iterable[LikeSentence]) -> list[FoundCopy]:
    """Return the sentences of a paper that are edited copies of stored ones, aligned.

    Those that stand in many different surroundings are left out: a news agency's opening, or what a
    court always writes. The same story in several documents is one surrounding.

    Args:
        paper: The paper.
        found: Stored sentences that are like its own.
    """
    by_place: dict[int, list[LikeSentence]] = {}
    for one in found:
        by_place.setdefault(one.place, []).append(one)
    copies = []
    for alike in by_place.values():
        if surroundings(alike) > MOST_SURROUNDINGS:
            continue
        for one in alike:
            blocks = aligned(paper.symbols.text[one.first : one.end], one.source.symbols.text)
            moved = tuple((place + one.first, other, size) for place, other, size in blocks)
            copies.append(FoundCopy(one.source, Stretch(moved)))
    return copies


def surroundings(alike: Iterable[LikeSentence]) -> int:
    """Count the different surroundings (text before and after) of sentences.

    Two are in one where the same text is before them, or behind them.
    """
    before, after = set(), set()
    for number, one in enumerate(alike):
        # The begin and the end of a text have no surroundings that could be equal.
        before.add(one.before or number)
        after.add(one.after or number)
    return min(len(before), len(after))


LETTERS_BETWEEN = "letters between words"


def flagged(
    paper: Document, passages: Sequence[CheckedPassage], between: Sequence[Span]
) -> tuple[tuple[PaperWarning, ...], tuple[CheckedPassage, ...]]:
    """Return the word-hiding tricks in a paper, and its passages with those in each.

    Args:
        paper: The paper.
        passages: Its passages.
        between: Letters that stand between all words.
    """
    counts = fold_disguises(paper.text).counts.flag_counts()
    if between:
        counts[LETTERS_BETWEEN] = len(between)
    told = []
    spans: dict[str, list[Span]] = {}
    starts = [start for start, _ in between]
    for passage in passages if counts else ():
        flags = fold_disguises(paper.text[passage.start : passage.end]).counts.flags()
        if bisect_left(starts, passage.start) < bisect_left(starts, passage.end):
            flags += (LETTERS_BETWEEN,)
        for flag in flags:
            spans.setdefault(flag, []).append((passage.start, passage.end))
        told.append(replace(passage, flags=flags) if flags else passage)
    warnings = [
        PaperWarning(kind=kind, count=count, spans=tuple(spans.get(kind, ())))
        for kind, count in counts.items()
    ]
    return (*warnings, *paper.hidden), tuple(told or passages)


_FINGERPRINT_BITS = 64
_BATCH = 1024


def aligned_passages(
    paper: PaperUnits,
    index: PassageIndex,
    near: NearPassages,
    spans: Sequence[tuple[int, int]],
    options: FindOptions,
) -> list[FoundCopy]:
    """Return the near passages that are as similar as asked, aligned text by text.

    Args:
        paper: The paper.
        index: The index; it has the texts.
        near: Pairs of passages.
        spans: The paper's passages.
        options: How to find copies.
    """
    found: list[FoundCopy] = []
    allowed = np.flatnonzero(options.allowed(near.document_ids))
    for rows in chunks(allowed.tolist(), _BATCH):
        texts = index.texts(np.unique(near.document_ids[rows]).tolist())
        kept = [row for row in rows if int(near.document_ids[row]) in texts]
        parts = [
            (number, start, texts[number][start:end])
            for number, start, end in (
                (int(near.document_ids[row]), int(near.starts[row]), int(near.ends[row]))
                for row in kept
            )
        ]
        sources = source_units(parts, paper.alphabet, index.normalization)
        for row, source in zip(kept, sources, strict=True):
            options.on_step()
            bounds = spans[int(near.places[row])]
            first, end = np.searchsorted(paper.units.starts, bounds).tolist()
            blocks = aligned(paper.symbols.text[first:end], source.symbols.text)
            matched = sum(size for _, _, size in blocks)
            if matched and 2 * matched >= options.moderate * (end - first + len(source.symbols)):
                moved = tuple((place + first, other, size) for place, other, size in blocks)
                found.append(FoundCopy(source, Stretch(moved)))
    return found


def named_passages(
    paper: PaperUnits,
    index: PassageIndex,
    near: NearPassages,
    spans: Sequence[tuple[int, int]],
    options: FindOptions,
) -> list[UnitCopy]:
    """Return the near passages of a store without texts, without the keys of their sources.

    Their similarity is what the distance of fingerprints stands for: cos(pi * distance / bits).

    Args:
        paper: The paper.
        index: The index.
        near: Pairs of passages.
        spans: The paper's passages.
        options: How to find copies.
    """
    found = []
    runs = paper.runs_before(index.winnowing)
    for row in np.flatnonzero(options.allowed(near.document_ids)).tolist():
        start, end = spans[int(near.places[row])]
        similarity = math.cos(math.pi * int(near.distances[row]) / _FINGERPRINT_BITS)
        copy = Copy(
            start=start,
            end=end,
            source_key="",
            source_document_id=int(near.document_ids[row]),
            source_start=int(near.starts[row]),
            source_end=int(near.ends[row]),
            similarity=similarity,
            evidence="simhash",
        )
        first, last = np.searchsorted(paper.units.starts, (start, end)).tolist()
        span = span_by_place(copy, float(runs[first]), float(runs[last]))
        found.append(UnitCopy(copy, (), span))
    return found


CHECK_CHANNELS = ("anchors", "sentences", "simhash")
# What is checked before worker processes are started takes about as long as starting them.
ALONE_PAPERS = 64
ALONE_CHARACTERS = 1 << 16
_SHORT_PAPER = Document("", "What is checked first takes longer than what comes after it. " * 20)
# Measured on 2,000 windows of the labelled texts: docs/how-to/passages.md.
_OF_FINGERPRINTS = (
    "fingerprints of passages within 3 bits were looked up too, which finds few short passages "
    "that were edited: of Chinese windows of 30 characters with one changed, it found 5 %"
)
_OF_SENTENCES = (
    f"sentences of which {100 * LEAST_SIMILARITY:.0f} % of the words or characters are the same "
    f"were looked up too, but for those that stand in more than {MOST_SURROUNDINGS} different "
    "places"
)
_OF_WORDS = (
    "stretches that have most of their rare words or characters in common, in any order, were "
    "looked up too"
)
# A stretch whose words are the same is told where so much of it at most is told already.
MOST_KNOWN = 0.7


def check_options(options: CheckOptions) -> None:
    """Raise where options contradict each other.

    Raises:
        InvalidParameter: They do, or one is out of its range.
        MissingExtra: rapidfuzz is not installed.
    """
    if not 0 < options.moderate <= options.high <= 1:
        raise InvalidParameter(
            f"moderate {options.moderate} and high {options.high}: both above 0, at most 1, "
            "and moderate at most high"
        )
    for name in ("min_words", "min_characters", "min_source_words"):
        least = getattr(options, name)
        if least is not None and least < 1:
            raise InvalidParameter(f"{name.replace('_', ' ')} {least}: it must be at least 1")
    if options.by not in ("sentences", "window"):
        raise InvalidParameter(f"passages by {options.by!r}: choose sentences or window")
    if options.window < 1:
        raise InvalidParameter(f"window {options.window}: it must be at least 1 character")
    for channel in options.channels:
        if channel not in CHECK_CHANNELS:
            raise InvalidParameter(
                f"channel {channel!r}: choose {', '.join(CHECK_CHANNELS[:-1])} or "
                f"{CHECK_CHANNELS[-1]}"
            )
    alignment.check_installed()


class PaperChecker:
    """Checks papers against a passage index, in one snapshot of a store."""

    def __init__(
        self,
        index: PassageIndex,
        options: CheckOptions,
        on_step: Step = no_step,
        among: str = "a stored document",
    ) -> None:
        check_options(options)
        self._among = among
        self._on_step = on_step
        self._index = index
        self._options = options
        self._excluded = Globs(options.exclude)
        self._authors = frozenset(map(folded_name, options.exclude_author))
        self._roles: dict[int, tuple[bytes, bool]] = {}
        self._templates = Templates(options.template, index.normalization, index.winnowing)

    def check(self, paper: Document) -> CheckedPaper:
        """Return the result of checking a paper."""
        options, index = self._options, self._index
        self._on_step()
        between = letters_between_words(paper.text)
        text = without_letters_between(paper.text, between) if between else paper.text
        made = paper_units(text, index.normalization, index.winnowing)
        find_options = FindOptions(
            options.moderate,
            self._weights(made),
            lambda numbers: self._chosen(numbers, paper.key, excluded=True),
            lambda numbers: self._chosen(numbers, paper.key, excluded=False),
            options.fast,
            self._on_step,
        )
        near, spans = self._near(text)
        if index.text_kept:
            copies = CopyFinder(made, index, find_options).find()
            if self._looks_by_sentences:
                copies = self._by_sentences(made, find_options, copies)
            if near is not None:
                copies = with_others(
                    copies, aligned_passages(made, index, near, spans, find_options)
                )
            runs = made.runs_before(index.winnowing)
            found = [self._told(made, copy, runs) for copy in _merged(copies)]
        else:
            placed = copies_by_place(made, index, find_options)
            if near is not None:
                placed += named_passages(made, index, near, spans, find_options)
            found = [self._named(each) for each in placed]
        facts = index.facts(sorted({each.copy.source_document_id for each in found}))
        measure = PaperMeasure(made.units, self._least(smallest=False), self._least(smallest=True))
        judged = judge(paper.text, measure, found, facts, options, self._templates.spans(made))
        warnings, passages = flagged(paper, judged.passages, between)
        return CheckedPaper(
            key=paper.key,
            title=paper.title,
            text=paper.text,
            passages=passages,
            cases=judged.cases,
            copies=judged.copies,
            sources=judged.sources,
            totals=judged.totals,
            method=self._method(),
            guarantee=self._guarantee(),
            verified_by="text" if index.text_kept else "positions",
            high=options.high,
            moderate=options.moderate,
            decoding=paper.decoding,
            flags=tuple(one.kind for one in warnings),
            warnings=warnings,
            excluded=judged.excluded,
            chapters=judged.chapters,
        )

    def _near(self, text: str) -> tuple[NearPassages | None, list[Span]]:
        """Return the near passages by their fingerprints, where asked, and the paper's passages."""
        if "simhash" not in self._options.channels:
            return None, []
        spans = self._index.spans(text)
        return self._index.near(text, spans), [(a, b) for a, b in spans.tolist()]

    def _by_sentences(
        self, made: PaperUnits, asked: FindOptions, copies: list[FoundCopy]
    ) -> list[FoundCopy]:
        """Return copies, and what is found by sentences that have terms in common with stored ones.

        Single sentences in which words were changed, and stretches whose words are the same.
        """
        options = self._options
        sentences = AskedSentences(
            units=made.units,
            alphabet=made.alphabet,
            symbols=made.symbols,
            spans=self._index.sentences_of(made.text),
            weights=unit_weights(
                made.units,
                options.min_words or LEAST_WORDS,
                options.min_characters or LEAST_CHARACTERS,
            ),
            least=max(options.moderate, LEAST_SIMILARITY),
            rare=RARE_POSTINGS,
            allowed=asked.allowed,
            on_step=self._on_step,
        )
        pairs = sentence_pairs(self._index, sentences)
        compared = ComparedSentences(made, self._index, sentences, pairs, asked)
        edited = edited_sentences(made, like_sentences(self._index, sentences, pairs))
        least = LEAST_LIKENESS_OF_WORDS, LEAST_LIKENESS_OF_CHARACTERS
        alike = [copy for copy in edited if compared.is_alike(copy, *least)]
        # What no run makes sure may be a set phrase of the subject, unless another copy is near.
        sure = {copy.source.document_id for copy in copies if copy.is_sure}
        copies = [
            copy
            for copy in copies
            if copy.source.document_id in sure or compared.is_alike(copy, *least)
        ]
        return with_reworded(with_others(copies, alike), compared.stretches())

    @property
    def _looks_by_sentences(self) -> bool:
        options = self._options
        return not options.fast and "sentences" in options.channels and self._index.has_sentences

    def _weights(self, made: PaperUnits) -> NDArray[np.float64]:
        # A fast check would take a match that is too small for the source of a stretch.
        return unit_weights(made.units, *self._least(smallest=not self._options.fast))

    def _least(self, *, smallest: bool) -> tuple[int, int]:
        """Return the least words, or characters, of a copy.

        Args:
            smallest: Of a copy that is found, if only to say that it does not count.
        """
        winnowing, options = self._index.winnowing, self._options
        words = options.min_words or winnowing.run_words
        characters = options.min_characters or winnowing.run_characters
        if not smallest:
            return words, characters
        return min(words, winnowing.run_words), min(characters, winnowing.run_characters)

    def _chosen(
        self, numbers: NDArray[np.int64], own_key: str, *, excluded: bool
    ) -> NDArray[np.bool_]:
        """Return which documents may be sources; excluded ones too where asked."""
        distinct, inverse = np.unique(numbers, return_inverse=True)
        unknown = [n for n in distinct.tolist() if n not in self._roles]
        others = self._excluded_by_facts(unknown)
        for number, key in self._index.keys(unknown).items():
            key = bytes(key)
            self._on_step()
            self._roles[number] = key, number in others or self._excluded.fit(key)
        own = None if self._options.include_self or not own_key else encode(own_key)
        chosen = np.zeros(len(distinct), bool)
        for place, number in enumerate(distinct.tolist()):
            if number in self._roles:
                key, is_excluded = self._roles[number]
                chosen[place] = key != own and (excluded or not is_excluded)
        return chosen[inverse.reshape(-1)]

    def _excluded_by_facts(self, numbers: Sequence[int]) -> set[int]:
        """Return the documents of excluded authors and collections."""
        collections = self._options.exclude_collection
        if not self._authors and not collections:
            return set()
        return {
            number
            for number, facts in self._index.facts(numbers).items()
            if facts.is_by(self._authors) or facts.collection in collections
        }

    def _told(
        self, made: PaperUnits, found: tuple[FoundCopy, float], runs: NDArray[np.float64]
    ) -> UnitCopy:
        copy, similarity = found
        stretch, source, place = copy.stretch, copy.source, copy.place
        starts, ends = made.units.starts, made.units.ends
        blocks = np.array(stretch.blocks, np.int64).reshape(-1, 3)
        lasts = blocks[:, :2] + blocks[:, 2:] - 1
        spans = np.stack(
            (
                starts[blocks[:, 0]],
                ends[lasts[:, 0]],
                source.starts[blocks[:, 1]] + source.offset,
                source.ends[lasts[:, 1]] + source.offset,
            ),
            axis=1,
        ).tolist()
        end = int(ends[place.end - 1])
        first = int(source.starts[place.source_first])
        source_end = int(source.ends[place.source_end - 1])
        more = _same_marks(made.text[end:], source.text[source_end:])
        end, source_end = end + more, source_end + more
        if copy.bounds is None:
            spans[-1][1], spans[-1][3] = end, source_end + source.offset
        key, excluded = self._roles[source.document_id]
        return UnitCopy(
            Copy(
                start=int(starts[place.first]),
                end=end,
                source_key=exact_text(key),
                source_document_id=source.document_id,
                source_start=first + source.offset,
                source_end=source_end + source.offset,
                similarity=similarity,
                evidence="text" if copy.bounds is None else "words",
                blocks=tuple(map(tuple, spans)),
                source_text=source.text[first:source_end],
            ),
            stretch.blocks if copy.bounds is None else (),
            copy.span(runs),
            excluded,
        )

    def _named(self, found: UnitCopy) -> UnitCopy:
        """Return a copy with the key of its source."""
        key, excluded = self._roles[found.copy.source_document_id]
        named = replace(found.copy, source_key=exact_text(key))
        return replace(found, copy=named, excluded=excluded)

    def _method(self) -> str:
        winnowing = self._index.winnowing
        by = (
            "the texts of all sources found were aligned"
            if self._index.text_kept
            else "the store keeps no texts: only the places of common anchors were compared"
        )
        if self._looks_by_sentences:
            by += f"; {_OF_SENTENCES}; {_OF_WORDS}"
        if "simhash" in self._options.channels:
            by += f"; {_OF_FINGERPRINTS}"
        return (
            f"Winnowed anchors of {winnowing.gram_words} words or {winnowing.gram_characters} "
            f"characters of scripts without blanks; {by}."
        )

    def _guarantee(self) -> str:
        winnowing, options = self._index.winnowing, self._options
        words = max(winnowing.run_words, options.min_words or 0)
        characters = max(winnowing.run_characters, options.min_characters or 0)
        mixed = max(winnowing.run_mixed, words, characters)
        if not self._index.text_kept:
            # The first and the last anchor of a run may leave out w - 1 = t - k units at its ends.
            words += 2 * (words - winnowing.gram_words)
            characters += 2 * (characters - winnowing.gram_characters)
            mixed += 2 * (mixed - winnowing.gram_mixed)
        guarantee = (
            f"Of every run of at least {words} words, or {characters} characters of scripts "
            f"without blanks, or {mixed} of both, that is the same in {self._among}, at least one "
            "source is named."
        )
        if (
            options.exclude
            or options.exclude_author
            or options.exclude_collection
            or not options.include_self
        ):
            guarantee += (
                " Documents that are excluded, or have the paper's own key, are no sources."
            )
        return guarantee


def check_papers(
    opened: OpenStore,
    papers: Iterable[Document | Rejection],
    options: CheckOptions,
    on_step: Step | None = None,
    threads: int | None = 1,
    expected_characters: int = 0,
) -> Iterator[CheckedPaper | Rejection]:
    """Yield the result for each paper, in order; rejections of unreadable papers pass through.

    All papers are checked in one snapshot.

    Args:
        opened: The store.
        papers: The papers.
        options: How to check them.
        on_step: Called between pieces of work of this process; what it raises ends the check.
        threads: Processes that compute, with this one; None: as many as there are processors. More
            than one are used after :data:`ALONE_PAPERS` papers or :data:`ALONE_CHARACTERS`; all
            read the same snapshot, as for
            :func:`~simstore.services.query.query.query_samples`.
        expected_characters: How long all papers are, as far as is known: where it is much, others
            are used from the first on.

    Raises:
        InvalidParameter: The options contradict each other.
        MissingExtra: rapidfuzz is not installed.
        NotFound: The store has no passage index.
    """
    check_options(options)
    count = worker_count(threads)
    is_much = expected_characters > ALONE_CHARACTERS
    with (
        early_workers(count - 1 if is_much else 0, __name__) as workers,
        opened.database.share(count) as shared,
    ):
        check = _checks(opened.snapshot(shared.connection), options, on_step or no_step)
        work = SharedWork(
            count=count,
            opening=_checking,
            arguments=lambda: (opened.database.place, shared.name(), options),
            is_valid=shared.is_latest,
            least_items=ALONE_PAPERS,
            least_weight=ALONE_CHARACTERS,
            weight=lambda paper: 0 if isinstance(paper, Rejection) else len(paper.text),
            early=workers,
        )
        yield from in_order(papers, check, work)


def _checks(
    snapshot: Snapshot, options: CheckOptions, on_step: Step
) -> Callable[[Document | Rejection], CheckedPaper | Rejection]:
    """Return the function that checks a paper in a snapshot."""
    index = StoredPassages(snapshot)
    checker = PaperChecker(index, options, on_step)
    return lambda paper: paper if isinstance(paper, Rejection) else checker.check(paper)


@contextmanager
def _checking(
    place: str, snapshot: str | None, options: CheckOptions
) -> Iterator[Callable[[Document | Rejection], CheckedPaper | Rejection]]:
    """Yield the function that checks papers in a worker process."""
    with (
        closing(Database(place, read_only=True)) as database,
        database.read(snapshot) as connection,
    ):
        check = _checks(OpenStore(database).snapshot(connection), options, no_step)
        # Before it is asked: the others would wait for its first answer.
        check(_SHORT_PAPER)
        yield check


def with_others(copies: list[FoundCopy], others: Iterable[FoundCopy]) -> list[FoundCopy]:
    """Return copies, and those of others that cover tokens of the paper not covered before."""
    known: dict[int, CoveredUnits] = {}
    for copy in copies:
        of_source = known.setdefault(copy.source.document_id, CoveredUnits(set(), set()))
        of_source.add(copy.stretch)
    found = list(copies)
    for copy in others:
        of_source = known.setdefault(copy.source.document_id, CoveredUnits(set(), set()))
        found += [replace(copy, stretch=stretch) for stretch in of_source.new([copy.stretch])]
    return found


def with_reworded(copies: list[FoundCopy], others: Iterable[FoundCopy]) -> list[FoundCopy]:
    """Return copies, and those stretches of others of which they leave much of the paper.

    Args:
        copies: Copies that were aligned.
        others: Stretches whose words are the same in any order.
    """
    covered: dict[int, set[int]] = {}
    for copy in copies:
        of_source = covered.setdefault(copy.source.document_id, set())
        of_source.update(range(copy.stretch.paper_first, copy.stretch.paper_end))
    found = list(copies)
    for copy in others:
        units = set(range(copy.place.first, copy.place.end))
        known = len(units & covered.get(copy.source.document_id, set()))
        if known <= MOST_KNOWN * len(units):
            found.append(copy)
    return found


def _same_marks(one: str, other: str) -> int:
    """Return how many marks, such as a stop, stand at the beginning of both."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second or first.isspace() or first.isalnum():
            break
        count += 1
    return count


def _merged(found: Sequence[FoundCopy]) -> list[tuple[FoundCopy, float]]:
    """Merge stretches of one source that adjoin in both texts; the higher similarity is kept."""
    ordered = sorted(
        found,
        key=lambda copy: (
            copy.source.document_id,
            copy.stretch.paper_first,
            copy.stretch.source_first,
        ),
    )
    merged: list[tuple[FoundCopy, float]] = []
    for copy in ordered:
        similarity = copy.similarity
        if merged:
            before, best = merged[-1]
            if (
                before.source is copy.source
                and before.bounds is None
                and copy.bounds is None
                and before.stretch.paper_end == copy.stretch.paper_first
                and before.stretch.source_end == copy.stretch.source_first
            ):
                stretch = alignment.Stretch(before.stretch.blocks + copy.stretch.blocks)
                is_sure = before.is_sure or copy.is_sure
                merged[-1] = FoundCopy(copy.source, stretch, is_sure), max(best, similarity)
                continue
        merged.append((copy, similarity))
    return merged
