"""Methods of the store: queries by a text, comparisons and evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from simstore.errors import RunNotFound, check_numbers
from simstore.model import (
    Comparison,
    Document,
    Ignored,
    Match,
    QueryOptions,
    QueryRun,
    SampleResult,
)
from simstore.services.query.query import query_samples
from simstore.sources.documents import Addable, accept
from simstore.sources.files import open_sources
from simstore.sources.reader import ReadOptions
from simstore.sources.source import known_bytes, read_so_far, samples_of
from simstore.storage import queries
from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.search.evaluation import Evaluation
    from simstore.services.compare.compared import CompareOptions
    from simstore.services.evaluate.evaluate import EvaluateOptions, ExactPair
    from simstore.services.evaluate.labels import Labels
    from simstore.services.generations.refresh import Progress


class QueryMixin(Opened):
    """What is near a text, and how well that is found."""

    def query(
        self,
        text: str,
        *,
        radius: int | None = None,
        first: bool = False,
        limit: int | None = None,
        collection: str | None = None,
        min_resemblance: float | None = None,
        min_containment: float | None = None,
    ) -> list[Match]:
        """Return the documents near a text, by distance, then order of ingest.

        They are those within the radius, and those whose sketches agree in a band.

        Args:
            text: The sample.
            radius: Largest Hamming distance, bits, inclusive; None: min(3, M).
            first: Stop at the first match.
            limit: Most matches.
            collection: Only documents of this collection.
            min_resemblance: Only documents of this resemblance, 0 to 1.
            min_containment: Only documents that contain this much of the text, 0 to 1.
        """
        options = QueryOptions(
            radius=radius,
            first=first,
            limit=limit,
            collection=collection,
            min_resemblance=min_resemblance,
            min_containment=min_containment,
        )
        run = query_samples(self._opened, [accept(("", text))], options, record=False)
        return list(run.samples[0].matches)

    def query_many(
        self,
        samples: Iterable[Addable],
        options: QueryOptions | None = None,
        *,
        threads: int | None = 1,
    ) -> list[SampleResult]:
        """Return the matches of each sample, in the order of the samples.

        Args:
            samples: The samples.
            options: How to look.
            threads: Processors to use; None: all. For more than one, processes are started from
                2,048 samples on (or eight million characters); the answers are the same.

        Raises:
            InvalidParameter: An option is out of its range.
        """
        return list(self.query_run(samples, options, threads=threads).samples)

    def query_run(
        self,
        samples: Iterable[Addable],
        options: QueryOptions | None = None,
        *,
        threads: int | None = 1,
    ) -> QueryRun:
        """Return the matches of each sample, and what they go by; nothing is recorded.

        Args:
            samples: The samples.
            options: How to look.
            threads: As for :meth:`query_many`.
        """
        return query_samples(
            self._opened,
            map(accept, samples),
            options or QueryOptions(),
            record=False,
            threads=threads,
        )

    def warm(self) -> None:
        """Read into memory what queries go by; the first of them then takes no longer than others.

        Without a resident index (:meth:`open`), only what is worth it for any process that asks
        often.
        """
        from simstore.services.query.warm import warm

        warm(self._opened)

    def query_sources(
        self,
        names: Sequence[str],
        options: QueryOptions | None = None,
        *,
        read: ReadOptions | None = None,
        record: bool = True,
        require_fresh: bool = False,
        threads: int | None = 1,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_pass_over: Callable[[Ignored], None] | None = None,
    ) -> QueryRun:
        """Query with the documents of files, folders, patterns, or standard input as samples.

        Args:
            names: As for :meth:`ingest`.
            options: How to look.
            read: How to read the sources.
            record: Keep the run for :meth:`report`.
            require_fresh: Refresh a stale generation first.
            threads: As for :meth:`query_many`; of sources that are known to be long, others are
                started at once.
            on_progress: Called with bytes read, and bytes in all where that is known.
            on_pass_over: Called for each part of a source that is no document and shall be none.
        """
        sources, _ = open_sources(names, self._read_options(read))

        def tell() -> None:
            if on_progress is not None:
                on_progress(*read_so_far(sources))

        return query_samples(
            self._opened,
            samples_of(sources, on_pass_over),
            options or QueryOptions(),
            sources=names,
            record=record,
            require_fresh=require_fresh,
            on_progress=tell,
            threads=threads,
            expected_characters=known_bytes(sources),
        )

    def report(self, run_id: int | None = None) -> QueryRun:
        """Return a recorded query run, the latest where none is named.

        Raises:
            RunNotFound: There is none.
        """
        check_numbers(run=run_id)
        with self._opened.database.read() as connection:
            run = queries.load_run(connection, run_id)
        if run is None:
            raise RunNotFound(run_id)
        return run

    def query_runs(self, limit: int = 20) -> list[dict[str, Any]]:
        """Return the latest query runs, the newest first."""
        check_numbers(limit=limit)
        with self._opened.database.read() as connection:
            return queries.recent_runs(connection, limit)

    def compare(
        self,
        first: str | Document,
        second: str | Document,
        options: CompareOptions | None = None,
        *,
        on_progress: Progress | None = None,
    ) -> Comparison:
        """Compare two texts by every algorithm, side by side.

        Args:
            first: Key of a stored document, or a document whose text is given.
            second: Another one.
            options: How to compare.
            on_progress: Called with algorithms done and in all.

        Raises:
            DocumentNotFound: No document has a key.
            NotFound: The store keeps no texts.
        """
        from simstore.services.compare.stored import compare_in_store

        return compare_in_store(self._opened, first, second, options, on_progress=on_progress)

    def evaluate(
        self,
        labels: Labels,
        options: EvaluateOptions | None = None,
        *,
        on_progress: Progress | None = None,
    ) -> Evaluation:
        """Tell how well the store finds what is labelled, by each method, at each threshold.

        Args:
            labels: What is near-duplicate of what.
            options: How to evaluate.
            on_progress: Called with documents read and in all.

        Raises:
            NotFound: No document of the store is labelled.
        """
        self._check_takes_documents()
        from simstore.services.evaluate.evaluate import EvaluateOptions, evaluate_store

        return evaluate_store(self._opened, labels, options or EvaluateOptions(), on_progress)

    def exact_pairs(
        self, min_resemblance: float = 0.5, *, on_progress: Progress | None = None
    ) -> list[ExactPair]:
        """Return all pairs of documents of a least resemblance, in order of ingest; none is missed.

        Args:
            min_resemblance: Above 0, at most 1, inclusive.
            on_progress: Called with documents read and in all.

        Raises:
            NotFound: The store keeps no texts.
        """
        self._check_takes_documents()
        from simstore.services.evaluate.evaluate import exact_pairs

        return exact_pairs(self._opened, min_resemblance, on_progress)
