"""Check the headers ``Host`` and ``Origin`` against cross-site request forgery (CSRF).

What a program sends with a token says by itself who sends it. What a browser sends along on its
own, a cookie or the mere right of being on this machine, may have been asked for by any page that
is open in it; so such requests have to come from this server's own pages.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}
# A proxy says for whom it asks.
_FORWARDED = (
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address that a server listens on."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def names_loopback(host: str | None) -> bool:
    """Return whether the ``Host`` of a request is a name or address of the loopback.

    Any other name may be one that a foreign page has pointed here (DNS rebinding).
    """
    if not host:
        return False
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)


def is_forwarded(headers: Mapping[str, str]) -> bool:
    """Return whether a request came through a proxy, so that it may be from anywhere."""
    return any(name in headers for name in _FORWARDED)


def foreign(method: str, headers: Mapping[str, str], *, must_tell: bool) -> str | None:
    """Return why a request counts as cross-site; None where it does not.

    Args:
        method: HTTP method.
        headers: Those of the request, names in lower case.
        must_tell: A request that changes something must say where it comes from, as every browser
            does; else programs need not.
    """
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        visits = headers.get("sec-fetch-mode") == "navigate" and method in ("GET", "HEAD")
        if not visits:
            return "another site asks for it"
    if method in _SAFE:
        return None
    origin = headers.get("origin")
    if origin is not None:
        if _is_own(origin, headers.get("host", "")):
            return None
        return "a page of another site sends it"
    if must_tell and site is None:
        return "it does not say which page sends it"
    return None


def _is_own(origin: str, host: str) -> bool:
    """Return whether an origin is that of the host that was asked, by either scheme."""
    try:
        sender, own = urlsplit(origin), urlsplit(f"//{host}")
        port = sender.port or _PORTS.get(sender.scheme)
        wanted = own.port or _PORTS.get(sender.scheme)
    except ValueError:
        return False
    if sender.scheme not in _PORTS or sender.hostname is None:
        return False
    return (sender.hostname, port) == (own.hostname, wanted)
