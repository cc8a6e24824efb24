"""Resolve the links of a web page to absolute URLs."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

_MOST_CHARACTERS = 2_000
# An address and a path as they should be; anything else is taken apart and joined.
_STEPS = r"/(?:[^\s\0.]++|\.(?!\.?(?:[/?]|$)))*+"
_ADDRESS = re.compile(rf"https?://[a-zA-Z0-9.-]+{_STEPS}")
_PATH = re.compile(rf"(?!//){_STEPS}")
_ORIGIN = re.compile(r"https?://[^/?#\s]+")
# A name in a path that means itself; up through folders, and down to a file, perhaps a query.
_NAME = r"[\w%~+,!()@=&$*-][\w%~+,!()@=&$*.-]*+"
_RELATIVE = re.compile(rf"((?:\.\./)*)(?:{_NAME}/)*(?:{_NAME})?(?:\?[\w%~+,!()@=&$*./-]++)?")
_FOLDERS = re.compile(rf"(https?://[a-zA-Z0-9.-]+)((?:/{_NAME})*)/(?:{_NAME})?(?:\?.*)?")


def joined_address(base: str | None, target: str | None) -> str | None:
    """Return the absolute address of a link, without its fragment; None: it has none."""
    if target is None:
        return None
    target = target.strip(" \t\r\n\f")
    if not target or target[0] == "#" or len(target) > _MOST_CHARACTERS:
        return None
    target = target.partition("#")[0]
    if _ADDRESS.fullmatch(target):
        return target
    if base and _PATH.fullmatch(target) and (origin := _ORIGIN.match(base)):
        return origin[0] + target
    try:
        address = urljoin(base or "", target)
        parts = urlsplit(address)
    except ValueError:
        return None
    usable = parts.scheme in ("http", "https") and parts.netloc and "\0" not in address
    return address if usable and len(address) <= _MOST_CHARACTERS else None


def joiner(base: str | None) -> Callable[[str | None], str | None]:
    """Return a function like :func:`joined_address` for one base address, fast for plain links."""
    # Half and half are no more than the whole.
    half = _MOST_CHARACTERS // 2
    found = _FOLDERS.fullmatch(base) if base and len(base) < half else None
    if found is None:
        return lambda target: joined_address(base, target)
    origin, folders = found[1], found[2].split("/")

    def joined(target: str | None) -> str | None:
        if target and target[0] == "/" and len(target) <= half:
            path = target.partition("#")[0]
            if _PATH.fullmatch(path):
                return origin + path
        match = _RELATIVE.fullmatch(target.partition("#")[0]) if target else None
        if match is None or match[0][:1] in ("", "?") or len(match[0]) > half:
            return joined_address(base, target)
        up = len(match[1]) // 3
        rest = match[0][len(match[1]) :]
        return f"{origin}{'/'.join(folders[: max(1, len(folders) - up)])}/{rest}"

    return joined
