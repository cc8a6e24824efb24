"""Settings of a server: addresses, limits, processes, each declared once with its option."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from simstore.errors import InvalidParameter

DEFAULT_PORT = 8765
# What timers of operating systems take, and more than anyone waits.
_MOST_SECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Declared:
    """Help text and limits of a setting.

    Attributes:
        section: Heading of the command's help under which it is.
        text: Its description.
        metavar: Word for its value.
        most: Largest value; None: any.
        zero: A number may be 0.
    """

    section: str
    text: str
    metavar: str | None = None
    most: int | None = None
    zero: bool = False


def _declared(default: Any, *how: Any, **more: Any) -> Any:
    return field(default=default, metadata={"declared": Declared(*how, **more)})


def _seconds(default: float, section: str, text: str, *, zero: bool = False) -> Any:
    return _declared(default, section, text, "S", _MOST_SECONDS, zero)


_ADDRESS, _LIMITS, _WORK = "Address and access", "Limits of a request", "Work"
_STOPPING = "Stopping"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of a server, as the options of ``simstore serve`` describe them."""

    host: str = _declared("127.0.0.1", _ADDRESS, "Address to listen on.")
    port: int = _declared(
        DEFAULT_PORT, _ADDRESS, "Port to listen on; 0: any that is free.", "N", 65_535, zero=True
    )
    require_tokens: bool = _declared(False, _ADDRESS, "Ask for a token on the loopback, too.")
    behind_proxy: str | None = _declared(
        None,
        _ADDRESS,
        "Believe the proxy at this address who asks, and whether by TLS (X-Forwarded-*).",
        "ADDRESS",
    )
    body_bytes: int = _declared(
        32 << 20, _LIMITS, "Largest body of a request; of NDJSON: longest line.", "N"
    )
    bodies_bytes: int = _declared(
        512 << 20, _LIMITS, "Largest bodies of all requests at a time together.", "N"
    )
    batch_documents: int = _declared(
        1_000, _LIMITS, "Most documents, samples or keys of a request that is no NDJSON.", "N"
    )
    request_seconds: float = _seconds(
        30.0, _LIMITS, "Longest time for a request; of NDJSON: for a line."
    )
    header_seconds: float = _seconds(
        10.0, _LIMITS, "Longest time for the head of a request to come."
    )
    rate: float | None = _declared(
        None,
        _LIMITS,
        "Most requests a second of a token, as a mean.  [default: no limit]",
        "R",
    )
    queue_documents: int = _declared(20_000, _WORK, "Most documents that wait to be written.", "N")
    writer_process: bool = _declared(
        True,
        _WORK,
        "Write in a process of its own, which holds up no query and takes memory of its own.",
    )
    query_processes: int = _declared(
        1,
        _WORK,
        "Processes that answer queries, each with an index in memory; 0: the one that listens.",
        "N",
        64,
        zero=True,
    )
    heavy_requests: int = _declared(2, _WORK, "Checks, comparisons and the like at once.", "N")
    figures_seconds: float = _seconds(
        15.0, _WORK, "How old the figures of the store at /metrics may be.", zero=True
    )
    drain_seconds: float = _seconds(
        30.0, _STOPPING, "How long what was taken may take when the server stops."
    )
    notice_seconds: float = _seconds(
        0.0,
        _STOPPING,
        "When told to stop, say so at /readyz so long before new connections are refused.",
        zero=True,
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            value, how = getattr(self, one.name), one.metadata["declared"]
            if isinstance(value, bool | str) or value is None:
                continue
            is_least = value >= 0 if how.zero else value > 0
            if not (is_least and value < float("inf") and (how.most is None or value <= how.most)):
                most = "" if how.most is None else f", at most {how.most:,}"
                least = "0 or more" if how.zero else "more than 0"
                raise InvalidParameter(f"{one.name} {value}: {least}{most} is needed")
