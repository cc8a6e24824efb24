"""The commands ``simstore help`` and ``completion``: print help, and a shell's script."""

from __future__ import annotations

import click

from simstore.cli.parameters import command, did_you_mean


@command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND...]")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command, or the list of all commands.

    Examples:
      simstore help
      simstore help passages build
    """
    context = ctx.find_root()
    for word in words:
        group = context.command
        found = group.get_command(context, word) if isinstance(group, click.Group) else None
        if found is None:
            path = context.command_path
            if not isinstance(group, click.Group):
                raise click.UsageError(f"`{path}` has no commands below it", ctx)
            hint = did_you_mean(word, group.list_commands(context))
            raise click.UsageError(f"no such command {f'{path} {word}'!r}; {hint}", ctx)
        context = click.Context(found, info_name=word, parent=context, **found.context_settings)
    click.echo(context.get_help())


@command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the shell script that completes commands, options and files.

    Examples:
      simstore completion bash >> ~/.bashrc
      simstore completion fish > ~/.config/fish/completions/simstore.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    root = ctx.find_root()
    click.echo(kind(root.command, {}, "simstore", "_SIMSTORE_COMPLETE").source())
