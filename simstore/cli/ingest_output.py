"""Output shared by commands that ingest: progress, messages, signals, and the summary."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from simstore.cli.interrupts import uninterruptible
from simstore.cli.key_options import warn_of_changes
from simstore.cli.messages import log, shows_bars
from simstore.cli.output import clock_text, progress
from simstore.cli.progress_bars import bar_of, ingest_columns, start
from simstore.cli.remote import server_url
from simstore.cli.results import print_summary
from simstore.cli.source_options import DECODED, PASSED_OVER, log_ignored, with_remedy
from simstore.errors import counted, printable

if TYPE_CHECKING:
    from simstore.model import (
        Decoding,
        Duplicate,
        Ignored,
        IngestProgress,
        IngestSummary,
        Outcome,
        Rejection,
    )
    from simstore.services.ingest.ingest import Observer

_SHOWN = 10
_FOUND_BY = {
    "same": "the same text",
    "text": "the texts",
    "sketch": "the sketches",
    "distance": "the fingerprints",
}
_SECONDS_BETWEEN_LINES = 10.0
# A read that does not end by itself is given up so long after a signal.
_READING_SECONDS = 0.5
Show = Callable[["IngestProgress"], None]


def ingest_observed(
    run: Callable[[Observer], IngestSummary], stopping: StopOnSignal
) -> IngestSummary:
    """Ingest, and tell what happens.

    Args:
        run: What ingests.
        stopping: As :func:`stop_on_signal` yields it.
    """
    from simstore.services.ingest.ingest import Observer

    rejects = _Shown("%d more; `simstore rejects` shows all" if server_url() is None else "%d more")
    parts = _Shown("%d more were passed over; -v names them")

    def on_reject(rejection: Rejection) -> None:
        if rejects.has_room():
            log.warning(
                "rejected: %s, record %d (byte %d): %s",
                printable(rejection.source),
                rejection.position,
                rejection.byte_offset,
                with_remedy(rejection.reason),
                extra=_facts(source=rejection.source, record=rejection.position, state="rejected"),
            )

    def on_pass_over(part: Ignored) -> None:
        if part.is_source or parts.has_room():
            log_ignored(part)
        else:
            log.debug(PASSED_OVER, printable(part.source), with_remedy(part.reason))

    def on_decoding(key: str, decoding: Decoding) -> None:
        log.debug(DECODED, printable(key), decoding)

    def on_document(key: str, outcome: Outcome) -> None:
        # Of the others it is told what they duplicate.
        if outcome not in ("flagged", "skipped"):
            log.debug("%s: %s", printable(key), outcome, extra=_facts(key=key, state=outcome))

    def on_duplicate(key: str, original: str) -> None:
        log.debug(
            "%s: exact duplicate of %s",
            printable(key),
            printable(original),
            extra=_facts(key=key, state="exact duplicate", original=original),
        )

    def on_found(one: Duplicate) -> None:
        facts = [] if one.distance is None else [f"distance {one.distance}"]
        if one.resemblance is not None:
            facts.append(f"resemblance {one.resemblance:.3f}")
        log.debug(
            "%s: %s as a duplicate of %s (%s, by %s)",
            printable(one.key),
            one.state,
            printable(one.original),
            ", ".join(facts),
            _FOUND_BY[one.basis],
            extra=_facts(key=one.key, state=one.state, original=one.original),
        )

    def on_displaced(one: Duplicate) -> None:
        log.debug(
            "%s: an original until now, %s as a duplicate of %s, which comes before it",
            printable(one.key),
            one.state,
            printable(one.original),
        )

    with ingest_progress() as show, progress("refresh", at_once=False) as show_refresh:

        def on_progress(state: IngestProgress) -> None:
            show(state)
            log.debug(
                "%s: %s committed",
                printable(state.source),
                counted(state.document_count, "document"),
            )

        observer = Observer(
            on_progress=on_progress,
            on_reject=on_reject,
            on_document=on_document,
            on_duplicate=on_duplicate,
            on_refresh=show_refresh,
            should_stop=lambda: bool(stopping),
            on_found=on_found,
            on_pass_over=on_pass_over,
            reading=stopping.reading,
            on_decoding=on_decoding,
            on_displaced=on_displaced,
        )
        summary = run(observer)
    rejects.log_rest(log.warning)
    parts.log_rest(log.info)
    return summary


def _facts(**facts: Any) -> dict[str, Any]:
    """Return what a message has besides with ``--log-json``: names are printable."""
    shown = {n: printable(value) if isinstance(value, str) else value for n, value in facts.items()}
    return {"facts": shown}


class _Shown:
    """Counts messages of one kind, of which only the first few are shown.

    Args:
        rest: What is said of the others, with their number.
    """

    def __init__(self, rest: str) -> None:
        self._rest = rest
        self._count = 0

    def has_room(self) -> bool:
        """Count one; return whether it is to be shown."""
        self._count += 1
        return self._count <= _SHOWN

    def log_rest(self, tell: Callable[..., None]) -> None:
        """Say how many were not shown, where there are any."""
        if self._count > _SHOWN:
            tell(f"... and {self._rest}", self._count - _SHOWN)


class StopOnSignal(list[int]):
    """The signals that ask a command to stop, and whether it may be interrupted meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.is_reading = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let a signal interrupt what is done inside: nothing of it is acknowledged yet."""
        self.is_reading = True
        try:
            yield
        finally:
            self.is_reading = False


@contextmanager
def stop_on_signal() -> Iterator[StopOnSignal]:
    """Yield what a first SIGINT or SIGTERM fills; a second one interrupts at once.

    After the first, a batch that is written is finished; reading that goes on for longer than half
    a second, or waits for a pipe, is interrupted.
    """
    received = StopOnSignal()

    def note(number: int, _frame: Any) -> None:
        if received:
            raise KeyboardInterrupt(number)
        received.append(number)
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, _READING_SECONDS, _READING_SECONDS)
        log.warning("stopping at the end of this batch; once more stops at once")

    def interrupt(_number: int, _frame: Any) -> None:
        if received.is_reading:
            raise KeyboardInterrupt(received[0])

    with uninterruptible():
        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        # A caller may have a timer of its own, which runs on unless a signal comes.
        alarm = signal.getsignal(signal.SIGALRM)
        try:
            yield received
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if received:
                signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarm)


def report(summary: IngestSummary, stopping: StopOnSignal, output_format: str) -> None:
    """Print what a run did, and exit as it asks for."""
    for name, position in summary.resumed_at.items():
        log.info("%s: went on after record %d", printable(name), position)
    flagged = f"{summary.flagged:,} flagged, " if summary.flagged else ""
    skipped = f"{summary.skipped:,} skipped, " if summary.skipped else ""
    lines = [
        f"{summary.added:,} added, {summary.updated:,} updated, {summary.unchanged:,} unchanged, "
        f"{flagged}{skipped}{counted(summary.identical_texts, 'exact duplicate')}, "
        f"{summary.rejected:,} rejected"
    ]
    if summary.passed_over:
        lines.append(f"{summary.passed_over:,} passed over")
    lines += [
        f"{count:,} decoded as {encoding.upper()} by detection"
        for encoding, count in sorted(summary.detected.items())
    ]
    record = asdict(summary)
    for name in ("repeated_keys", "other_folder_keys"):
        record[name] = [printable(key) for key in record[name]]
    record["resumed_at"] = {printable(name): at for name, at in summary.resumed_at.items()}
    print_summary(record, "\n".join(lines), output_format)
    if summary.repeated:
        log.warning(
            "%s the key of an earlier record of this command and took its place (first keys: %s); "
            "only the last text of a key is stored: `--key-field` names another field",
            counted(summary.repeated, "record has", "records have"),
            ", ".join(map(printable, summary.repeated_keys)),
        )
    if summary.other_folder:
        log.warning(
            "%s replaced by files of the same relative names in another folder (first keys: %s); "
            "to store both, name files by absolute paths, or use a store for each folder",
            counted(summary.other_folder, "document was", "documents were"),
            ", ".join(map(printable, summary.other_folder_keys)),
        )
    warn_of_changes(
        orphaned=summary.orphaned,
        uncovered=summary.uncovered,
        unflagged=summary.unflagged,
        displaced=summary.displaced,
    )
    if summary.undecodable:
        log.warning(
            "%s bytes that could not be read in their encoding; "
            "`simstore show KEY` tells how many (replaced_bytes)",
            counted(summary.undecodable, "document holds", "documents hold"),
        )
    if summary.markup:
        log.warning(
            "%s HTML, and it is stored as it is: tags and scripts count as words "
            "(--extract applies only to files of web pages)",
            counted(summary.markup, "text holds", "texts hold"),
        )
    if summary.interrupted:
        log.warning("interrupted; all of the above is committed: the same command again goes on")
        raise SystemExit(128 + stopping[0])
    if summary.rejected and server_url() is not None:
        log.warning("a server keeps no rejected records; what is wrong with them is said above")
        raise SystemExit(5)
    if summary.rejected:
        log.warning("`simstore rejects` shows what was rejected, and why")
        raise SystemExit(5)


@contextmanager
def ingest_progress() -> Iterator[Show]:
    """Show how far an ingest is: a bar on a terminal, else a line every ten seconds."""
    if not shows_bars():
        lines = ProgressLines(time.monotonic, lambda line: log.info("%s", line))
        yield lines.show
        return
    with bar_of(*ingest_columns()) as bar:
        start(bar)
        task = bar.add_task("", total=None)

        def show(state: IngestProgress) -> None:
            rejected = f", {state.rejected:,} rejected" if state.rejected else ""
            bar.update(
                task,
                completed=state.byte_count,
                total=state.total_bytes,
                description=f"{counted(state.document_count, 'document')}{rejected}",
            )

        yield show


class ProgressLines:
    """Says in lines how far an ingest is, now and then.

    Args:
        clock: Gives seconds.
        say: What a line is given to.
    """

    def __init__(self, clock: Callable[[], float], say: Callable[[str], None]) -> None:
        self._clock = clock
        self._say = say
        self._began = self._said = clock()

    def show(self, state: IngestProgress) -> None:
        """Say a line, if the last one was said ten seconds ago."""
        now = self._clock()
        if now - self._said < _SECONDS_BETWEEN_LINES:
            return
        self._said = now
        seconds = now - self._began
        rate = state.byte_count / seconds
        parts = [f"{_megabytes(state.byte_count)} MB"]
        if state.total_bytes:
            share = 100 * state.byte_count // state.total_bytes
            parts = [f"{parts[0]} of {_megabytes(state.total_bytes)} MB ({share} %)"]
        parts.append(f"{_megabytes(rate)} MB/s")
        parts.append(counted(state.document_count, "document"))
        parts.append(f"{state.document_count / seconds:,.0f}/s")
        parts.append(f"{state.rejected:,} rejected")
        if state.total_bytes and rate:
            left = max(state.total_bytes - state.byte_count, 0) / rate
            parts.append(f"{clock_text(left)} left")
        self._say(f"ingest: {', '.join(parts)}")


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.1f}"
