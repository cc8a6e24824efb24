"""Validate query options: refuse search methods and measures that the store cannot serve."""

from __future__ import annotations

from simstore.errors import InvalidParameter
from simstore.model import QueryOptions
from simstore.model.channels import channel
from simstore.services.open_store.state import State, missing_channel


def check_tellable(state: State, options: QueryOptions) -> None:
    """Raise InvalidParameter where a threshold needs a measure that the store cannot compute."""
    kept = state.settings.text_kept
    if options.asks_likeness and not (kept and state.records_vocabulary):
        raise InvalidParameter(
            "likeness needs the texts and the vocabulary of a store; this one was made with "
            + ("--no-vocabulary" if kept else "--no-text")
        )
    if options.filters_by_text and not kept and not state.channels.has_word_sketches:
        raise InvalidParameter(
            "resemblance and containment need the texts or the sketches of a store; this one was "
            "made with --no-text --channels simhash"
        )


def chosen_channels(state: State, options: QueryOptions) -> tuple[str, ...]:
    """Return the channels to search, in their order.

    Without a choice, a store of the course tool's scheme answers as the course tool does: by
    fingerprints alone, unless a threshold asks for what resembles the sample.

    Raises:
        InvalidParameter: There is no such channel, or this store has it not.
    """
    wanted = options.channels
    names = state.searched_channels
    for name in wanted:
        if channel(name).name not in names:
            raise missing_channel(state, name)
    if not wanted and not options.filters_by_text:
        wanted = tuple(set(state.scheme.asked_channels) & set(state.channels.names))
    return tuple(name for name in names if not wanted or name in wanted)
