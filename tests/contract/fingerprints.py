"""Expected fingerprints that the oracles compute: ``{ hash = NAME, of = TERM, bits = M }`` is the
hash of one feature, ``{ simtool = KEY }`` the fingerprint of a stored text by the course tool's
rules over all stored texts."""

from __future__ import annotations

from typing import Any

import oracle
from oracle_hashes import HASHES

from contract.table import Case


def computed(expected: Any, case: Case, stored: dict[str, str]) -> Any:
    """Return an expected result in which those two forms are hexadecimal values."""
    if isinstance(expected, list):
        return [computed(one, case, stored) for one in expected]
    if not isinstance(expected, dict):
        return expected
    if "hash" in expected:
        bits = expected["bits"]
        return _hexadecimal(HASHES[expected["hash"]](expected["of"], bits), bits)
    if "simtool" in expected:
        return _simtool(expected["simtool"], case, stored)
    return {name: computed(one, case, stored) for name, one in expected.items()}


def _simtool(key: str, case: Case, stored: dict[str, str]) -> str:
    count, bits = case.store["features"], case.store["bits"]
    rows = oracle.hash_rows(case.files[case.store["hash_table"]].encode(), count, bits)
    stop = oracle.stop_words(case.files.get(case.store["stopwords"], "").encode())
    vector = oracle.feature_vector([text.encode() for text in stored.values()], stop, count)
    return _hexadecimal(oracle.fingerprint(stored[key].encode(), vector, rows, bits), bits)


def _hexadecimal(value: int, bits: int) -> str:
    return f"{value:0{-(-bits // 4)}x}"
