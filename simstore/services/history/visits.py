"""Compute the intervals between crawl visits, for one page or for a site."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from urllib.parse import urlsplit

from simstore.storage import history
from simstore.storage.documents import Times
from simstore.storage.engine import Connection
from simstore.storage.history import SnapshotRow
from simstore.text.decoding import encode

_SCHEMES = ("http", "https")
# What may follow a host in an address.
_AFTER_HOST = "/:?#"
# Documents of a site that are looked at, for each scheme and character after the host.
_MOST_DOCUMENTS = 10_000


def mean_interval(first_visit: int, last_visit: int, visits: int) -> float | None:
    """Return the mean time between visits in seconds; None before the second."""
    return (last_visit - first_visit) / (visits - 1) if visits > 1 else None


def site_of(key: str) -> str | None:
    """Return the host, and port if any, of a key that is an address; None of any other."""
    try:
        parts = urlsplit(key)
        return parts.netloc if parts.scheme in _SCHEMES and parts.hostname else None
    except ValueError:
        return None


def site_interval(connection: Connection, site: str) -> float | None:
    """Return the median of the mean times between visits of the documents of a site, in seconds.

    Args:
        connection: A snapshot.
        site: Host, as :func:`site_of` returns it.

    Returns:
        None where no document was visited twice.
    """
    ranges = []
    for scheme in _SCHEMES:
        begin = encode(f"{scheme}://{site}")
        ranges.append((begin, begin + b"\0"))
        ranges += [
            (begin + bytes((character,)), begin + bytes((character + 1,)))
            for character in map(ord, _AFTER_HOST)
        ]
    rows = history.visited_between(connection, ranges, _MOST_DOCUMENTS)
    found = [mean_interval(first, last, visits) for _, first, last, visits in rows]
    return median(one for one in found if one is not None) if found else None


def own_interval(times: Times, earlier: Sequence[SnapshotRow]) -> float | None:
    """Return the mean time between visits of one document, in seconds.

    Args:
        times: When it was seen with its present text.
        earlier: Its earlier versions.

    Returns:
        None where it was not visited twice.
    """
    first = min([times.version_seen, *(one.first_seen for one in earlier)])
    visits = times.visits + sum(one.visits for one in earlier)
    return mean_interval(first, times.last_seen, visits)
