"""Base classes of results: display, DataFrames; lists and streams of results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from simstore.errors import StreamConsumed

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# Two lines of a terminal, less what stands around them.
_MOST_CHARACTERS = 150
# Results that a list shows of itself in words.
_MOST_SHOWN = 3


class Shown:
    """A result that is shown as text and as a DataFrame.

    >>> store.seen("ferry-2025")
    Seen(key='ferry-2025', state='stored', ...)
    """

    __slots__ = ()
    # Fields that are told first.
    _FIRST: ClassVar[tuple[str, ...]] = ()
    # As a DataFrame: the field whose results are its rows, and their class; a field whose own
    # fields are columns, and its class; a shape of its own.
    _HOLDS: ClassVar[tuple[str, type] | None] = None
    _PARTS: ClassVar[tuple[str, type] | None] = None
    _SHAPE: ClassVar[str] = "fields"

    def __repr__(self) -> str:
        # What is shown to people is imported then.
        from simstore.model.display import brief, told_fields

        parts: list[str] = []
        length = len(type(self).__name__)
        for name, value in told_fields(self):
            part = f"{name}={brief(value)}"
            length += len(part) + 2
            if length > _MOST_CHARACTERS:
                parts.append("...")
                break
            parts.append(part)
        return f"{type(self).__name__}({', '.join(parts)})"

    def to_frame(self) -> pandas.DataFrame:
        """Return a DataFrame of pandas: a row for each result that it holds.

        Raises:
            MissingExtra: pandas is not installed.
        """
        from simstore.model.frames import to_frame

        return to_frame(self)


class Results(list[T]):
    """A list of results with a display as text and as a DataFrame.

    >>> matches = store.query(text)
    >>> len(matches), matches[0].key
    (2, 'ferry-2025')
    """

    __slots__ = ("_of",)

    def __init__(self, results: Iterable[T] = (), *, of: type | None = None) -> None:
        """Hold results.

        Args:
            results: The results.
            of: Of which kind they are, for a DataFrame where there are none.
        """
        super().__init__(results)
        self._of = of

    def __repr__(self) -> str:
        if len(self) <= _MOST_SHOWN:
            return super().__repr__()
        shown = ", ".join(map(repr, self[:_MOST_SHOWN]))
        return f"[{shown}, ... {len(self):,} in all]"

    def to_frame(self) -> pandas.DataFrame:
        """Return the results as a DataFrame of pandas, a row each.

        Raises:
            MissingExtra: pandas is not installed.
        """
        from simstore.model.frames import to_frame

        return to_frame(self, of=self._of)


class Stream(Iterator[T_co]):
    """An iterator over results, which are read as they are asked for.

    >>> [document.key for document in store.list()]
    ['ferry-2025', 'ferry-2026', 'bread-1']
    >>> len(store.list().to_frame())
    3

    It is read once. Whoever reads it again after its end is told so
    (StreamConsumed), and not that there is nothing:

    >>> found = store.list()
    >>> documents = list(found)
    >>> list(found)
    Traceback (most recent call last):
    simstore.errors.StreamConsumed: ...

    It is true where something is left to read; then the first is read, and the
    next loop has it in front:

    >>> found = store.list(limit=1)
    >>> if found:
    ...     print([document.key for document in found])
    ['ferry-2025']
    """

    def __init__(self, results: Iterable[T_co], *, of: type) -> None:
        """Read results.

        Args:
            results: The results.
            of: Of which kind they are.
        """
        self._results = iter(results)
        self._of = of
        # Read to tell whether there is one, and not taken yet.
        self._ahead: list[T_co] = []
        self._has_ended = self._is_closed = False

    def __iter__(self) -> Iterator[T_co]:
        self._check_is_open()
        # An iterator of its own, as whoever has one may ask it for itself after its end.
        return self._read()

    def _read(self) -> Iterator[T_co]:
        # `yield from` would close the results where a loop is left.
        while True:
            try:
                one = next(self)
            except StopIteration:
                return
            yield one

    def __next__(self) -> T_co:
        if self._ahead:
            return self._ahead.pop()
        try:
            return next(self._results)
        except StopIteration:
            self._has_ended = not self._is_closed
            raise

    def __bool__(self) -> bool:
        self._check_is_open()
        if not self._ahead:
            # Whoever asks whether there is one may loop over none.
            self._ahead.extend(islice(self._results, 1))
        return bool(self._ahead)

    def _check_is_open(self) -> None:
        if self._has_ended or self._is_closed:
            state = "read to its end" if self._has_ended else "closed"
            raise StreamConsumed(self._of.__name__, state)

    def __repr__(self) -> str:
        return f"<{self._of.__name__}s, read by a loop, list() or to_frame()>"

    def close(self) -> None:
        """Stop reading; the snapshot they are read from is given back."""
        self._is_closed = True
        self._ahead.clear()
        close = getattr(self._results, "close", None)
        if close is not None:
            close()

    def to_frame(self) -> pandas.DataFrame:
        """Return what is left to read as a DataFrame of pandas, a row each.

        Raises:
            StreamConsumed: It was read to its end, or closed.
            MissingExtra: pandas is not installed.
        """
        from simstore.model.frames import to_frame

        return to_frame(iter(self), of=self._of)


class Listed(Iterable[T_co]):
    """A namespace that is a collection: of what its method ``list`` returns.

    >>> store.clusters.build().cluster_count
    1
    >>> [cluster.key for cluster in store.clusters], len(store.clusters)
    (['ferry-2025'], 1)
    """

    # The attribute of what it holds by which `in` finds one.
    _NAMED: ClassVar[str] = "key"

    def _all(self) -> Any:
        """Return the results or the stream of all that it holds."""
        own: Any = self
        return own.list()

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._all())

    # A length is there where it is counted, as `list()` asks for it before it reads.

    def __contains__(self, key: object) -> bool:
        return any(key == getattr(one, self._NAMED) or key == one for one in self)

    def to_frame(self) -> pandas.DataFrame:
        """Return what it holds as a DataFrame of pandas.

        >>> store.add("copy", text, on_duplicate="flag")
        'flagged'
        >>> list(store.duplicates.to_frame()["key"])
        ['copy']

        Raises:
            MissingExtra: pandas is not installed.
        """
        found: pandas.DataFrame = self._all().to_frame()
        return found
