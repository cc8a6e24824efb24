"""Choose by which channels duplicates and clusters are looked for, and what compares two texts.

Texts resemble each other by their runs of words, or, where that is asked for, by their runs of
characters (:mod:`simstore.fingerprint.characters`). A search has one measure: what resembles by
words does by characters too, so a search by both would find what the second finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simstore.errors import NotFound
from simstore.fingerprint.channels import CHARACTERS, FINGERPRINTS, WORD_SKETCHES
from simstore.fingerprint.sketching import SketchRecipe
from simstore.model.channels import channel, duplicate_measure
from simstore.search.duplicate_measure import check_short_texts, edge_rule
from simstore.search.resemblance import EdgeRule
from simstore.services.open_store.state import State, missing_channel


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
        name = WORD_SKETCHES if measure == "words" else CHARACTERS
        recipe = state.channels.recipe(name)
        rule = edge_rule(recipe, None, state.scheme.least_features, short_texts=short_texts)
        return cls(
            by_fingerprint=FINGERPRINTS in chosen,
            by_sketches=name in chosen,
            recipe=recipe,
            is_sketched=name in held,
            is_of_texts=state.settings.text_kept,
            least_features=rule.least_features,
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
