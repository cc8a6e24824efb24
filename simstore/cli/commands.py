"""The commands of ``simstore``, in the order of a user's day, and their errors as exit codes."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Any

import click

from simstore import compiled
from simstore.cli.imports import uncollected
from simstore.cli.interrupts import INTERRUPTED, interruptible, uninterruptible
from simstore.cli.options import common_options
from simstore.cli.output import NO_SPACE, BriefErrors, drop_output, fail, settle_streams
from simstore.errors import SimstoreError
from simstore.errors.remedies import speak_to
from simstore.services.workers import forks
from simstore.version import __version__

# Each command: its module in this package, and its function there, in the order of a user's day.
_COMMANDS = {
    "ingest": ("ingest", "ingest"),
    "query": ("query", "query"),
    "check": ("check", "check"),
    "report": ("report", "report"),
    "init": ("store", "init"),
    "compare": ("compare", "compare"),
    "clusters": ("clusters", "clusters"),
    "evaluate": ("evaluate", "evaluate"),
    "passages": ("passages", "passages"),
    "fingerprints": ("fingerprints", "fingerprints"),
    "list": ("documents", "list_documents"),
    "show": ("documents", "show"),
    "remove": ("documents", "remove"),
    "duplicates": ("duplicates", "duplicates"),
    "orphans": ("duplicates", "orphans"),
    "expire": ("expiry", "expire"),
    "seen": ("expiry", "seen"),
    "export": ("export", "export"),
    "import": ("deduped", "import_output"),
    "spark": ("spark", "spark"),
    "stats": ("store", "stats"),
    "vocabulary": ("vocabulary", "vocabulary"),
    "reindex": ("store", "reindex"),
    "runs": ("runs", "runs"),
    "rejects": ("rejects", "rejects"),
    "token": ("token", "token"),
    "serve": ("serve", "serve"),
    "backup": ("store", "backup"),
    "copy": ("store", "copy"),
    "pack": ("store", "pack"),
    "unpack": ("store", "unpack"),
    "compact": ("store", "compact"),
    "upgrade": ("store", "upgrade"),
    "fsck": ("store", "fsck"),
    "completion": ("completion", "completion"),
}


class _Commands(BriefErrors, click.Group):
    """A group that imports a command when it is asked for, and renders our errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, function = _COMMANDS[cmd_name]
        with uncollected(f"simstore.cli.{module}"):
            command: click.Command = getattr(import_module(f"simstore.cli.{module}"), function)
        return command

    def main(self, *args: Any, **keywords: Any) -> Any:
        before = speak_to("command line")
        try:
            return super().main(*args, **keywords)
        finally:
            speak_to(before)

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
