"""The commands ``simstore spark``: find near-duplicates on Apache Spark, and load the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.ingest_output import ingest_observed, report, stop_on_signal
from simstore.cli.interrupts import uninterruptible
from simstore.cli.messages import log
from simstore.cli.options import (
    bands_of,
    bands_option,
    channel_names,
    channels_option,
    common_options,
    format_option,
    least_option,
    open_store,
    radius_option,
    short_texts_option,
    store_place,
)
from simstore.cli.output import progress
from simstore.cli.parameters import command_group, completed, files_argument, flag, option, section
from simstore.cli.results import print_summary
from simstore.cli.scheme_options import scheme_choice, scheme_options
from simstore.cli.source_options import history_options, reading_options, take_read_options
from simstore.errors import StoreNotFound, counted, printable, shown_place

if TYPE_CHECKING:
    from simstore.model import ClustersStatus, IngestSummary
    from simstore.services.ingest.ingest import Observer
    from simstore.sources.spark_results import DedupedOutput
    from simstore.spark.job import DedupSummary
    from simstore.store import Store


@command_group()
def spark() -> None:
    """Near-duplicates of more documents than one machine holds, on Apache Spark."""


@spark.command()
@files_argument("inputs", "INPUT...")
@section(
    "Output",
    option("-o --output", "The folder to write.", required=True, metavar="OUTPUT"),
    format_option(),
)
@section(
    "Duplicates",
    least_option("Least resemblance of a member to its canonical document.", "0.5"),
    option(
        "--policy",
        "Which document is canonical: first, longest, or prefer:REGEX.",
        default="first",
        metavar="POLICY",
    ),
    radius_option(),
    channels_option(of_duplicates=True),
    short_texts_option,
    bands_option,
)
@section(
    "Spark",
    option("--master", "Where Spark runs.  [default: local[*]]", metavar="URL"),
    option(
        "--conf settings",
        "A setting of Spark; may be repeated.",
        multiple=True,
        metavar="NAME=VALUE",
    ),
)
@reading_options
@history_options
@scheme_options
@common_options
def dedup(
    inputs: tuple[str, ...],
    output: str,
    min_resemblance: float | None,
    policy: str,
    radius: int | None,
    channels: str,
    short_texts: bool,
    bands: str | None,
    master: str | None,
    settings: tuple[str, ...],
    output_format: str,
    **given: Any,
) -> None:
    r"""Find the near-duplicates among the documents of files.

    Examples:
      simstore spark dedup crawl/*.warc.gz --output found
      simstore spark dedup data/*.parquet --output hdfs://name/found \
          --master spark://host:7077 --conf spark.executor.memory=8g
      simstore --db found.db spark load found

    OUTPUT is a folder of Parquet: documents, texts, pairs with their evidence, clusters, rejects.
    Fingerprints, pairs and clusters are those of a store of the same documents. On one machine
    `simstore ingest` and `simstore clusters` are many times faster: `docs/how-to/spark.md` says
    when to use which. Needs Java 17.
    """
    read = take_read_options(given)
    conf = dict(map(_setting, settings))
    chosen = scheme_choice(**given)

    from simstore.fingerprint.minhash import BandLayout
    from simstore.services.maintenance.scheme_choice import make_scheme
    from simstore.spark import DedupOptions, make_session
    from simstore.spark import dedup as find

    layout = bands_of(bands)
    options = DedupOptions(
        scheme=None if chosen is None else make_scheme(chosen),
        channels=channel_names(channels),
        radius=radius,
        layout=None if layout is None else BandLayout(*layout),
        min_resemblance=min_resemblance,
        short_texts=short_texts,
        policy=policy,
        read=read,
    )
    # Before Java is started: is it a rule?
    options.recipe()
    # Spark has a handler of its own, and a session to stop.
    with uninterruptible(), make_session(master, conf) as session:
        found = find(session, inputs, output, options, on_stage=lambda stage: log.info("%s", stage))
    _report(found, output, output_format)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.UsageError(f"--conf {text!r}: write it as NAME=VALUE")
    return name, value


def _report(found: DedupSummary, output: str, output_format: str) -> None:
    passed_over = f", {found.passed_over_count:,} passed over" if found.passed_over_count else ""
    if found.detected_count:
        log.warning(
            "%s in encodings that were detected; their metadata tell them",
            counted(found.detected_count, "document is", "documents are"),
        )
    print_summary(
        asdict(found),
        f"{found.read_count:,} read, {found.rejected_count:,} rejected{passed_over}\n"
        f"{counted(found.document_count, 'document')} of {counted(found.text_count, 'text')}: "
        f"{counted(found.cluster_count, 'cluster')} of 2 or more, "
        f"{counted(found.dropped_count, 'document')} "
        "beside their canonical one",
        output_format,
    )
    log.info("%s: written", printable(output))
    if found.rejected_count:
        log.warning("the table rejects tells what was rejected, and why")
        raise SystemExit(5)


@spark.command()
@click.argument("folder", type=click.Path(), shell_complete=completed("dir"))
@flag("--no-clusters", "Only the documents.")
@format_option()
@common_options
def load(folder: str, no_clusters: bool, output_format: str) -> None:
    """Load the result of `spark dedup` into a store.

    Examples:
      simstore --db found.db spark load found
      simstore --db found.db spark load found --no-clusters

    Into a new store the clusters come without comparing anything again; those by characters are not
    kept, `simstore clusters --channels characters` makes them. Needs PyArrow, not Spark.
    The same command again, after an interruption, goes on.
    """
    from simstore.sources.spark_results import DedupedOutput

    output = DedupedOutput(folder)
    kept: list[ClustersStatus] = []
    with _store_of(output) as store, stop_on_signal() as stopping:

        def run(observer: Observer) -> IngestSummary:
            with progress("clusters", at_once=False) as show:
                made = store.maintenance.import_deduped(
                    output, clusters=not no_clusters, observer=observer, on_progress=show
                )
            kept.extend([] if made.clusters is None else [made.clusters])
            return made.documents

        summary = ingest_observed(run, stopping)
    for one in kept:
        log.info("%s of %s", counted(one.cluster_count, "cluster"), counted(one.text_count, "text"))
    if output.is_by_characters and not no_clusters:
        log.info(
            "clusters by characters are not kept: `simstore clusters --channels characters` makes "
            "them"
        )
    report(summary, stopping, output_format)


@contextmanager
def _store_of(output: DedupedOutput) -> Iterator[Store]:
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store())
        except StoreNotFound:
            from simstore.store import create_for_output

            create_for_output(store_place(), output).close()
            log.info("made %s: scheme %s", shown_place(store_place()), output.scheme.label)
            store = stack.enter_context(open_store())
        yield store
