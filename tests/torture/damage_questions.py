"""What is asked of a store, damaged or not, and its answers in a form to be compared."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simstore import Store
from simstore.errors import SimstoreError
from simstore.model import QueryOptions
from simstore.services.export.export import ExportOptions

from .damage_templates import SAMPLES

# An answer, or what was raised: ["answer", text] or ["error", class, message]; ["broken", story]
# where something was raised that is no error of the package.
Answer = list[str]
_RADII = (0, 3, 8, 20)


def ask(path: Path, *, read_only: bool, resident: bool) -> dict[str, Answer]:
    """Ask a store all questions; none keeps another from being asked.

    Args:
        path: Its file; what is written goes beside it.
        read_only: Open it so.
        resident: Open it so.
    """
    answers: dict[str, Answer] = {}
    samples = json.loads((path.parent / SAMPLES).read_text())
    try:
        store = Store.open(path, read_only=read_only, resident=resident)
    except SimstoreError as error:
        return {"open": _raised(error)}
    except Exception:  # it is told as what it is
        return {"open": ["broken", traceback.format_exc()]}
    with store:
        if resident:
            answers["warm"] = _asked(lambda: store.maintenance.warm())
        for name, question in _questions(store, samples, path.parent / "asked.jsonl").items():
            answers[name] = _asked(question)
    return answers


def _asked(question: Callable[[], Any]) -> Answer:
    try:
        return ["answer", repr(question())]
    except SimstoreError as error:
        return _raised(error)
    except Exception:  # it is told as what it is
        return ["broken", traceback.format_exc()]


def _raised(error: SimstoreError) -> Answer:
    return ["error", type(error).__name__, str(error)]


def _questions(store: Store, samples: list[str], target: Path) -> dict[str, Callable[[], Any]]:
    """Return what is asked, by its name."""
    found: dict[str, Callable[[], Any]] = {
        "count": lambda: len(store),
        "documents": lambda: [*store.list()],
        "statistics": lambda: _statistics(store),
        "scheme": lambda: store.maintenance.scheme(),
        "vocabulary": lambda: (store.vocabulary.terms(40), store.vocabulary.status()),
        "runs": lambda: store.runs.ingest(),
        "query runs": lambda: store.runs.query(),
        "report": lambda: store.report(),
        "rejections": lambda: [*store.rejects.list()],
        "tokens": lambda: store.tokens.list(),
        "duplicates": lambda: [*store.duplicates.list()],
        "clusters": lambda: ([*store.clusters.list(1)], [*store.clusters.merges()]),
        "cluster summary": lambda: store.clusters.status(largest=True),
        "clusters now": lambda: _grouped(store),
        "passages": lambda: store.passages.status(sizes=False),
        "values": lambda: _values(store),
        "each in minhash": lambda: _each(store, "minhash"),
        "each in simhash": lambda: _each(store, "simhash"),
        "known": lambda: (store.filters.known_count(), store.filters.known_mark()),
        "export": lambda: _exported(store, target, ExportOptions(replace=True)),
        "export unique": lambda: _exported(store, target, ExportOptions("unique", replace=True)),
    }
    for number in (*range(0, 48, 3), 8, 26):
        found[f"show {number}"] = lambda n=number: store.get(f"page {n}", with_text=True)
        found[f"story {number}"] = lambda n=number: store.duplicates.story(f"page {n}")
    keys = [f"page {n}" for n in range(48)] + [f"left {n}" for n in range(8, 14)]
    found["seen"] = lambda: store.seen([*keys, "of a file", "never"])
    found["cluster of"] = lambda: [store.clusters.of(f"page {n}") for n in (0, 9, 20, 40)]
    for at, text in enumerate(samples):
        for radius in _RADII:
            options = QueryOptions(radius=radius)
            found[f"query {at} by {radius}"] = lambda t=text, o=options: _matches(store, t, o)
        for channel in ("simhash", "minhash"):
            options = QueryOptions(channels=(channel,))
            found[f"query {at} in {channel}"] = lambda t=text, o=options: _matches(store, t, o)
        found[f"check {at}"] = lambda t=text: store.check(t, key="paper")
        found[f"content {at}"] = lambda t=text: store.seen(text=t)
    return found


def _statistics(store: Store) -> dict[str, Any]:
    """Return the figures that do not depend on where the file is, and how large."""
    figures = store.stats(sizes=True)
    names = [
        name for name in type(figures).__dataclass_fields__ if name not in ("path", "file_bytes")
    ]
    return {name: getattr(figures, name) for name in names}


def _matches(store: Store, text: str, options: QueryOptions) -> Any:
    (found,) = store.query_many([("sample", text)], options)
    return found.matches


def _each(store: Store, channel: str) -> Any:
    """Ask by each stored text, so that no fingerprint and no sketch is left out."""
    texts = [(one.key, one.text or "") for one in store.list(with_text=True)]
    options = QueryOptions(channels=(channel,), verify=False)
    return [(one.key, one.matches) for one in store.query_many(texts, options)]


def _grouped(store: Store) -> Any:
    return store.clusters.once().clusters


def _values(store: Store) -> Any:
    with store.fingerprints.reader() as reader:
        held = [words.tolist() for words in reader.fingerprints()]
        return held, [reader.near(value, 20) for value in (0, 1 << 50, (1 << 50) - 1)]


def _exported(store: Store, target: Path, options: ExportOptions) -> Any:
    store.export(target, options)
    return target.read_bytes()
