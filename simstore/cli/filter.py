"""The command ``simstore filter``: write those rows of files that a store does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simstore.cli.options import common_options, format_option, open_store, radius_option
from simstore.cli.output import refuse_store
from simstore.cli.parameters import (
    choice,
    command,
    files_argument,
    section,
    share,
)
from simstore.cli.row_output import output_option, row_options, row_outputs, shown_rows
from simstore.cli.source_options import reading_options
from simstore.model.channels import DROP_RESEMBLANCE

if TYPE_CHECKING:
    from simstore.services.dedup.gates import Keep


@command("filter")
@files_argument("inputs", "INPUT...")
@section(
    "Filter",
    choice(
        "--keep",
        ("new", "known"),
        "Which rows are written: those that no document of the store resembles, or the others.",
        default="new",
    ),
    share(
        "--min-resemblance",
        "Least resemblance of a row that is known to a document.",
        zero=False,
        default=DROP_RESEMBLANCE,
    ),
    radius_option(),
)
@section("Output", output_option, *row_outputs, format_option())
@reading_options
@common_options
def filter_rows(
    inputs: tuple[str, ...],
    keep: Keep,
    min_resemblance: float,
    radius: int | None,
    output: str,
    output_format: str,
    **given: Any,
) -> None:
    """Write the rows of files that a store does not know, each row as it was.

    The store is read and never written; several processes may ask one store at once. Rows are not
    compared with each other: `simstore dedup` does that.

    Examples:
      simstore filter day-2.jsonl --db seen.db -o new.jsonl
      simstore filter data/*.parquet --db seen.db -o new/ --log known.jsonl
      simstore filter pages.csv --db seen.db --keep known -o known.csv
      zcat a.jsonl.gz | simstore filter - --server http://10.0.0.7:8765 -o - > b

    Rows are those of JSON Lines, CSV, Parquet, Arrow, or texts of a folder, compressed or not. They
    keep their columns, types and order; those of JSON Lines and CSV are the very bytes. The output
    appears when all of it is written.
    """
    from simstore.services.dedup.dedup import check_run, dedup_files
    from simstore.services.dedup.gates import Gate, store_answer

    options = row_options(given, min_resemblance=min_resemblance, radius=radius)
    refuse_store(output, options.log, options.rejects)
    check_run(inputs, output, options, has_store=False)
    with open_store(read_only=True, served=True) as store, shown_rows() as shown:
        gate = Gate(answer=store_answer(store, min_resemblance, radius=radius), keep=keep)
        summary = dedup_files(list(inputs), output, options, shown.observer, gate=gate)
    dropped = "known" if keep == "new" else "new"
    shown.report(summary, f"{summary.dropped:,} {dropped}", output, output_format)
