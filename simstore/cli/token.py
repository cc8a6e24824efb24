"""The commands ``simstore token``: manage access tokens for a served store."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from simstore.cli.messages import log
from simstore.cli.options import common_options, format_option, open_store
from simstore.cli.output import time_text
from simstore.cli.parameters import choice, command_group, option
from simstore.cli.results import print_items, print_summary
from simstore.errors import InvalidParameter
from simstore.model.times import moment_given

if TYPE_CHECKING:
    from simstore.model import Scope


@command_group()
def token() -> None:
    """Make, list and revoke tokens for `simstore serve`.

    Give each program a token of its own, of the least scope that will do. To change one, make
    another under a new name, give it to the program, and revoke the old one.
    """


@token.command()
@click.argument("name")
@choice(
    "--scope",
    ("metrics", "read", "write", "admin"),
    "metrics: /metrics and no text; read: and ask and look; write: and add and remove; admin: and "
    "copy the whole store.",
    default="read",
)
@option(
    "--expires",
    "When it ends: after 12h, 90d or 2 weeks; at a date (ISO 8601, UTC); or never.  [required]",
    metavar="AGE|DATE|never",
)
@format_option()
@common_options
def add(name: str, scope: Scope, expires: str | None, output_format: str) -> None:
    """Make a token, and print its secret.

    Examples:
      simstore token add crawler-1 --scope write --expires 90d
      simstore token add prometheus --scope metrics --expires 365d
      simstore token add nightly --scope admin --expires 2027-01-01
      simstore token add page --expires never

    The secret is printed once, on stdout; the store has its SHA-256 only. As soon as a store has a
    token, a server asks everybody for one.
    """
    if expires is None:
        raise click.UsageError(
            "say when the token ends: --expires 90d, --expires 2027-01-01, or --expires never"
        )
    expires_at = _time(expires)
    with open_store() as store:
        secret = store.tokens.add(name, scope, expires_at)
    until = "" if expires_at is None else f" until {time_text(expires_at)}"
    log.info(f"token {name} ({scope}){until}; keep the secret, it is shown this once")
    record = {"name": name, "scope": scope, "expires_at": expires_at, "secret": secret}
    print_summary(record, secret, output_format)


def _time(text: str) -> int | None:
    """Return when a token expires, in seconds since 1970-01-01 UTC; None: never."""
    if text == "never":
        return None
    try:
        return moment_given("--expires", text, ahead=True)
    except InvalidParameter as error:
        raise InvalidParameter(f"{error}, or never") from None


@token.command(name="list")
@format_option()
@common_options
def list_tokens(output_format: str) -> None:
    """List the tokens: names, scopes and times, no secrets.

    Example:
      simstore token list --format jsonl
    """
    import time

    now = int(time.time())
    with open_store(read_only=True) as store:
        tokens = store.tokens.list()
    print_items(
        tokens,
        output_format,
        columns=("name", "scope", "state", "made", "expires", "revoked"),
        row=lambda one: (
            one.name,
            one.scope,
            one.state(now),
            time_text(one.created_at),
            time_text(one.expires_at) or "never",
            time_text(one.revoked_at),
        ),
        record=lambda one: asdict(one) | {"state": one.state(now)},
    )


@token.command()
@click.argument("name")
@format_option()
@common_options
def revoke(name: str, output_format: str) -> None:
    """Revoke a token.

    Example:
      simstore token revoke crawler-1

    Servers refuse it within a second.
    """
    with open_store() as store:
        store.tokens.revoke(name)
    print_summary({"name": name, "revoked": True}, "", output_format)
    log.info(f"token {name} is revoked; servers refuse it within a second")
