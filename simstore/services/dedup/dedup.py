"""Give rows of files back without their near-duplicates.

First all rows are signed, and what was derived from them goes into work files; then it is decided
which are near-duplicates of which; then the inputs are read once more, as bytes, and what is kept
is written. Outputs get their names together at the end.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from simstore.errors import InvalidParameter, StorageError, printable
from simstore.errors.remedies import in_words
from simstore.model import Ignored
from simstore.outputs import (
    Drafts,
    check_apart,
    check_no_part,
    check_output,
    is_standard_output,
)
from simstore.rows.batch import RowFile
from simstore.rows.inputs import check_columns, check_unchanged, identity, open_rows
from simstore.rows.texts import TextFile
from simstore.services.dedup import gates, stored_rows
from simstore.services.dedup.gates import Gate
from simstore.services.dedup.options import MARKS, RowObserver, RowOptions, RowSummary
from simstore.services.dedup.outputs import Target, Writing, log_lines, targets_of
from simstore.services.dedup.signed_rows import REJECTS, Reading, SignedRows, StoredKeys, sign_files
from simstore.services.dedup.verdicts import Verdicts, judge
from simstore.services.dedup.work_files import WorkFiles
from simstore.services.open_store.open_store import OpenStore
from simstore.sources.streams import is_read_once

_PIECE = 1 << 20


def dedup_files(
    names: Sequence[str],
    output: str,
    options: RowOptions,
    observer: RowObserver,
    *,
    store: OpenStore | None = None,
    gate: Gate | None = None,
) -> RowSummary:
    """Write the rows of files without their near-duplicates.

    Args:
        names: Files, folders, patterns; ``-`` or a pipe.
        output: A file, a folder (that is there, or ends in a slash), or ``-``.
        options: Of the run.
        observer: Called with what happens.
        store: The store whose documents come before all rows, and to which those that are kept are
            added; None: none.
        gate: What decides of rows instead, and takes none; None: the rule of clusters.

    Raises:
        InvalidParameter: An option is out of its range, or asks for what cannot be done; or the
            columns of an input hold no text.
        OutputExists: An output is there already.
        StorageError: There is no such folder, or no room.
        UnreadableSource: An input has changed since it was read.
    """
    check_run(names, output, options, has_store=store is not None)
    if store is not None:
        stored_rows.check_store(store, options)
        if store.database.given is not None:
            for path in filter(None, (output, options.log, options.rejects)):
                check_no_part(path, store.database.given)
    with ExitStack() as stack:
        drafts = stack.enter_context(Drafts())
        folder = None if is_standard_output(output) else _folder_of(output)

        def spool() -> Path:
            return drafts.beside((folder or Path(gettempdir())) / "simstore-input")

        files = _opened(names, options, observer, spool)
        known = [identity(file.path) for file in files]
        targets = targets_of(names, files, output, options)
        _check_apart(files, targets, options)
        check_columns(files)
        _check_marks(files, options, MARKS if gate is None else gate.columns)
        work = stack.enter_context(WorkFiles(folder))
        reading = Reading(files, observer)
        mark = stored_rows.run_mark(names, output)
        observer.on_stage("read")
        keys, verdicts = _judged(reading, work, options, store, gate, mark)
        _check_unchanged(files, known)
        observer.on_stage("write")
        writing = Writing(reading, keys.rows, verdicts, options)
        paths = writing.write(targets, drafts, observer)
        _check_unchanged(files, known)
        if options.log is not None:
            with drafts.stream(options.log, replace=options.replace) as stream:
                stream.writelines(log_lines(files, keys, verdicts))
        if options.rejects is not None:
            with drafts.stream(options.rejects, replace=options.replace) as stream:
                rejected_rows = work.stream(REJECTS)
                while data := rejected_rows.read(_PIECE):
                    stream.write(data)
        drafts.publish()
        if store is not None:
            stored_rows.mark_written(store, mark)
        rejected = int(np.count_nonzero(keys.rows["kind"] == 0))
        dropped = int(np.count_nonzero(verdicts.dropped))
        return RowSummary(
            read=len(keys),
            kept=len(keys) - rejected - dropped,
            dropped=dropped,
            rejected=rejected + len(reading.damaged),
            clusters=verdicts.cluster_count,
            most_differing=verdicts.most_differing,
            written=writing.row_count,
            outputs=paths,
        )


def check_run(names: Sequence[str], output: str, options: RowOptions, *, has_store: bool) -> None:
    """Refuse a run that cannot be done, before anything is read or made.

    >>> from simstore.services.dedup.dedup import check_run
    >>> from simstore.services.dedup.options import RowOptions
    >>> check_run(["day.jsonl"], "new.jsonl", RowOptions(policy="longest"), has_store=True)
    Traceback (most recent call last):
    simstore.errors.InvalidParameter: the policy longest reads all rows before the first ...

    Args:
        names: The inputs as they were named.
        output: A file, a folder, or ``-``.
        options: Of the run.
        has_store: Rows are added to a store.

    Raises:
        InvalidParameter: The policy needs all rows at once, and they come one by one; or an option
            is one that the store decides; or two outputs are one file, or one is an input.
        OutputExists: The log or the file of rejected rows is there already.
        StorageError: The folder of a file that is to be written does not exist.
    """
    order = options.rule().order
    if has_store:
        options.check_stored()
    if order.name != "first" and (has_store or any(map(is_read_once, names))):
        what = "a store" if has_store else "standard input and pipes"
        raise InvalidParameter(
            f"the policy {order} reads all rows before the first is written, which {what} "
            "cannot do here: choose first, or give files and no store"
        )
    others = {"log": options.log, "rejects": options.rejects}
    files = [name for name in names if not os.path.isdir(name)]
    check_apart({"output": output, **others}, files)
    for path in (output, *others.values()):
        if path is not None and not is_standard_output(path):
            parent = os.path.dirname(path.rstrip(os.sep))
            if parent and not os.path.isdir(parent):
                raise StorageError(
                    f"{printable(path)} cannot be written: there is no folder {printable(parent)}"
                )
    for path in others.values():
        if path is not None:
            check_output(path, replace=options.replace)


def _opened(
    names: Sequence[str], options: RowOptions, observer: RowObserver, spool: Callable[[], Path]
) -> list[RowFile]:
    """Return the files of rows that are meant."""
    files, passed_over = open_rows(names, options.read, spool)
    for name in passed_over:
        observer.on_pass_over(Ignored(name, 0, 0, 0, "its type is not known", is_source=True))
    for file in files:
        if isinstance(file, TextFile) and file.looks_like is not None:
            observer.on_doubt(
                f"{printable(file.name)}: taken as one text; "
                + in_words(f"--as {file.looks_like} takes its lines as rows")
            )
    if not files:
        raise InvalidParameter("there is no file with rows to read")
    return files


def _judged(
    reading: Reading,
    work: WorkFiles,
    options: RowOptions,
    store: OpenStore | None,
    gate: Gate | None,
    mark: str,
) -> tuple[StoredKeys, Verdicts]:
    """Return the rows of files, and the decision about each."""
    if gate is not None:
        return gates.judge_by_gate(gate, reading, work)
    if store is not None:
        return stored_rows.judge_by_store(store, reading, work, options, mark)
    rule = options.rule()
    sign_files(reading, work, rule, options)
    reading.observer.on_stage("compare")
    signed = SignedRows(work, rule.recipe.sketching.values)
    return signed, judge(signed, rule, reading.observer.on_progress)


def _folder_of(output: str) -> Path:
    """Return the folder in whose file system an output is written."""
    path = Path(output).absolute()
    return path if path.is_dir() else path.parent


def _check_unchanged(files: Sequence[RowFile], known: Sequence[tuple[int, int, int]]) -> None:
    """Raise UnreadableSource if a file has changed since the run began."""
    for file, one in zip(files, known, strict=True):
        check_unchanged(file, one)


def _check_apart(files: Sequence[RowFile], targets: Sequence[Target], options: RowOptions) -> None:
    """Refuse a log, or the like, that is one of the files that are read or written."""
    others = {"log": options.log, "rejects": options.rejects}
    if any(others.values()):
        check_apart(others, [file.path for file in files])
        for target in targets:
            check_apart({"output": target.path, **others})


def _check_marks(files: Sequence[RowFile], options: RowOptions, columns: Sequence[str]) -> None:
    """Refuse columns that are there already, before anything is read."""
    if options.mark:
        for file in files:
            with file.writer(io.BytesIO(), columns):
                pass
