"""Compute the SimHash fingerprints and MinHash sketches that a store's search methods need.

The scheme makes fingerprints; each channel of sketches has its own settings
(:mod:`simstore.fingerprint.sketching`). The channels are listed in :mod:`simstore.model.channels`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import SchemeMismatch
from simstore.fingerprint.minhash import BandLayout
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.shingle_sets import ShingleSets
from simstore.fingerprint.sketching import Sketching, SketchRecipe
from simstore.model.channels import (
    DEFAULT_CHANNELS,
    KEPT_CHANNELS,
    channel,
    kept_channels,
    load,
)
from simstore.text.normalization import DEFAULT, Normalization

FINGERPRINTS = "simhash"
WORD_SKETCHES = "minhash"
CHARACTERS = "characters"
DEFAULT_RECIPE = SketchRecipe(WORD_SKETCHES)


@dataclass(frozen=True, slots=True)
class Channels:
    """The channels of a store, with their settings.

    >>> from simstore.fingerprint.channels import Channels
    >>> Channels.of(["minhash"]).names
    ('minhash',)

    Attributes:
        names: The channels, in the order of the registry.
        words: The recipe of ``minhash``: verification goes by its shingles, so that there is one
            though the store has not the channel.
        others: Recipes of the other channels of sketches that it has.
    """

    names: tuple[str, ...] = DEFAULT_CHANNELS
    words: SketchRecipe = DEFAULT_RECIPE
    others: tuple[SketchRecipe, ...] = ()

    @classmethod
    def of(
        cls,
        names: Iterable[str] = DEFAULT_CHANNELS,
        normalization: Normalization = DEFAULT,
        layouts: Mapping[str, BandLayout] | None = None,
    ) -> Channels:
        """Return channels by their names.

        Args:
            names: The channels.
            normalization: The scheme's; all channels see the same text.
            layouts: Bands of channels, where they are not the default.

        Raises:
            InvalidParameter: One is none that can be chosen, or there is none.
        """
        chosen = kept_channels(names)
        bands = layouts or {}

        def recipe(name: str, sketching: type[Sketching]) -> SketchRecipe:
            made = sketching(normalization)
            return SketchRecipe(name, made, bands.get(name, made.layouts[0]))

        return cls(
            chosen,
            recipe(WORD_SKETCHES, Sketching),
            tuple(
                recipe(name, load(address))
                for name in chosen
                if name != WORD_SKETCHES and (address := channel(name).sketching)
            ),
        )

    @property
    def recipes(self) -> tuple[SketchRecipe, ...]:
        """Return all recipes that are known, that of ``minhash`` first."""
        return (self.words, *self.others)

    @property
    def sketched(self) -> tuple[SketchRecipe, ...]:
        """Return the recipes of the channels of sketches that are there."""
        return tuple(one for one in self.recipes if one.name in self.names)

    @property
    def has_fingerprints(self) -> bool:
        """Return whether the store keeps fingerprints."""
        return FINGERPRINTS in self.names

    @property
    def has_word_sketches(self) -> bool:
        """Return whether the store keeps sketches by which resemblance can be estimated."""
        return WORD_SKETCHES in self.names

    @property
    def sketching(self) -> Sketching:
        """Return the settings of the shingle sets by which matches are verified."""
        return self.words.sketching

    @property
    def layout(self) -> BandLayout:
        """Return the bands of ``minhash``."""
        return self.words.layout

    def recipe(self, name: str) -> SketchRecipe:
        """Return the recipe of a channel of sketches."""
        return next(one for one in self.recipes if one.name == name)

    def with_layout(self, name: str, layout: BandLayout) -> Channels:
        """Return the channels with other bands of one."""
        changed = [replace(one, layout=layout) if one.name == name else one for one in self.recipes]
        return replace(self, words=changed[0], others=tuple(changed[1:]))

    def record(self) -> dict[str, Any]:
        """Return the channels as a store keeps them, JSON values."""
        return {
            "names": list(self.names),
            "recipes": {one.name: one.record() for one in self.recipes},
        }

    @classmethod
    def from_record(
        cls, record: Mapping[str, Any], normalization: Normalization, label: str
    ) -> Channels:
        """Return the channels that a store records.

        Raises:
            SchemeMismatch: This installation makes other sketches, or has not the channel.
        """
        names = record["names"]
        for name in names:
            if name not in KEPT_CHANNELS:
                raise SchemeMismatch(label, f"it has the channel {name}, which is not known here")

        def recipe(name: str, sketching: type[Sketching]) -> SketchRecipe:
            kept = record["recipes"][name]
            made = sketching.from_record(kept["sketch"], normalization)
            if name in names and not made.comes_out(kept["sketch"]):
                raise SchemeMismatch(label, "its sketches come out otherwise here")
            return SketchRecipe(name, made, BandLayout(*kept["bands"]))

        chosen = tuple(name for name in KEPT_CHANNELS if name in names)
        return cls(
            chosen,
            recipe(WORD_SKETCHES, Sketching),
            tuple(
                recipe(name, load(address))
                for name in chosen
                if name != WORD_SKETCHES and (address := channel(name).sketching)
            ),
        )


def recorded_choice(
    record: Mapping[str, Any],
) -> tuple[tuple[str, ...], dict[str, BandLayout]]:
    """Return the names of the channels that a store records, and the bands of those of sketches.

    Args:
        record: Of :meth:`Channels.record`.
    """
    layouts = {name: BandLayout(*one["bands"]) for name, one in record["recipes"].items()}
    return tuple(record["names"]), layouts


# Bytes a character of texts that are looked at as words alone.
NARROW = 1.1


@dataclass(frozen=True, slots=True)
class Signatures:
    """Fingerprints, sketches and counts of a batch of texts.

    Attributes:
        words: Fingerprints, shape (texts, ceil(M / 64)); None without the channel simhash.
        feature_counts: Features of each text, with repetitions, int64, shape (texts,).
        shingle_counts: Distinct shingles by which each is compared, int64, shape (texts,).
        sketches: By the channels of sketches, shape (texts, values): of ``minhash`` uint16, 128
            values.
        sets: The sets of these shingles, where they were asked for.
    """

    words: NDArray[np.uint64] | None
    feature_counts: NDArray[np.int64]
    shingle_counts: NDArray[np.int64]
    sketches: Mapping[str, NDArray[Any]]
    sets: ShingleSets | None = None


def signatures(
    scheme: Scheme,
    channels: Channels,
    texts: Sequence[str],
    byte_count: int,
    *,
    with_sets: bool = False,
    compared: str = WORD_SKETCHES,
) -> Signatures:
    """Make the signatures of texts, by a scheme whose fingerprints depend on the text alone.

    Args:
        scheme: The scheme.
        channels: Which there are.
        texts: The texts.
        byte_count: Bytes of all of them, UTF-8.
        with_sets: Shingle sets are wanted, too.
        compared: The channel by whose shingles texts are compared.
    """
    # Few bytes beyond one a character: hardly any script without blanks between words.
    narrow = byte_count <= NARROW * sum(map(len, texts))
    scanned = scheme.scan(texts) if narrow else None
    words, feature_counts = scheme.fingerprinted(texts, None, scanned)
    sets: ShingleSets | None = None
    sizes: NDArray[np.int64] | None = None
    made = {}
    for recipe in channels.sketched:
        if with_sets and recipe.name == compared:
            sets, made[recipe.name] = recipe.sketching.sets_and_sketches(texts, scanned)
            continue
        counts, made[recipe.name] = recipe.sketching.sketched(texts, scanned)
        if recipe.name == compared:
            sizes = counts
    if sets is None and (with_sets or sizes is None):
        sets = channels.recipe(compared).sketching.sets(texts)
    if sizes is None:
        sizes = sets.sizes() if sets is not None else np.zeros(len(texts), np.int64)
    return Signatures(
        words if channels.has_fingerprints else None,
        feature_counts,
        sizes,
        made,
        sets if with_sets else None,
    )
