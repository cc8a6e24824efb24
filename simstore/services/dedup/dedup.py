"""Give rows of files back without their near-duplicates.

First all rows are signed, and what was made of them is kept in a ledger beside the output; then it
is decided which are near-duplicates of which; then the inputs are read once more, as bytes, and
what is kept is written. A run that is interrupted goes on from the last checkpoint.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from simstore.errors import InvalidParameter, SimstoreError, StorageError, printable
from simstore.errors.remedies import in_words
from simstore.model import Ignored
from simstore.outputs import (
    StateFolder,
    check_apart,
    check_no_part,
    check_output,
    is_standard_output,
    written,
)
from simstore.rows.batch import RowFile
from simstore.rows.inputs import check_columns, open_rows
from simstore.rows.texts import TextFile
from simstore.services.dedup import gates, signed_rows, stored_rows
from simstore.services.dedup.data_sets import sidecars, write_sidecars
from simstore.services.dedup.gates import Gate
from simstore.services.dedup.ledger import Ledger
from simstore.services.dedup.options import MARKS, RowObserver, RowOptions, RowSummary
from simstore.services.dedup.outputs import (
    Target,
    Writing,
    check_inputs,
    identities,
    log_lines,
    targets_of,
)
from simstore.services.dedup.signed_rows import REJECTS, Reading, SignedRows, StoredKeys, sign_files
from simstore.services.dedup.verdicts import Verdicts, judge
from simstore.services.open_store.open_store import OpenStore
from simstore.sources.streams import is_read_once

_VERSION = 2
_NOTHING_BESIDE: Mapping[str, str | None] = {}
# Options that change neither what is read nor what is decided.
_OF_THE_WRITING = ("force", "threads", "mark", "on_reject")


def dedup_files(
    names: Sequence[str],
    output: str,
    options: RowOptions,
    observer: RowObserver,
    *,
    store: OpenStore | None = None,
    gate: Gate | None = None,
    beside: Mapping[str, str | None] = _NOTHING_BESIDE,
    finish: Callable[[], None] = lambda: None,
) -> RowSummary:
    """Write the rows of files without their near-duplicates.

    Args:
        names: Files, folders, patterns; ``-`` or a pipe.
        output: A file, a folder (that is there, or ends in a slash), or ``-``.
        options: Of the run.
        observer: Hears of what happens.
        store: The store whose documents come before all rows, and to which those that are kept are
            added; None: none.
        gate: What decides of rows instead, and takes none; None: the rule of clusters.
        beside: Other files that the caller writes, by what they are called.
        finish: Writes these, when the outputs have their names; where it raises, or the process
            ends before, the same command goes on.

    Raises:
        InvalidParameter: An option is out of its range, or asks for what cannot be done; or the
            columns of an input hold no text.
        OutputExists: An output is there already.
        Conflict: Another run left its state, or is under way.
        StorageError: There is no such folder; or no room, and the same command goes on.
        UnreadableSource: An input has changed since it was read.
    """
    check_run(names, output, options, has_store=store is not None, beside=beside)
    if store is not None:
        stored_rows.check_store(store, options)
        if store.database.given is not None:
            for path in filter(None, (output, options.log, options.rejects)):
                check_no_part(path, store.database.given)
    is_once = any(map(is_read_once, names))
    with ExitStack() as stack:
        folder, is_kept = _folder(stack, output, is_once=is_once)
        state = stack.enter_context(StateFolder(folder))
        try:
            files = _opened(names, options, observer, state if is_once else None)
            begun = _begun(files, output, options, store, gate, beside)
            names_of_state = _files_of(store, gate)
            ledger = stack.enter_context(
                Ledger(state, begun, names_of_state, anew=not is_kept, force=options.force)
            )
            # An interrupted run may have given some of its files their names already.
            replaces = options.force or ledger.is_publishing
            targets = targets_of(names, files, output, replace(options, force=replaces))
            _check_apart(files, targets, options, beside)
            for one in (options.log, options.rejects, *beside.values(), *sidecars(names, output)):
                if one is not None:
                    check_output(one, replace=replaces)
            check_columns(files)
            _check_marks(files, options, MARKS if gate is None else gate.columns)
        except SimstoreError:
            if state.is_new:
                state.remove()
            raise
        resumed_at = Reading.of(ledger.last).row_count
        summary = _run(
            names, files, targets, ledger, begun, options, observer, store, gate, output, resumed_at
        )
        finish()
        ledger.remove()
    return summary


def check_run(
    names: Sequence[str],
    output: str,
    options: RowOptions,
    *,
    has_store: bool,
    beside: Mapping[str, str | None] = _NOTHING_BESIDE,
) -> None:
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
        beside: Other files that the caller writes, by what they are called.

    Raises:
        InvalidParameter: The policy needs all rows at once, and they come one by one; or an option
            is one that the store decides; or two outputs are one file, or one is an input.
        OutputExists: The log, the file of rejected rows, or one beside them is there already.
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
    others = {"log": options.log, "rejects": options.rejects, **beside}
    files = [name for name in names if not os.path.isdir(name)]
    check_apart({"output": output, **others}, files)
    if not is_standard_output(output):
        check_apart({"state of the run": _state_of(output), **others})
    for path in (output, *others.values()):
        if path is not None and not is_standard_output(path):
            parent = os.path.dirname(path.rstrip(os.sep))
            if parent and not os.path.isdir(parent):
                raise StorageError(
                    f"{printable(path)} cannot be written: there is no folder {printable(parent)}"
                )
    for path in others.values():
        if path is not None:
            check_output(path, replace=options.force or os.path.exists(_state_of(output)))


def _opened(
    names: Sequence[str], options: RowOptions, observer: RowObserver, spool: StateFolder | None
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


def _run(
    names: Sequence[str],
    files: Sequence[RowFile],
    targets: Sequence[Target],
    ledger: Ledger,
    begun: dict[str, Any],
    options: RowOptions,
    observer: RowObserver,
    store: OpenStore | None,
    gate: Gate | None,
    output: str,
    resumed_at: int,
) -> RowSummary:
    rule = options.rule()
    replaces = options.force or ledger.is_publishing
    observer.on_stage("read")
    verdicts: Verdicts
    keys: StoredKeys
    if gate is not None:
        reading, keys, verdicts = gates.judge_by_gate(gate, files, ledger, observer)
    elif store is None:
        reading = sign_files(files, ledger, rule, options, observer)
        observer.on_stage("compare")
        signed = SignedRows(ledger, rule.recipe.sketching.values)
        verdicts = judge(signed, rule, observer.on_progress)
        keys = signed
    else:
        reading, keys, verdicts = stored_rows.judge_by_store(
            store, files, ledger, options, observer
        )
    check_inputs(files, begun["identities"])
    observer.on_stage("write")
    writing = Writing(files, ledger, keys.rows, verdicts, options, reading.damaged)
    made = writing.write(targets, observer)
    check_inputs(files, begun["identities"])
    if not is_standard_output(output):
        write_sidecars(names, output, options, replace=replaces)
    if options.log is not None:
        with _written(options.log, replace=replaces) as stream:
            stream.writelines(log_lines(files, keys, verdicts))
    if options.rejects is not None:
        with _written(options.rejects, replace=replaces) as stream, ledger.opened(REJECTS) as lines:
            while data := lines.read(1 << 20):
                stream.write(data)
    rejected = int(np.count_nonzero(keys.rows["kind"] == 0))
    dropped = int(np.count_nonzero(verdicts.dropped))
    return RowSummary(
        read=len(keys),
        kept=len(keys) - rejected - dropped,
        dropped=dropped,
        rejected=rejected + len(reading.damaged),
        clusters=verdicts.cluster_count,
        most_differing=verdicts.most_differing,
        written=made.rows,
        resumed_at=resumed_at,
        outputs=tuple(made.paths),
    )


def _state_of(output: str) -> Path:
    """Return where the state of a run is, beside its output."""
    path = Path(output.rstrip(os.sep) or os.sep)
    return path.with_name(f"{path.name}.partial")


def _folder(stack: ExitStack, output: str, *, is_once: bool) -> tuple[Path, bool]:
    """Return the folder of the state, and whether another run can go on with it."""
    if is_standard_output(output):
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="simstore-"))
        return Path(made, "state"), False
    # What comes by a pipe comes once: nobody can say whether it is the same again.
    return _state_of(output), not is_once


def _files_of(store: OpenStore | None, gate: Gate | None) -> tuple[str, ...]:
    if gate is not None:
        return gates.FILES
    return signed_rows.FILES if store is None else stored_rows.FILES


def _begun(
    files: Sequence[RowFile],
    output: str,
    options: RowOptions,
    store: OpenStore | None,
    gate: Gate | None,
    beside: Mapping[str, str | None],
) -> dict[str, Any]:
    """Return what a run has in common with one that goes on with it."""
    chosen = {name: value for name, value in asdict(options).items() if name not in _OF_THE_WRITING}
    return {
        "simstore_dedup": _VERSION,
        "output": output,
        "files": [[file.name, file.format] for file in files],
        "identities": identities(files),
        "options": chosen | {"least": options.least},
        "beside": dict(beside),
        "store": None if store is None else str(store.database.url),
        "gate": None if gate is None else [gate.name, gate.keep, *gate.version],
    }


def _check_apart(
    files: Sequence[RowFile],
    targets: Sequence[Target],
    options: RowOptions,
    beside: Mapping[str, str | None],
) -> None:
    """Refuse a log, or the like, that is one of the files that are read or written."""
    others = {"log": options.log, "rejects": options.rejects, **beside}
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


@contextmanager
def _written(path: str, *, replace: bool) -> Iterator[BinaryIO]:
    """Yield a stream for what is written beside the output, which has its name by now."""
    try:
        with written(path, replace=replace) as stream:
            yield stream
    except StorageError as error:
        raise StorageError(
            f"{error}; once it can be, the same command goes on where it was"
        ) from error
