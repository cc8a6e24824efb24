"""Names of stars outlive what happens to their canonical texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LostStar:
    """A star whose text is canonical no longer.

    Attributes:
        name: The name of the star.
        text: That text, where it is still there.
        document_id: The document that stood for it.
        members: The texts that were in the star beside it and are there, ascending by place.
    """

    name: int
    text: int | None
    document_id: int
    members: Sequence[int]


@dataclass(frozen=True, slots=True)
class StarNameChanges:
    """What becomes of the names of stars.

    Attributes:
        heirs: Names that go on, and the canonical text of each.
        merged: Names that end, and the canonical text of the star they became part of; None
            where nothing of the star is left.
        unnamed: New canonical texts that no name came to, in their order.
    """

    heirs: Mapping[int, int]
    merged: Mapping[int, int | None]
    unnamed: tuple[int, ...]


def pass_on(
    lost: Sequence[LostStar],
    promoted: Sequence[int],
    text_of: Mapping[int, int],
    centre_of: Callable[[int], int],
) -> StarNameChanges:
    """Pass the names of lost stars on to texts that have become canonical.

    Where the canonical text is still there, its star's name goes where the text went. Where it is
    gone, the name goes to the first member that became canonical; else the document that stood
    for the star keeps it, if its new text is canonical; else it goes where the first member went,
    or where that document did. It goes to a text that became canonical and has no name yet, and
    merges into the name of any other.

    Args:
        lost: The stars, those that are to be served first in front.
        promoted: Texts that became canonical, ascending by place.
        text_of: Documents that came or changed, and the text each stands for now.
        centre_of: Returns the canonical text of a text.
    """
    heirs: dict[int, int] = {}
    merged: dict[int, int | None] = {}
    free = dict.fromkeys(promoted)
    for star in lost:
        own = text_of.get(star.document_id)
        if star.text is not None:
            wanted = [centre_of(star.text)]
        else:
            wanted = [text for text in star.members if text in free]
            wanted += [own] if own in free and own is not None else []
            wanted += [centre_of(text) for text in star.members[:1]]
            wanted += [] if own is None else [centre_of(own)]
        heir = next((text for text in wanted[:1] if text in free), None)
        if heir is None:
            merged[star.name] = wanted[0] if wanted else None
        else:
            heirs[star.name] = heir
            del free[heir]
    return StarNameChanges(heirs, merged, tuple(free))
