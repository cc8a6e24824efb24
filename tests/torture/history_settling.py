"""What a document that comes makes of those that are stored: docs/how-to/living-index.md, plainly.

Documents stand in the order of their first sight, then of ingest; no record of a history links to
another. Of documents that are alike the first by this order is the original, whatever came first;
of several originals before it a duplicate points at the most similar, of equals at the first.
Every text is compared with every other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .history_model import Model, Rule, Told

Place = tuple[int, int]


def place_of(model: Model, key: str) -> Place:
    """Return where a stored document stands."""
    held = model.docs[key]
    return held.first_seen, held.number


def original_of(model: Model, key: str) -> str | None:
    """Return what a stored document is flagged because of."""
    noted = model.noted.get(key)
    return noted.original if noted is not None and noted.state == "flagged" else None


def like(model: Model, key: str, text: str, rule: Rule) -> list[str]:
    """Return the other documents that a text is like."""
    return [
        other
        for other, held in model.docs.items()
        if other != key and model.is_edge(text, held.record.text, rule)
    ]


def nearness(model: Model, text: str, original: str, place: Place) -> tuple[float, Place]:
    """Return by what originals of a text are compared: the least is the one."""
    same = text == original
    return -(1.0 if same else model.resemblance(text, original)), place


def nearest_original(model: Model, key: str, text: str, place: Place, rule: Rule) -> str | None:
    """Return the most similar of the originals that a text is like, of those before its place."""
    found = [
        other
        for other in like(model, key, text, rule)
        if original_of(model, other) is None and place_of(model, other) < place
    ]
    return min(found, key=lambda other: _nearness_of(model, text, other), default=None)


def _nearness_of(model: Model, text: str, original: str) -> tuple[float, Place]:
    return nearness(model, text, model.docs[original].record.text, place_of(model, original))


def comes_before(
    model: Model, key: str, text: str, place: Place, rule: Rule, until: Place | None = None
) -> bool:
    """Whether a document makes duplicates of others, or takes them from a later original.

    Args:
        model: The store.
        key: The document.
        text: Its text from now on.
        place: Its place from now on.
        rule: What is a duplicate.
        until: The place that it had, if it is moved; what followed it from there is as it was.
    """
    for other in like(model, key, text, rule):
        theirs = place_of(model, other)
        if place >= theirs:
            continue
        followed = until is not None and until < theirs
        original, held = original_of(model, other), model.docs[other].record.text
        if original is None:
            if not followed:
                return True
            continue
        present = _nearness_of(model, held, original)
        if followed and until is not None and nearness(model, held, text, until) < present:
            continue
        if original != key and nearness(model, held, text, place) < present:
            return True
    return False


def settle(model: Model, key: str, rule: Rule, told: Told) -> None:
    """Make duplicates of what a document comes before, and look again at what those held."""
    before = {other for other in model.docs if original_of(model, other) is not None}
    waiting, done = {key}, set()

    def put(one: str, original: str) -> None:
        if original_of(model, one) is None:
            waiting.update(other for other in model.docs if original_of(model, other) == one)
        model.note_flagged(one, original)

    while waiting:
        one = min(waiting, key=lambda other: place_of(model, other))
        waiting.remove(one)
        held_by = original_of(model, one)
        rests = held_by is not None and original_of(model, held_by) is None
        if one in done or (one != key and rests):
            continue
        done.add(one)
        near = like(model, one, model.docs[one].record.text, rule)
        originals = [other for other in near if original_of(model, other) is None]
        text = model.docs[one].record.text
        chosen = nearest_original(model, one, text, place_of(model, one), rule)
        if chosen is not None:
            put(one, chosen)
            continue
        model.noted.pop(one, None)
        for other in originals:
            put(other, one)
        for other in near:
            theirs, held = original_of(model, other), model.docs[other].record.text
            if (
                theirs is not None
                and place_of(model, one) < place_of(model, other)
                and _nearness_of(model, held, one) < _nearness_of(model, held, theirs)
            ):
                put(other, one)
    flagged = {other for other in model.docs if original_of(model, other) is not None}
    told.unflagged |= before - flagged
    told.unflagged -= flagged - before
    told.displaced += len(flagged - before)
