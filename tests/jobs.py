"""What children of the nursery do. Each function is one process."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import second_migration

from simstore import Store
from simstore.cli import main
from simstore.cli.simtool import main as simtool_main
from simstore.errors import SimstoreError
from simstore.index import tuning
from simstore.model import Document, QueryOptions
from simstore.services.channels import pack_fingerprints as pack_service
from simstore.services.check import passage_index as passage_service
from simstore.services.clusters import stored_clusters as kept_service
from simstore.services.fingerprints import fingerprint_store as given_service
from simstore.services.generations import refresh as refresh_service
from simstore.services.ingest import ingest as ingest_service
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.services.maintenance import maintain as maintain_service
from simstore.services.maintenance import reindex as reindex_service
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.services.removal import remove as remove_service
from simstore.sources.reader import HistoryFields, ReadOptions
from simstore.storage import passages as passage_storage
from simstore.storage.dialects import sqlite_file
from simstore.storage.dialects.sqlite_file import LogPages
from simstore.storage.engine import Database

# Descriptor of the pipe to the test; the nursery sets it.
messages = -1


def say(text: object) -> None:
    """Tell the test something; it arrives even when this process is killed right after."""
    os.write(messages, f"{text}\n".encode())


def simstore(
    words: list[str],
    limit_bytes: int | None = None,
    user: int | None = None,
    batch_documents: int | None = None,
    commit_seconds: float | None = None,
) -> None:
    """Run a command line.

    Args:
        words: Its words.
        limit_bytes: No file may grow beyond it.
        user: Become this user first.
        batch_documents: Documents a transaction of ``vocabulary refresh`` and ``reindex``.
        commit_seconds: How long an ingest gathers batches for a transaction.
    """
    sys.argv = ["simstore", *words]
    if commit_seconds is not None:
        ingest_service._COMMIT_SECONDS = commit_seconds
    if batch_documents is not None:
        refresh_service.BATCH_DOCUMENTS = batch_documents
        reindex_service.BATCH_DOCUMENTS = batch_documents
    if limit_bytes is not None:
        limit_files(limit_bytes)
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    with second_migration.used(Path.cwd()):
        main(prog_name="simstore")


def simstore_with_a_fault(
    words: list[str], library: str, folder_counted: str, number: int, error: int
) -> None:
    """Run a command line in which an operation on a file fails; say which it was.

    Args:
        words: Its words.
        library: The library of torture/faults.c, which this process was started with.
        folder_counted: Where operations are counted.
        number: The one that fails, from 1.
        error: Its error number; 0: the process is killed at it.
    """
    faults = ctypes.CDLL(library)
    faults.arm(os.fsencode(folder_counted), ctypes.c_long(number), error, messages)
    simstore(words)


def recorded(
    work: str,
    arguments: dict[str, Any],
    library: str | None = None,
    folder_recorded: str = "",
    log: str = "",
    batch: int | None = None,
    log_pages: int | None = None,
) -> None:
    """Do another job, and record what it does to files; what it says is a mark in the log.

    Args:
        work: Its name.
        arguments: Its arguments.
        library: The library of torture/record.c, which this process was started with; None:
            nothing is recorded.
        folder_recorded: The folder whose files are meant.
        log: Where it is recorded.
        batch: All that is done in batches is done in batches of about so many.
        log_pages: The write-ahead log is brought into the file when it has so many pages.
    """
    if batch is not None:
        ingest_service.BATCH_DOCUMENTS = batch
        ingest_service._COMMIT_SECONDS = 0.0
        for module in (refresh_service, reindex_service, passage_service, remove_service):
            module.BATCH_DOCUMENTS = batch
        kept_service.BATCH_TEXTS = batch
        pack_service.BATCH_FINGERPRINTS = batch
        tuning.TAIL_FINGERPRINTS = tuning.TAIL_SKETCHES = 4 * batch
        given_service.CHUNK_FINGERPRINTS = given_service.APART_FINGERPRINTS = 4 * batch
        given_service.MANY_FINGERPRINTS = 3 * batch
        passage_storage.TAIL_TEXTS = batch
        passage_storage.PASSAGES = replace(passage_storage.PASSAGES, most_runs=1)
    if log_pages is not None:
        sqlite_file._LOG = LogPages(log_pages, log_pages)
    if library is not None:
        recorder = ctypes.CDLL(library)
        error = recorder.record_to(os.fsencode(folder_recorded), os.fsencode(log))
        if error:
            raise OSError(error, os.strerror(error), log)
        # Not to another process, which would hear of it at some time later.
        globals()["say"] = lambda text: recorder.mark(str(text).encode())
    ended: SystemExit | None = None
    try:
        globals()[work](**arguments)
    except SystemExit as error:
        ended = error
    say(f"exit {0 if ended is None else ended.code or 0}")
    if ended is not None:
        raise ended


def simstore_killed_when_it_has_made_a_store(words: list[str]) -> None:
    """Run a command line that is killed between making a store and filling it."""
    create = maintain_service.create_store

    def create_and_end(*arguments: Any, **options: Any) -> None:
        create(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    maintain_service.create_store = create_and_end
    simstore(words)


def simstore_with_umask(words: list[str], mask: int) -> None:
    """Run a command line with a umask."""
    os.umask(mask)
    simstore(words)


def simstore_into_closed_pipe(words: list[str]) -> None:
    """Run a command line whose reader has gone, as in ``simstore list | head``."""
    reading, writing = os.pipe()
    os.close(reading)
    write_results_to(writing)
    simstore(words)


def simstore_into(words: list[str], output: str) -> None:
    """Run a command line whose standard output is a file."""
    write_results_to(os.open(output, os.O_WRONLY))
    simstore(words)


def write_results_to(descriptor: int) -> None:
    """Make a descriptor the standard output."""
    os.dup2(descriptor, 1)
    os.close(descriptor)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def ask_store(place: str, resident: bool) -> None:
    """Ask a store that may be damaged, and write its answers; see torture/damage_questions.py."""
    from tests.torture.damage_questions import ask

    answers = ask(Path(place), read_only=resident, resident=resident)
    sys.stdout.write(json.dumps(answers))


def simtool(words: list[str]) -> None:
    """Run the course tool."""
    sys.argv = ["simtool", *words]
    simtool_main(prog_name="simtool")


def limit_files(size_bytes: int) -> None:
    """Let no file grow beyond a size, as ``ulimit -f`` does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def ingest(
    place: str,
    names: list[str],
    batch_documents: int = 5,
    create: bool = False,
    refresh: bool = True,
    published: str | None = None,
    history_fields: list[str] | None = None,
    **options: Any,
) -> None:
    """Ingest, and say after each commit how many records are done.

    Args:
        place: The store.
        names: The sources.
        batch_documents: Documents a transaction.
        create: Make the store where there is none.
        refresh: Refresh a live store at the end.
        published: Field that says when a record was published.
        history_fields: Fields that say when a record was seen, and when it was published.
        **options: Further options of an ingest.
    """
    read = (
        ReadOptions(history_fields=HistoryFields(published=published))
        if history_fields is None
        else ReadOptions(history_fields=HistoryFields(*history_fields))
    )
    observer = Observer(
        on_progress=lambda state: say(state.document_count + state.rejected),
        on_refresh=lambda done, _total: say(f"refresh {done}"),
    )
    with Store.open(place, create=create) as store:
        say("open")
        summary = store.ingest(
            names,
            read=read,
            options=IngestOptions(batch_documents=batch_documents, refresh=refresh, **options),
            observer=observer,
        )
    say(f"done {summary.added} {summary.updated} {summary.unchanged} {summary.rejected}")


def live(place: str, steps: list[list[Any]], start: int = 0) -> None:
    """Take the steps of a store's life from one of them on, and say how many are done."""
    with Store.open(place) as store:
        say("open")
        for number, (verb, arguments) in enumerate(steps[start:], start + 1):
            take_step(store, verb, **arguments)
            say(number)


def take_step(store: Store, verb: str, **arguments: Any) -> None:
    """Take a step of a store's life; one that was taken already changes nothing."""
    if verb == "add":
        given = [Document(key, text, seen_at=time) for key, text, time in arguments["given"]]
        store.add_many(given, on_duplicate=arguments["mode"], batch_documents=2)
    elif verb == "remove":
        store.remove(*arguments["keys"], missing_ok=True)
    elif verb == "expire":
        store.expire(not_seen_since=arguments["time"], batch_documents=2)
    elif verb == "cluster":
        store.clusters.build()
    elif verb == "refresh":
        store.vocabulary.refresh()
    else:
        store.maintenance.compact()


def by_value(place: str, verb: str, values: list[int]) -> None:
    """Add or remove fingerprints by their values, and say how many are durable."""
    with Store.open(place) as store:
        change = {"add": store.fingerprints.add, "remove": store.fingerprints.remove}[verb]
        change(values, on_progress=lambda done, _total: say(done))


def limited_ingest(place: str, names: list[str], limit_bytes: int) -> None:
    """Ingest with a limit on the size of files, and say how it ended."""
    limit_files(limit_bytes)
    try:
        ingest(place, names, batch_documents=50)
    except SimstoreError as error:
        say(f"{type(error).__name__} {error.exit_code}")


def keep_clusters(place: str, batch_texts: int, rebuild: bool = False) -> None:
    """Bring clusters up to date in small batches."""
    kept_service.BATCH_TEXTS = batch_texts
    with Store.open(place) as store:
        say("open")
        store.clusters.build(rebuild=rebuild, on_progress=lambda done, _total: say(done))
    say("done")


def refresh(place: str, batch_documents: int = 10, force: bool = False) -> None:
    """Refresh the vocabulary in small batches."""
    refresh_service.BATCH_DOCUMENTS = batch_documents
    with Store.open(place) as store:
        say("open")
        store.vocabulary.refresh(force=force, on_progress=lambda done, _total: say(done))
    say("done")


def reindex(
    place: str, batch_documents: int = 10, resume: bool = False, scheme: Any = None
) -> None:
    """Reindex in small batches."""
    reindex_service.BATCH_DOCUMENTS = batch_documents
    choice = None if scheme is None else SchemeChoice(**scheme)
    with Store.open(place) as store:
        say("open")
        store.maintenance.reindex(choice, resume=resume, on_progress=lambda done, _total: say(done))
    say("done")


def hold_lock(place: str, document: str) -> None:
    """Begin to write, and never end."""
    database = Database(place)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE store SET changes = changes + 1000")
        say(f"locked {document}")
        signal.pause()


def query_without_end(place: str, samples: list[list[str]], radius: int) -> None:
    """Query again and again, saying what was found, until there is a file called ``stop``."""
    with Store.open(place) as store:
        say("open")
        while not os.path.exists("stop"):
            found = store.query_many(
                [(key, text) for key, text in samples], QueryOptions(radius=radius)
            )
            say(repr([[(m.distance, m.key) for m in one.matches] for one in found]))


def remove_each(place: str, keys: list[str]) -> None:
    """Remove documents one by one, each in a run of its own."""
    with Store.open(place) as store:
        say("open")
        for key in keys:
            store.remove(key)
            say(f"removed {key}")


def back_up_without_end(place: str) -> None:
    """Copy the store again and again until there is a file called ``stop``."""
    number = 0
    with Store.open(place) as store:
        say("open")
        while not os.path.exists("stop") or number < 3:
            store.maintenance.backup(f"copy-{number}.db")
            say(number)
            number += 1


def compact_without_end(place: str) -> None:
    """Compact the store again and again until there is a file called ``stop``."""
    with Store.open(place) as store:
        say("open")
        while not os.path.exists("stop"):
            store.maintenance.compact()
            say("compacted")
