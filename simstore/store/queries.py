"""Verbs that ask a store what is like a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, overload

from simstore.errors import RunNotFound, check_numbers
from simstore.model import (
    CheckedPaper,
    CheckOptions,
    Comparison,
    Document,
    Ignored,
    Match,
    QueryOptions,
    QueryRun,
    Rejection,
    with_given,
)
from simstore.services.query.query import query_samples
from simstore.sources.documents import Addable, accept
from simstore.sources.files import Files, open_sources
from simstore.sources.source import known_bytes, read_so_far, samples_of
from simstore.storage import queries
from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.services.compare.compared import CompareOptions
    from simstore.services.generations.refresh import Progress


class Queries(Opened):
    """What is near a text, and which passages of a paper are stored."""

    def query(
        self,
        text: str,
        options: QueryOptions | None = None,
        *,
        radius: int | None = None,
        first: bool | None = None,
        limit: int | None = None,
        collection: str | None = None,
        min_resemblance: float | None = None,
        min_containment: float | None = None,
    ) -> list[Match]:
        """Return the documents near a text, by distance, then order of ingest.

        They are those within the radius, and those whose sketches agree in a band.

        >>> for match in store.query(text, min_resemblance=0.5):
        ...     print(match.key, match.distance, round(match.resemblance, 2))
        ferry-2025 0 1.0
        ferry-2026 ... 0...

        Args:
            text: The sample.
            options: How to look; what is given besides goes before it.
            radius: Largest Hamming distance, bits, inclusive; None: the default.
            first: Stop at the first match.
            limit: Most matches.
            collection: Only documents of this collection.
            min_resemblance: Only documents of this resemblance, 0 to 1.
            min_containment: Only documents that contain this much of the text, 0 to 1.
        """
        chosen = with_given(
            options or QueryOptions(),
            radius=radius,
            first=first,
            limit=limit,
            collection=collection,
            min_resemblance=min_resemblance,
            min_containment=min_containment,
        )
        run = query_samples(self._opened, [accept(("", text))], chosen, record=False)
        return list(run.samples[0].matches)

    def query_many(
        self,
        samples: Iterable[Addable] | Files,
        options: QueryOptions | None = None,
        *,
        record: bool = False,
        require_fresh: bool = False,
        threads: int | None = 1,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
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
            samples: Documents, (key, text) pairs or mappings as for :meth:`add_many`; or the
                documents of :class:`simstore.Files`.
            options: How to look.
            record: Keep the run for :meth:`report`.
            require_fresh: Refresh a stale generation first.
            threads: Processors to use; None: all. For more than one, processes are started from
                2,048 samples on (or eight million characters; of files that are known to be long,
                at once); the answers are the same.
            on_progress: Of files: called with bytes read, and bytes in all where that is known.
            on_ignored: Of files: called for each part that is no document and shall be none.

        Returns:
            The run, a sequence of one :class:`simstore.SampleResult` a sample.

        Raises:
            InvalidParameter: An option is out of its range.
        """
        if not isinstance(samples, Files):
            return query_samples(
                self._opened,
                map(accept, samples),
                options or QueryOptions(),
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
            options or QueryOptions(),
            sources=samples.names,
            record=record,
            require_fresh=require_fresh,
            on_progress=report,
            threads=threads,
            expected_characters=known_bytes(sources),
        )

    def check(
        self, text: str, options: CheckOptions | None = None, *, key: str = ""
    ) -> CheckedPaper:
        """Check a paper: tell which of its passages are in stored documents.

        >>> status = store.passages.build()
        >>> paper = store.check("It is well known. " + text)
        >>> paper.sources[0].key
        'ferry-2025'

        Args:
            text: The paper.
            options: How to check it.
            key: Its key; a stored document with the same key is no source.

        Raises:
            InvalidParameter: The options contradict each other.
            MissingExtra: rapidfuzz is not installed.
            NotFound: The store has no passage index.
        """
        return next(self.check_many([(key, text)], options))

    @overload
    def check_many(
        self,
        papers: Iterable[Addable],
        options: CheckOptions | None = None,
        *,
        threads: int | None = 1,
        on_step: Callable[[], None] | None = None,
    ) -> Iterator[CheckedPaper]: ...
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
    ) -> Iterator[CheckedPaper | Rejection]: ...

    def check_many(
        self,
        papers: Iterable[Addable] | Files,
        options: CheckOptions | None = None,
        *,
        threads: int | None = 1,
        on_step: Callable[[], None] | None = None,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
    ) -> Iterator[CheckedPaper | Rejection]:
        """Yield what was found in each paper, in their order; see :meth:`check`.

        >>> status = store.passages.build()
        >>> for paper in store.check_many([("paper-1", text), ("paper-2", "All my own words.")]):
        ...     print(paper.key, len(paper.sources))
        paper-1 2
        paper-2 0

        Args:
            papers: Documents, pairs or mappings as for :meth:`add_many`; or the documents of
                :class:`simstore.Files`.
            options: How to check them.
            threads: Processors to use; None: all. For more than one, processes are started from 64
                papers on (or 65,536 characters); what is found is the same.
            on_step: Called between pieces of work, a source that is compared being one; what it
                raises ends the check.
            on_progress: Of files: called with bytes read, and bytes in all where that is known.
            on_ignored: Of files: called for each part that is no document and shall be none.

        Yields:
            What was found in each; of files also why one could not be read.

        Raises:
            InvalidParameter: The options contradict each other.
        """
        from simstore.services.check.check import check_papers

        chosen = options or CheckOptions()
        if not isinstance(papers, Files):
            yield from check_papers(self._opened, map(accept, papers), chosen, on_step, threads)
            return
        sources, _ = open_sources(papers.names, self._read_options(papers.read))
        for found in check_papers(
            self._opened,
            samples_of(sources, on_ignored),
            chosen,
            on_step,
            threads,
            expected_characters=known_bytes(sources) if threads != 1 else 0,
        ):
            if on_progress is not None:
                on_progress(*read_so_far(sources))
            yield found

    def compare(
        self,
        first: str | Document,
        second: str | Document,
        options: CompareOptions | None = None,
        *,
        on_progress: Progress | None = None,
    ) -> Comparison:
        """Compare two texts by every algorithm, side by side.

        >>> comparison = store.compare("ferry-2025", "ferry-2026")
        >>> [found.algorithm for found in comparison.measurements][:2]
        ['...', '...']

        Args:
            first: Key of a stored document, or a document whose text is given.
            second: Another one.
            options: How to compare.
            on_progress: Called with algorithms done and in all.

        Raises:
            DocumentNotFound: No document has a key.
            NotFound: The store keeps no texts.
        """
        from simstore.services.compare.compare import compare_in_store

        return compare_in_store(self._opened, first, second, options, on_progress=on_progress)

    def report(self, run_id: int | None = None) -> QueryRun:
        """Return a recorded query run, the latest where none is named.

        >>> run = store.query_many([("sample", text)], record=True)
        >>> store.report() == store.report(run.run_id)
        True

        Raises:
            RunNotFound: There is none.
        """
        check_numbers(run=run_id)
        with self._opened.database.read() as connection:
            run = queries.load_run(connection, run_id)
        if run is None:
            raise RunNotFound(run_id)
        return run
