"""A copy whose disk fails at any operation: the same command again makes a sound one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from simstore import Document, Store

from .faults import KINDS, MOST, Faults

pytestmark = [
    pytest.mark.torture,
    pytest.mark.sqlite("faults are of files"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "store.db"
    with Store.create(path) as made:
        made.add_many(
            Document(f"page {number}", f"The bridge of page {number} stays shut for weeks.")
            for number in range(20)
        )
    return path


def documents(path: Path) -> list[tuple[str, str | None]]:
    with Store.open(path, read_only=True) as store:
        assert store.maintenance.fsck() == []
        return [(one.key, one.text) for one in store.list(with_text=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_copy_after_a_fault_at_any_operation_is_sound(
    faults: Faults, tmp_path: Path, store: Path, kind: str
) -> None:
    folder = tmp_path / "copies"
    target = folder / "copy.db"

    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    words = ["copy", store, target]
    for faulted in faults.at_each(words, folder, kind, prepare, most=MOST):
        was_made = target.exists()
        again = faults.nursery.simstore(folder, *words)
        if was_made:
            # The fault came after it.
            assert again.code == 4, (faulted, again)
        else:
            assert again.code == 0, (faulted, again)
        assert documents(target) == documents(store), faulted
        assert [path.name for path in folder.iterdir()] == ["copy.db"], faulted
