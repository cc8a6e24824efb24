"""The registry of fingerprint schemes: make one by name, or open the one that a store records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, SchemeMismatch
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.simhash import check_bits


class ExternalScheme(Scheme):
    """The scheme of a store that holds fingerprints without texts.

    Args:
        bits: Fingerprint length M.
    """

    name = "given"
    version = 1

    def __init__(self, bits: int) -> None:
        check_bits(bits)
        self.bits = bits

    @classmethod
    def from_record(cls, record: SchemeRecord) -> ExternalScheme:
        """Return the scheme of a store's record."""
        return cls(record.bits)

    def count(
        self,
        texts: Sequence[str],  # noqa: ARG002 - it reads none
        metadata: Sequence[Mapping[str, Any]] | None = None,  # noqa: ARG002
    ) -> FeatureCounts:
        """Raise InvalidParameter: there is no recipe."""
        raise no_recipe()

    def fingerprints(
        self,
        counts: FeatureCounts,  # noqa: ARG002
        standing: NDArray[np.int64] | None = None,  # noqa: ARG002
    ) -> NDArray[np.uint64]:
        """Raise InvalidParameter: there is no recipe."""
        raise no_recipe()

    def known_answers(self) -> tuple[str, ...]:
        """Return nothing: there is no recipe that could have changed."""
        return ()

    def parameters(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


def no_recipe() -> InvalidParameter:
    """Return the error that a store of fingerprints alone was given a text, with the remedy."""
    return InvalidParameter(
        "this store holds fingerprints alone and takes no documents; "
        "use `simstore fingerprints`, or make a store of documents with `simstore init`"
    )


_BYTES = ("stopwords", "hash_table")


def scheme_json(record: SchemeRecord) -> dict[str, Any]:
    """Return a record as JSON values; bytes are hexadecimal."""
    values = asdict(record)
    for name in _BYTES:
        values[name] = None if values[name] is None else values[name].hex()
    made: dict[str, Any] = json.loads(json.dumps(values))
    return made


def scheme_of_json(values: Mapping[str, Any]) -> SchemeRecord:
    """Return the record of :func:`scheme_json`.

    Raises:
        ValueError: A value is not what it should be.
        KeyError: One is missing.
        TypeError: There is one too many.
    """
    given = dict(values)
    for name in _BYTES:
        given[name] = None if given[name] is None else bytes.fromhex(given[name])
    given["known_answers"] = tuple(given["known_answers"])
    return SchemeRecord(**given)


def _simtool(record: SchemeRecord) -> Scheme:
    from simstore.fingerprint.simtool import SimtoolScheme

    return SimtoolScheme.from_record(record)


def _web(record: SchemeRecord) -> Scheme:
    from simstore.fingerprint.web import WebScheme

    return WebScheme.from_record(record)


_BY_LABEL = {
    "given/1": ExternalScheme.from_record,
    "simtool/1": _simtool,
    "web/1": _web,
}


def make_scheme(record: SchemeRecord) -> Scheme:
    """Return the scheme with the options of a record, whatever its known answers are.

    Raises:
        SchemeMismatch: The scheme is unknown here.
    """
    make = _BY_LABEL.get(record.label)
    if make is None:
        raise SchemeMismatch(record.label, f"known here: {', '.join(sorted(_BY_LABEL))}")
    return make(record)


def open_scheme(record: SchemeRecord) -> Scheme:
    """Return the scheme that a store keeps, after its known answers came out right.

    Raises:
        SchemeMismatch: The scheme is unknown here, or gives other fingerprints.
    """
    scheme = make_scheme(record)
    made = scheme.known_answers()
    if record.known_answers != made:
        wrong = [
            f"known text {n}: {b}, not {a}"
            for n, (a, b) in enumerate(zip(record.known_answers, made, strict=False))
            if a != b
        ]
        detail = wrong[0] if wrong else "known texts differ in number"
        raise SchemeMismatch(record.label, detail + _other_versions(record, scheme.parameters()))
    return scheme


def _other_versions(record: SchemeRecord, here: Mapping[str, Any]) -> str:
    """Return which packages that take part are of another version than the record's."""
    kept = record.parameters
    pairs = [
        (f"OpenCC {kept.get('normalization', {}).get('opencc')}",
         f"OpenCC {here.get('normalization', {}).get('opencc')}"),
        *((kept.get(name), here.get(name)) for name in ("dictionary", "stemmer")),
    ]  # fmt: skip
    others = [f"made with {a}, here is {b}" for a, b in pairs if a != b]
    return f" ({'; '.join(others)})" if others else ""
