"""Folders with source files, with a store and without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from forked import Nursery

from e2e import corpora
from e2e.shells import PAGES, SAMPLE, Shell


@pytest.fixture
def empty(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with source files and no store."""
    corpora.article_file(tmp_path / "article.txt", PAGES)
    corpora.article_file(tmp_path / "sample.txt", SAMPLE)
    return Shell(nursery, tmp_path)


@pytest.fixture(scope="session")
def made_store(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    corpora.article_file(folder / "article.txt", PAGES)
    assert nursery.simstore(folder, "ingest", "article.txt").code == 0
    return folder / "simstore.db"


@pytest.fixture
def shell(empty: Shell, made_store: Path) -> Shell:
    """A folder with source files and a store of the pages."""
    shutil.copy(made_store, empty.folder / "simstore.db")
    return empty
