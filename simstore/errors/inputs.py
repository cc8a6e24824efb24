"""Exceptions for input: missing documents, sources or packages, unreadable files and records."""

from __future__ import annotations

from simstore.errors.base import BadInput, Conflict, InvalidParameter, NotFound, StorageError
from simstore.errors.printing import printable

# Databases hold no larger number.
_LARGEST = (1 << 63) - 1


def check_numbers(**given: int | None) -> None:
    """Refuse numbers of more than 64 bits, which no database holds.

    >>> check_numbers(limit=20, after=0)

    Args:
        given: Numbers by their names; None: not given.

    Raises:
        InvalidParameter: One is too large.
    """
    for name, value in given.items():
        if value is not None and not -_LARGEST <= value <= _LARGEST:
            shown = str(value) if abs(value) < 10**40 else f"of {value.bit_length():,} bits"
            raise InvalidParameter(
                f"{name.replace('_', ' ')} {shown}: it must be at most {_LARGEST:,}"
            )


def _packages_of(extra: str) -> list[str]:
    """Return the requirements of an extra, as this installation knows them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("simstore") or []
    except PackageNotFoundError:  # on the path, not installed
        return []
    # NAME>=VERSION; extra == 'EXTRA'. The build has put what an extra takes over into each.
    parted = (line.replace('"', "'").partition(";") for line in lines)
    return [name.strip() for name, _, when in parted if when.endswith(f"extra == '{extra}'")]


class MissingExtra(InvalidParameter, ImportError):
    """An optional package is needed and not installed.

    The message names packages, not the extra: that is true however simstore was
    installed.
    """

    http_status = 501

    def __init__(self, feature: str, extra: str, *others: str) -> None:
        self.feature = feature
        self.extra = extra
        extras = (extra, *others)
        packages = dict.fromkeys(one for name in extras for one in _packages_of(name))
        remedy = (
            "pip install " + " ".join(f"'{package}'" for package in packages)
            if packages
            else f"install simstore with it (in a checkout: pip install '.[{','.join(extras)}]')"
        )
        named = " and ".join(map(repr, extras))
        needs = f"needs the extra {named}" if not others else f"need the extras {named}"
        super().__init__(f"{feature} {needs}: {remedy}")


class DocumentNotFound(NotFound):
    """No document has this key."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"no document has the key {printable(key)!r}; `simstore list` shows the keys"
        )


class SourceNotFound(NotFound):
    """A file, folder or pattern to read does not exist."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{printable(name)}: no such file or folder")


class OutputExists(Conflict):
    """The output file exists already."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{printable(path)} exists already; name another file, or replace it with --force"
        )


class NotAFile(StorageError):
    """The output path is something else than a file."""

    def __init__(self, path: str, kind: str) -> None:
        self.path = path
        self.kind = kind
        super().__init__(
            f"{printable(path)} cannot be written: it is {printable(kind)}, not a file; "
            "name another"
        )


class MalformedRecord(BadInput):
    """One record of a source cannot be used.

    Attributes:
        path: Name of the source.
        position: Number of the record in its source, from 0; None where it
            has none.
        reason: What is wrong with it.
    """

    def __init__(self, path: str, position: int | None, reason: str) -> None:
        self.path = path
        self.position = position
        self.reason = reason
        place = printable(path) if position is None else f"{printable(path)}, record {position}"
        super().__init__(f"{place}: {reason}")


class UnreadableSource(BadInput):
    """A source exists and cannot be read."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{printable(name)}: {reason}")
