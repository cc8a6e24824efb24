"""The command ``simstore export``: write documents, or a filter of known keys, to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from simstore.cli.messages import log
from simstore.cli.options import (
    FORMATS,
    common_options,
    document_filters,
    filters_of,
    open_store,
    tell_empty_choice,
)
from simstore.cli.output import check_output, progress
from simstore.cli.parameters import choice, command, count, flag, flag_of, option, section, share
from simstore.cli.results import print_record
from simstore.errors import counted, printable
from simstore.model.channels import DROP_RESEMBLANCE
from simstore.model.documents import FILTERS
from simstore.outputs import is_standard_output

if TYPE_CHECKING:
    from simstore.services.export.export import ExportOptions, ExportSummary

_FILTER_ONLY = ("false_positive_rate", "of", "capacity")
_DOCUMENTS_ONLY = (
    "unique", "duplicates", "min_resemblance", "output_format", *FILTERS, "no_text",
    "dry_run",
    "log_file", "output",
)  # fmt: skip


@command()
@section(
    "Documents",
    option(
        "-o --output",
        "Where to write, compressed where it ends in .gz or .zst; - is standard output.  "
        "[default: -]",
        default="-",
        metavar="FILE",
        show_default=False,
    ),
    flag("--unique", "Leave out what resembles an exported document."),
    flag("--duplicates", "What --unique leaves out."),
    share(
        "--min-resemblance",
        "Least resemblance of a document that --unique leaves out to one that it exports.",
        zero=False,
        default=DROP_RESEMBLANCE,
    ),
    choice(
        "--format output_format",
        (*FORMATS, "parquet"),
        "How to write the documents; with --dry-run, the counts (table is for these alone).  "
        "[default: as FILE ends, .json, .csv or .parquet; else jsonl]",
    ),
    document_filters(),
    flag("--no-text", "Leave out the texts."),
    option(
        "--log log_file",
        "With --unique: write what it leaves out to FILE, complete and with the reason.",
        metavar="FILE",
    ),
    flag("--dry-run", "Write nothing, only count."),
)
@section(
    "Filter",
    option(
        "--known-keys filter_file",
        "Write no documents, but a known-keys filter: of the keys and texts that are known.",
        metavar="FILE",
    ),
    option(
        "--of", "Filter: keys, digests (of texts), or both.", default="keys,digests", metavar="WHAT"
    ),
    option(
        "--false-positive-rate",
        "Filter: largest share of unknown keys that are taken for known.",
        type=float,
        default=0.001,
        metavar="SHARE",
    ),
    count(
        "--capacity",
        "Filter: keys, and texts, that it has room for.  [default: a quarter more than there are]",
    ),
)
@section(
    "Files",
    flag("--force", "Replace files that are there."),
)
@common_options
@click.pass_context
def export(ctx: click.Context, /, filter_file: str | None, force: bool, **options: Any) -> None:
    """Write the documents to a file: all, those without duplicates, or the rest; or a filter.

    Examples:
      simstore export -o all.jsonl.zst             all documents
      simstore export --unique -o corpus.jsonl.gz  those without near-duplicates
      simstore export --unique -o corpus.parquet --log dropped.jsonl
      simstore export --duplicates  what --unique leaves out, and why
      simstore export --unique --dry-run           how many that would be
      simstore export --known-keys known.filter  for a crawler, of keys and texts

    The records are those that `simstore ingest` takes: what --log keeps, comes back by `simstore
    ingest dropped.jsonl`. Parquet has columns for people and other programs.
    `docs/how-to/living-index.md` describes the filter's file.
    """
    given = [
        name
        for name in (*_FILTER_ONLY, *_DOCUMENTS_ONLY)
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    odd = set(given) & set(_DOCUMENTS_ONLY if filter_file is not None else _FILTER_ONLY)
    if odd:
        names = ", ".join(sorted(map(flag_of, odd)))
        raise click.UsageError(
            f"{names}: {'not with' if filter_file is not None else 'only with'} --known-keys"
        )
    if "min_resemblance" in given and not (options["unique"] or options["duplicates"]):
        raise click.UsageError("--min-resemblance: only with --unique or --duplicates")
    if filter_file is not None:
        _write_filter(filter_file, force=force, **{name: options[name] for name in _FILTER_ONLY})
    else:
        _write_documents(force=force, **{name: options[name] for name in _DOCUMENTS_ONLY})


def _write_filter(
    target: str, *, force: bool, false_positive_rate: float, of: str, capacity: int | None
) -> None:
    kinds = [name.strip() for name in of.split(",") if name.strip()]
    check_output(target, replace=force)
    with open_store(read_only=True, served=True) as store, progress("filter") as show:
        made = store.filters.known(
            false_positive_rate=false_positive_rate, of=kinds, capacity=capacity, on_progress=show
        )
    made.save(target, replace=force)
    for kind, number in made.counts.items():
        log.info("%s: %s %s", printable(target), f"{number:,}", kind)


def _write_documents(
    *,
    force: bool,
    unique: bool,
    duplicates: bool,
    min_resemblance: float,
    output_format: str | None,
    no_text: bool,
    dry_run: bool,
    log_file: str | None,
    output: str,
    **given: Any,
) -> None:
    from simstore.services.export.export import ExportOptions

    if unique and duplicates:
        raise click.UsageError("--unique or --duplicates: they are two parts of the documents")
    if dry_run and output_format == "parquet":
        raise click.UsageError("--dry-run prints counts: as table, json, jsonl or csv")
    if output_format == "table" and not dry_run:
        raise click.UsageError(
            "--format table is for --dry-run: documents are written as jsonl, json, csv or "
            "parquet; `simstore list` prints a table of them"
        )
    kind: Any = "jsonl" if dry_run else output_format or "auto"
    if not dry_run:
        for name in filter(None, (output, log_file)):
            check_output(name, replace=force)
    chosen = ExportOptions(
        part="unique" if unique else "duplicates" if duplicates else "all",
        min_resemblance=min_resemblance,
        text=not no_text,
        format=kind,
        log=log_file,
        dry_run=dry_run,
        replace=force,
        **filters_of(given),
    )
    with open_store(read_only=True) as store, progress("export") as show:
        found = store.export(output, chosen, on_progress=show)
        if not found.document_count:
            tell_empty_choice(store, chosen.chosen)
    if dry_run:
        facts = _counts(found, chosen)
        record = {name.replace(" ", "_"): value for name, value in facts}
        print_record(record, output_format or "table", facts=facts)
    else:
        _report(found, chosen, output)


def _counts(found: ExportSummary, chosen: ExportOptions) -> list[tuple[str, int]]:
    facts = [("documents", found.document_count), ("bytes of text", found.text_bytes)]
    if chosen.part != "all":
        facts += [("clusters", found.cluster_count), ("dropped", found.dropped_count)]
        facts.append(("bytes of dropped text", found.dropped_bytes))
    if chosen.part == "duplicates":
        facts.append(("skipped when they came", found.skipped_count))
    return facts


def _report(found: ExportSummary, chosen: ExportOptions, output: str) -> None:
    place = "standard output" if is_standard_output(output) else printable(output)
    log.info("%s: %s", place, counted(found.document_count, "document"))
    if chosen.part == "unique":
        log.info(
            "%s left out, of %s",
            counted(found.dropped_count, "other"),
            counted(found.cluster_count, "cluster"),
        )
    if found.skipped_count:
        log.info(
            "%s skipped when they came, without text",
            counted(found.skipped_count, "key that was", "keys that were"),
        )
    if chosen.log is not None:
        log.info("%s: what was left out", printable(str(chosen.log)))
    if chosen.text and not found.text_kept:
        log.warning("without texts: this store keeps none (it was made with --no-text)")
