"""Methods of the store: papers checked for copied passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from simstore.model import CheckedPaper, CheckOptions, Ignored, Rejection
from simstore.sources.documents import Addable, accept
from simstore.sources.files import open_sources
from simstore.sources.reader import ReadOptions
from simstore.sources.source import known_bytes, read_so_far, samples_of
from simstore.store.opened import Opened


class CheckMixin(Opened):
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
        threads: int | None = 1,
    ) -> Iterator[CheckedPaper]:
        """Yield what was found in each paper, in their order; as :meth:`check_text`.

        Args:
            papers: The papers.
            options: How to check them.
            on_step: Called between pieces of work, a source that is compared being one; what it
                raises ends the check.
            threads: Processors to use; None: all. For more than one, processes are started from 64
                papers on (or 65,536 characters); what is found is the same.

        Raises:
            InvalidParameter: The options contradict each other.
        """
        from simstore.services.check.check import check_papers

        given = map(accept, papers)
        for found in check_papers(self._opened, given, options or CheckOptions(), on_step, threads):
            if isinstance(found, CheckedPaper):
                yield found

    def check_sources(
        self,
        names: Sequence[str],
        options: CheckOptions | None = None,
        *,
        read: ReadOptions | None = None,
        threads: int | None = 1,
        on_progress: Callable[[int, int | None], None] | None = None,
        on_pass_over: Callable[[Ignored], None] | None = None,
    ) -> Iterator[CheckedPaper | Rejection]:
        """Check the documents of files, folders, patterns, or standard input.

        Args:
            names: As for :meth:`ingest`.
            options: How to check them.
            read: How to read the sources.
            threads: As for :meth:`check`.
            on_progress: Called with bytes read, and bytes in all where that is known.
            on_pass_over: Called for each part of a source that is no document and shall be none.

        Yields:
            What was found in each, or why it could not be read, in their order.
        """
        from simstore.services.check.check import check_papers

        sources, _ = open_sources(names, self._read_options(read))
        papers = samples_of(sources, on_pass_over)
        expected = known_bytes(sources) if threads != 1 else 0
        chosen = options or CheckOptions()
        for found in check_papers(
            self._opened, papers, chosen, threads=threads, expected_characters=expected
        ):
            if on_progress is not None:
                on_progress(*read_so_far(sources))
            yield found
