"""The registry of channels: ways to find candidates, such as SimHash or MinHash search.

An entry holds names, not code: code that needs a recipe or a store part loads it by its address. So
the command line reads names and help from here without NumPy, Spark loads recipes without a
database, and a query loads the store parts of the channels that it looks by and no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

from simstore.errors import InvalidParameter

# Least resemblance of words at which a text is dropped as a duplicate, unless the caller chooses
# another. At .5, the default of reports, texts are dropped a third of whose words are in no other.
DROP_RESEMBLANCE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """An entry of the registry of channels: a way to find documents.

    >>> from simstore.model.channels import channel
    >>> channel("minhash").is_default
    True

    Attributes:
        name: By which users choose it, and results name it.
        finds: What it finds, for help and documentation; no full stop.
        sketching: Address ``module:class`` of the recipe of its sketches, in ``fingerprint/``;
            None: its recipe is the store's scheme, or that of the passage index.
        store_part: Address of its store part, in ``services/``.
        is_kept: It is chosen when a store is made or reindexed; else an index apart makes it.
        is_default: A new store has it unless others are chosen.
        measure: Of what runs two texts that it finds are compared for duplicates and clusters,
            ``words`` or ``characters``; None: a query alone goes by it.
    """

    name: str
    finds: str
    sketching: str | None = None
    store_part: str
    is_kept: bool = True
    is_default: bool = False
    measure: Literal["words", "characters"] | None = None


CHANNELS = (
    Channel(
        name="simhash",
        finds="fingerprints, all within a radius is found",
        store_part="simstore.services.channels.fingerprint_part:FingerprintPart",
        is_default=True,
        measure="words",
    ),
    Channel(
        name="minhash",
        finds="sketches, what resembles is found with high probability",
        sketching="simstore.fingerprint.sketching:Sketching",
        store_part="simstore.services.channels.sketch_part:SketchPart",
        is_default=True,
        measure="words",
    ),
    Channel(
        name="characters",
        finds="sketches of runs of characters, for scans, typed copies and titles: what "
        "resembles is found though one character in ten is wrong, a title though one word is",
        sketching="simstore.fingerprint.characters:CharacterSketching",
        store_part="simstore.services.channels.character_part:CharacterPart",
        measure="characters",
    ),
    Channel(
        name="sentences",
        finds="the sentence that a short sample is, though words were changed, where there is a "
        "passage index",
        store_part="simstore.services.query.sentence_channel:SentencePart",
        is_kept=False,
    ),
)
NAMES = tuple(one.name for one in CHANNELS)
KEPT_CHANNELS = tuple(one.name for one in CHANNELS if one.is_kept)
DEFAULT_CHANNELS = tuple(one.name for one in CHANNELS if one.is_kept and one.is_default)


def channel(name: str) -> Channel:
    """Return the channel with a name.

    >>> from simstore.model.channels import channel
    >>> channel("simhash").finds
    'fingerprints, all within a radius is found'

    Raises:
        InvalidParameter: There is none.
    """
    for one in CHANNELS:
        if one.name == name:
            return one
    raise InvalidParameter(f"channel {name!r}: choose {choices(NAMES)}")


def kept_channels(names: Iterable[str]) -> tuple[str, ...]:
    """Return channels that a store is to have, in the order of the registry, each once.

    >>> from simstore.model.channels import kept_channels
    >>> kept_channels(["minhash", "simhash"])
    ('simhash', 'minhash')

    Args:
        names: The channels.

    Raises:
        InvalidParameter: One is none that can be chosen, or there is none.
    """
    chosen = tuple(names)
    unknown = [name for name in chosen if name not in KEPT_CHANNELS]
    if unknown or not chosen:
        shown = ", ".join(unknown) or "none"
        raise InvalidParameter(f"channels {shown}: choose some of {', '.join(KEPT_CHANNELS)}")
    return tuple(name for name in KEPT_CHANNELS if name in chosen)


def duplicate_measure(names: Iterable[str]) -> Literal["words", "characters"]:
    """Return of what runs texts are compared where duplicates are looked for by channels.

    >>> from simstore.model.channels import duplicate_measure
    >>> duplicate_measure(["simhash", "minhash"]), duplicate_measure(["characters"])
    ('words', 'characters')

    Args:
        names: The channels; none: those of words.

    Raises:
        InvalidParameter: They are of two measures, or no duplicates are told by one of them.
    """
    return _measure_of(tuple(names))


@cache
def _measure_of(chosen: tuple[str, ...]) -> Literal["words", "characters"]:
    measures = {name: channel(name).measure for name in chosen}
    if others := [name for name, measure in measures.items() if measure is None]:
        raise InvalidParameter(
            f"channels {', '.join(chosen)}: no duplicates are told by {', '.join(others)}, leave "
            "it out"
        )
    if len(set(measures.values())) > 1:
        raise InvalidParameter(
            f"channels {', '.join(chosen)}: duplicates are told by runs of words or by runs of "
            "characters; what resembles by words does by characters, so name characters alone"
        )
    return next((one for one in measures.values() if one), "words")


def check_asked_resemblance(channels: Iterable[str], words: float | None) -> None:
    """Raise InvalidParameter where a query by characters alone asks for a resemblance of words.

    >>> from simstore.model.channels import check_asked_resemblance
    >>> check_asked_resemblance(["minhash", "characters"], 0.5)

    Args:
        channels: By which the query looks.
        words: ``min_resemblance``.
    """
    if words is not None and {channel(name).measure for name in channels} == {"characters"}:
        raise InvalidParameter(
            "what is found by characters alone, --min-resemblance would judge by words: give "
            "--min-character-resemblance instead"
        )


def searched_names(names: str) -> tuple[str, ...]:
    """Return the channels that a list with commas names, to search by.

    >>> from simstore.model.channels import searched_names
    >>> searched_names("minhash, simhash")
    ('minhash', 'simhash')

    Raises:
        InvalidParameter: There is no such channel.
    """
    return tuple(channel(name.strip()).name for name in names.split(",") if name.strip())


def load(address: str) -> Any:
    """Import and return the object at an address ``module:name`` of the registry.

    >>> from simstore.model.channels import channel, load
    >>> load(channel("minhash").sketching).__name__
    'Sketching'
    """
    module, _, name = address.partition(":")
    return getattr(import_module(module), name)


def choices(names: Iterable[str]) -> str:
    """Return names as a message offers them.

    >>> from simstore.model.channels import choices
    >>> choices(["simhash", "minhash", "sentences"])
    'simhash, minhash or sentences'
    """
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
