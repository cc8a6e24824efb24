"""Pictures of a store, for ``simstore stats --plot``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simstore.cli.options import log
from simstore.cli.output import refuse_store
from simstore.errors import InvalidParameter, MissingExtra, OutputExists, StorageError, printable
from simstore.reports.written import written

if TYPE_CHECKING:
    from simstore.reports.store_figures import StoreFigures

_FORMS: tuple[Literal["png", "svg"], ...] = ("png", "svg")


def check_plot(target: str, *, replace: bool) -> None:
    """Refuse what cannot be drawn, before the store is counted.

    Args:
        target: A picture, or a folder.
        replace: Pictures that are there may be replaced.

    Raises:
        MissingExtra: Matplotlib is not installed.
        InvalidParameter: It is neither a picture nor a folder.
        OutputExists: There is a picture already.
    """
    if find_spec("matplotlib") is None:
        raise MissingExtra("drawing a store", "plots")
    path = Path(target)
    if not _is_folder(target) and path.suffix.lower().removeprefix(".") not in _FORMS:
        raise InvalidParameter(
            f"--plot {printable(target)!r}: name a .png, a .svg, or a folder (with / at its end)"
        )
    if not _is_folder(target):
        refuse_store(path)
        if path.exists() and not replace:
            raise OutputExists(target)


def write_plots(target: str, figures: StoreFigures, title: str, *, replace: bool) -> None:
    """Draw a store into one picture, or into a folder all at once and each panel by itself.

    Args:
        target: A picture, or a folder, which is made where there is none.
        figures: What is drawn.
        title: Stands above the panels.
        replace: Replace pictures that are there.

    Raises:
        OutputExists: There is a picture already.
        StorageError: One cannot be written.
    """
    from simstore.reports.store_plots import PANELS, render_overview, render_panel

    if not _is_folder(target):
        picture = render_overview(
            figures, title, "svg" if target.lower().endswith("svg") else "png"
        )
        _write(Path(target), picture, replace=replace)
        return
    folder = Path(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{printable(target)} cannot be made: {error.strerror}; name another folder"
        ) from error
    for form in _FORMS:
        overview = render_overview(figures, title, form)
        _write(folder / f"overview.{form}", overview, replace=replace)
        for panel in PANELS:
            picture = render_panel(figures, panel, form)
            _write(folder / f"{panel}.{form}", picture, replace=replace)


def _is_folder(target: str) -> bool:
    return target.endswith("/") or Path(target).is_dir()


def _write(path: Path, picture: bytes, *, replace: bool) -> None:
    with written(path, replace=replace, compress=False) as stream:
        stream.write(picture)
    log.info("%s", printable(str(path)))
