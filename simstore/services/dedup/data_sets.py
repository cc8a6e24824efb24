"""Data sets of Hugging Face on disk: the files beside their Arrow tables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from simstore.outputs import is_standard_output, make_folder, write_file
from simstore.services.dedup.options import MARKS, RowOptions

_STATE, _INFO, _SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
# What tells of rows that are not all there any more.
_OF_ALL_ROWS = ("splits", "dataset_size", "size_in_bytes", "download_size", "download_checksums")
_TYPES = {"duplicate_of": "string", "resemblance": "float64", "cluster": "int64"}


def sidecars(names: Sequence[str], output: str) -> list[Path]:
    """Return the files next to the Arrow tables of the output, if the one input is a data set.

    Args:
        names: The inputs as they were named.
        output: The folder of the output.
    """
    if len(names) != 1 or is_standard_output(output):
        return []
    return [Path(output) / path.relative_to(names[0]) for path in _sidecars(Path(names[0]))]


def write_sidecars(
    names: Sequence[str], output: str, options: RowOptions, *, replace: bool
) -> None:
    """Write what makes a folder of Arrow files a data set, if the one input is one.

    Args:
        names: The inputs as they were named.
        output: The folder of the output.
        options: Of the run.
        replace: The files may take the place of files that are there.
    """
    for target in sidecars(names, output):
        path = Path(names[0]) / target.relative_to(output)
        told = json.loads(path.read_text("utf-8"))
        if path.name == _STATE:
            told["_fingerprint"] = uuid4().hex[:16]
            told["_format_columns"] = None
        elif path.name == _INFO:
            told = _info(told, options)
        make_folder(target.absolute().parent)
        write_file(target, json.dumps(told, indent=2).encode(), replace=replace)


def _sidecars(folder: Path) -> Iterator[Path]:
    if (folder / _SPLITS).is_file():
        yield folder / _SPLITS
        for split in sorted(folder.iterdir()):
            yield from _sidecars(split)
    elif (folder / _STATE).is_file():
        yield from (folder / name for name in (_STATE, _INFO) if (folder / name).is_file())


def is_data_set(name: str) -> bool:
    """Return whether a folder is a data set, or several splits of one."""
    return any(os.path.isfile(os.path.join(name, one)) for one in (_STATE, _SPLITS))


def _info(told: dict[str, Any], options: RowOptions) -> dict[str, Any]:
    kept = {name: value for name, value in told.items() if name not in _OF_ALL_ROWS}
    if options.mark and isinstance(kept.get("features"), dict):
        added = {name: {"dtype": _TYPES[name], "_type": "Value"} for name in MARKS}
        kept["features"] = kept["features"] | added
    return kept
