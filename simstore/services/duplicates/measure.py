"""Choose by which channels duplicates and clusters are looked for, and what compares two texts.

Texts resemble each other by their runs of words, or, where that is asked for, by their runs of
characters (:mod:`simstore.fingerprint.characters`). A search has one measure: what resembles by
words does by characters too, so a search by both would find what the second finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simstore.errors import InvalidParameter, NotFound
from simstore.fingerprint.channels import CHARACTERS, FINGERPRINTS, WORD_SKETCHES
from simstore.fingerprint.minhash import BandLayout
from simstore.fingerprint.sketching import SketchRecipe
from simstore.model.channels import channel, duplicate_measure
from simstore.search.resemblance import EdgeRule
from simstore.services.open_store.state import State, missing_channel

# Texts of at most so many features have no edge by characters: no title of twelve words has more.
# In "Chapter 1" and "Chapter 2" most characters are the same.
SHORT_FEATURES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A way to find candidates of duplicates and to compare two texts.

    Attributes:
        by_fingerprint: Near fingerprints are candidates.
        by_sketches: Sketches that agree in a band are.
        recipe: Makes the sets by which texts are compared, and their sketches.
        is_sketched: The store keeps these sketches.
        is_of_texts: The store keeps texts, which are compared.
        least_features: Texts of fewer features have an edge only where they contain each other, by
            characters none.
    """

    by_fingerprint: bool
    by_sketches: bool
    recipe: SketchRecipe
    is_sketched: bool
    is_of_texts: bool
    least_features: int

    @classmethod
    def of(
        cls,
        state: State,
        channels: Sequence[str] = (),
        *,
        short_texts: bool = False,
        looks: bool = True,
    ) -> Measure:
        """Return the measure by which a store is to be searched.

        Args:
            state: The store.
            channels: By which to look; none: those of words that it has.
            short_texts: By characters, short texts have edges too.
            looks: Candidates are looked for; else all pairs are compared.

        Raises:
            InvalidParameter: The store has not the channel, or channels do not go together.
        """
        measure = duplicate_measure(channels)
        check_short_texts(channels, short_texts=short_texts)
        held = state.channels.names
        chosen = channels or [name for name in held if channel(name).measure == measure]
        for name in chosen or ([WORD_SKETCHES] if looks else []):
            if name not in held:
                raise missing_channel(state, name)
        name, least = WORD_SKETCHES, state.scheme.least_features
        if measure == "characters":
            name = CHARACTERS
            least = 0 if short_texts else max(least, SHORT_FEATURES + 1)
        return cls(
            by_fingerprint=FINGERPRINTS in chosen,
            by_sketches=name in chosen,
            recipe=state.channels.recipe(name),
            is_sketched=name in held,
            is_of_texts=state.settings.text_kept,
            least_features=least,
        )

    @property
    def name(self) -> str:
        """Return the channel whose sketches are compared."""
        return self.recipe.name

    def rule(self, min_resemblance: float | None) -> EdgeRule:
        """Return the rule for an edge."""
        return EdgeRule(
            min_resemblance,
            self.least_features,
            joins_contained=self.name == WORD_SKETCHES,
            values=self.recipe.sketching.values,
        )

    def check_tells_resemblance(self) -> None:
        """Raise NotFound where the store keeps neither texts nor sketches to compare by."""
        if not self.is_of_texts and not self.is_sketched:
            raise NotFound(
                "this store keeps neither texts nor sketches to verify candidates by; ingest into "
                "a store that keeps texts (`simstore init` without --no-text)"
            )


def check_short_texts(channels: Sequence[str], *, short_texts: bool) -> None:
    """Raise InvalidParameter where short texts are asked for, and are told by words."""
    if short_texts and duplicate_measure(channels) == "words":
        raise InvalidParameter(
            "short texts go with channels characters; by words they are duplicates where one "
            "contains the other"
        )


def clusters_layout(recipe: SketchRecipe, least: float) -> BandLayout:
    """Return the bands by which all texts of a store are compared at once.

    Of the layouts of a recipe the one of the fewest candidates that misses one pair in a million
    at most, else the one that misses the fewest.

    >>> from simstore.fingerprint.channels import Channels
    >>> recipe = Channels.of(["characters"]).recipe("characters")
    >>> str(clusters_layout(recipe, 0.5)), str(clusters_layout(recipe, 0.8))
    ('85x3', '31x5')

    Args:
        recipe: Of the sketches.
        least: Least resemblance of a pair.
    """
    for layout in reversed(recipe.sketching.layouts):
        found = layout.enough_for(least)
        if found.bands < layout.bands:
            return found
    return recipe.sketching.layouts[0]
