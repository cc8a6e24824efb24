"""Look for faults: ``python -m tests.torture``; see ``--help`` and CONTRIBUTING.md."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
# Modules that tests share lie beside this package.
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

from . import sandbox  # noqa: E402
from .campaign import CAMPAIGNS, Outcome, Place, load, run  # noqa: E402

FULL_SECONDS = 7_200.0


@click.command(
    epilog="""\b
Examples:
  python -m tests.torture --slice               what each change runs, four minutes
  python -m tests.torture --full                all of it, two hours at most
  python -m tests.torture power --seconds 600   one campaign for ten minutes
  python -m tests.torture power --seed 71 --cases 1
                                                one round again, alone"""
)
@click.argument("names", nargs=-1, metavar="[CAMPAIGN]...", type=click.Choice(list(CAMPAIGNS)))
@click.option("--seconds", type=float, help="Each campaign goes on for so long.")
@click.option("--cases", type=int, help="Each campaign runs so many rounds.")
@click.option("--slice", "slice_", is_flag=True, help="Each runs its slice, from seed 1.")
@click.option("--full", is_flag=True, help="Each runs until it has its number of cases.")
@click.option("--seed", type=int, help="Of the first round; the clock gives it otherwise.")
@click.option("--scratch", type=click.Path(path_type=Path), help="A new folder, to be kept.")
@click.option("--no-sandbox", is_flag=True, help="Run where all could be written to.")
def main(
    names: tuple[str, ...],
    seconds: float | None,
    cases: int | None,
    slice_: bool,
    full: bool,
    seed: int | None,
    scratch: Path | None,
    no_sandbox: bool,
) -> None:
    """Run campaigns that look for faults, print what they counted, and exit with 1 for a fault.

    Without the name of a campaign all of them run. Each fault is written to a file with the seed
    of its round; the round's folder is kept beside it.
    """
    if sum((seconds is not None, cases is not None, slice_, full)) != 1:
        raise click.UsageError("say one of --seconds, --cases, --slice and --full")
    if not sandbox.is_inside():
        sys.exit(_outside(scratch, no_sandbox))
    if seed is None:
        seed = 1 if slice_ else int(time.time())
    place = Place(Path.cwd(), os.environ[sandbox.INSIDE] == "1")
    names = names or tuple(CAMPAIGNS)
    start = time.monotonic()
    outcomes = []
    for at, name in enumerate(names):
        kind = load(name)
        if reason := kind.cannot_run():
            click.echo(f"{name}: skipped: {reason}")
            continue
        # What a whole run has left is shared by the campaigns that are left.
        share = (FULL_SECONDS - (time.monotonic() - start)) / (len(names) - at)

        def goes_on(outcome: Outcome, kind: type = kind, share: float = share) -> bool:
            if full:
                return outcome.counts[kind.unit] < kind.full_cases and outcome.seconds < share
            if seconds is not None:
                return outcome.seconds < seconds
            return outcome.rounds < (kind.slice_rounds if slice_ else cases or 0)

        outcomes.append(run(name, place, seed=seed, goes_on=goes_on, told=_tell))
        _finish(outcomes[-1], place)
    if sum(bool(outcome.faults) for outcome in outcomes):
        sys.exit(1)


def _outside(scratch: Path | None, no_sandbox: bool) -> int:
    """Run this program anew in a sandbox, or say why there is none; return its exit code."""
    # The folder goes, too, where this process is told to end.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="torture-")) if scratch is None else scratch.resolve()
    folder.mkdir(exist_ok=True)
    if any(folder.iterdir()):
        raise click.UsageError(f"{folder} is not empty")
    words = [sys.executable, str(HERE / "inside.py"), str(folder), *sys.argv[1:]]
    reason = "it was asked for" if no_sandbox else sandbox.cannot_seal()
    kept = False
    try:
        if reason is None:
            code = sandbox.run_inside(words, folder)
        else:
            click.echo(f"no sandbox: {reason}; cases that name other places are left out")
            os.environ[sandbox.INSIDE] = "0"
            code = subprocess.run(words, check=False).returncode
        kept = scratch is not None or code != 0
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    return code


def _tell(outcome: Outcome) -> None:
    if sys.stderr.isatty():
        line = f"{outcome.name}: {outcome.rounds} rounds, {_counted(outcome)}"
        click.echo(f"\r{line[:78]:<78}", err=True, nl=False)


def _counted(outcome: Outcome) -> str:
    counts = [f"{count:,} {what}" for what, count in sorted(outcome.counts.items())]
    return ", ".join([*counts, f"{len(outcome.faults)} faults"])


def _finish(outcome: Outcome, place: Place) -> None:
    if sys.stderr.isatty():
        click.echo("\r" + " " * 78 + "\r", err=True, nl=False)
    click.echo(
        f"{outcome.name}: {outcome.rounds} rounds, {outcome.seconds:.0f} s: {_counted(outcome)}"
    )
    for seed, story in outcome.faults:
        path = place.folder / f"FAULT-{outcome.name}-{seed}.txt"
        again = f"python -m tests.torture {outcome.name} --seed {seed} --cases 1"
        path.write_text(f"{again}\n\n{story}", errors="backslashreplace")
        click.echo(f"  {again}\n    {story.strip().splitlines()[-1][:300]}\n    {path}")


if __name__ == "__main__":
    main()
