"""Describe a store at one moment: its settings, fingerprint scheme and search methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simstore.errors import CorruptStore, InvalidParameter
from simstore.fingerprint.channels import Channels
from simstore.fingerprint.scheme import Scheme
from simstore.model.channels import channel, kept_channels
from simstore.storage.generations import GenerationRow, StoreSettings

if TYPE_CHECKING:
    from simstore.fingerprint.passage_recipe import PassageRecipe

# The channel of short samples, where the store has a passage index with terms of sentences.
SENTENCES = "sentences"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The settings, scheme and generation of a store at one moment; outlives its transaction.

    Attributes:
        generation: The standing generation; None before the first, and without fingerprints.
        generation_is_lost: There was one, and it is not there any more.
        channels: By which the store finds documents.
        passages: How the passage index cuts texts; None: there is none.
    """

    settings: StoreSettings
    scheme_id: int
    scheme: Scheme
    generation: GenerationRow | None
    channels: Channels
    passages: PassageRecipe | None = None
    generation_is_lost: bool = False

    @property
    def records_vocabulary(self) -> bool:
        """Return whether the store counts features."""
        return self.settings.vocabulary_recorded or self.scheme.depends_on_corpus

    @property
    def keeps_counts(self) -> bool:
        """Return whether the store keeps each document's feature counts.

        It must where fingerprints are made anew from them, and where they could not be counted
        again from a kept text.
        """
        return self.scheme.depends_on_corpus or (
            self.settings.vocabulary_recorded and not self.settings.text_kept
        )

    @property
    def finds_sentences(self) -> bool:
        """Return whether a finished passage index has the terms of sentences."""
        recipe, settings = self.passages, self.settings
        return (
            recipe is not None
            and recipe.sentences
            and settings.passages_complete
            and settings.text_kept
        )

    @property
    def searched_channels(self) -> tuple[str, ...]:
        """Return the channels that a query can search."""
        return (*self.channels.names, *((SENTENCES,) if self.finds_sentences else ()))

    @property
    def is_fresh(self) -> bool:
        """Return whether the current generation covers the present vocabulary."""
        if not self.scheme.depends_on_corpus:
            return True
        if self.generation is None:
            return self.settings.changes == 0
        return self.generation.basis == self.settings.changes


def check_generation(state: State, label: str) -> None:
    """Raise CorruptStore where the current generation of fingerprints is lost.

    One that was never made is no damage: no document has a fingerprint yet.

    Args:
        state: What stands.
        label: The store, for the message.
    """
    if not state.generation_is_lost:
        return
    reason = "its standing generation of fingerprints is lost"
    if state.scheme.depends_on_corpus:
        reason += ": `simstore vocabulary refresh --anyway` makes another"
    elif state.settings.text_kept:
        reason += ": `simstore reindex` makes another"
    raise CorruptStore(label, reason)


def missing_channel(state: State, name: str) -> InvalidParameter:
    """Return the error that a store lacks a channel, with the remedy."""
    if not channel(name).is_kept:
        return InvalidParameter(
            f"this store has no finished index of {name}; `simstore passages build` makes it "
            "where the texts are kept"
        )
    if state.settings.text_kept:
        wanted = kept_channels({*state.channels.names, name})
        remedy = f"`simstore reindex --channels {','.join(wanted)}` makes it"
    else:
        remedy = "it keeps no texts to make it from: ingest the sources into a new store"
    return InvalidParameter(f"this store has no channel {name}; {remedy}")
