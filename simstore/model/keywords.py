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
            if name in _OTHER_WAYS and verb.endswith("ingest"):
                hint = _OTHER_WAYS[name]
            raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}; {hint}")


# Keywords of an ingest that others have, where ours is no keyword.
_PATTERN = "write the pattern with the folder: ingest('folder/**/*.txt')"
_OTHER_WAYS = {
    "pattern": _PATTERN,
    "glob": _PATTERN,
    "include": _PATTERN,
    "extension": _PATTERN,
    "extensions": _PATTERN,
    "suffix": _PATTERN,
    "suffixes": _PATTERN,
    "recursive": "leave it out: a folder is read with all folders in it; ingest('folder/*') takes "
    "only the files that are right in it",
    "recurse": "leave it out: a folder is read with all folders in it",
}
# The word that datasketch has for the least resemblance.
_THRESHOLD, _OURS = "threshold", "min_resemblance"


def take_threshold(verb: str, known: Collection[str], keywords: dict[str, Any]) -> None:
    """Put ``min_resemblance`` in the place of ``threshold``, where a method takes both.

    >>> keywords = {"threshold": 0.8}
    >>> take_threshold("query", {"min_resemblance", "threshold"}, keywords)
    >>> keywords
    {'min_resemblance': 0.8}

    A threshold of None says nothing, as the default of it.

    Raises:
        TypeError: Both are given.
    """
    if _THRESHOLD not in known:
        return
    threshold = keywords.pop(_THRESHOLD)
    if threshold is None:
        return
    if keywords.get(_OURS) is not None:
        raise TypeError(f"{verb}() takes threshold or min_resemblance, which mean the same")
    keywords[_OURS] = threshold


# Names that other packages have for ours, the most likely first.
_OTHER_NAMES = {
    "added_at": ("first_seen",),
    "before": ("not_seen_since",),
    "canonical": ("canonical_key", "key"),
    "cluster": ("cluster_id",),
    "clusters": ("cluster_count",),
    "count": ("document_count",),
    "created_at": ("first_seen",),
    "days": ("older_than",),
    "dedup": ("part", "on_duplicate"),
    "distance": ("radius",),
    "documents": ("document_count",),
    "duplicate_of": ("original",),
    "duplicates": ("skipped", "flagged", "duplicate_count"),
    "force": ("replace",),
    "id": ("cluster_id", "run_id", "key", "document_id"),
    "doc_id": ("key",),
    "errors": ("rejected",),
    "failed": ("rejected",),
    "folder": ("names",),
    "files": ("names",),
    "hamming": ("distance", "radius"),
    "max_age": ("older_than",),
    "max_results": ("limit",),
    "min_score": ("min_resemblance",),
    "min_similarity": ("min_resemblance",),
    "overlap": ("containment", "min_containment"),
    "paths": ("names",),
    "sources": ("names",),
    "jaccard": ("min_resemblance", "resemblance"),
    "k": ("limit", "radius"),
    "key": ("key_field",),
    "keys": ("members",),
    "max_distance": ("radius",),
    "members": ("document_count",),
    "mode": ("read_only",),
    "n": ("limit",),
    "num_perm": (),
    "overwrite": ("replace",),
    "path": ("place", "names"),
    "pk": ("key_field",),
    "readonly": ("read_only",),
    "score": ("resemblance",),
    "representative": ("key",),
    "similarity": ("min_resemblance", "resemblance"),
    "size": ("member_count", "members"),
    "text": ("text_field",),
    "cutoff": ("min_resemblance",),
    "threshold": ("min_resemblance",),
    "top": ("limit",),
    "top_k": ("limit",),
    "unique": ("part",),
    "written": ("document_count",),
}
# Methods of a store and its namespaces, by what other packages call them.
_SKIP, _COMMITTED = "add_many(..., on_duplicate='skip')", "close(); every method commits by itself"
_OTHER_METHODS = {
    meant: names.split()
    for meant, names in {
        "query()": "search find lookup near nearest neighbors similar find_similar most_similar",
        "query_many()": "search_many query_batch batch_query find_many",
        "add()": "insert upsert put set append index",
        "add_many()": "insert_all upsert_all insert_many extend update add_all add_documents",
        "ingest()": "ingest_folder ingest_files add_folder add_files add_file load read",
        "remove()": "delete discard pop clear delete_many remove_many",
        "expire()": "purge prune",
        "list()": "keys values items rows all documents",
        "list().to_frame()": "to_frame to_pandas to_df to_dataframe to_polars",
        "to_frame()": "to_pandas to_df to_dataframe to_polars",
        "len(store)": "count size",
        "key in store": "exists has contains",
        "stats()": "statistics info describe summary",
        "export()": "to_jsonl to_csv to_json to_parquet export_jsonl dump write",
        _SKIP: "dedup dedupe deduplicate drop_duplicates unique",
        "clusters.build()": "cluster find_duplicates near_duplicates duplicate_pairs",
        "store.get(match.key).text": "text document content",
        "members()": "get",
        "maintenance.compact()": "vacuum compact optimize",
        "maintenance.backup()": "backup copy",
        "maintenance.path": "path filename",
        "maintenance.scheme()": "scheme",
        _COMMITTED: "save commit flush persist",
        "dataclasses.asdict(it)": "to_dict as_dict asdict dict model_dump _asdict",
    }.items()
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
    longer = [one for one in known if one.startswith(f"{name}_")]
    if len(longer) == 1:
        return longer[0]
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.75)
    return near[0] if near else None


def no_attribute(kind: str, name: str, known: Collection[str]) -> str:
    """Return the message that an object has no such attribute, and which one is meant.

    >>> no_attribute("Store", "search", ["add", "query"])
    "Store has no attribute 'search'; did you mean query()? It has add, query"
    """
    words = {
        "len(store)": "add",
        "key in store": "add",
        # Of a match.
        "store.get(match.key).text": "containment_reverse",
        "dataclasses.asdict(it)": "to_frame",
    }
    for meant, others in _OTHER_METHODS.items():
        first = words.get(meant) or meant.partition("(")[0].partition(".")[0]
        if name in others and first in known:
            break
    else:
        near = nearest(name, known)
        meant = repr(near) if near else ""
    hint = f"did you mean {meant}? It" if meant else "it"
    return f"{kind} has no attribute {name!r}; {hint} has {', '.join(known)}"


def no_attribute_of_many(kind: str, of: type | None, name: str, *, is_list: bool) -> str:
    """Return the message that results in a list or an iterator have no such attribute.

    >>> no_attribute_of_many("Results", None, "matches", is_list=True)
    "Results has no attribute 'matches': it is a list, iterate over it; it also has to_frame()"

    Args:
        kind: The class that was asked.
        of: The class of the results; None: unknown.
        name: What was asked for.
        is_list: It is a list; else an iterator.
    """
    held = "" if of is None else f" of {of.__name__}"
    remedies = {
        "found[0]" if is_list else "next(found, None)": "first head one",
        "list(found)": "to_list tolist all fetchall collect fetch",
        "polars.DataFrame(found)": "to_polars pl",
        "to_frame()": "to_df to_dataframe df frame",
        "[dataclasses.asdict(one) for one in found]": "to_dicts to_dict dicts rows",
        "len(found)" if is_list else "len(list(found))": "count size len length",
    }
    remedy = next((ours for ours, others in remedies.items() if name in others.split()), "")
    if of is not None and name in getattr(of, "__dataclass_fields__", ()):
        remedy = f"[one.{name} for one in found]"
    told = f"write {remedy}" if remedy else "iterate over it"
    shape = "a list" if is_list else "an iterator"
    more = "" if remedy == "to_frame()" else "; it also has to_frame()"
    return f"{kind} has no attribute {name!r}: it is {shape}{held}, {told}{more}"
