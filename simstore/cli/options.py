"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from simstore.cli.imports import uncollected
from simstore.cli.messages import AS_JSON, VERBOSITY, set_up_logging
from simstore.cli.remote import SERVER, given_by_hand, open_client, server_options, server_url
from simstore.errors import NotServed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simstore.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_STORE = "simstore.db"
_STORE = "simstore.db"


def _remember(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value not in (None, 0, False):
            # What a variable says does not go before what stands on the command line.
            by_hand = ctx.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
            if by_hand or name not in ctx.meta:
                ctx.meta[name] = value
        set_up_logging(ctx)

    return callback


def _verbosity(ctx: click.Context, parameter: click.Parameter, value: int) -> None:
    if value:
        ctx.meta[VERBOSITY] = value if parameter.name == "verbose" else -value
    set_up_logging(ctx)


def common_options(command: Command) -> Command:
    """Add ``--db``, ``--server``, ``-v`` and the like; the last given, group or command, counts."""
    for option in reversed(
        (
            click.option(
                "--db",
                metavar="PATH-OR-URL",
                envvar="SIMSTORE_DB",
                expose_value=False,
                callback=_remember(_STORE),
                help=f"The store.  [default: $SIMSTORE_DB, else {DEFAULT_STORE}]",
            ),
            *server_options(_remember),
            click.option(
                "-v",
                "--verbose",
                count=True,
                expose_value=False,
                callback=_verbosity,
                help="Say more on stderr.",
            ),
            click.option(
                "-q",
                "--quiet",
                count=True,
                expose_value=False,
                callback=_verbosity,
                help="Only results and errors.",
            ),
            click.option(
                "--log-json",
                is_flag=True,
                expose_value=False,
                callback=_remember(AS_JSON),
                help="Messages on stderr as JSON, one object a line.",
            ),
        )
    ):
        command = option(command)
    return command


def store_place() -> str:
    """Return the store that was named, or the default.

    Raises:
        NotServed: A server is to be asked.
    """
    if server_url() is not None:
        raise NotServed(f"`{click.get_current_context().command_path}`")
    return str(click.get_current_context().meta.get(_STORE, DEFAULT_STORE))


def store_is_named(*, by_option: bool = False) -> bool:
    """Return whether a store or a server is named; by an option, not a variable, where asked."""
    if not by_option:
        meta = click.get_current_context().meta
        return _STORE in meta or SERVER in meta
    return given_by_hand("db") or given_by_hand("server")


@contextmanager
def open_store(*, read_only: bool = False, served: bool = False, **options: Any) -> Iterator[Store]:
    """Open the store that was named, and close it at the end.

    Args:
        read_only: Refuse to write.
        served: Where a server is named, yield its client, which has the methods that are served.
        options: As for :meth:`simstore.Store.open`.

    Raises:
        NotServed: A server is named, and the command is none for it.
    """
    url = server_url()
    if url is not None and served:
        with open_client(url) as client:
            yield cast("Store", client)
        return
    with uncollected("simstore.store"):
        from simstore.store import Store

    with Store.open(store_place(), read_only=read_only, **options) as store:
        yield store


def threads_option(shared: str) -> Callable[[Command], Command]:
    """Return the option ``--threads`` of a command that shares out its work to processes.

    Args:
        shared: What is shared out, and from when on.
    """
    return click.option(
        "--threads",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Processors to use: {shared}; the output is the same.  [default: all]",
    )


def channels_option(default: str | None) -> Callable[[Command], Command]:
    """Return the option ``--channels``."""
    return click.option(
        "--channels",
        type=click.Choice(["both", "simhash", "minhash"]),
        default=default,
        show_default=default is not None,
        help="simhash: fingerprints, all within a radius is found. minhash: sketches, what "
        "resembles is found with high probability." + ("" if default else "  [default: as before]"),
    )


def channel_names(chosen: str) -> tuple[str, ...]:
    """Return the channels that ``--channels`` names."""
    return ("simhash", "minhash") if chosen == "both" else (chosen,)


def duplicate_options(command: Command) -> Command:
    """Add the options that say what a duplicate is."""
    for option in (
        click.option(
            "-k",
            "--radius",
            type=int,
            metavar="BITS",
            help="With flag or skip: largest Hamming distance of a duplicate; with "
            "--min-resemblance both have to hold.",
        ),
        click.option(
            "--min-resemblance",
            type=float,
            metavar="SHARE",
            help="With flag or skip: least resemblance of a duplicate.  [default: 0.8; none with "
            "--radius]",
        ),
    ):
        command = option(command)
    return command


def keep_columns_option(command: Command) -> Command:
    """Add the option of a new store that keeps the segment columns of packed fingerprints."""
    return click.option(
        "--keep-columns",
        is_flag=True,
        help="A new store keeps the indexed segment columns of packed fingerprints, for SQL: some "
        "110 bytes each besides.",
    )(command)


def check_duplicate_options(
    on_duplicate: str | None, min_resemblance: float | None, radius: int | None
) -> None:
    """Raise UsageError where what a duplicate is is told, and nothing is done with one."""
    told = {"--min-resemblance": min_resemblance, "--radius": radius}
    for name, value in told.items():
        if value is not None and on_duplicate in (None, "keep"):
            raise click.UsageError(
                f"{name} says what a duplicate is: give --on-duplicate flag or skip too"
            )


def format_option(*formats: str) -> Callable[[Command], Command]:
    """Return the option ``--format``; the first of the formats is the default."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="How to write the result.",
    )
