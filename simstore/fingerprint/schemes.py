"""The schemes there are, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simstore.errors import SchemeMismatch
from simstore.fingerprint.external import ExternalScheme
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.web import WebScheme

_BY_LABEL = {
    "given/1": ExternalScheme.from_record,
    "simtool/1": SimtoolScheme.from_record,
    "web/1": WebScheme.from_record,
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
