"""What a query may ask of a store, by what it keeps."""

from __future__ import annotations

from collections.abc import Sequence

from simstore.errors import InvalidParameter
from simstore.fingerprint.channels import CHANNELS
from simstore.model import QueryOptions
from simstore.services.opened import State, missing_channel


def check_tellable(state: State, options: QueryOptions) -> None:
    """Raise InvalidParameter where a threshold is by something that the store cannot tell."""
    kept = state.settings.text_kept
    if options.asks_likeness and not (kept and state.records_vocabulary):
        raise InvalidParameter(
            "likeness needs the texts and the vocabulary of a store; this one was made with "
            + ("--no-vocabulary" if kept else "--no-text")
        )
    if options.filters_by_text and not kept and not state.channels.minhash:
        raise InvalidParameter(
            "resemblance and containment need the texts or the sketches of a store; this one was "
            "made with --no-text --channels simhash"
        )


def chosen_channels(state: State, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the channels to look by, in their order.

    Raises:
        InvalidParameter: There is no such channel, or this store has it not.
    """
    for name in wanted:
        if name not in CHANNELS:
            raise InvalidParameter(f"channel {name!r}: choose simhash or minhash")
        if name not in state.channels.names:
            raise missing_channel(state, name)
    return tuple(name for name in state.channels.names if not wanted or name in wanted)
