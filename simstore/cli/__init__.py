"""The command line interface: one module for each subject parses options and prints results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simstore.cli.commands import main

__all__ = ["main"]


def __getattr__(name: str) -> Any:
    """Import the commands on first use: ``simtool`` lives here too, and needs none (PEP 562)."""
    if name == "main":
        from simstore.cli.imports import uncollected

        with uncollected():
            from simstore.cli import commands

        return commands.main
    raise AttributeError(f"module 'simstore.cli' has no attribute {name!r}")
