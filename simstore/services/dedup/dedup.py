"""Give rows of files back without their near-duplicates.

First all rows are signed, and what was derived from them goes into work files; then it is decided
which are near-duplicates of which; then the inputs are read once more, as bytes, and what is kept
is written. Outputs get their names together at the end.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from simstore.errors import InvalidParameter, StorageError, printable
from simstore.errors.remedies import in_words
from simstore.model import Ignored
from simstore.outputs import (
    STANDARD_OUTPUT,
    Drafts,
    check_apart,
    check_file,
    check_no_part,
    check_output,
    is_same_file,
    is_standard_output,
)
from simstore.rows import lines
from simstore.rows.batch import DROPPED, KEPT, PASSED, Content, LineContent, RowFile, TableContent
from simstore.rows.inputs import (
    check_columns,
    check_one_output,
    check_unchanged,
    identity,
    open_rows,
)
from simstore.rows.texts import TextFile
from simstore.services.dedup import gates, stored_rows
from simstore.services.dedup.gates import Gate
from simstore.services.dedup.options import MARKS, RowObserver, RowOptions, RowSummary
from simstore.services.dedup.signed_rows import REJECTS, Reading, SignedRows, StoredKeys, sign_files
from simstore.services.dedup.verdicts import Verdicts, judge
from simstore.services.dedup.work_files import WorkFiles
from simstore.services.open_store.open_store import OpenStore
from simstore.sources.registry import is_known, named_reader
from simstore.sources.streams import base_name, is_read_once


@dataclass(frozen=True, slots=True)
class Target:
    """A file that is written, and the numbers of the inputs whose rows it holds."""

    path: Path | None
    files: tuple[int, ...]


def targets_of(
    names: Sequence[str], files: Sequence[RowFile], output: str, options: RowOptions
) -> list[Target]:
    """Return the files that are to be written; refuse what cannot be.

    Args:
        names: The inputs as they were named.
        files: The files that they mean.
        output: A file, a folder, or ``-``.
        options: Of the run.

    Raises:
        InvalidParameter: The rows cannot stand in such a file.
        OutputExists: A file is there already.
    """
    numbers = tuple(range(len(files)))
    if is_standard_output(output):
        check_one_output(files)
        return [Target(None, numbers)]
    if not is_folder(output, files):
        _check_format(output, files[0])
        check_one_output(files)
        found = [Target(Path(output), numbers)]
    else:
        _check_folder(output, files)
        found = [
            Target(Path(output, name), (number,))
            for number, name in enumerate(_names_below(names, files))
        ]
    for target in found:
        if target.path is not None:
            if any(is_same_file(target.path, file.path) for file in files):
                raise InvalidParameter(
                    f"{printable(str(target.path))} is an input; name another output"
                )
            check_file(target.path, replace=options.replace)
    return found


def _check_folder(output: str, files: Sequence[RowFile]) -> None:
    """Raise where texts are to be written to a folder that is called as a file."""
    if output.endswith(os.sep) or os.path.isdir(output):
        return
    if is_known(output):
        text = next(file for file in files if file.format == "text")
        folder, name = os.path.split(output)
        meant = os.path.join(folder, name.partition(".")[0] or "texts", "")
        reader = named_reader(base_name(output))
        is_rows = reader is not None and reader.name in ("csv", "jsonl")
        remedy = f"; --as {reader.name} reads it as rows" if reader and is_rows else ""
        raise InvalidParameter(
            f"{printable(output)} is called as a file, and {printable(text.name)} is a text: texts "
            f"are written to a folder, each to a file; name one, as {printable(meant)}{remedy}"
        )


def is_folder(output: str, files: Sequence[RowFile]) -> bool:
    """Return whether an output is a folder with a file for each input."""
    return (
        output.endswith(os.sep)
        or os.path.isdir(output)
        or any(file.format == "text" for file in files)
    )


def _names_below(names: Sequence[str], files: Sequence[RowFile]) -> list[str]:
    """Return what the file of each input is called below the folder of the output."""
    if len(names) == 1 and os.path.isdir(names[0]):
        return [os.path.relpath(file.path, names[0]) for file in files]
    base = [
        "stdin." + file.format if file.name.startswith("-") else os.path.basename(file.path)
        for file in files
    ]
    if len(set(base)) == len(base):
        return base
    common = os.path.commonpath([os.path.dirname(os.path.abspath(file.path)) for file in files])
    return [os.path.relpath(os.path.abspath(file.path), common) for file in files]


def _check_format(output: str, file: RowFile) -> None:
    """Raise where the ending of a name is that of another format."""
    reader = named_reader(base_name(output))
    if reader is not None and reader.name in lines.FORMATS and not os.path.getsize(file.path):
        # Without rows, a file is of each format of lines.
        return
    if reader is not None and reader.name != file.format:
        raise InvalidParameter(
            f"{printable(output)} would be {reader.name}, and the rows of {printable(file.name)} "
            f"are {file.format}: rows come back in the format that they have"
        )


class Writing:
    """Writes the rows of files by what was decided of them.

    Args:
        reading: The files, which were read.
        rows: Their rows.
        verdicts: What was decided.
        options: Of the run.
    """

    def __init__(
        self, reading: Reading, rows: Any, verdicts: Verdicts, options: RowOptions
    ) -> None:
        self._files = reading.files
        self._rows = rows
        self._verdicts = verdicts
        self._options = options
        self._damaged = reading.damaged
        self._bounds = np.searchsorted(rows["file"], np.arange(len(self._files) + 1)).tolist()
        kept = PASSED if options.on_reject == "keep" else DROPPED
        fates = np.where(rows["kind"] == 1, KEPT, kept)
        if not options.mark:
            fates[verdicts.dropped] = DROPPED
        self._fates = fates
        self.row_count = int(np.count_nonzero(fates != DROPPED))

    def write(
        self, targets: Sequence[Target], drafts: Drafts, observer: RowObserver
    ) -> tuple[str, ...]:
        """Write all files; return those that get a name with the drafts.

        Raises:
            StorageError: There is no room.
            UnreadableSource: An input has changed since it was read.
        """
        done, total = 0, len(self._rows)
        wanted = [target for target in targets if self._is_wanted(target)]
        marks = self._verdicts.columns if self._options.mark else ()
        for target in wanted:
            path = STANDARD_OUTPUT if target.path is None else target.path
            replaces = self._options.replace
            with (
                drafts.stream(path, replace=replaces, make_folders=True) as stream,
                self._files[target.files[0]].writer(stream, marks) as writer,
            ):
                for file in target.files:
                    for content, first, end in self._contents(file):
                        fates = self._fates[first:end].tolist()
                        writer.write(content, fates, self._marks(first, end))
                        done += end - first
                        observer.on_progress(done, total)
        return tuple(str(target.path) for target in wanted if target.path is not None)

    def _is_wanted(self, target: Target) -> bool:
        """Return whether a file has a row, or may be without: a text is there or not."""
        file = target.files[0]
        first, end = self._bounds[file], self._bounds[file + 1]
        return self._files[file].format != "text" or bool((self._fates[first:end] != DROPPED).any())

    def _contents(self, file: int) -> Iterator[tuple[Content, int, int]]:
        """Yield the content of a file's batches, and the numbers of their rows."""
        begin, stop = self._bounds[file], self._bounds[file + 1]
        spans = zip(
            self._rows["first"][begin:stop].tolist(),
            self._rows["end"][begin:stop].tolist(),
            strict=True,
        )
        for content in self._files[file].again(spans, whole=file not in self._damaged):
            end = begin + _row_count(content)
            yield content, begin, end
            begin = end

    def _marks(self, first: int, end: int) -> dict[str, list[Any]]:
        return self._verdicts.marks(first, end) if self._options.mark else {}


def log_lines(files: Sequence[RowFile], keys: StoredKeys, verdicts: Verdicts) -> Iterator[bytes]:
    """Yield a line of JSON for each row that is dropped: which, of which, and how alike.

    Args:
        files: The files.
        keys: The rows and their keys.
        verdicts: What was decided.
    """
    for row in np.flatnonzero(verdicts.dropped).tolist():
        facts, original = verdicts.told(row)
        told = {
            "key": keys.key(row),
            **_place("", files, keys.rows, row),
            **facts,
            **_place("original_", files, keys.rows, original),
        }
        yield json.dumps(told).encode() + b"\n"


def _place(prefix: str, files: Sequence[RowFile], rows: Any, row: int | None) -> dict[str, Any]:
    if row is None:
        return {f"{prefix}source": None, f"{prefix}position": None}
    file = files[int(rows["file"][row])]
    return {
        f"{prefix}source": printable(file.name),
        f"{prefix}position": int(rows["position"][row]),
    }


def _row_count(content: Content) -> int:
    if isinstance(content, LineContent):
        return len(content.spans)
    return content.batch.num_rows if isinstance(content, TableContent) else 1


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
