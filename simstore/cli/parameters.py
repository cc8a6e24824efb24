"""Commands whose docstrings hold their examples; short forms of options, by the kind of value.

The first argument of each option names the option as click wants it, its forms separated by blanks:
``"-k --radius"``, or ``"--text with_text"`` where the parameter has another name. The last one is
its help. A default is shown in the help.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Any, TypeAlias

import click

Decorator: TypeAlias = Callable[[Any], Any]


def option(names: str, text: str, **settings: Any) -> Decorator:
    """Return an option; the settings are those of ``click.option``."""
    if settings.get("default") is not None:
        settings.setdefault("show_default", True)
    return click.option(*names.split(), help=text, **settings)


def flag(names: str, text: str, **settings: Any) -> Decorator:
    """Return an option without a value."""
    return option(names, text, is_flag=True, **settings)


def choice(names: str, choices: Sequence[str], text: str, **settings: Any) -> Decorator:
    """Return an option that takes one of some words."""
    return option(names, text, type=click.Choice(choices), **settings)


def count(names: str, text: str, **settings: Any) -> Decorator:
    """Return an option that takes a number from 1 on."""
    return option(names, text, type=click.IntRange(min=1), **{"metavar": "N", **settings})


def share(names: str, text: str, **settings: Any) -> Decorator:
    """Return an option that takes a number from 0 to 1."""
    return option(names, text, type=click.FloatRange(0, 1), metavar="SHARE", **settings)


def group(*options: Decorator) -> Decorator:
    """Return several options as one, in the order of the help."""

    def add(command: Any) -> Any:
        for one in reversed(options):
            command = one(command)
        return command

    return add


class _Documented(click.Command):
    """A command whose docstring ends with its examples: they stand below the options."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        # An interpreter that drops docstrings (-OO) has commands without their help.
        whole = cleandoc(settings.get("help") or "")
        text, *examples = re.split(r"\n\n(?=Examples?:\n)", whole)
        epilog = "".join(f"\b\n{one}" for one in examples)
        super().__init__(*arguments, **{**settings, "help": text, "epilog": epilog or None})


class _Group(click.Group):
    command_class = _Documented


def command(name: str | None = None) -> Callable[[Callable[..., Any]], click.Command]:
    """Return the decorator of a command; its docstring is its help."""
    return click.command(name, cls=_Documented)


def command_group() -> Callable[[Callable[..., Any]], click.Group]:
    """Return the decorator of a group of commands."""
    return click.group(cls=_Group)
