"""Write what is kept of rows: to one file, or to a file for each input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from simstore.errors import InvalidParameter, OutputExists, printable
from simstore.outputs import (
    check_file,
    compressed,
    is_same_file,
    is_standard_output,
    make_folder,
    publish,
)
from simstore.rows import lines
from simstore.rows.batch import DROPPED, KEPT, PASSED, Content, LineContent, RowFile, TableContent
from simstore.rows.inputs import check_one_output, check_unchanged, identity
from simstore.services.dedup.data_sets import is_data_set
from simstore.services.dedup.ledger import Ledger
from simstore.services.dedup.options import RowObserver, RowOptions
from simstore.services.dedup.signed_rows import StoredKeys
from simstore.services.dedup.verdicts import Verdicts
from simstore.sources.registry import is_known, named_reader
from simstore.sources.streams import base_name


@dataclass(frozen=True, slots=True)
class Target:
    """A file that is written, and the numbers of the inputs whose rows it holds."""

    path: Path | None
    files: tuple[int, ...]


@dataclass(slots=True)
class Written:
    """Counts of what was written."""

    rows: int = 0
    paths: list[str] = field(default_factory=list)


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
    if not is_folder(output, names, files):
        _check_format(output, files[0])
        check_one_output(files)
        found = [Target(Path(output), numbers)]
    else:
        _check_folder(output, names, files)
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
            check_file(target.path, replace=options.force)
    return found


def _check_folder(output: str, names: Sequence[str], files: Sequence[RowFile]) -> None:
    """Raise where texts are to be written to a folder that is called as a file."""
    if output.endswith(os.sep) or os.path.isdir(output) or any(map(is_data_set, names)):
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


def is_folder(output: str, names: Sequence[str], files: Sequence[RowFile]) -> bool:
    """Return whether an output is a folder with a file for each input."""
    return (
        output.endswith(os.sep)
        or os.path.isdir(output)
        or any(file.format == "text" for file in files)
        or any(map(is_data_set, names))
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
        files: The files.
        ledger: Its folder holds drafts.
        rows: The rows as the ledger has them.
        verdicts: What was decided.
        options: Of the run.
        damaged: Numbers of files that break off.
    """

    def __init__(
        self,
        files: Sequence[RowFile],
        ledger: Ledger,
        rows: Any,
        verdicts: Verdicts,
        options: RowOptions,
        damaged: Sequence[int],
    ) -> None:
        self._files = files
        self._ledger = ledger
        self._rows = rows
        self._verdicts = verdicts
        self._options = options
        self._damaged = damaged
        self._bounds = np.searchsorted(rows["file"], np.arange(len(files) + 1)).tolist()
        kept = PASSED if options.on_reject == "keep" else DROPPED
        fates = np.where(rows["kind"] == 1, KEPT, kept)
        if not options.mark:
            fates[verdicts.dropped] = DROPPED
        self._fates = fates

    def write(self, targets: Sequence[Target], observer: RowObserver) -> Written:
        """Write all files, then give them their names.

        Raises:
            StorageError: There is no room; the run can go on.
            UnreadableSource: An input has changed since it was read.
        """
        written = Written(int(np.count_nonzero(self._fates != DROPPED)))
        drafts: list[tuple[Path, Path]] = []
        done, total = 0, len(self._rows)
        for number, target in enumerate(targets):
            draft = self._ledger.state.path / f"output-{number}"
            # What cannot be written to standard output is no fault of the state.
            kept = nullcontext() if target.path is None else self._ledger.written()
            with kept, self._stream(target, draft) as stream:
                marks = self._verdicts.columns if self._options.mark else ()
                with self._files[target.files[0]].writer(stream, marks) as writer:
                    for file in target.files:
                        for content, first, end in self._contents(file):
                            fates = self._fates[first:end].tolist()
                            writer.write(content, fates, self._marks(first, end))
                            done += end - first
                            observer.on_progress(done, total)
            if target.path is not None and self._is_wanted(target):
                drafts.append((draft, target.path))
        self._publish(drafts)
        written.paths = [str(path) for _, path in drafts]
        return written

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

    @contextmanager
    def _stream(self, target: Target, draft: Path) -> Iterator[BinaryIO]:
        if target.path is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        new_file = self._ledger.state.new_file(draft.name)
        with new_file as file, compressed(file, target.path.suffix) as stream:
            yield stream

    def _publish(self, drafts: Sequence[tuple[Path, Path]]) -> None:
        is_again = self._ledger.is_publishing
        if not is_again and not self._options.force:
            for _, path in drafts:
                if os.path.lexists(path):
                    raise OutputExists(str(path))
        self._ledger.is_publishing = True
        self._ledger.checkpoint(self._ledger.last, now=True)
        with self._ledger.written():
            for draft, path in drafts:
                make_folder(path.absolute().parent)
                place = Path(os.path.realpath(path))
                publish(draft, place, replace=is_again or self._options.force)


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


def identities(files: Sequence[RowFile]) -> list[list[int]]:
    """Return what tells each file from another one in its place."""
    return [list(identity(file.path)) for file in files]


def check_inputs(files: Sequence[RowFile], known: Sequence[Sequence[int]]) -> None:
    """Raise where a file has changed since the run began."""
    for file, one in zip(files, known, strict=True):
        check_unchanged(file, one)


def _row_count(content: Content) -> int:
    if isinstance(content, LineContent):
        return len(content.spans)
    return content.batch.num_rows if isinstance(content, TableContent) else 1
