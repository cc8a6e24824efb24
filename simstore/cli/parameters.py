"""Helpers to declare click commands with examples, and options under headings.

The first argument of each option names the option as click wants it, its forms separated by blanks:
``"-k --radius"``, or ``"--text with_text"`` where the parameter has another name. The last one is
its help. A default is shown in the help. :func:`section` puts options under a heading.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Any, TypeAlias

import click

Decorator: TypeAlias = Callable[[Any], Any]

# The heading of what every command takes; --help stands there too.
COMMON = "Store and messages"


class _WholeNumber(click.IntRange):
    """A whole number of a range; an error calls it so."""

    name = "whole number"


class _Number(click.FloatRange):
    """A number of a range; an error calls it so."""

    name = "number"


class _Option(click.Option):
    """An option with the heading under which the help shows it."""

    section = "Options"


def completed(kind: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Return the shell completion function of a path.

    Args:
        kind: ``file`` or ``dir``; the shell completes it.
    """

    def complete(_ctx: click.Context, _parameter: click.Parameter, beginning: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(beginning, type=kind)]

    return complete


# What the value of an option is, by the word that stands for it in the help.
_COMPLETED = {
    "FILE": "file", "FILE-OR-FOLDER": "file", "PATH-OR-URL": "file", "FILE|builtin": "file",
    "FILE|builtin[:LANGUAGE]|none": "file", "FOLDER": "dir", "OUTPUT": "dir",
}  # fmt: skip


def option(names: str, text: str, **settings: Any) -> Decorator:
    """Return an option; the settings are those of ``click.option``."""
    kind = _COMPLETED.get(settings.get("metavar", ""))
    if kind is not None:
        settings.setdefault("shell_complete", completed(kind))
    if settings.get("default") is not None:
        settings.setdefault("show_default", True)
    return click.option(*names.split(), help=text, cls=_Option, **settings)


def flag(names: str, text: str, **settings: Any) -> Decorator:
    """Return an option without a value."""
    return option(names, text, is_flag=True, **settings)


def choice(names: str, choices: Sequence[str], text: str, **settings: Any) -> Decorator:
    """Return an option that takes one of some words."""
    return option(names, text, type=click.Choice(choices), **settings)


def count(names: str, text: str, **settings: Any) -> Decorator:
    """Return an option that takes a number from 1 on."""
    return option(names, text, type=_WholeNumber(min=1), **{"metavar": "N", **settings})


def share(names: str, text: str, *, zero: bool = True, **settings: Any) -> Decorator:
    """Return an option that takes a number from 0 to 1, or without 0."""
    kind = _Number(0, 1, min_open=not zero)
    return option(names, text, type=kind, metavar="SHARE", **settings)


def files_argument(name: str, metavar: str) -> Decorator:
    """Return an argument that takes files, at least one."""
    return click.argument(
        name, nargs=-1, required=True, metavar=metavar, shell_complete=completed("file")
    )


def flag_of(name: str) -> str:
    """Return the option of the present command whose parameter has a name."""
    parameters = click.get_current_context().command.params
    return next(one.opts[-1] for one in parameters if one.name == name)


def group(*options: Decorator) -> Decorator:
    """Return several options as one, in the order of the help."""

    def add(command: Any) -> Any:
        for one in reversed(options):
            command = one(command)
        return command

    return add


def section(title: str, *options: Decorator) -> Decorator:
    """Return several options as one, under a heading of the help."""

    def add(command: Any) -> Any:
        known = len(getattr(command, "__click_params__", ()))
        command = group(*options)(command)
        for parameter in command.__click_params__[known:]:
            parameter.section = title
        return command

    return add


class Sectioned(click.Command):
    """A command whose help shows its options under headings, in one column."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                # click's own option is --help.
                sections.setdefault(getattr(parameter, "section", COMMON), []).append(record)
        names = [name for records in sections.values() for name, _ in records]
        width = max((len(name) for name in names if len(name) <= _NAME_WIDTH), default=0)
        for title, records in sections.items():
            with formatter.section(title):
                (first, text), *others = records
                formatter.write_dl([(first.ljust(width), text), *others], col_max=_NAME_WIDTH)


# Longer names of options stand on a line of their own.
_NAME_WIDTH = 26


class _Documented(Sectioned):
    """A command whose docstring ends with its examples: they stand below the options."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        # An interpreter that drops docstrings (-OO) has commands without their help.
        whole = cleandoc(settings.get("help") or "")
        text, *examples = re.split(r"\n\n(?=Examples?:\n)", whole)
        epilog = "".join(f"\b\n{one}" for one in examples)
        super().__init__(*arguments, **{**settings, "help": text, "epilog": epilog or None})


class Suggesting(click.Group):
    """A command group that suggests commands for unknown names."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the words name, and the other words."""
        name = args[0]
        if not (ctx.resilient_parsing or name.startswith("-")) and (
            self.get_command(ctx, name) is None
        ):
            hint = did_you_mean(name, self.list_commands(ctx))
            raise click.UsageError(f"no such command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


def did_you_mean(word: str, commands: Sequence[str]) -> str:
    """Return a hint at the command that a word may mean.

    >>> did_you_mean("search", ["ingest", "query"])
    'did you mean `query`?'
    >>> did_you_mean("xyz", ["build", "status"])
    'there are `build` and `status`'
    """
    from simstore.model.keywords import nearest

    meant = nearest(word, commands)
    if meant is not None:
        return f"did you mean `{meant}`?"
    if "ingest" in commands:
        if os.path.lexists(word):
            return "it is a file: `ingest` stores its documents, `query` looks for what is near"
        return "`simstore help` lists them"
    *others, last = [f"`{name}`" for name in commands]
    return f"there are {', '.join(others)} and {last}" if others else f"there is {last}"


class _Group(Suggesting, _Documented):
    command_class = _Documented


def command(name: str | None = None) -> Callable[[Callable[..., Any]], click.Command]:
    """Return the decorator of a command; its docstring is its help."""
    return click.command(name, cls=_Documented)


def command_group() -> Callable[[Callable[..., Any]], click.Group]:
    """Return the decorator of a group of commands."""
    return click.group(cls=_Group)
