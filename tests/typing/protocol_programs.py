"""A store and a client where their protocol is asked for; type checkers hold them against it."""

from __future__ import annotations

from pathlib import Path

from simstore import Client, Store, StoreProtocol


def keys_near(held: StoreProtocol, text: str) -> list[str]:
    return [match.key for match in held.query(text, radius=3, limit=10)]


def both(place: Path, url: str) -> list[str]:
    with Store(place) as store, Client(url) as client:
        held: list[StoreProtocol] = [store, client]
        return [key for one in held for key in keys_near(one, "text")]
