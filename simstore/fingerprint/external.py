"""Fingerprints that were made elsewhere: no recipe, so no document becomes one here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.simhash import check_bits


class ExternalScheme(Scheme):
    """The scheme of a store of fingerprints alone.

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
