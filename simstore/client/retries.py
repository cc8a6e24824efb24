"""The retry policy: which failed requests are sent again, and after what delay."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from simstore.errors import SimstoreError, printable

T = TypeVar("T")
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 10.0
# Who waits longer should know why.
_TOLD_SECONDS = 2.0

log = logging.getLogger("simstore")


class RetryLater(Exception):
    """Raised for a request that was not served and may be sent again.

    Attributes:
        error: What is raised where it is not sent again.
        retry_after: Seconds after which the server wants it again; None: it does not say.
        refused: No server answered.
    """

    def __init__(
        self, error: SimstoreError, retry_after: float | None = None, *, refused: bool = False
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after
        self.refused = refused


@dataclass(slots=True)
class Retries:
    """Retries requests that were not served, for a limited time.

    Attributes:
        patience: For how many seconds; 0: never again.
        sleep: Waits so many seconds.
        clock: Tells seconds.
        reached: The server has answered before; else what is refused is refused for good.
    """

    patience: float
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    reached: bool = False

    def run(self, send: Callable[[], T]) -> T:
        """Call a function that sends a request, and again after each RetryLater; return its result.

        Pauses double, with chance in them so that many clients do not come back at once; where
        the server says when to come back, they are no shorter than that.

        Raises:
            SimstoreError: It was not served in time.
        """
        began = self.clock()
        wait = _FIRST_WAIT
        while True:
            try:
                found = send()
            except RetryLater as failed:
                self.reached = self.reached or not failed.refused
                pause = wait * random.uniform(0.5, 1.0)  # no secret  # noqa: S311  # nosec B311
                if failed.retry_after is not None:
                    pause += failed.retry_after
                spent = self.clock() - began
                if spent + pause > self.patience or (failed.refused and not self.reached):
                    raise failed.error from None
                tell = log.info if pause >= _TOLD_SECONDS else log.debug
                tell("%s: again in %.1f s", printable(str(failed)), pause)
                self.sleep(pause)
                wait = min(2 * wait, _LONGEST_WAIT)
            else:
                self.reached = True
                return found
