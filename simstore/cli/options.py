"""Command-line options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from simstore.cli.imports import uncollected
from simstore.cli.messages import (
    AS_JSON,
    DEFAULT_STORE,
    SERVER,
    STORE,
    VERBOSITY,
    log,
    set_up_logging,
)
from simstore.cli.parameters import (
    COMMON,
    Decorator,
    choice,
    count,
    flag,
    group,
    option,
    section,
    share,
)
from simstore.cli.remote import given_by_hand, open_client, server_options, server_url
from simstore.errors import InvalidParameter, NotServed, printable
from simstore.model.channels import (
    CHANNELS,
    DEFAULT_CHANNELS,
    DROP_RESEMBLANCE,
    kept_channels,
    searched_names,
)
from simstore.model.documents import FILTERS
from simstore.model.query import DEFAULT_RADIUS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simstore.store import Store


def document_filters() -> Decorator:
    """Return the options that choose documents by their columns, each with the same help."""
    return group(
        *(
            option(f"--{name}", f"Only documents of this {name}.", metavar="NAME")
            for name in FILTERS
        )
    )


def filters_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that the options of :func:`document_filters` choose by."""
    return {name: given[name] for name in FILTERS if given[name] is not None}


def tell_empty_choice(store: Store, chosen: Mapping[str, Any]) -> None:
    """Warn where no stored document has a value that the options chose by: it may be misspelt.

    Call it where nothing was found: it may read all documents.

    Args:
        store: The store that was asked.
        chosen: The options that were given, as :func:`filters_of` returns them.
    """
    for name, value in chosen.items():
        if not store.list(limit=1, with_text=False, **{name: value}):
            log.warning("no stored document has this %s: %s", name, printable(value))


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


def common_with(store_help: str) -> Decorator:
    """Return ``--db``, ``--server``, ``-v`` and the like; the last given, group or command, counts.

    Args:
        store_help: What ``--db`` names.
    """
    return section(
        COMMON,
        option(
            "--db",
            store_help,
            metavar="PATH-OR-URL",
            envvar="SIMSTORE_DB",
            expose_value=False,
            callback=_remember(STORE),
        ),
        *server_options(_remember),
        option(
            "-v --verbose",
            "Say more on stderr.",
            count=True,
            expose_value=False,
            callback=_verbosity,
        ),
        option(
            "-q --quiet",
            "Only results and errors.",
            count=True,
            expose_value=False,
            callback=_verbosity,
        ),
        flag(
            "--log-json",
            "Messages on stderr as JSON, one object a line.",
            expose_value=False,
            callback=_remember(AS_JSON),
        ),
    )


common_options = common_with(f"The store.  [default: $SIMSTORE_DB, else {DEFAULT_STORE}]")


def store_place() -> str:
    """Return the store that was named, or the default.

    Raises:
        NotServed: A server is to be asked.
    """
    if server_url() is not None:
        raise NotServed(f"`{click.get_current_context().command_path}`")
    return str(click.get_current_context().meta.get(STORE, DEFAULT_STORE))


def store_is_named(*, by_option: bool = False) -> bool:
    """Return whether a store or a server is named; by an option, not a variable, where asked."""
    if not by_option:
        meta = click.get_current_context().meta
        return STORE in meta or SERVER in meta
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


def threads_option(shared: str) -> Decorator:
    """Return the option ``--threads`` of a command that shares out its work to processes.

    Args:
        shared: What is shared out, and from when on.
    """
    return count(
        "--threads", f"Processors to use: {shared}; the output is the same.  [default: all]"
    )


def channels_option(*, is_new: bool = True, of_duplicates: bool = False) -> Decorator:
    """Return the option ``--channels``, a list of names with commas.

    Args:
        is_new: It has a default, as of a new store; else channels stay as they are.
        of_duplicates: Duplicates are looked for by them: by those of words, or by characters alone.
    """
    default = ",".join(DEFAULT_CHANNELS) if is_new else None
    kept = [one for one in CHANNELS if one.is_kept]
    return option(
        "--channels",
        "By which documents are found: names with commas. "
        + " ".join(f"{one.name}: {one.finds}." for one in kept)
        + (" characters stands alone: texts are compared by it, too." if of_duplicates else "")
        + ("" if default else "  [default: as before]"),
        default=default,
        metavar="NAMES",
    )


def channel_names(chosen: str) -> tuple[str, ...]:
    """Return the channels that ``--channels`` names.

    Args:
        chosen: Names with commas.

    Raises:
        InvalidParameter: One is unknown, or there is none.
    """
    return kept_channels(name.strip() for name in chosen.split(",") if name.strip())


def least_option(text: str, default: str) -> Decorator:
    """Return ``--min-resemblance``, of words or of runs of characters.

    Args:
        text: What it is the least of, with a full stop.
        default: Its default, in words.
    """
    return share(
        "--min-resemblance",
        f"{text} With --channels characters, of their runs of characters.  [default: {default}]",
        zero=False,
    )


short_texts_option = flag(
    "--short-texts",
    "With --channels characters: compare texts of at most 24 words (characters of Chinese), too; "
    "without it, Chapter 2 is no duplicate of Chapter 1.",
)


# The options that say what a duplicate is.
duplicate_options = section(
    "Duplicates",
    option(
        "--min-resemblance",
        "With flag or skip: least resemblance of a duplicate.  "
        f"[default: {DROP_RESEMBLANCE}; none with --radius]",
        type=float,
        metavar="SHARE",
    ),
    option(
        "-k --radius",
        "With flag or skip: largest Hamming distance of a duplicate; with "
        "--min-resemblance both have to hold.",
        type=int,
        metavar="BITS",
    ),
)


def measure_options(begin: str = "Look") -> Decorator:
    """Return the options that say by which channels duplicates are looked for.

    Args:
        begin: How the help begins.
    """
    of_words = ", ".join(one.name for one in CHANNELS if one.measure == "words")
    return group(
        option(
            "--channels",
            f"{begin} by these channels, names with commas: some of {of_words}, or characters "
            "alone, for scans and typed copies; then the resemblance is that of runs of "
            "characters, 0.5 unless you say otherwise.  [default: those of words]",
            metavar="NAMES",
            callback=lambda _context, _parameter, value: searched_names(value or ""),
        ),
        short_texts_option,
    )


def check_duplicate_options(
    on_duplicate: str | None,
    min_resemblance: float | None,
    radius: int | None,
    channels: Sequence[str] = (),
) -> None:
    """Raise UsageError where duplicate options are given without ``--on-duplicate``."""
    given = {
        "--min-resemblance": min_resemblance,
        "--radius": radius,
        "--channels": channels or None,
    }
    for name, value in given.items():
        if value is not None and on_duplicate in (None, "keep"):
            raise click.UsageError(
                f"{name} says what a duplicate is: give --on-duplicate flag or skip too"
            )


def radius_option(text: str = "Radius within which fingerprints are compared.") -> Decorator:
    """Return the option ``--radius``."""
    return option(
        "-k --radius",
        f"{text}  [default: min({DEFAULT_RADIUS}, M)]",
        type=click.IntRange(min=0),
        metavar="BITS",
    )


bands_option = option("--bands", "Bands of sketches of words.  [default: 42x3]", metavar="BxR")


# What every command writes, with one meaning: json is one value, jsonl an object a line.
FORMATS = ("table", "json", "jsonl", "csv")


def format_option(*others: str, default: str = "table", text: str | None = None) -> Decorator:
    """Return the option ``--format``.

    Args:
        others: Formats of this command; those that all have need not be among them.
        default: The format where none is asked for.
        text: The help; None: the usual one.
    """
    text = text or "How to write the result: for people, as one JSON value, an object a line, CSV."
    return choice(
        "--format output_format", tuple(dict.fromkeys((*FORMATS, *others))), text, default=default
    )


# The option of what asks before it is done.
yes_option = flag("--yes", "Do it unasked.")


def bands_of(text: str | None) -> tuple[int, int] | None:
    """Parse bands and values a band, such as ``32x4``; None where none are given.

    Raises:
        InvalidParameter: It is written otherwise.
    """
    if text is None:
        return None
    bands, cross, rows = text.strip().lower().partition("x")
    if not (text.isascii() and cross and bands.isdecimal() and rows.isdecimal()):
        raise InvalidParameter(f"--bands {text!r}: write them as 32x4")
    return int(bands), int(rows)
