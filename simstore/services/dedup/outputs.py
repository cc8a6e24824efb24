"""Write what is kept of rows: to one file, or to a file for each input."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simstore.errors import InvalidParameter, printable
from simstore.outputs import (
    STANDARD_OUTPUT,
    Drafts,
    check_file,
    is_same_file,
    is_standard_output,
)
from simstore.rows import lines
from simstore.rows.batch import DROPPED, KEPT, PASSED, Content, LineContent, RowFile, TableContent
from simstore.rows.inputs import check_one_output
from simstore.services.dedup.options import RowObserver, RowOptions
from simstore.services.dedup.signed_rows import Reading, StoredKeys
from simstore.services.dedup.verdicts import Verdicts
from simstore.sources.registry import is_known, named_reader
from simstore.sources.streams import base_name


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
