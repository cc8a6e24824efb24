"""Options that connect a command to a server instead of a store."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from simstore.cli.messages import SERVER, log
from simstore.cli.parameters import Decorator, flag_of, option
from simstore.errors import (
    NotFound,
    NotServed,
    SimstoreError,
    Unauthorized,
    UnreadableSource,
    printable,
)

if TYPE_CHECKING:
    from simstore.client import Client


TOKEN_FILE = "simstore.token_file"  # an option  # noqa: S105
TOKEN_VARIABLE = "SIMSTORE_TOKEN"  # a variable  # noqa: S105
# A server gives a request half of it.
_TIMEOUT_SECONDS = 60.0
_LONGEST_TOKEN = 4_096
_MADE = "write what `simstore token add` printed into it"
# Commands that no server offers, as messages of a store name them.
_ONLY_THERE = re.compile(
    r"`simstore (clusters|passages|vocabulary|reindex|compact|fsck|upgrade)\b[^`]*`"
)


def server_options(
    remember: Callable[[str], Callable[[click.Context, click.Parameter, Any], None]],
) -> tuple[Decorator, ...]:
    """Return the options ``--server`` and ``--token-file``.

    Args:
        remember: Gives the callback that remembers an option by its name.
    """
    return (
        option(
            "--server",
            "Ask a server, not a store here; a command that cannot says so.  "
            "[default: $SIMSTORE_SERVER]",
            metavar="URL",
            envvar="SIMSTORE_SERVER",
            expose_value=False,
            callback=remember(SERVER),
        ),
        option(
            "--token-file",
            "Where the server's token stands.  [default: $SIMSTORE_TOKEN is the token]",
            metavar="FILE",
            expose_value=False,
            callback=remember(TOKEN_FILE),
        ),
    )


def given_by_hand(name: str) -> bool:
    """Return whether an option stands on the command line, of the command or of its group."""
    context: click.Context | None = click.get_current_context()
    while context is not None:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            return True
        context = context.parent
    return False


def server_url() -> str | None:
    """Return the server that is to be asked; None: a store is used.

    A store that is named on the command line goes before a server that only a variable names.

    Raises:
        UsageError: Both are named on the command line.
    """
    url: str | None = click.get_current_context().meta.get(SERVER)
    if url is None or not given_by_hand("db"):
        return url
    if given_by_hand("server"):
        raise click.UsageError("--server and --db: name one of them")
    return None


def refuse_served(names: Iterable[str]) -> None:
    """Refuse options that only a store knows, where a server is asked.

    Raises:
        NotServed: One of them is given.
    """
    if server_url() is None:
        return
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise NotServed(flag_of(name))


@contextmanager
def open_client(url: str) -> Iterator[Client]:
    """Connect to a server, with the token that was given."""
    from simstore.client import Client

    token = _token()
    try:
        with Client(url, token=token, timeout=_TIMEOUT_SECONDS) as client:
            yield client
    except Unauthorized as error:
        error.args = (_about_token(url, is_given=token is not None),)
        raise
    except SimstoreError as error:
        # What the server's message names is done where its store is, not by this command again.
        if hasattr(error, "request_id") and _ONLY_THERE.search(str(error)):
            error.args = (f"{error}, where the store is: not over --server",)
        raise


def _about_token(url: str, *, is_given: bool) -> str:
    """Return what is to be done where a server takes no request without a valid token."""
    made = "`simstore token add NAME --expires 90d`, run where the store is, makes one"
    if not is_given:
        return (
            f"{printable(url)} asks for a token; give --token-file FILE or SIMSTORE_TOKEN; {made}"
        )
    path = click.get_current_context().meta.get(TOKEN_FILE)
    which = TOKEN_VARIABLE if path is None else printable(path)
    return (
        f"{printable(url)} refuses the token of {which}: it is not known there, has expired, or "
        f"was revoked; {made}"
    )


def _token() -> str | None:
    path = click.get_current_context().meta.get(TOKEN_FILE)
    if path is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        with Path(path).open(encoding="utf-8") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                shown = printable(path)
                log.warning("%s: others can read the token; `chmod 600 %s`", shown, shown)
            token = file.read(_LONGEST_TOKEN + 1)
            if len(token) > _LONGEST_TOKEN:
                raise UnreadableSource(path, "it is too long to be a token")
            if not token.strip():
                raise UnreadableSource(path, f"there is no token in it; {_MADE}")
            return token.strip()
    except FileNotFoundError:
        raise NotFound(f"--token-file {printable(path)}: no such file; {_MADE}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UnreadableSource(path, reason) from None
