"""``simstore fingerprints`` and stores of fingerprints alone, through real processes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from forked import Nursery

from .states import assert_sound

STORE = ("--db", "f.db")


def made(nursery: Nursery, folder: Path, *words: str) -> None:
    done = nursery.simstore(folder, "init", "--fingerprints-only", *STORE, *words)
    assert (done.code, done.out) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize("bits", [64, 128])
def test_arrays_and_text_are_added_found_and_removed(
    nursery: Nursery, tmp_path: Path, bits: int
) -> None:
    made(nursery, tmp_path, "--bits", str(bits))
    digits = bits // 4
    np.save(tmp_path / "a.npy", np.array([[0] * (bits // 64 - 1) + [n] for n in range(9)], "u8"))
    (tmp_path / "b.txt").write_text(f"{1 << (bits - 1):x}\n0\n")
    done = nursery.simstore(tmp_path, "fingerprints", "add", *STORE, "a.npy", "b.txt")
    assert (done.code, done.text) == (0, "10 new of 11\n")
    for is_packed in (False, True):
        if is_packed:
            assert nursery.simstore(tmp_path, "compact", *STORE).code == 0
        near = nursery.simstore(
            tmp_path, "fingerprints", "near", *STORE, "-k", "1", "--format", "jsonl", "0"
        )
        found = [json.loads(line) for line in near.text.splitlines()]
        assert [one["distance"] for one in found] == [0, 1, 1, 1, 1, 1]
        assert found[-1]["fingerprint"] == f"{1 << (bits - 1):0{digits}x}"
        assert {one["query"] for one in found} == {"0" * digits}
        pairs = nursery.simstore(tmp_path, "fingerprints", "pairs", *STORE, "-k", "1")
        assert len(pairs.text.splitlines()) == 14
    gone = nursery.simstore(tmp_path, "fingerprints", "remove", *STORE, "b.txt")
    assert gone.text == "2 removed of 2\n"
    assert_sound(tmp_path / "f.db")


def test_options_of_documents_do_not_go_with_fingerprints_only(
    nursery: Nursery, tmp_path: Path
) -> None:
    done = nursery.simstore(tmp_path, "init", "--fingerprints-only", *STORE, "--no-text")
    assert done.code == 2
    assert "--bits and --keep-columns alone" in done.errors
    assert not (tmp_path / "f.db").exists()
