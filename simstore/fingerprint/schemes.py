"""The schemes there are, by name."""

from __future__ import annotations

from simstore.errors import SchemeMismatch
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.web import WebScheme

_BY_LABEL = {"simtool/1": SimtoolScheme.from_record, "web/1": WebScheme.from_record}


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
        raise SchemeMismatch(record.label, wrong[0] if wrong else "known texts differ in number")
    return scheme
