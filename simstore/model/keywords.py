"""Accept options either as an object or as keyword arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

Options = TypeVar("Options")


def with_keywords(
    verb: str, kind: type[Options], options: Options | None, keywords: Mapping[str, Any]
) -> Options:
    """Return options in which keywords go before what the object says.

    >>> from simstore import QueryOptions
    >>> given = QueryOptions(radius=6)
    >>> with_keywords("query", QueryOptions, given, {"limit": 1}).radius
    6

    Args:
        verb: The method they were given to, for the message.
        kind: The dataclass of the options.
        options: The object; None: the defaults.
        keywords: What was given by name.

    Raises:
        TypeError: A keyword is no option; the message names the nearest one.
    """
    check_names(verb, {field.name for field in fields(kind)}, keywords)  # type: ignore[arg-type]
    if options is None:
        return kind(**keywords)
    return replace(options, **keywords) if keywords else options  # type: ignore[type-var]


def check_names(verb: str, known: set[str], keywords: Mapping[str, Any]) -> None:
    """Raise TypeError where a keyword is none that is known, as Python does."""
    for name in keywords:
        if name not in known:
            names = ", ".join(sorted(known))
            near = nearest(name, known)
            hint = f"did you mean {near!r}? It takes {names}" if near else f"it takes {names}"
            raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}; {hint}")


# Words of other programs for commands, methods and options of ours, the most likely first.
_OTHER_WORDS = {
    "dedupe": ("dedup",),
    "delete": ("remove",),
    "dump": ("export",),
    "find": ("query",),
    "id": ("key", "cluster_id", "run_id"),
    "insert": ("add", "ingest"),
    "jaccard": ("min_resemblance", "resemblance"),
    "k": ("limit", "radius"),
    "load": ("ingest",),
    "log": ("runs",),
    "migrate": ("upgrade",),
    "n": ("limit",),
    "orphans": ("duplicates",),
    "overwrite": ("replace",),
    "path": ("place", "names"),
    "pk": ("key_field",),
    "prune": ("expire",),
    "score": ("resemblance", "min_resemblance"),
    "search": ("query",),
    "similarity": ("min_resemblance", "resemblance"),
    "threshold": ("min_resemblance",),
    "top": ("limit",),
    "top_k": ("limit",),
    "upsert": ("add", "ingest"),
    "vacuum": ("compact", "maintenance"),
}


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that a caller most likely means, or None.

    >>> from simstore.model.keywords import nearest
    >>> nearest("threshold", {"threads", "min_resemblance"}), nearest("limits", {"limit"})
    ('min_resemblance', 'limit')
    """
    for other in _OTHER_WORDS.get(name.lower(), ()):
        if other in known:
            return other
    longer = [one for one in known if one.startswith(f"{name}_")]
    if len(longer) == 1:
        return longer[0]
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.7)
    return near[0] if near else None


def no_attribute(kind: str, name: str, known: Collection[str]) -> str:
    """Return the message that an object has no such attribute, and which one is meant.

    >>> no_attribute("Store", "search", ["add", "query"])
    "Store has no attribute 'search'; did you mean 'query'? It has add, query"
    """
    near = nearest(name, known)
    hint = f"did you mean {near!r}? It" if near else "it"
    return f"{kind} has no attribute {name!r}; {hint} has {', '.join(known)}"
