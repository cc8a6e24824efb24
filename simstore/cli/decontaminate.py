"""The command ``simstore decontaminate``: write the rows of files without items of benchmarks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simstore.cli.messages import log
from simstore.cli.options import common_options, format_option
from simstore.cli.parameters import command, completed, files_argument, flag, option, section, share
from simstore.cli.results import print_items
from simstore.cli.row_output import output_option, row_options, row_outputs, shown_rows
from simstore.cli.source_options import reading_options
from simstore.errors import InvalidParameter, printable

if TYPE_CHECKING:
    from simstore.services.dedup.benchmarks import Item
    from simstore.services.dedup.decontaminate import BenchmarkReport
    from simstore.services.dedup.gates import Answer
    from simstore.sources.reader import ReadOptions


@command()
@files_argument("inputs", "TRAIN...")
@section(
    "Benchmarks",
    option(
        "--against",
        "Items of benchmarks: a file or a folder, each file a benchmark; several times.",
        multiple=True,
        required=True,
        metavar="PATH",
        shell_complete=completed("file"),
    ),
    option(
        "--item-field",
        "The field of an item's text.  [default: text, content or body]",
        metavar="NAME",
    ),
    option(
        "--words",
        "A row holds an item if both have so many words in a row.",
        type=click.IntRange(4, 150),
        default=13,
        metavar="N",
    ),
    share(
        "--min-resemblance",
        "A row that resembles an item so much counts, too.",
        zero=False,
        default=0.5,
    ),
)
@section(
    "Output",
    output_option,
    flag("--mark", "Keep all rows, and add the columns contaminated_by, resemblance and run."),
    *row_outputs,
    format_option(),
)
@reading_options
@common_options
def decontaminate(
    inputs: tuple[str, ...],
    against: tuple[str, ...],
    item_field: str | None,
    words: int,
    min_resemblance: float,
    output: str,
    mark: bool,
    output_format: str,
    **given: Any,
) -> None:
    """Write the rows of files that hold no item of a benchmark, each row as it was.

    A row holds an item if both have a run of --words words; every such run is found. Items that are
    shorter are looked for whole, from five words on.

    Examples:
      simstore decontaminate train.jsonl --against benchmarks/ -o clean.jsonl
      simstore decontaminate train/ --against q.jsonl --item-field prompt -o new/
      simstore decontaminate web.jsonl --against q.csv --words 8 --mark -o new/

    Rows keep their bytes, columns and order, as with `simstore dedup`. --log FILE tells of each row
    that is dropped which item it holds, and where. --format json prints all of the report.
    """
    from simstore.outputs import is_standard_output
    from simstore.services.dedup.benchmarks import Benchmarks
    from simstore.services.dedup.decontaminate import Contamination
    from simstore.services.dedup.dedup import check_run, dedup_files

    options = row_options(given, min_resemblance=min_resemblance, mark=mark)
    _refuse_benchmarks(against, output, options.log, options.rejects)
    check_run(inputs, output, options, has_store=False)
    items = _items(against, replace(options.read, text_field=item_field))
    with ExitStack() as stack:
        found = Contamination(
            Benchmarks(items, words), stack.enter_context(_resembling(items, min_resemblance))
        )
        shown = stack.enter_context(shown_rows())
        summary = dedup_files(list(inputs), output, options, shown.observer, gate=found.gate())
    if not is_standard_output(output):
        _print(found.reports, output_format)
    shown.close()
    held = f"{summary.dropped:,} {'marked' if mark else 'dropped'}"
    shown.report(summary, held, output, output_format, as_message=True)


def _refuse_benchmarks(against: Sequence[str], *paths: str | None) -> None:
    """Raise where a file that is to be written is a benchmark, or a part of one."""
    from simstore.outputs import is_same_file

    for place in against:
        for path in filter(None, paths):
            is_part = os.path.isfile(path) and Path(place).resolve() in Path(path).resolve().parents
            if is_part or is_same_file(path, place):
                raise InvalidParameter(
                    f"{printable(path)} is a benchmark of --against; name another file"
                )


def _items(against: Sequence[str], read: ReadOptions) -> list[Item]:
    """Return the items of files."""
    from simstore.services.dedup.decontaminate import read_items

    empty: list[str] = []
    items = read_items(against, read, empty.append)
    names = ", ".join(map(printable, empty))
    if not items:
        raise InvalidParameter(f"there is no item of a benchmark: {names or 'no file'} has none")
    if empty:
        log.warning("%s: no item of a benchmark, passed over", names)
    return items


@contextmanager
def _resembling(items: Sequence[Item], min_resemblance: float) -> Iterator[Answer]:
    """Yield what tells which item a row resembles: its number as a key."""
    from simstore.services.dedup.gates import store_answer
    from simstore.store import Store

    with (
        tempfile.TemporaryDirectory(prefix="simstore-") as folder,
        Store.create(Path(folder, "items.db")) as store,
    ):
        store.add_many((str(n), item.text) for n, item in enumerate(items))
        yield store_answer(store, min_resemblance)


def _print(reports: Sequence[BenchmarkReport], output_format: str) -> None:
    print_items(
        reports,
        output_format,
        columns=("benchmark", "items", "hit", "share", "rows", "too short", "everywhere"),
        row=lambda one: (
            printable(one.benchmark),
            f"{one.items:,}",
            f"{one.hit:,}",
            f"{100 * one.share:.1f} %",
            f"{one.rows:,}",
            f"{one.too_short:,}",
            f"{one.everywhere:,}",
        ),
        record=asdict,
    )
    if output_format == "table":
        for report in reports:
            for one in report.examples:
                click.echo(f"\n{printable(one.item)} ({one.found}) in row {printable(one.row)}:")
                click.echo(f"  item: {printable(one.item_text)}")
                click.echo(f"  row:  {printable(one.row_text)}")
