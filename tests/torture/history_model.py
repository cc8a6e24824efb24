"""What a store should hold after a history: plain dicts and loops, the standard library alone.

Written from docs/how-to/living-index.md, docs/how-to/clusters.md and
docs/explanation/guarantee.md. It shares no code with the package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .history_settling import comes_before, nearest_original, settle
from .plain_texts import Recipe, containment, feature_count, miss_probability, resemblance

Mode = Literal["keep", "flag", "skip"]
# An edge that the channels miss more seldom than this must be found.
SURE = 1e-6
_STRENGTH = {"ingest": 0, "crawl": 1, "published": 2}


def digest_of(key: str, text: str) -> str:
    """Return the digest of a document, as docs/how-to/living-index.md defines it."""
    covered = text if text.strip() else f"\0{key}\0{text}"
    return hashlib.blake2b(covered.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _shown(name: str | None) -> str | None:
    return None if name is None else name.replace("\0", "\ufffd")


@dataclass(frozen=True)
class Record:
    """A document as it is given to a store."""

    key: str
    text: str
    title: str | None = None
    collection: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seen_at: int | None = None
    published_at: int | None = None

    def as_stored(self) -> Record:
        """Return it as a store keeps it: without U+0000 in titles and names of collections."""
        return replace(self, title=_shown(self.title), collection=_shown(self.collection))

    def claim(self, now: int) -> tuple[int, str]:
        """Return since when it says that it is there, and who says so."""
        seen = now if self.seen_at is None else self.seen_at
        if self.published_at is not None and self.published_at <= seen:
            return self.published_at, "published"
        return seen, "ingest" if self.seen_at is None else "crawl"

    def is_as(self, other: Record) -> bool:
        """Whether both say the same of one text."""
        return (self.text, self.title, self.collection, dict(self.metadata)) == (
            other.text, other.title, other.collection, dict(other.metadata),
        )  # fmt: skip


@dataclass
class Held:
    """A document that is stored; its number says when it came, among those that are stored."""

    record: Record
    first_seen: int
    basis: str
    last_seen: int
    version_seen: int = 0
    revision: int = 1
    versions: list[str] = field(default_factory=list)
    number: int = 0


@dataclass
class Noted:
    """What a check before the insert found."""

    state: str
    text: str
    original: str
    first_seen: int
    last_seen: int


@dataclass(frozen=True)
class Rule:
    """What is a duplicate, and what becomes of it.

    Attributes:
        mode: ``keep``, ``flag`` or ``skip``.
        least: Least resemblance; None: any, where there is a radius.
        radius: Largest distance of the fingerprints; None: it does not count.
    """

    mode: Mode = "keep"
    least: float | None = None
    radius: int | None = None


@dataclass
class Told:
    """What one operation should tell of itself.

    Attributes:
        outcomes: What became of each record.
        exact: How many had the text of another stored document.
        orphaned, uncovered, unflagged: Keys that nothing holds any more.
        displaced: How many originals became duplicates.
    """

    outcomes: list[str] = field(default_factory=list)
    exact: int = 0
    displaced: int = 0
    orphaned: set[str] = field(default_factory=set)
    uncovered: set[str] = field(default_factory=set)
    unflagged: set[str] = field(default_factory=set)


class Model:
    """A store as it should be.

    Args:
        recipe: How texts are cut.
        bits: M.
        channels: By which the store looks.
        fingerprint: The fingerprint of a text by what stands; None: it has none.
        covers: Whether a text covers another; tests of its own have the rule.
    """

    def __init__(
        self,
        recipe: Recipe,
        bits: int,
        channels: tuple[str, ...],
        fingerprint: Callable[[str], int | None],
        covers: Callable[[str, str], bool] = lambda _one, _other: False,
    ) -> None:
        self.recipe = recipe
        self.bits = bits
        self.channels = channels
        self.fingerprint = fingerprint
        self.covers = covers
        self.bands = 42, 3
        self.docs: dict[str, Held] = {}
        self.noted: dict[str, Noted] = {}
        self.rejected = 0

    # What comes.

    def arrive(self, records: Iterable[Record], rule: Rule, now: int) -> Told:
        """Take records one after the other."""
        told = Told()
        for record in records:
            told.outcomes.append(self._take(record.as_stored(), rule, now, told))
        return told

    def _take(self, record: Record, rule: Rule, now: int, told: Told) -> str:
        key, held, noted = record.key, self.docs.get(record.key), self.noted.get(record.key)
        seen = now if record.seen_at is None else record.seen_at
        if held is not None:
            is_older = record.seen_at is not None and seen < held.last_seen
            if record.is_as(held.record) or is_older:
                self._move(held, record, rule, now, told, is_written=False)
                return "unchanged"
            if held.record.text == record.text:
                told.exact += self._is_copy(record)
                self._move(held, record, rule, now, told, is_written=True)
                return "updated"
        first, basis = self._first_sight(record, now)
        number = held.number if held is not None else self._next_number()
        if rule.mode == "skip" and noted is not None and noted.state == "skipped":
            original_stands = self.docs[noted.original]
            is_later = (original_stands.first_seen, original_stands.number) < (first, number)
            is_old = record.seen_at is not None and seen < noted.last_seen
            if is_later if noted.text == record.text else is_old:
                noted.first_seen = min(noted.first_seen, record.claim(now)[0])
                noted.last_seen = max(noted.last_seen, seen)
                return "skipped"
        original, displaces = None, False
        if rule.mode != "keep":
            place = first, number
            original = nearest_original(self, key, record.text, place, rule)
            displaces = original is None and comes_before(self, key, record.text, place, rule)
        is_skipped = original is not None and rule.mode == "skip"
        if held is not None and is_skipped:
            self._let_go(key, told)
        elif held is not None:
            self._change(key, record.text, told)
        self.noted.pop(key, None)
        told.orphaned.discard(key)
        told.uncovered.discard(key)
        told.unflagged.discard(key)
        if original is not None and is_skipped:
            since, last = record.claim(now)[0], seen
            if held is not None:
                since, last = min(since, held.first_seen), max(last, held.last_seen)
                del self.docs[key]
            if noted is not None and noted.state != "flagged":
                since, last = min(since, noted.first_seen), max(last, noted.last_seen)
            self.noted[key] = Noted("skipped", record.text, original, since, last)
            return "skipped"
        if held is None:
            self.docs[key] = Held(record, first, basis, seen, version_seen=seen, number=number)
        else:
            self._see(held, record, now, is_written=True)
        told.exact += self._is_copy(record)
        if original is not None:
            self.note_flagged(key, original)
            return "flagged"
        if displaces:
            settle(self, key, rule, told)
        return "added" if held is None else "updated"

    def _first_sight(self, record: Record, now: int) -> tuple[int, str]:
        """Return since when a key is known once a record of it was read, and who says so."""
        held, noted = self.docs.get(record.key), self.noted.get(record.key)
        if held is not None:
            claim = record.claim(max(now, held.last_seen))
            known = held.first_seen, held.basis
            return min(claim, known, key=lambda one: (one[0], -_STRENGTH[one[1]]))
        first, basis = record.claim(now)
        if noted is not None and noted.state != "flagged" and noted.first_seen < first:
            return noted.first_seen, "ingest" if record.seen_at is None else "crawl"
        return first, basis

    def _next_number(self) -> int:
        return 1 + max((held.number for held in self.docs.values()), default=0)

    def _is_copy(self, record: Record) -> bool:
        return bool(record.text.strip()) and any(
            one.record.text == record.text
            for other, one in self.docs.items()
            if other != record.key
        )

    def _move(
        self, held: Held, record: Record, rule: Rule, now: int, told: Told, *, is_written: bool
    ) -> None:
        """See a document that keeps its text; it may be known to be older by that."""
        key, before = record.key, (held.first_seen, held.number)
        after = self._first_sight(record, now)[0], held.number
        text = held.record.text
        displaces = (
            rule.mode != "keep"
            and after < before
            and comes_before(self, key, text, after, rule, before)
        )
        self._see(held, record, now, is_written=is_written)
        if displaces:
            settle(self, key, rule, told)

    def note_flagged(self, key: str, original: str) -> None:
        """Note what a stored document duplicates."""
        self.noted[key] = Noted("flagged", self.docs[key].record.text, original, 0, 0)

    @staticmethod
    def _see(held: Held, record: Record, now: int, *, is_written: bool) -> None:
        seen = max(now, held.last_seen) if record.seen_at is None else record.seen_at
        if record.text == held.record.text:
            if held.revision == 1:
                held.version_seen = min(held.version_seen, seen)
        elif is_written:
            held.versions.append(digest_of(record.key, held.record.text))
            held.version_seen = seen
        first, basis = record.claim(seen)
        if first < held.first_seen or (
            first == held.first_seen and _STRENGTH[basis] > _STRENGTH[held.basis]
        ):
            held.first_seen, held.basis = first, basis
        held.last_seen = max(held.last_seen, seen)
        if is_written:
            held.record = record
            held.revision += 1

    # What leaves.

    def remove(self, keys: Iterable[str]) -> tuple[int, Told]:
        """Forget documents and skipped keys; return how many there were."""
        told, count = Told(), 0
        going = list(dict.fromkeys(keys))
        for key in going:
            count += key in self.docs or key in self.noted
            if self.docs.pop(key, None) is not None:
                self._let_go(key, told)
            self.noted.pop(key, None)
        told.orphaned -= set(going)
        told.unflagged -= set(going)
        return count, told

    def expire(self, since: int, collection: str | None) -> tuple[int, int, Told]:
        """Forget what was last seen before a time; return how many documents and skipped keys."""
        gone = [
            key
            for key, held in self.docs.items()
            if held.last_seen < since and collection in (None, held.record.collection)
        ]
        forgotten = [
            key
            for key, noted in self.noted.items()
            if noted.state != "flagged" and noted.last_seen < since and collection is None
        ]
        _, told = self.remove([*gone, *forgotten])
        return len(gone), len(forgotten), told

    def _let_go(self, key: str, told: Told) -> None:
        """Nothing holds the duplicates of a document that leaves."""
        for other, noted in list(self.noted.items()):
            if noted.original != key:
                continue
            if noted.state == "flagged":
                del self.noted[other]
                told.unflagged.add(other)
            elif noted.state != "orphaned":
                noted.state = "orphaned"
                told.orphaned.add(other)

    def _change(self, key: str, text: str, told: Told) -> None:
        """A document gets another text, which may cover what keys were skipped for."""
        is_covered = self.covers(text, self.docs[key].record.text)
        for other, noted in list(self.noted.items()):
            if noted.original != key:
                continue
            if noted.state == "flagged":
                del self.noted[other]
                told.unflagged.add(other)
            elif noted.state == "skipped" and not is_covered:
                noted.state = "uncovered"
                told.uncovered.add(other)

    # What is asked.

    def resemblance(self, one: str, other: str) -> float:
        """Return the resemblance of two texts."""
        return resemblance(one, other, self.recipe)

    def is_edge(self, one: str, other: str, rule: Rule) -> bool:
        """Whether one text duplicates the other."""
        if one == other:
            return bool(one.strip())
        share = resemblance(one, other, self.recipe)
        if share == 0.0 and (not self._has_shingles(one) or not self._has_shingles(other)):
            return False
        if rule.radius is not None:
            distance = self.distance(one, other)
            if distance is None or distance > rule.radius:
                return False
        least = 0.8 if rule.least is None and rule.radius is None else rule.least
        if least is not None and share < least:
            return False
        if rule.radius is None and self.found(one, other) is not True:
            if self.found(one, other) is None:
                raise AssertionError("the rule leaves it to chance what is found")
            return False
        return self.long_enough(one, other)

    def _has_shingles(self, text: str) -> bool:
        return resemblance(text, text, self.recipe) == 1.0

    def long_enough(self, one: str, other: str) -> bool:
        """Whether both texts are long enough to judge, or one contains the other."""
        fewest = min(feature_count(one, self.recipe), feature_count(other, self.recipe))
        if fewest >= self.recipe.least_features:
            return True
        return 1.0 in (
            containment(one, other, self.recipe), containment(other, one, self.recipe)
        )  # fmt: skip

    def distance(self, one: str, other: str) -> int | None:
        """Return the distance of two texts' fingerprints; None: one has none."""
        first, second = self.fingerprint(one), self.fingerprint(other)
        return None if first is None or second is None else (first ^ second).bit_count()

    def found(self, one: str, other: str, radius: int | None = None) -> bool | None:
        """Whether the channels find one text from the other; None: that is left to chance."""
        if "simhash" in self.channels:
            distance = self.distance(one, other)
            if distance is not None and distance <= (
                min(3, self.bits) if radius is None else radius
            ):
                return True
        return self.sketches_agree(one, other)

    def sketches_agree(self, one: str, other: str) -> bool | None:
        """Whether two texts' sketches agree in a band; None: that is left to chance."""
        share = resemblance(one, other, self.recipe)
        if "minhash" not in self.channels or share == 0.0:
            return False
        return True if miss_probability(share, *self.bands) < SURE else None

    def is_certain(self, least: float) -> bool:
        """Whether the channels surely find what resembles so much."""
        return "minhash" not in self.channels or miss_probability(least, *self.bands) < SURE

    def check_stars(
        self,
        stars: Iterable[tuple[str, list[tuple[str, float]]]],
        least: float,
        policy: str,
        radius: int | None = None,
        *,
        is_exact: bool = False,
        among: set[str] | None = None,
    ) -> None:
        """Raise unless clusters are as docs/how-to/clusters.md says.

        Args:
            stars: Canonical key and members, itself among them, with their resemblance to it.
            least: Least resemblance of an edge.
            policy: ``first`` or ``longest``.
            radius: Of channel 1.
            is_exact: No edge may be missed.
            among: The documents that take part; None: all.
        """
        docs = {key: held for key, held in self.docs.items() if among is None or key in among}
        turn = {key: number for number, key in enumerate(docs)}

        def place(key: str) -> tuple[int, int, int]:
            held = docs[key]
            size = -len(held.record.text.encode("utf-8", "surrogateescape"))
            return (size if policy == "longest" else 0, held.first_seen, turn[key])

        star_of: dict[str, str] = {}
        shares: dict[str, float] = {}
        for canonical, members in stars:
            for key, share in members:
                if key in star_of:
                    raise AssertionError(f"{key!r} is in two clusters")
                star_of[key], shares[key] = canonical, share
        if star_of.keys() != docs.keys():
            raise AssertionError(f"clusters of {sorted(star_of)!r}, documents {sorted(docs)!r}")
        # Documents of one text stand together: the first of them stands for all.
        stands: dict[str, str] = {}
        for key in sorted(docs, key=place):
            stands.setdefault(digest_of(key, docs[key].record.text), key)
        canonicals = {star_of[key] for key in docs}
        for key, held in docs.items():
            text, centre = held.record.text, star_of[key]
            first = stands[digest_of(key, text)]
            if star_of[first] != centre:
                raise AssertionError(f"{key!r} is not where its text is")
            if stands[digest_of(centre, docs[centre].record.text)] != centre:
                raise AssertionError(f"{centre!r} is canonical, an earlier one has its text")
            if place(centre) > place(first):
                raise AssertionError(f"{key!r} is before its canonical document {centre!r}")
            middle = docs[centre].record.text
            share = 1.0 if text == middle else resemblance(text, middle, self.recipe)
            if shares[key] != share:
                raise AssertionError(f"{key!r}: resemblance {shares[key]}, not {share}")
            if key != centre and not self._has_edge(
                text, middle, least, radius, is_exact=is_exact, if_open=True
            ):
                raise AssertionError(f"{key!r} is in the cluster of {centre!r} without an edge")
            for other in canonicals:
                theirs = docs[other].record.text
                if place(other) >= place(first) or not self._has_edge(
                    text, theirs, least, radius, is_exact=is_exact, if_open=False
                ):
                    continue
                # The most similar of the earlier canonical documents; of equals, the earliest.
                other_share = resemblance(text, theirs, self.recipe)
                nearer = (-other_share, place(other)) < (-share, place(centre))
                if first == centre or nearer:
                    raise AssertionError(
                        f"{key!r} is in the cluster of {centre!r} and not of the nearer {other!r}"
                    )

    def _has_edge(
        self,
        one: str,
        other: str,
        least: float,
        radius: int | None,
        *,
        is_exact: bool,
        if_open: bool,
    ) -> bool:
        if one == other:
            return bool(one.strip())
        if resemblance(one, other, self.recipe) < least or not self.long_enough(one, other):
            return False
        found = True if is_exact else self.found(one, other, radius)
        return if_open if found is None else found
