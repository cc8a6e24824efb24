"""Stores that older versions of simstore made, kept in tests/data/golden."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

from alembic import command
from alembic.config import Config

from simstore.storage import migrate
from simstore.storage.engine import Database

FOLDER = Path(__file__).resolve().parents[1] / "data" / "golden"
NAMES = (
    "store-0001", "course-0001", "store-0002", "course-0002", "store-0003", "course-0003",
    "store-0004", "course-0004", "store-0005", "course-0005", "store-0006", "course-0006",
    "store-0007", "course-0007", "store-0008", "course-0008",
    "store-0009", "course-0009", "store-0010", "course-0010",
    "store-0011", "course-0011", "store-0012", "course-0012", "course-0013",
    "store-0014", "store-0015", "store-0016", "store-0017",
    "store-0018",
)  # fmt: skip
# Stores of ``web/2``: of the revision in which it was fixed, and of the last one before numbers of
# the passage index may have three bytes.
WEB2 = ("web2-0013", "web2-0018")


def revision(name: str) -> str:
    """Return the revision of a golden store."""
    return name.rpartition("-")[2]


def copy_to(folder: Path, name: str) -> Path:
    """Copy a golden store, as opening one writes beside it."""
    return Path(shutil.copy(FOLDER / f"{name}.db", folder / "store.db"))


def described(name: str) -> dict[str, Any]:
    """Return what the store held and answered when it was made."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def script() -> ModuleType:
    """Return the script that makes them."""
    specification = importlib.util.spec_from_file_location("make_stores", FOLDER / "make_stores.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def downgrade(path: Path, revision: str) -> None:
    """Take a store back to an older revision, by the migrations' own way back."""
    config = Config()
    config.set_main_option("script_location", str(migrate.script_location()))
    database = Database(path)
    with database.write() as connection:
        config.attributes["connection"] = connection.sqlalchemy
        command.downgrade(config, revision)
    database.close()
