"""Faults that are put into the package on purpose, to see that a campaign finds them.

Each function is one fault. It changes attributes of modules and classes by a function as
``setattr``, so that a test can take it back, and a process of its own can have it from its start.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import simstore.services.channels.pack_sketches as pack
import simstore.services.fsck.fsck as fsck
from simstore import outputs
from simstore.index import postings
from simstore.storage.dialects import sqlite_file

Put = Callable[[Any, str, object], None]
_ROOT = Path(__file__).resolve().parents[2]


def write_start(folder: Path, plant: Callable[[Put], None]) -> None:
    """Write the module that each Python imports at its start, with a fault.

    Processes have the fault whose variable ``PYTHONPATH`` names the folder, and so have those that
    they start.

    Args:
        folder: A new folder.
        plant: One of the faults of this module.
    """
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        f"import sys\nsys.path[:0] = [{str(_ROOT)!r}]\n"
        f"from tests.torture import plants\nplants.{plant.__name__}(setattr)\n"
    )


def commit_without_sync(put: Put) -> None:
    """A commit to a file is acknowledged before it is on the disk."""
    whole = sqlite_file.SqliteFile.__init__

    def made(self: Any, *arguments: Any, **options: Any) -> None:
        whole(self, *arguments, **options | {"synchronous": "off"})

    put(sqlite_file.SqliteFile, "__init__", made)


def draft_without_sync(put: Put) -> None:
    """A file that was written gets its name before its content is on the disk."""
    put(outputs, "_make_durable", lambda path, permissions: os.chmod(path, permissions))


def name_without_sync(put: Put) -> None:
    """A file that was written has its name, and the folder is not synced."""
    put(outputs, "sync_folder", lambda _: None)


def journals_unchecked(put: Put) -> None:
    """A file with the name of a journal is deleted, whoever wrote it."""
    put(outputs, "check_journals", lambda _: None)


def commit_error_swallowed(put: Put) -> None:
    """A commit that fails is passed over."""

    class Careless(sqlite3.Connection):
        def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
            try:
                return super().execute(sql, *rest)
            except sqlite3.OperationalError:
                if sql != "COMMIT":
                    raise
                self.rollback()
                return self.cursor()

    whole = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        if options.get("factory", sqlite3.Connection) is sqlite3.Connection:
            options["factory"] = Careless
        return whole(*arguments, **options)

    put(sqlite3, "connect", connect)


def write_error_swallowed(put: Put) -> None:
    """A file of which the content cannot be written is given its name all the same."""
    whole = outputs.compressed

    @contextmanager
    def careless(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
        held = BytesIO()
        with whole(held, suffix) as stream:
            yield stream
        with suppress(OSError):
            os.write(file.fileno(), held.getvalue())

    put(outputs, "compressed", careless)


def short_pages(put: Put) -> None:
    """The last entry of a row of an index is not packed."""
    whole = postings.pack

    def short(entries: Any, shape: Any) -> Iterator[tuple[int, bytes]]:
        size = shape.entry_bytes
        for place, row in whole(entries, shape):
            yield place, row[:-size] if len(row) > size else row

    put(postings, "pack", short)


def short_unpacked_pages(put: Put) -> None:
    """The last entry of the last row of an index is not unpacked."""
    whole = postings.unpack
    put(postings, "unpack", lambda *given: whole(*given).chosen(np.s_[:-1]))


def short_band_runs(put: Put) -> None:
    """The last entry of sketches that are packed together is left out."""
    whole = pack.sketch_entries
    put(pack, "sketch_entries", lambda *given: whole(*given).chosen(np.s_[:-1]))


def check_without_clusters(put: Put) -> None:
    """A check of a store does not look at kept clusters."""
    put(fsck, "_check_clusters", lambda _: iter(()))


def collection_ignored(put: Put) -> None:
    """``Store.query`` ignores the collection."""
    from simstore import Store

    whole = Store.query

    def query(self: Any, text: str, *, collection: str | None = None, **options: Any) -> Any:
        return whole(self, text, **options)

    put(Store, "query", query)


def radius_exclusive(put: Put) -> None:
    """A store finds fingerprints within less than the radius."""
    from simstore.search import hamming
    from simstore.services.channels import fingerprint_index

    whole, of_one = hamming.verify, fingerprint_index.verify_values
    put(hamming, "verify", lambda *given: whole(*given[:2], given[2] - 1))
    put(fingerprint_index, "verify_values", lambda *given: of_one(*given[:2], given[2] - 1))


def removal_not_sent(put: Put) -> None:
    """``Client.remove`` sends no request."""
    from simstore import Client

    put(Client, "remove", lambda _, *keys, **__: len(keys))


def outcome_not_counted(put: Put) -> None:
    """The reply to a write over HTTP does not count skipped documents."""
    from simstore.server.routes import documents

    put(documents, "OUTCOMES", tuple(one for one in documents.OUTCOMES if one != "skipped"))


def every_error_is_usage(put: Put) -> None:
    """Each error of the command line ends with exit code 2."""
    from simstore.cli import commands

    whole = commands.fail
    put(commands, "fail", lambda message, _, **options: whole(message, 2, **options))
