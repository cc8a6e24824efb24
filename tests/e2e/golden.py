"""Stores that older versions of simstore made, kept in tests/data/golden."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "data" / "golden"
REVISION = "0001"
NAMES = ("store-0001", "course-0001")


def copy_to(folder: Path, name: str) -> Path:
    """Copy a golden store, as opening one writes beside it."""
    return Path(shutil.copy(FOLDER / f"{name}.db", folder / "store.db"))


def described(name: str) -> dict[str, Any]:
    """Return what the store held and answered when it was made."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def script() -> ModuleType:
    """Return the script that made them."""
    specification = importlib.util.spec_from_file_location(
        "make_store_0001", FOLDER / "make_store_0001.py"
    )
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
