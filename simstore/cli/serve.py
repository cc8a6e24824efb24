"""The command ``simstore serve``: serve a store over HTTP."""

from __future__ import annotations

from dataclasses import Field, fields
from itertools import groupby
from typing import Any

import click

from simstore.cli.interrupts import uninterruptible
from simstore.cli.messages import TIMED, set_up_logging
from simstore.cli.options import common_options, store_place
from simstore.cli.parameters import Decorator, command, group, option, section
from simstore.server.settings import Declared, ServerSettings


def _option_of(one: Field[Any]) -> Decorator:
    """Return the option of a setting."""
    how: Declared = one.metadata["declared"]
    name = f"--{one.name.replace('_', '-')}"
    if one.type == "bool":
        names = f"{name}/--no-{name[2:]}" if one.default else name
        return option(names, how.text, is_flag=True, default=one.default or None)
    kind: Any = None
    if "int" in one.type:
        kind = click.IntRange(0 if how.zero else 1, how.most)
    elif "float" in one.type:
        kind = click.FloatRange(0, min_open=not how.zero)
    return option(name, how.text, type=kind, default=one.default, metavar=how.metavar)


def _options() -> Decorator:
    """Return the options of all settings, under their headings."""
    parts = groupby(fields(ServerSettings), lambda one: one.metadata["declared"].section)
    return group(*(section(title, *map(_option_of, held)) for title, held in parts))


@command()
@_options()
@common_options
def serve(**options: Any) -> None:
    """Serve the store over HTTP, until SIGTERM or Ctrl-C.

    What was taken by then is written and answered; a second signal ends it at once.

    Examples:
      simstore serve                 http://127.0.0.1:8765, this machine only
      simstore serve --port 0        any free port; stderr says which
      simstore serve --host 0.0.0.0  all machines; the store needs a token first:
          simstore token add crawler --scope write --expires 90d
    """
    from simstore.errors import MissingExtra

    context = click.get_current_context()
    context.meta[TIMED] = True
    set_up_logging(context)
    settings = ServerSettings(**{name: one for name, one in options.items() if one is not None})
    try:
        from simstore.server import serving
    except ImportError as error:
        if error.name is None or error.name.startswith("simstore"):
            raise
        raise MissingExtra("simstore serve", "server") from None
    with uninterruptible():
        serving.serve(store_place(), settings)
