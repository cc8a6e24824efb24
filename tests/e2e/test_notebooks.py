"""The notebooks of examples/ run, and show what really comes out.

Their cells are plain Python, so they are run without Jupyter; what they print is compared with the
outputs that the file keeps. ``python tests/e2e/test_notebooks.py`` writes these anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(REPOSITORY.glob("examples/*.ipynb"))


def printed(notebook: dict[str, Any], name: str) -> list[str]:
    """Return what each code cell prints; they share their names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown: list[str] = []
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            output = io.StringIO()
            code = compile("".join(cell["source"]), f"{name}, cell {number}", "exec")
            with contextlib.redirect_stdout(output):
                exec(code, names)  # noqa: S102 - our own notebook
            shown.append(output.getvalue())
    return shown


def kept(notebook: dict[str, Any]) -> list[str]:
    """Return the outputs that the file keeps, one a code cell."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join("".join(out["text"]) for out in cell["outputs"]) for cell in cells]


def with_what_they_need(folder: Path) -> None:
    for path in [*REPOSITORY.glob("examples/*.txt"), *REPOSITORY.glob("benchmarks/crawl*.py")]:
        target = folder / path.relative_to(REPOSITORY)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(path, target)


def test_there_are_two() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["corpus", "crawl"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_print_what_the_notebook_keeps(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_what_they_need(tmp_path)
    monkeypatch.chdir(tmp_path / "examples")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert printed(notebook, path.name) == kept(notebook)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_valid(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="pip install '.[dev]' brings it")
    nbformat.validate(nbformat.read(path, as_version=4))


def renew() -> None:
    """Write the outputs anew."""
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as name:
            with_what_they_need(Path(name))
            os.chdir(Path(name) / "examples")
            outputs = iter(printed(notebook, path.name))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                lines = next(outputs).splitlines(keepends=True)
                stream = {"name": "stdout", "output_type": "stream", "text": lines}
                cell["outputs"] = [stream] if lines else []
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(renew())
