"""Papers against the store: which of their passages were taken, and from where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from simstore.model import CheckedPaper, CheckOptions, PassedOver, Rejection
from simstore.services.arriving.accept import Addable, accept
from simstore.sources.files import open_sources
from simstore.sources.reader import ReadOptions
from simstore.sources.source import read_so_far, samples_of
from simstore.store.opened import Opened


class Checking(Opened):
    """Checks papers passage by passage; the store needs a passage index."""

    def check_text(
        self, text: str, options: CheckOptions | None = None, *, key: str = ""
    ) -> CheckedPaper:
        """Check a paper.

        Args:
            text: The paper.
            options: How to check it.
            key: Its key; a stored document with the same key is no source.

        Raises:
            InvalidParameter: The options contradict each other.
            MissingExtra: rapidfuzz is not installed.
            NotFound: The store has no passage index.
        """
        return next(self.check([(key, text)], options))

    def check(
        self,
        papers: Iterable[Addable],
        options: CheckOptions | None = None,
        *,
        on_step: Callable[[], None] | None = None,
    ) -> Iterator[CheckedPaper]:
        """Yield what was found in each paper, in their order; as :meth:`check_text`.

        Args:
            papers: The papers.
            options: How to check them.
            on_step: Called between pieces of work, a source that is compared being one; what it
                raises ends the check.
        """
        from simstore.services.passages.check import check_papers

        given = map(accept, papers)
        for found in check_papers(self._opened, given, options or CheckOptions(), on_step):
            if isinstance(found, CheckedPaper):
                yield found

    def check_sources(
        self,
        names: Sequence[str],
        options: CheckOptions | None = None,
        *,
        read: ReadOptions | None = None,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_pass_over: Callable[[PassedOver], None] | None = None,
    ) -> Iterator[CheckedPaper | Rejection]:
        """Check the documents of files, folders, patterns, or standard input.

        Args:
            names: As for :meth:`ingest`.
            options: How to check them.
            read: How to read the sources.
            on_progress: Called with bytes read, and bytes in all where that is known.
            on_pass_over: Called for each part of a source that is no document and shall be none.

        Yields:
            What was found in each, or why it could not be read, in their order.
        """
        from simstore.services.passages.check import check_papers

        sources, _ = open_sources(names, self._read_options(read))
        papers = samples_of(sources, on_pass_over)
        for found in check_papers(self._opened, papers, options or CheckOptions()):
            if on_progress is not None:
                on_progress(*read_so_far(sources))
            yield found
