"""Choose the runs by which texts are compared for duplicates, and the rule and bands that follow.

Texts resemble each other by their runs of words, or, where that is asked for, by their runs of
characters (:mod:`simstore.fingerprint.characters`). Stores, ``dedup`` and Spark go by what is
decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simstore.errors import InvalidParameter
from simstore.fingerprint.channels import CHARACTERS, FINGERPRINTS, WORD_SKETCHES, Channels
from simstore.fingerprint.minhash import BandLayout
from simstore.fingerprint.sketching import SketchRecipe
from simstore.model.channels import DROP_RESEMBLANCE, duplicate_measure
from simstore.search.resemblance import EdgeRule, check_share
from simstore.text.normalization import Normalization

# Texts of at most so many features have no edge by characters: no title of twelve words has more.
# In "Chapter 1" and "Chapter 2" most characters are the same.
SHORT_FEATURES = 24
# Least resemblance of duplicates among texts that no store keeps, unless another is asked for.
LEAST_SHARE = 0.5


def compared_recipe(channels: Channels) -> SketchRecipe:
    """Return the recipe of the sets by which texts are compared that channels find.

    >>> from simstore.fingerprint.channels import Channels
    >>> compared_recipe(Channels.of(["simhash"])).name
    'minhash'

    Raises:
        InvalidParameter: The channels are of two measures.
    """
    by_words = duplicate_measure(channels.names) == "words"
    return channels.recipe(WORD_SKETCHES if by_words else CHARACTERS)


def edge_rule(
    recipe: SketchRecipe, least: float | None, least_features: int, *, short_texts: bool = False
) -> EdgeRule:
    """Return the rule for an edge.

    >>> from simstore.fingerprint.channels import Channels
    >>> recipe = Channels.of(["characters"]).recipe("characters")
    >>> edge_rule(recipe, 0.5, least_features=8).least_features
    25

    Args:
        recipe: Makes the sets that are compared, and their sketches.
        least: Least resemblance of a pair.
        least_features: Of the scheme: texts of fewer are too short to be judged by their words.
        short_texts: By characters, short texts have edges too.
    """
    if recipe.name == CHARACTERS:
        least_features = 0 if short_texts else max(least_features, SHORT_FEATURES + 1)
    return EdgeRule(
        least,
        least_features,
        joins_contained=recipe.name != CHARACTERS,
        values=recipe.sketching.values,
    )


def found_channels(
    names: Iterable[str],
    normalization: Normalization,
    *,
    layout: BandLayout | None = None,
    radius: int | None = None,
    short_texts: bool = False,
) -> Channels:
    """Return the channels by which the duplicates among texts are found that no store keeps.

    >>> from simstore.text.normalization import DEFAULT
    >>> found_channels(["characters"], DEFAULT).names
    ('characters',)

    Args:
        names: The channels.
        normalization: The scheme's.
        layout: Bands of the sketches of words; None: the usual ones.
        radius: Of fingerprints, bits; None: the default.
        short_texts: By characters, short texts are duplicates too.

    Raises:
        InvalidParameter: One is none that can be chosen; they are of two measures; or an option is
            of what they do not go by.
    """
    channels = Channels.of(names, normalization)
    by_words = compared_recipe(channels).name == WORD_SKETCHES
    check_short_texts(channels.names, short_texts=short_texts)
    check_radius_is_used(channels.names, radius)
    if layout is None:
        return channels
    if not by_words:
        raise InvalidParameter("bands are those of sketches of words: leave them out")
    return channels.with_layout(WORD_SKETCHES, layout)


def found_share(
    names: Iterable[str],
    min_resemblance: float | None,
    *,
    drops: bool = False,
) -> float:
    """Return the least resemblance of such duplicates; 0.5 where none is given.

    >>> found_share(["characters"], 0.4), found_share(["minhash"], None)
    (0.4, 0.5)
    >>> found_share(["minhash"], None, drops=True)
    0.8

    Args:
        names: The channels.
        min_resemblance: Of the runs by which they compare.
        drops: Duplicates are dropped, not only reported: of words, the usual value is 0.8.

    Raises:
        InvalidParameter: It is out of its range, or channels of both measures are named.
    """
    check_share("min_resemblance", min_resemblance)
    is_of_words = duplicate_measure(names) == "words"
    usual = DROP_RESEMBLANCE if drops and is_of_words else LEAST_SHARE
    return usual if min_resemblance is None else min_resemblance


def check_short_texts(channels: Sequence[str], *, short_texts: bool) -> None:
    """Raise InvalidParameter where short texts are asked for, and are told by words."""
    if short_texts and duplicate_measure(channels) == "words":
        raise InvalidParameter(
            "short texts go with channels characters; by words they are duplicates where one "
            "contains the other"
        )


def check_radius_is_used(channels: Sequence[str], radius: int | None) -> None:
    """Raise InvalidParameter where a radius is given, and no channel goes by fingerprints."""
    if radius is not None and FINGERPRINTS not in channels:
        raise InvalidParameter(
            "a radius is one of fingerprints: leave it out, or name simhash among the channels"
        )


def clusters_layout(recipe: SketchRecipe, least: float) -> BandLayout:
    """Return the bands by which all texts are compared at once.

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
