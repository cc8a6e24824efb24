"""Sources by the name under which a store remembers them, members of archives too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from simstore.errors import SourceNotFound
from simstore.model import SourceState
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions
from simstore.sources.source import PlainSource, Record, Source
from simstore.sources.streams import SEPARATOR


class _NamedMember(PlainSource):
    """A member of an archive that is looked for each time."""

    def __init__(self, archive: str, name: str, options: ReadOptions) -> None:
        self.name = name
        self.total_bytes = None
        self.bytes_read = 0
        self._archive = FileSource(archive, options)

    def _found(self) -> Iterator[Source]:
        for member in self._archive.members() or ():
            if not isinstance(member.source, Record) and member.source.name == self.name:
                yield member.source
                return

    def state(self) -> SourceState:
        """Return the identity of the member."""
        for found in self._found():
            return found.state()
        raise SourceNotFound(self.name)

    def records(self, position: int = 0, byte_offset: int = 0) -> Iterator[Record]:
        """Yield the records of the member."""
        for found in self._found():
            yield from found.records(position, byte_offset)


def source_named(name: str, options: ReadOptions) -> Source | None:
    """Return the source that a store remembers by this name, a member of an archive too.

    Returns:
        None where there is none any more.

    Raises:
        UnreadableSource: The archive cannot be read.
    """
    if os.path.lexists(name):
        return FileSource(name, options)
    place = name.find(SEPARATOR)
    while place > 0:
        if os.path.isfile(name[:place]):
            member = _NamedMember(name[:place], name, options)
            with suppress(SourceNotFound):
                member.state()
                return member
        place = name.find(SEPARATOR, place + 1)
    return None
