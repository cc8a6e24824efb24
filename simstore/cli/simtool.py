"""The command ``simtool N M``: write near-duplicates to result.txt for a course assignment."""

from __future__ import annotations

import os
import sys
from itertools import chain, count
from pathlib import Path

import click

from simstore.cli.imports import uncollected
from simstore.cli.output import BriefErrors, fail
from simstore.errors import SimstoreError, SourceNotFound
from simstore.outputs import write_file
from simstore.version import __version__

_INPUTS = ("stopwords.txt", "hashvalue.txt", "article.txt", "sample.txt")


@click.command(
    cls=BriefErrors,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Reads stopwords.txt, hashvalue.txt, article.txt and sample.txt in the current directory."
        "\n\n\b\nExample:\n  simtool 1000 16"
    ),
)
@click.version_option(__version__, "-V", "--version", prog_name="simtool")
@click.argument("features", metavar="N", type=int)
@click.argument("bits", metavar="M", type=int)
def main(features: int, bits: int) -> None:
    """Write the pages near each sample to result.txt, with N features and M-bit fingerprints.

    Prints the first sample's block. After an error there is no result.txt: one of an earlier run
    is kept as result.txt.old.
    """
    with uncollected():
        from simstore.reports.formats import render_simtool
        from simstore.services.simtool import run
    try:
        samples = run(Path(), features, bits)
        write_file("result.txt", b"".join(render_simtool(samples)), replace=True)
    except SimstoreError as error:
        fail(f"{error}{_needed(error)}{_set_aside()}", error.exit_code)
    sys.stdout.buffer.write(b"".join(render_simtool(samples[:1])))
    sys.stdout.buffer.flush()


def _needed(error: SimstoreError) -> str:
    """Return what is to be said where a file is missing."""
    if not isinstance(error, SourceNotFound):
        return ""
    return f"; a run needs {', '.join(_INPUTS[:-1])} and {_INPUTS[-1]} here"


def _set_aside() -> str:
    """Give another name to the result of an earlier run, which would be taken for this one's.

    Where none of the tool's files is, it may be somebody else's, and stays.

    Returns:
        What is to be said of it.
    """
    old = Path("result.txt")
    if not old.is_file() or old.is_symlink() or not any(Path(name).exists() for name in _INPUTS):
        return ""
    names = chain(("result.txt.old",), (f"result.txt.old.{number}" for number in count(2)))
    kept = next(name for name in names if not os.path.lexists(name))
    try:
        old.rename(kept)
    except OSError:
        return "; result.txt is still that of an earlier run"
    return f"; result.txt of an earlier run is {kept} now"


if __name__ == "__main__":
    main()
