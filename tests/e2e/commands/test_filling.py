"""Stores are made and filled, and what cannot be read is told."""

from __future__ import annotations

import os

import pytest

from e2e.shells import Shell


@pytest.mark.slow
def test_store_is_named_by_option_then_environment_then_default(empty: Shell) -> None:
    environment = os.environ | {"SIMSTORE_DB": "from-environment.db"}
    empty("init", "--db", "from-option.db", environment=environment)
    empty("init", environment=environment)
    empty("--db", "before-the-command.db", "init")
    empty("init")
    assert sorted(path.name for path in empty.folder.glob("*.db")) == [
        "before-the-command.db", "from-environment.db", "from-option.db", "simstore.db",
    ]  # fmt: skip
