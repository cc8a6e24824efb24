"""The main command ``simstore``: list subcommands by heading, and turn errors into exit codes."""

from __future__ import annotations

import signal
from importlib import import_module
from typing import Any

import click

from simstore import compiled
from simstore.cli.imports import uncollected
from simstore.cli.interrupts import INTERRUPTED, interruptible
from simstore.cli.options import common_options
from simstore.cli.output import BriefErrors, fail, settle_streams
from simstore.cli.parameters import Sectioned, Suggesting
from simstore.errors import SimstoreError
from simstore.errors.remedies import speak_to
from simstore.version import __version__

# Under each heading, each command: its module in this package, its function there, and what the
# list of commands says of it. The list imports none of them.
_SECTIONS = {
    "Ingest and find": {
        "ingest": ("ingest", "ingest", "Store documents of files, folders, archives, databases."),
        "query": ("query", "query", "Find the stored documents near those of files, or a text."),
        "check": ("check", "check", "Find passages of papers that stored documents have, too."),
        "passages": ("passages", "passages", "Make and show the index that `check` needs."),
        "report": ("report", "report", "Write a query's answer to result.txt, or as a page."),
        "compare": ("compare", "compare", "Compare two texts by every algorithm, side by side."),
        "fingerprints": ("fingerprints", "fingerprints", "Add and find fingerprints by value."),
    },
    "Decide": {
        "dedup": ("dedup", "dedup", "Write rows of files without their near-duplicates."),
        "filter": ("filter", "filter_rows", "Write rows of files that a store does not know."),
        "decontaminate": (
            "decontaminate",
            "decontaminate",
            "Write rows of files without items of benchmarks.",
        ),
        "clusters": ("clusters", "clusters", "Group the documents that are nearly the same."),
        "duplicates": ("duplicates", "duplicates", "List what was flagged or skipped, and why."),
        "export": ("export", "export", "Write documents to a file: all, or one a cluster."),
        "evaluate": ("evaluate", "evaluate", "Measure precision and recall by your labels."),
        "spark": ("spark", "spark", "Find near-duplicates on Apache Spark, and load them."),
    },
    "Look": {
        "list": ("documents", "list_documents", "List the stored documents."),
        "show": ("documents", "show", "Show what is known of a document, and its story."),
        "seen": ("expiry", "seen", "Tell whether keys or a text were seen."),
        "stats": ("store", "stats", "Show the store in numbers, and over time in pictures."),
        "runs": ("runs", "runs", "List the latest ingests, removals and expiries."),
        "rejects": ("rejects", "rejects", "Records that could not be stored."),
        "vocabulary": ("vocabulary", "vocabulary", "Show and refresh what documents are made of."),
    },
    "Keep": {
        "init": ("store", "init", "Make a new store and choose its scheme."),
        "remove": ("documents", "remove", "Remove documents by their keys."),
        "expire": ("expiry", "expire", "Remove what was not seen since a time."),
        "backup": ("upkeep", "backup", "Copy the store, while others use it."),
        "restore": ("upkeep", "restore", "Put a backup in the place of a store."),
        "compact": ("upkeep", "compact", "Pack the store, and give unused space back."),
        "reindex": ("upkeep", "reindex", "Make fingerprints anew, by any scheme."),
        "upgrade": ("upkeep", "upgrade", "Bring an older store to the present schema."),
        "fsck": ("upkeep", "fsck", "Check every invariant of the store."),
    },
    "Serve": {
        "serve": ("serve", "serve", "Serve the store over HTTP, with a page for people."),
        "token": ("token", "token", "Make, list and revoke tokens of a served store."),
        "completion": ("guidance", "completion", "Print the script by which a shell completes."),
    },
}
_HIDDEN = {"help": ("guidance", "help_command", "Show the help of a command.")}
_COMMANDS = {name: one for section in _SECTIONS.values() for name, one in section.items()} | _HIDDEN
# As click names the variable by which a shell asks for completion.
_PROGRAM = "SIMSTORE"
_START = """\
simstore remembers texts, and finds what is nearly the same, within a guarantee.

  simstore ingest article.txt      remember documents, in simstore.db here
  simstore query sample.txt        which of them are near these?
  simstore report                  write that answer to result.txt

`simstore help` lists all commands, `simstore help COMMAND` explains one.
"""


class _Commands(BriefErrors, Suggesting, Sectioned):
    """A group that imports a command when it is asked for, and renders our errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for name in _COMMANDS if name not in _HIDDEN]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, function, text = _COMMANDS[cmd_name]
        with uncollected(f"simstore.cli.{module}"):
            command: click.Command = getattr(import_module(f"simstore.cli.{module}"), function)
        command.short_help = text
        return command

    def main(self, *args: Any, **keywords: Any) -> Any:
        before = speak_to("command line")
        try:
            return super().main(*args, **keywords)
        finally:
            speak_to(before)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of a command line; without any, say how to start."""
        if not args and not ctx.resilient_parsing:
            click.echo(_START, nl=False)
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, then the options."""
        width = max(map(len, _COMMANDS))
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), one[2]) for name, one in commands.items()])
        Sectioned.format_options(self, ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        settle_streams()
        compiled.leave_out_blas()
        try:
            with interruptible():
                return super().invoke(ctx)
        except SimstoreError as error:
            fail(str(error), error.exit_code, page=error.page)
        except KeyboardInterrupt as error:
            number = error.args[0] if error.args else signal.SIGINT
            fail(INTERRUPTED, 128 + number)
        except MemoryError:
            fail("out of memory; nothing committed is lost", 1)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "\b\nExamples:\n"
        "  simstore ingest article.txt      remember documents\n"
        "  simstore query sample.txt        which of them are near these?\n"
        "  simstore report                  write the answer to result.txt\n"
        "  simstore help query              all about a command\n\n"
        "The store is simstore.db in the current directory, or SIMSTORE_DB, or --db.\n\n"
        "Exit codes: 0 done, 1 unexpected, 2 usage, 3 not found, 4 conflict, 5 bad input (the "
        "rest was ingested), 6 storage, 7 not all seen, 130 interrupted."
    ),
)
@click.version_option(__version__, "-V", "--version", prog_name="simstore")
@common_options
def main() -> None:
    """Remember texts in one SQLite file, and find what is nearly the same, within a guarantee."""
