"""Errors of jobs on a Spark cluster."""

from __future__ import annotations

from simstore.errors.base import SimstoreError
from simstore.errors.printing import printable


class JobFailed(SimstoreError):
    """A job of Spark failed; what earlier runs left is as it was.

    Attributes:
        reason: What Spark, or the code on an executor, says.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the job failed: {printable(reason)}; what was there before is unchanged, and the "
            "same command begins anew"
        )
