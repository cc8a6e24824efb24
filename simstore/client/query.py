"""``Client`` methods that query, check and compare texts through a server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from simstore.client.ingest import IngestRequests
from simstore.client.uploads import halves, parts_of, wire_document
from simstore.errors import NotServed, TooLarge, printable
from simstore.model import (
    CheckedPaper,
    CheckKeywords,
    CheckOptions,
    Comparison,
    Document,
    Ignored,
    Match,
    MutualCheck,
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
from simstore.sources.documents import SamplesGiven, accept
from simstore.sources.files import Files, open_sources
from simstore.sources.frames import samples_given
from simstore.sources.source import read_so_far, samples_of, told_of
from simstore.wire import to_wire, to_wire_fields

if TYPE_CHECKING:
    from simstore.services.compare.compared import CompareKeywords, CompareOptions

log = logging.getLogger("simstore")
# Samples of a request: as many as a store answers at once.
_MOST_SAMPLES = 256


class QueryRequests(IngestRequests, of="Client"):
    """``Client`` methods that query, check and compare texts."""

    def query(
        self,
        text: str,
        options: QueryOptions | None = None,
        **keywords: Unpack[QueryKeywords],
    ) -> Results[Match]:
        """Return the documents near a text, by distance, then order of ingest.

        As :meth:`simstore.Store.query`.
        """
        chosen = with_keywords("query", QueryOptions, options, keywords)
        payload = {**to_wire_fields([("text", accept(("", text)).text)]), **to_wire(chosen)}
        value = self._post("/v1/query", payload)
        self._member(value, "samples")
        run = self._as(QueryRun, value)
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
        threads: int | None = 1,  # noqa: ARG002 - the server has its own
        on_progress: Callable[[int, int | None], None] | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[QueryKeywords],
    ) -> QueryRun:
        """Return the matches of each sample, in the order of the samples.

        As :meth:`simstore.Store.query_many`; files are read here.

        Args:
            samples: The samples, or files.
            options: How to look.
            record: Not over a server: it keeps no runs.
            require_fresh: Not over a server: it refreshes by itself.
            threads: Not used: the server has processors of its own.
            on_progress: Of files: called with bytes read, and bytes in all
                where that is known.
            on_ignored: Of files: called for each part that is no document and
                shall be none.

        Raises:
            NotServed: ``record`` or ``require_fresh``.
        """
        if record or require_fresh:
            raise NotServed("recording of runs" if record else "a refresh before a query")
        chosen = with_keywords("query_many", QueryOptions, options, keywords)
        if not isinstance(samples, Files):
            return self._queried(samples_given(samples), chosen)
        sources, _ = open_sources(samples.names, self._read_options(samples.read))
        rejections: list[Rejection] = []

        def readable() -> Iterator[Document]:
            for sample in samples_of(sources, on_ignored):
                if isinstance(sample, Document):
                    yield sample
                else:
                    rejections.append(sample)

        def report() -> None:
            if on_progress is not None:
                on_progress(*read_so_far(sources))

        run = self._queried(readable(), chosen, report)
        return replace(run, rejections=tuple(rejections))

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

        As :meth:`simstore.Store.filter`.

        Args:
            rows: The rows.
            keep: Which are kept.
            min_resemblance: Least resemblance of a row that is known.
            radius: Of fingerprints, bits.
            text_field: The field or column of the text.
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
        """Check a paper passage by passage.

        As :meth:`simstore.Store.check`.
        """
        chosen = with_keywords("check", CheckOptions, options, keywords)
        return self._checked(accept((key, text)), chosen)

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
        threads: int | None = 1,  # noqa: ARG002 - the server has its own
        on_step: Callable[[], None] | None = None,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> Stream[CheckedPaper | Rejection]:
        """Yield what was found in each paper, in their order; files are read here.

        Args:
            papers: The papers, or files.
            options: How to check them.
            threads: Not used: the server has processors of its own.
            on_step: Called before each paper is sent; what it raises ends the
                check.
            on_progress: Of files: called with bytes read, and bytes in all
                where that is known.
            on_ignored: Of files: called for each part that is no document and
                shall be none.

        Yields:
            What was found in each; of files also why one could not be read.
        """
        chosen = with_keywords("check_many", CheckOptions, options, keywords)
        if not isinstance(papers, Files):
            return Stream(
                (self._checked(paper, chosen, on_step) for paper in samples_given(papers)),
                of=CheckedPaper,
            )
        sources, _ = open_sources(papers.names, self._read_options(papers.read))
        found = (
            self._checked(record, chosen, on_step) if isinstance(record, Document) else record
            for record in samples_of(sources, on_ignored)
        )
        return Stream(told_of(found, sources, on_progress), of=CheckedPaper)

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
        """Compare papers with one another; files are read here.

        As :meth:`simstore.Store.check_mutual`. The papers are sent in one
        request.

        Args:
            papers: The papers, or files.
            options: How to check them, as an object; keywords go before it.
            on_step: Called before the papers are sent; what it raises ends the
                check.
            on_progress: Of files: called with bytes read, and bytes in all
                where that is known.
            on_ignored: Of files: called for each part that is no document and
                shall be none.
            keywords: The options by name.
        """
        chosen = with_keywords("check_mutual", CheckOptions, options, keywords)
        read: Iterable[Document | Rejection]
        if isinstance(papers, Files):
            sources, _ = open_sources(papers.names, self._read_options(papers.read))
            read = told_of(samples_of(sources, on_ignored), sources, on_progress)
        else:
            read = samples_given(papers)
        given, rejections = list[Document](), list[Rejection]()
        for one in read:
            if isinstance(one, Document):
                given.append(one)
            else:
                rejections.append(one)
        if on_step is not None:
            on_step()
        body = {"papers": [to_wire_sample(one) for one in given], "options": to_wire(chosen)}
        found = self._as(MutualCheck, self._post("/v1/check/mutual", body))
        decoded = tuple(
            replace(paper, decoding=one.decoding)
            for paper, one in zip(found.papers, given, strict=True)
        )
        return replace(found, papers=decoded, rejections=tuple(rejections))

    def compare(
        self,
        first: str | Document,
        second: str | Document,
        options: CompareOptions | None = None,
        *,
        on_progress: Callable[[int, int], None] | None = None,
        **keywords: Unpack[CompareKeywords],
    ) -> Comparison:
        """Compare two texts by every algorithm, side by side.

        As :meth:`simstore.Store.compare`.

        Args:
            first: Key of a stored document, or a document whose text is given.
            second: Another one.
            options: How to compare, as an object; keywords go before it.
            on_progress: Called once, at the end.
            keywords: The options by name.
        """
        if keywords:
            from simstore.services.compare.compared import CompareOptions

            options = with_keywords("compare", CompareOptions, options, keywords)
        payload: dict[str, Any] = {"first": _compared(first), "second": _compared(second)}
        if options is not None:
            payload["options"] = to_wire(options)
        found = self._as(Comparison, self._post("/v1/compare", payload))
        if on_progress is not None:
            on_progress(len(found.measurements), len(found.measurements))
        return found

    def _queried(
        self,
        samples: Iterable[Document],
        options: QueryOptions,
        tell: Callable[[], None] = lambda: None,
    ) -> QueryRun:
        payload = to_wire(options)
        runs: list[QueryRun] = []
        for part in parts_of(samples, _MOST_SAMPLES):
            runs += self._query_part(part, payload)
            tell()
        if not runs:
            # The options are looked at all the same, and the store tells what it is.
            runs = self._query_part([], payload)
        results = tuple(result for run in runs for result in run.samples)
        stale = next((run.stale for run in runs if run.stale is not None), None)
        return replace(runs[-1], samples=results, stale=stale)

    def _query_part(self, part: Sequence[Document], payload: dict[str, Any]) -> list[QueryRun]:
        samples = [to_wire_sample(one) for one in part]
        try:
            value = self._post("/v1/query", {"samples": samples, **payload})
        except TooLarge as error:
            return [run for half in halves(part, error) for run in self._query_part(half, payload)]
        run = self._as(QueryRun, value)
        if any(one.decoding is not None for one in part):
            # What a sample was read from is known here only.
            results = zip(run.samples, part, strict=True)
            read = tuple(replace(found, decoding=one.decoding) for found, one in results)
            run = replace(run, samples=read)
        return [run]

    def _checked(
        self, paper: Document, options: CheckOptions, on_step: Callable[[], None] | None = None
    ) -> CheckedPaper:
        if on_step is not None:
            on_step()
        given = {"papers": [to_wire_sample(paper)], "options": to_wire(options)}
        papers = self._member(self._post("/v1/check", given), "papers")
        (found,) = self._as(list[CheckedPaper], papers)
        flags = (*found.flags, *(one.kind for one in paper.hidden))
        warnings = (*found.warnings, *paper.hidden)
        # What a paper was read from is known here only.
        return replace(found, decoding=paper.decoding, flags=flags, warnings=warnings)


def to_wire_sample(sample: Document) -> dict[str, Any]:
    """Return the fields of a document that a query sends."""
    record = wire_document(sample)
    wanted = ("key", "text", "title")
    return {n: v for n, v in record.items() if n.removesuffix("_base64") in wanted}


def _compared(given: str | Document) -> dict[str, Any]:
    if isinstance(given, str):
        return to_wire_fields([("key", given)])
    return {"document": to_wire_sample(given)}
