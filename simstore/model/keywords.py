"""Accept options either as an object or as keyword arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

T = TypeVar("T")


def with_keywords(verb: str, kind: type[T], options: T | None, keywords: Mapping[str, Any]) -> T:
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


# Names that other packages have for ours, the most likely first.
_OTHER_NAMES = {
    "cluster": ("cluster_id",),
    "clusters": ("cluster_count",),
    "distance": ("radius",),
    "documents": ("document_count",),
    "duplicate_of": ("original",),
    "duplicates": ("identical_texts", "duplicate_count"),
    "force": ("replace",),
    "id": ("cluster_id", "run_id", "document_id", "key"),
    "k": ("limit", "radius"),
    "max_distance": ("radius",),
    "members": ("document_count",),
    "n": ("limit",),
    "num_perm": (),
    "overwrite": ("replace",),
    "score": ("resemblance",),
    "similarity": ("min_resemblance", "resemblance"),
    "size": ("member_count", "members"),
    "threshold": ("min_resemblance",),
    "top_k": ("limit",),
}


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that a caller most likely means, or None.

    >>> from simstore.model.keywords import nearest
    >>> nearest("threshold", {"threads", "min_resemblance"}), nearest("limits", {"limit"})
    ('min_resemblance', 'limit')
    """
    for other in _OTHER_NAMES.get(name, ()):
        if other in known:
            return other
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.75)
    return near[0] if near else None
