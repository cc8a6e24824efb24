"""The commands ``simstore init`` and ``stats``: create a store, and show its statistics."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import click

from simstore.cli.messages import log
from simstore.cli.options import (
    channel_names,
    channels_option,
    check_duplicate_options,
    common_options,
    duplicate_options,
    format_option,
    open_store,
    store_place,
)
from simstore.cli.output import time_text
from simstore.cli.parameters import choice, command, flag, section
from simstore.cli.results import print_facts, print_record, print_summary
from simstore.cli.scheme_options import (
    create_here,
    scheme_choice,
    scheme_options,
)
from simstore.errors import printable, shown_place
from simstore.model.channels import DEFAULT_CHANNELS


@command()
@scheme_options
@section(
    "Store",
    channels_option(),
    choice(
        "--policy",
        ("live", "frozen"),
        "simtool, and web with idf: live refreshes after each ingest and removal; frozen only "
        "when told to.",
        default="live",
    ),
    flag("--no-text", "Keep no texts."),
    flag("--no-vocabulary", "web: do not count the terms of the store."),
    flag(
        "--keep-columns",
        "Keep the indexed segment columns of packed fingerprints, for SQL: some 110 bytes each "
        "besides.",
    ),
    flag(
        "--fingerprints-only",
        "Hold fingerprints made elsewhere and no documents; takes --bits and --keep-columns.",
    ),
    format_option(),
)
@section(
    "Duplicates",
    choice(
        "--on-duplicate",
        ("keep", "flag", "skip"),
        "What `ingest` does with a duplicate of a stored document, where it is not told: flag "
        "stores it too, skip only what it duplicates.",
        default="keep",
    ),
)
@duplicate_options
@common_options
def init(
    channels: str,
    policy: Any,
    on_duplicate: Any,
    min_resemblance: float | None,
    radius: int | None,
    no_text: bool,
    no_vocabulary: bool,
    keep_columns: bool,
    fingerprints_only: bool,
    output_format: str,
    **scheme: Any,
) -> None:
    """Make a new store and choose its scheme.

    It is simtool where hashvalue.txt and stopwords.txt lie in the current directory, else web;
    --scheme chooses another, and the other options refine it.

    Examples:
      simstore init                                 scheme web, 64 bits
      simstore init -N 1000 -M 16                   beside hashvalue.txt: simtool
      simstore init --db small.db --no-text         keep no texts
      simstore init --fingerprints-only --bits 128  fingerprints made elsewhere
    """
    from simstore.store import Store

    check_duplicate_options(on_duplicate, min_resemblance, radius)
    if fingerprints_only:
        bits = scheme.pop("bits")
        others = no_text or no_vocabulary or on_duplicate != "keep"
        others |= channel_names(channels) != DEFAULT_CHANNELS
        if scheme_choice(**scheme) is not None or others:
            raise click.UsageError(
                "--fingerprints-only takes --bits and --keep-columns alone: it holds no documents"
            )
        Store.create(
            store_place(), fingerprints_only=True, bits=bits, keep_columns=keep_columns
        ).close()
        log.info(
            "made %s: fingerprints only, M = %d; add some by `simstore fingerprints add`",
            shown_place(store_place()),
            64 if bits is None else bits,
        )
        made = {"path": shown_place(store_place()), "scheme": None, "bits": bits or 64}
        print_summary(made, "", output_format)
        return
    facts = create_here(
        scheme_choice(**scheme),
        is_named=scheme["name"] is not None,
        channels=channel_names(channels),
        policy=policy,
        on_duplicate=on_duplicate,
        min_resemblance=min_resemblance,
        radius=radius,
        text=not no_text,
        vocabulary=not no_vocabulary,
        keep_columns=keep_columns,
    )
    print_summary({"path": shown_place(store_place()), **facts}, "", output_format)


@command()
@flag("--sizes", "Count the bytes of texts, sketches and passages, too; all of them are read.")
@format_option()
@common_options
def stats(sizes: bool, output_format: str) -> None:
    """Show the store in numbers.

    Examples:
      simstore stats          documents, duplicates, index and file
      simstore stats --sizes  also the bytes of texts, sketches and passages
    """
    with open_store(read_only=True, served=True) as store:
        found = store.stats(sizes=sizes)
        scheme = store.maintenance.scheme()
    record: dict[str, Any] = {}
    for name, value in asdict(found).items():
        record[name] = value
        if name == "bits":
            record["scheme_options"] = {n: v for n, v in scheme.record().items() if n not in record}
    if output_format != "table":
        print_record(record, output_format)
        return
    record["scheme_options"] = ", ".join(_words_of(record["scheme_options"]))
    record["first_seen"] = time_text(found.first_seen)
    record["last_seen"] = time_text(found.last_seen)
    record["file_bytes_per_document"] = (
        found.file_bytes // found.document_count if found.document_count else None
    )
    _print_parts(record)


# What people are shown together; whatever is in none of them stands at the end.
_PARTS = (
    ("path", "revision", "document_count", "distinct_contents", "text_bytes", "first_seen",
     "last_seen"),
    ("flagged_count", "skipped_count", "uncovered_count", "orphaned_count", "clustered_count",
     "removed_count", "reject_count", "ingest_run_count", "removal_run_count", "query_run_count"),
    ("scheme", "bits", "scheme_options", "channels", "bands", "distinct_fingerprints",
     "packed_fingerprints", "sketch_count", "unpacked_sketches", "passage_count", "anchor_count",
     "term_count", "generation_id", "fresh", "waiting"),
    ("file_bytes", "file_bytes_per_document", "stored_text_bytes", "sketch_bytes",
     "passage_bytes"),
)  # fmt: skip


def _print_parts(record: Mapping[str, Any]) -> None:
    """Print names and values in parts, with an empty line between them."""
    rest = [name for name in record if not any(name in part for part in _PARTS)]
    width = max(map(len, record))
    for number, part in enumerate((*_PARTS, rest)):
        if number:
            click.echo(file=sys.stdout)
        print_facts(((name.replace("_", " "), record[name]) for name in part), width=width)


def _words_of(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield each option of a scheme as name and value."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _words_of(value)
        elif isinstance(value, list):
            yield from (f"{name.removesuffix('s')} {printable(one)}" for one in value)
        else:
            yield f"{name.replace('_', ' ')} {value}"
