"""Launcher for a bare checkout: ``python cli.py ...`` is ``simstore ...``."""

from simstore.cli import main

if __name__ == "__main__":
    main(prog_name="simstore")
