"""A second migration, made up: stores have the schema before it, and `upgrade` has work to do.

Commands in folders beside these scripts are those of a later simstore.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock

from simstore import Store
from simstore.errors import SchemaTooNew
from simstore.storage import migrate

REVISION = "0002"
_FOLDER = "later migrations"
_SCRIPT = f'''
import sqlalchemy as sa
from alembic import op

revision = "{REVISION}"
down_revision = "0001"
branch_labels = depends_on = None


def upgrade():
    op.create_table("made_up", sa.Column("key", sa.LargeBinary()))
    op.execute("INSERT INTO made_up SELECT key FROM document")
'''


def write(folder: Path) -> None:
    """Write the scripts beside a folder: today's, and the second one."""
    scripts = folder.parent / _FOLDER
    shutil.copytree(migrate.script_location(), scripts, dirs_exist_ok=True)
    (scripts / "versions" / "0002_made_up.py").write_text(_SCRIPT)


@contextmanager
def used(folder: Path) -> Iterator[None]:
    """Let this process be of the later simstore, if the scripts are beside the folder."""
    scripts = folder.absolute().parent / _FOLDER
    if not scripts.is_dir():
        yield
        return
    with mock.patch.multiple(
        migrate,
        script_location=lambda: scripts,
        HISTORY=(*migrate.HISTORY, REVISION),
        HEAD=REVISION,
    ):
        yield


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """Open a store by this simstore or, if it was upgraded, by the later one."""
    try:
        store = Store.open(path)
    except SchemaTooNew:
        with used(path.parent), Store.open(path) as store:
            yield store
        return
    with store:
        yield store


def is_upgraded(path: Path) -> bool:
    """Return whether the second migration was run on a store."""
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return bool(found == REVISION)
