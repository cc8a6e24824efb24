"""A program for a store and a client alike; type checkers hold both against it."""

from __future__ import annotations

from pathlib import Path

from simstore import Client, Store


def keys_near(held: Store | Client, text: str) -> list[str]:
    return [match.key for match in held.query(text, radius=3, limit=10)]


def both(place: Path, url: str) -> list[str]:
    with Store(place) as store, Client(url) as client:
        held: list[Store | Client] = [store, client]
        return [key for one in held for key in keys_near(one, "text")]
