"""Placeholders for store methods that a server does not offer: each raises NotServed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

from simstore.errors import NotServed


def not_served(name: str) -> Callable[..., Never]:
    """Return a method that raises NotServed, whatever it is given.

    Args:
        name: Its name, as of a store.
    """

    def refuse(*_args: Any, **_keywords: Any) -> Never:
        raise NotServed(name)

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Raise NotServed.\n\n``store.{name}`` is done where the store is."
    return refuse
