"""Write plots of a store's statistics to image files, for ``simstore stats --plot``."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simstore.cli.messages import log
from simstore.cli.output import check_output
from simstore.errors import InvalidParameter, MissingExtra, StorageError, printable
from simstore.outputs import write_file

if TYPE_CHECKING:
    from simstore.model import StoreFigures

_FORMS: tuple[Literal["png", "svg"], ...] = ("png", "svg")


def check_plot(target: str, *, replace: bool) -> None:
    """Refuse what cannot be drawn, before the store is counted.

    Args:
        target: A picture, or a folder.
        replace: Pictures that are there may be replaced.

    Raises:
        MissingExtra: Matplotlib is not installed.
        InvalidParameter: It is neither a picture nor a folder.
        StorageError: The folder does not exist.
        OutputExists: There is a picture already.
    """
    if find_spec("matplotlib") is None:
        raise MissingExtra("drawing a store", "plots")
    path = Path(target)
    if target.endswith("/") and not os.path.isdir(path):
        raise StorageError(f"{printable(target)}: this folder does not exist; make it first")
    if not os.path.isdir(path) and path.suffix.lower().removeprefix(".") not in _FORMS:
        raise InvalidParameter(
            f"--plot {printable(target)!r}: name a .png, a .svg, or a folder that exists"
        )
    for name in _pictures(path):
        check_output(str(name), replace=replace)


def write_plots(target: str, figures: StoreFigures, title: str, *, replace: bool) -> None:
    """Draw a store into one picture, or into a folder all at once and each panel by itself.

    Args:
        target: A picture, or a folder.
        figures: What is drawn.
        title: Stands above the panels.
        replace: Replace pictures that are there.

    Raises:
        OutputExists: There is a picture already.
        StorageError: One cannot be written.
    """
    from simstore.reports.store_plots import render_overview, render_panel

    path = Path(target)
    names = _pictures(path)
    for name in names:
        form: Literal["png", "svg"] = "svg" if name.suffix.lower() == ".svg" else "png"
        if len(names) == 1 or name.stem == "overview":
            picture = render_overview(figures, title, form)
        else:
            picture = render_panel(figures, name.stem, form)
        write_file(name, picture, replace=replace)
    if os.path.isdir(path):
        log.info("%s: %s", printable(target), ", ".join(name.name for name in names))
    else:
        log.info("%s", printable(target))


def _pictures(path: Path) -> list[Path]:
    """Return the pictures that a target stands for: itself, or those of a folder."""
    if not os.path.isdir(path):
        return [path]
    from simstore.reports.store_plots import PANELS

    return [path / f"{stem}.{form}" for form in _FORMS for stem in ("overview", *PANELS)]
