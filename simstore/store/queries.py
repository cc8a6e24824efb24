"""``Store`` methods that find near-duplicates, check papers for text reuse, and compare texts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from simstore.errors import RunNotFound, check_numbers, printable
from simstore.model import (
    Document,
    Ignored,
    Match,
    QueryKeywords,
    QueryOptions,
    QueryRun,
    Rejection,
    Results,
    Stream,
    with_keywords,
)
from simstore.model.channels import DROP_RESEMBLANCE
from simstore.model.query import NO_SUCH_FIELD
from simstore.services.query.query import query_samples, with_facts
from simstore.sources.documents import accept
from simstore.sources.files import Files, open_sources
from simstore.sources.source import known_bytes, read_so_far, samples_of, told_of
from simstore.storage import queries
from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.model import (
        CheckedPaper,
        CheckKeywords,
        CheckOptions,
        Comparison,
        MutualCheck,
        Progress,
    )
    from simstore.services.compare.compared import CompareKeywords, CompareOptions
    from simstore.sources.documents import SamplesGiven

log = logging.getLogger("simstore")


class Queries(Opened, of="Store"):
    """``Store`` methods that query, check papers and compare texts."""

    def query(
        self,
        text: str,
        options: QueryOptions | None = None,
        **keywords: Unpack[QueryKeywords],
    ) -> Results[Match]:
        """Return the documents near a text, by distance, then order of ingest.

        They are those within the radius, and those whose sketches agree in a
        band.

        >>> for match in store.query(text, min_resemblance=0.5):
        ...     print(match.key, match.distance, round(match.resemblance, 2))
        ferry-2025 0 1.0
        ferry-2026 ... 0...

        Args:
            text: The text that is looked for.
            options: How to look, as an object; keywords go before it.

        Keyword Args:
            radius: Largest Hamming distance of fingerprints, bits; None: 3 or
                fewer.
            limit: Most matches; None: all.
            first: Stop at the first match.
            collection: Only documents of this collection.
            min_resemblance: Only documents whose shingles resemble the text's
                so much, 0 to 1 (|A∩B| / |A∪B|); None: all that were found,
                whatever they resemble.
            min_containment: Only documents that contain this share of the text,
                0 to 1.
            since: Only documents first seen at or after this time: a datetime
                or date, ISO 8601 or seconds since 1970; or so long ago: a
                timedelta, or ``30d``.
            where: Only documents with these metadata:
                ``{"language": "en", "year": 2024}``. A field that no document
                has is reported as a warning (logger ``simstore``).
            channels: By which to look: ``simhash``, ``minhash``, ``sentences``;
                none: all.
            min_features: Texts of fewer features are too short; and ``verify``,
                ``exclude_self`` and ``plan`` of :class:`simstore.QueryOptions`.

        Returns:
            A list of :class:`simstore.Match`, each with ``key``, ``distance``
            (bits), ``resemblance`` and ``containment`` (0 to 1); empty where
            nothing is near. ``to_frame()`` makes a DataFrame of it.

        Raises:
            InvalidParameter: An option is out of its range.
        """
        chosen = with_keywords("query", QueryOptions, options, keywords)
        run = query_samples(self._opened, [accept(("", text))], chosen, record=False)
        for name in run.unknown_fields:
            log.warning(NO_SUCH_FIELD, printable(name))
        return Results(run.samples[0].matches, of=Match)

    def query_many(
        self,
        samples: SamplesGiven | Files,
        options: QueryOptions | None = None,
        *,
        record: bool = False,
        require_fresh: bool = False,
        threads: int | None = 1,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[QueryKeywords],
    ) -> QueryRun:
        """Return the matches of each sample, in the order of the samples.

        >>> for result in store.query_many([("sample", text)]):
        ...     print(result.key, [match.key for match in result.matches])
        sample ['ferry-2025', 'ferry-2026']
        >>> Path("sample.txt").write_text(text) > 0
        True
        >>> len(store.query_many(Files("sample.txt"), record=True))
        1

        Args:
            samples: Texts, or whatever :meth:`add_many` takes; or the documents
                of :class:`simstore.Files`. The key of a text alone is its
                number, from 0.
            options: How to look, as an object; keywords go before it.
            record: Keep the run for :meth:`report`.
            require_fresh: Refresh a stale generation first.
            threads: Processors to use; None: all. For more than one, processes
                are started from 2,048 samples on (or eight million characters;
                of files that are known to be long, at once); the answers are
                the same.
            on_progress: Of files: called with bytes read, and bytes in all
                where that is known.
            on_ignored: Of files: called for each part that is no document and
                shall be none.

        Keyword Args:
            radius: As for :meth:`query`, and so all its other keywords.
            exclude_self: Leave out the document whose key is the sample's.

        Returns:
            The run, a sequence of one :class:`simstore.SampleResult` a sample.

        Raises:
            InvalidParameter: An option is out of its range.
        """
        chosen = with_keywords("query_many", QueryOptions, options, keywords)
        if not isinstance(samples, Files):
            from simstore.sources.frames import samples_given

            return query_samples(
                self._opened,
                samples_given(samples),
                chosen,
                record=record,
                require_fresh=require_fresh,
                threads=threads,
            )
        sources, _ = open_sources(samples.names, self._read_options(samples.read))

        def report() -> None:
            if on_progress is not None:
                on_progress(*read_so_far(sources))

        return query_samples(
            self._opened,
            samples_of(sources, on_ignored),
            chosen,
            sources=samples.names,
            record=record,
            require_fresh=require_fresh,
            on_progress=report,
            threads=threads,
            expected_characters=known_bytes(sources),
        )

    def filter(
        self,
        rows: Any,
        *,
        keep: Literal["new", "known"] = "new",
        min_resemblance: float = DROP_RESEMBLANCE,
        radius: int | None = None,
        text_field: str | None = None,
    ) -> Any:
        """Return the rows that no stored document resembles, as they are.

        The store is read, not written. Rows are not compared with each other.

        >>> rows = [{"id": 1, "text": text}, {"id": 2, "text": "Oats."}]
        >>> [row["id"] for row in store.filter(rows)]
        [2]
        >>> batch = {"id": [1, 2], "text": [text, "Oats."]}
        >>> store.filter(batch, keep="known")["id"]
        [1]

        Args:
            rows: Texts, ``(key, text)`` pairs, mappings or documents; a mapping
                of names of columns to lists, as a batch of ``datasets`` is; or
                a table of pandas, polars, PyArrow or ``datasets``.
            keep: Which rows are kept: ``new`` or ``known``.
            min_resemblance: Least resemblance of a row that is known to a
                document, above 0, at most 1.
            radius: Of fingerprints, bits; None: 3.
            text_field: The field or column of the text; None: ``text``,
                ``content`` or ``body``.

        Returns:
            An iterator over rows that are given one by one; else what was
            given, with fewer rows.

        Raises:
            InvalidParameter: A row has no text, or an option is out of its
                range.
        """
        from simstore.services.dedup.gates import store_answer
        from simstore.services.dedup.given_rows import filter_given

        answer = store_answer(self, min_resemblance, radius=radius)
        return filter_given(answer, rows, keep, text_field)

    def check(
        self,
        text: str,
        options: CheckOptions | None = None,
        *,
        key: str = "",
        **keywords: Unpack[CheckKeywords],
    ) -> CheckedPaper:
        """Check a paper: tell which of its passages are in stored documents.

        >>> status = store.passages.build()
        >>> paper = store.check("It is well known. " + text)
        >>> paper.sources[0].key
        'ferry-2025'

        Args:
            text: The paper.
            options: How to check it, as an object; keywords go before it.
            key: Its key; a stored document with the same key is no source.

        Keyword Args:
            high: Least similarity of a highly similar passage, 0 to 1.
            moderate: Least similarity of a moderately similar passage, 0 to
                ``high``.
            min_words: Shortest copied stretch that is told of, in words; None:
                the length that the passage index is certain to find. And
                ``min_characters`` of a script without blanks.
            exclude: Keys, or patterns of keys, of documents that are no
                sources.
            exclude_quotations: Do not count what stands in quotation marks.
            exclude_bibliography: Do not count the list of references.
            include_self: A stored document with the paper's own key is a source
                too.
            fast: Stop at the first source of each passage.
            by: What a passage is: ``sentences``, or a ``window`` of ``window``
                characters.
            channels: By which to look: ``anchors``, ``sentences``, ``simhash``.

        Returns:
            The copied passages, each with its source, the sources, and the
            share of the paper that is from them (``paper.totals``).

        Raises:
            InvalidParameter: The options contradict each other.
            MissingExtra: rapidfuzz is not installed.
            NotFound: The store has no passage index.
        """
        from simstore.model import CheckOptions

        chosen = with_keywords("check", CheckOptions, options, keywords)
        return next(self.check_many([(key, text)], chosen))

    @overload
    def check_many(
        self,
        papers: SamplesGiven,
        options: CheckOptions | None = None,
        *,
        threads: int | None = 1,
        on_step: Callable[[], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> Stream[CheckedPaper]: ...
    @overload
    def check_many(
        self,
        papers: Files,
        options: CheckOptions | None = None,
        *,
        threads: int | None = 1,
        on_step: Callable[[], None] | None = None,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> Stream[CheckedPaper | Rejection]: ...

    def check_many(
        self,
        papers: SamplesGiven | Files,
        options: CheckOptions | None = None,
        *,
        threads: int | None = 1,
        on_step: Callable[[], None] | None = None,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> Stream[CheckedPaper | Rejection]:
        """Yield what was found in each paper, in their order; see :meth:`check`.

        >>> status = store.passages.build()
        >>> papers = [("paper-1", text), ("paper-2", "All my own words.")]
        >>> for paper in store.check_many(papers):
        ...     print(paper.key, len(paper.sources))
        paper-1 2
        paper-2 0

        Args:
            papers: Texts, or whatever :meth:`add_many` takes; or the documents
                of :class:`simstore.Files`. The key of a text alone is its
                number, from 0.
            options: How to check them, as an object; keywords go before it.
            threads: Processors to use; None: all. For more than one, processes
                are started from 64 papers on (or 65,536 characters); what is
                found is the same.
            on_step: Called between pieces of work, a source that is compared
                being one; what it raises ends the check.
            on_progress: Of files: called with bytes read, and bytes in all
                where that is known.
            on_ignored: Of files: called for each part that is no document and
                shall be none.

        Keyword Args:
            high: As for :meth:`check`, and so all its other keywords.

        Yields:
            What was found in each; of files also why one could not be read.

        Raises:
            InvalidParameter: The options contradict each other.
        """
        from simstore.model import CheckedPaper, CheckOptions
        from simstore.services.check.check import check_papers

        chosen = with_keywords("check_many", CheckOptions, options, keywords)
        if not isinstance(papers, Files):
            from simstore.sources.frames import samples_given

            given = samples_given(papers)
            return Stream(
                check_papers(self._opened, given, chosen, on_step, threads), of=CheckedPaper
            )
        sources, _ = open_sources(papers.names, self._read_options(papers.read))
        papers_found = check_papers(
            self._opened,
            samples_of(sources, on_ignored),
            chosen,
            on_step,
            threads,
            expected_characters=known_bytes(sources) if threads != 1 else 0,
        )
        return Stream(told_of(papers_found, sources, on_progress), of=CheckedPaper)

    @overload
    def check_mutual(
        self,
        papers: SamplesGiven,
        options: CheckOptions | None = None,
        *,
        on_step: Callable[[], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> MutualCheck: ...
    @overload
    def check_mutual(
        self,
        papers: Files,
        options: CheckOptions | None = None,
        *,
        on_step: Callable[[], None] | None = None,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> MutualCheck: ...

    def check_mutual(
        self,
        papers: SamplesGiven | Files,
        options: CheckOptions | None = None,
        *,
        on_step: Callable[[], None] | None = None,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> MutualCheck:
        """Compare papers with one another, as :meth:`check` does with documents.

        >>> papers = [("anna", "It is well known. " + text), ("ben", text)]
        >>> for pair in store.check_mutual(papers).pairs:
        ...     print(pair.first_key, pair.second_key, pair.share)
        ben anna 1.0

        Nothing is stored. The store needs no passage index; if it has one, text
        that stored documents have ranks no pair higher. All papers are held in
        memory.

        Args:
            papers: Texts, or whatever :meth:`check_many` takes.
            options: How to check them, as an object; keywords go before it.
                Documents that they exclude do not belong to the library;
                ``fast`` has no effect.
            on_step: Called between pieces of work; what it raises ends the
                check.
            on_progress: Of files: called with bytes read, and bytes in all
                where that is known.
            on_ignored: Of files: called for each part that is no document and
                shall be none.

        Keyword Args:
            high: As for :meth:`check`, and so all its other keywords.

        Returns:
            The pairs that have text in common, the largest ``own_share`` first,
            and the result for each paper.

        Raises:
            InvalidParameter: The options contradict each other.
            MissingExtra: rapidfuzz is not installed.
        """
        from simstore.model import CheckOptions
        from simstore.services.check.mutual import check_mutual

        chosen = with_keywords("check_mutual", CheckOptions, options, keywords)
        if not isinstance(papers, Files):
            from simstore.sources.frames import samples_given

            return check_mutual(self._opened, samples_given(papers), chosen, on_step)
        sources, _ = open_sources(papers.names, self._read_options(papers.read))
        read = told_of(samples_of(sources, on_ignored), sources, on_progress)
        return check_mutual(self._opened, read, chosen, on_step)

    def compare(
        self,
        first: str | Document,
        second: str | Document,
        options: CompareOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[CompareKeywords],
    ) -> Comparison:
        """Compare two texts by every algorithm, side by side.

        >>> comparison = store.compare("ferry-2025", "ferry-2026")
        >>> [found.algorithm for found in comparison.measurements][:2]
        ['...', '...']

        Args:
            first: Key of a stored document, or a document whose text is given.
            second: Another one.
            options: How to compare, as an object; keywords go before it.
            on_progress: Called with algorithms done and in all.

        Keyword Args:
            units: What a shingle is made of: ``characters`` or ``words``.
            shingle: Units a shingle, 1 to 1000.
            similar_at: Least resemblance of two similar texts, 0 to 1.
            features: What SimHash counts: ``terms``, ``words``, ``characters``,
                ``shingles``; and the others of
                :class:`simstore.CompareOptions`.

        Returns:
            One measurement an algorithm, and whether the texts are similar.

        Raises:
            DocumentNotFound: No document has a key.
            NotFound: The store keeps no texts.
        """
        from simstore.services.compare.compare import compare_in_store
        from simstore.services.compare.compared import CompareOptions

        if keywords:
            options = with_keywords("compare", CompareOptions, options, keywords)
        return compare_in_store(self._opened, first, second, options, on_progress=on_progress)

    def report(self, run_id: int | None = None) -> QueryRun:
        """Return a recorded query run, the latest where none is named.

        >>> run = store.query_many([("sample", text)], record=True)
        >>> store.report() == store.report(run.run_id)
        True

        Returns:
            The run, as :meth:`query_many` returned it.

        Raises:
            RunNotFound: There is none.
        """
        check_numbers(run=run_id)
        with self._opened.database.read() as connection:
            run = queries.load_run(connection, run_id)
            if run is None:
                raise RunNotFound(run_id)
            return replace(run, samples=tuple(with_facts(connection, run.samples)))
