"""The command ``simstore import``: load results of ``simstore spark dedup`` into a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from simstore.cli.ingest_output import ingest_observed, report, stop_on_signal
from simstore.cli.messages import log
from simstore.cli.options import common_options, format_option, open_store, store_place
from simstore.cli.output import progress
from simstore.cli.parameters import command, completed, flag
from simstore.errors import StoreNotFound, counted, shown_place

if TYPE_CHECKING:
    from simstore.model import ClustersStatus, IngestSummary
    from simstore.services.ingest.ingest import Observer
    from simstore.sources.spark_results import DedupedOutput
    from simstore.store import Store


@command("import")
@click.argument("folder", type=click.Path(), shell_complete=completed("dir"))
@flag("--no-clusters", "Only the documents.")
@format_option()
@common_options
def import_output(folder: str, no_clusters: bool, output_format: str) -> None:
    """Load what `simstore spark dedup` found into a store: documents and clusters.

    Examples:
      simstore --db found.db import found  what `spark dedup` wrote to found/
      simstore --db found.db import found --no-clusters

    Into a new store the clusters come without comparing anything again; those by characters are not
    kept, `simstore clusters --channels characters` makes them. Needs PyArrow, not Spark.
    The same command again, after an interruption, goes on.
    """
    from simstore.sources.spark_results import DedupedOutput

    output = DedupedOutput(folder)
    kept: list[ClustersStatus] = []
    with _store(output) as store, stop_on_signal() as stopping:

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
def _store(output: DedupedOutput) -> Iterator[Store]:
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store())
        except StoreNotFound:
            from simstore.store import create_for_output

            create_for_output(store_place(), output).close()
            log.info("made %s: scheme %s", shown_place(store_place()), output.scheme.label)
            store = stack.enter_context(open_store())
        yield store
