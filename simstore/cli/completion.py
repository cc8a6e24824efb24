"""The command ``simstore completion``: print a shell completion script."""

from __future__ import annotations

import click

from simstore.cli.parameters import command


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
