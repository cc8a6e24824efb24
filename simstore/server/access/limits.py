"""Rate limits for each client."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

# Who asked longest ago is forgotten, so that many addresses do not fill the memory.
_MOST_KNOWN = 10_000


class RateLimit:
    """A token bucket for each sender: a mean rate of requests, with bursts after a pause.

    Not to be shared by threads.

    Args:
        rate: Requests a second.
        burst: Requests that may come at once after a pause.
        clock: Tells seconds.
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        # What each has left, and when it was counted.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def wait(self, who: str) -> float:
        """Count a request; return 0, or the seconds to wait until one is allowed."""
        now = self._clock()
        left, counted = self._left.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - counted) * self._rate)
        late = left < 1
        self._left[who] = (left if late else left - 1, now)
        if len(self._left) > _MOST_KNOWN:
            self._left.popitem(last=False)
        return (1 - left) / self._rate if late else 0.0


def network_of(address: str) -> str:
    """Return the network that counts as one sender: an IPv4 address or an IPv6 /64."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:100]
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
