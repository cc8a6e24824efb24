"""The commands of ``simstore``, in the order of a user's day, and what becomes of errors."""

from __future__ import annotations

import signal
import sys
from typing import Any

import click

from simstore import compiled
from simstore.cli import (
    check,
    clusters,
    compare,
    completion,
    copy,
    deduped,
    documents,
    duplicates,
    evaluate,
    expiry,
    export,
    fingerprints,
    ingest,
    passages,
    query,
    rejects,
    report,
    runs,
    serve,
    spark,
    store,
    token,
    vocabulary,
)
from simstore.cli.interrupts import INTERRUPTED, interruptible, uninterruptible
from simstore.cli.options import common_options
from simstore.cli.output import NO_SPACE, BriefErrors, drop_output, fail, settle_streams
from simstore.errors import SimstoreError
from simstore.services.workers import forks
from simstore.version import __version__


class _Commands(BriefErrors, click.Group):
    """A group that lists its commands in the order of a user's day, and renders our errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        settle_streams()
        compiled.leave_out_blas()
        try:
            with interruptible(), forks.allowed(uninterruptible):
                result = super().invoke(ctx)
                sys.stdout.flush()
        except SimstoreError as error:
            fail(str(error), error.exit_code)
        except KeyboardInterrupt as error:
            number = error.args[0] if error.args else signal.SIGINT
            fail(INTERRUPTED, 128 + number)
        except MemoryError:
            fail("out of memory; nothing committed is lost", 1)
        except BrokenPipeError:
            # Who reads the output has enough of it, as in `simstore list | head`.
            drop_output()
            return None
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            drop_output()
            fail("no space left to write the results; nothing committed is lost", 6)
        return result


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "\b\nExamples:\n"
        "  simstore ingest article.txt      remember documents\n"
        "  simstore query sample.txt        which of them are near these?\n"
        "  simstore report                  write the answer to result.txt\n\n"
        "The store is simstore.db in the current directory, or SIMSTORE_DB, or --db.\n\n"
        "Exit codes: 0 done, 1 unexpected, 2 usage, 3 not found, 4 conflict, 5 bad input (the "
        "rest was ingested), 6 storage, 130 interrupted."
    ),
)
@click.version_option(__version__, "-V", "--version", prog_name="simstore")
@common_options
def main() -> None:
    """Remember texts in one SQLite file, and find what is nearly the same, within a guarantee."""


for _command in (
    ingest.ingest,
    query.query,
    check.check,
    report.report,
    store.init,
    compare.compare,
    clusters.clusters,
    evaluate.evaluate,
    passages.passages,
    fingerprints.fingerprints,
    documents.list_documents,
    documents.show,
    documents.remove,
    duplicates.duplicates,
    duplicates.orphans,
    expiry.expire,
    expiry.seen,
    export.export,
    deduped.import_output,
    spark.spark,
    store.stats,
    vocabulary.vocabulary,
    store.reindex,
    runs.runs,
    rejects.rejects,
    token.token,
    serve.serve,
    store.backup,
    copy.copy,
    store.pack,
    store.unpack,
    store.compact,
    store.upgrade,
    store.fsck,
    completion.completion,
):
    main.add_command(_command)
