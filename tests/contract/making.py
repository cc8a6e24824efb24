"""New stores for the contract, by neutral names of their options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contract.faces import renamed
from simstore import Store
from simstore.options import SchemeChoice

_OF_STORE = {"channels", "policy", "text", "vocabulary", "on_duplicate", "resemblance", "radius"}


def make_store(path: Path, options: dict[str, Any]) -> None:
    """Make the store of a case; ``{ none = true }`` makes none.

    Options: ``scheme`` (``web``, ``simtool`` or ``fingerprints``), ``bits`` and the other options
    of a scheme; ``channels``, ``policy``, ``text``, ``vocabulary``, and what a write does with
    duplicates: ``on_duplicate``, ``resemblance``, ``radius``.
    """
    options = dict(options)
    if options.pop("none", False):
        return
    name = options.pop("scheme", "web")
    of_store = renamed({one: options.pop(one) for one in _OF_STORE & set(options)})
    if name == "fingerprints":
        Store.create(path, fingerprints_only=True, **options).close()
        return
    if "fields" in options:
        options["fields"] = tuple(options["fields"])
    Store.create(path, scheme=SchemeChoice(name, **options), **of_store).close()
