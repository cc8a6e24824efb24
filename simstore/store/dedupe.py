"""Drop the near-duplicates of a list of texts, in one call and without a store to keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from simstore.errors import InvalidParameter
from simstore.model.arguments import checked
from simstore.model.channels import DROP_RESEMBLANCE
from simstore.model.results import Shown
from simstore.store import Store


@dataclass(frozen=True, slots=True)
class _KeptText:
    """A row of a DataFrame: a text that is kept, and how many were dropped because of it."""

    place: int
    text: str
    dropped_count: int


@dataclass(frozen=True, slots=True, repr=False)
class Deduped(Shown, Sequence[str]):
    """The texts that :func:`simstore.dedupe` keeps, in their order: a sequence.

    >>> unique = dedupe(["Oats.", "Rye.", "oats."])
    >>> list(unique), unique.dropped, unique.groups
    (['Oats.', 'Rye.'], (2,), ((0, 2),))
    >>> list(unique.to_frame()["dropped_count"])
    [1, 0]

    A DataFrame has a row for each text that is kept: its ``place``, ``text``
    and ``dropped_count``, how many were dropped because of it.

    Attributes:
        texts: The texts that are kept.
        kept: Their places among the texts that were given, from 0.
        dropped: The places of the others.
        groups: Places of near-duplicates, a group each: first the text that is
            kept, then those that were dropped because of it.
    """

    _HOLDS = ("_rows", _KeptText)

    texts: tuple[str, ...]
    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def _rows(self) -> Iterator[_KeptText]:
        sizes = {group[0]: len(group) for group in self.groups}
        for place, text in zip(self.kept, self.texts, strict=True):
            yield _KeptText(place, text, sizes.get(place, 1) - 1)

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self.texts[place]

    def __repr__(self) -> str:
        total = len(self.kept) + len(self.dropped)
        return f"Deduped({len(self):,} of {total:,} texts kept, groups={len(self.groups):,})"


@checked
def dedupe(
    texts: Iterable[str],
    *,
    min_resemblance: float = DROP_RESEMBLANCE,
) -> Deduped:
    """Return texts without their near-duplicates; of each group the first stays.

    >>> lines = ["Tickets are sold here.", "Oats.", "tickets are sold here"]
    >>> unique = dedupe(lines)
    >>> list(unique)
    ['Tickets are sold here.', 'Oats.']
    >>> unique.kept, unique.groups
    ((0, 1), ((0, 2),))

    A text is dropped where one that is kept resembles it so much, as by
    ``Store(":memory:").add_many(enumerate(texts), on_duplicate="skip")``. A
    store does more: it takes documents with keys, and remembers them.

    Args:
        texts: The texts: a list, a column of a DataFrame, a generator.
        min_resemblance: Least resemblance of a near-duplicate to the text that
            is kept, above 0, at most 1.

    Returns:
        The texts that are kept, with ``kept``, ``dropped`` and ``groups``.

    Raises:
        InvalidParameter: There is something else than texts, or the
            resemblance is out of its range.
    """
    given = _texts_of(texts)
    with Store(":memory:", synchronous="normal") as store:
        store.add_many(enumerate(given), on_duplicate="skip", min_resemblance=min_resemblance)
        kept = sorted(int(document.key) for document in store.list(with_text=False))
        originals = {int(one.key): int(one.original or one.key) for one in store.duplicates}
    groups: dict[int, list[int]] = {}
    for place, original in sorted(originals.items()):
        groups.setdefault(original, [original]).append(place)
    return Deduped(
        tuple(given[place] for place in kept),
        tuple(kept),
        tuple(sorted(originals)),
        tuple(tuple(groups[original]) for original in sorted(groups)),
    )


def _texts_of(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str | bytes):
        raise InvalidParameter("one text is given where several can be; put it into a list")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):
        kind = type(texts).__name__
        raise InvalidParameter(
            f"dedupe takes texts, not a {kind}; give its values or one column of it, or give it "
            "to Store(':memory:').add_many(..., on_duplicate='skip')"
        )
    given = list(texts)
    for place, text in enumerate(given):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InvalidParameter(f"dedupe takes texts, and number {place} is a {kind}")
    return given
