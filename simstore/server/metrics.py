"""Prometheus metrics of the server and its store, for ``/metrics``."""

from __future__ import annotations

import platform
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from simstore.errors import SimstoreError
from simstore.model import StoreVitals, VocabularyStatus
from simstore.store import Store
from simstore.version import __version__

# Upper bounds of the latencies' buckets, seconds.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
Labels = Mapping[str, str]


class Metrics:
    """Counts of requests and how long they took.

    Used in the one thread of the event loop.
    """

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._buckets: dict[tuple[str, str], list[int]] = {}
        self._seconds: dict[tuple[str, str], float] = defaultdict(float)
        self.in_flight = 0
        self.received_bytes = 0
        self.documents: Counter[str] = Counter()
        self.samples = 0
        self._errors: Counter[str] = Counter()

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            method: GET, POST and the like.
            route: The pattern of its path, of which there are few.
            status: Of its reply.
            seconds: From its head to the end of its reply.
        """
        self._requests[method, route, status] += 1
        key = (method, route)
        buckets = self._buckets.get(key)
        if buckets is None:
            buckets = self._buckets[key] = [0] * (len(BOUNDS) + 1)
        buckets[bisect_left(BOUNDS, seconds)] += 1
        self._seconds[key] += seconds

    def count_error(self, error: SimstoreError) -> None:
        """Count a request that was answered by an error, or refused before it was one."""
        self._errors[type(error).__name__] += 1

    def lines(self) -> Iterator[str]:
        """Yield the counts as lines of the Prometheus text format."""
        yield from family(
            "simstore_http_requests_total",
            "counter",
            "Requests, by what was asked and the status of the reply.",
            (
                ({"method": method, "route": route, "status": str(status)}, count)
                for (method, route, status), count in sorted(self._requests.items())
            ),
        )
        yield from family(
            "simstore_http_errors_total",
            "counter",
            "Requests that were refused or failed, by the title of the error in the reply.",
            (({"error": name}, count) for name, count in sorted(self._errors.items())),
        )
        yield from self._histogram()
        yield from gauge(
            "simstore_http_requests_in_flight", "Requests that have no reply yet.", self.in_flight
        )
        yield from family(
            "simstore_http_received_bytes_total", "counter", "Bytes of the bodies of requests.",
            [({}, self.received_bytes)],
        )  # fmt: skip
        yield from family(
            "simstore_documents_total",
            "counter",
            "Documents that were sent, by what became of them.",
            (({"outcome": name}, count) for name, count in sorted(self.documents.items())),
        )
        yield from family(
            "simstore_samples_total", "counter", "Samples that were looked for.",
            [({}, self.samples)],
        )  # fmt: skip

    def _histogram(self) -> Iterator[str]:
        name = "simstore_http_request_seconds"
        yield f"# HELP {name} Time from the head of a request to the end of its reply."
        yield f"# TYPE {name} histogram"
        for (method, route), buckets in sorted(self._buckets.items()):
            labels = {"method": method, "route": route}
            total = 0
            for bound, count in zip((*BOUNDS, None), buckets, strict=True):
                total += count
                shown = "+Inf" if bound is None else f"{bound:g}"
                yield sample(f"{name}_bucket", {**labels, "le": shown}, total)
            yield sample(f"{name}_sum", labels, self._seconds[method, route])
            yield sample(f"{name}_count", labels, total)


def family(
    name: str, kind: str, told: str, samples: Iterable[tuple[Labels, float]]
) -> Iterator[str]:
    """Yield the lines of a metric.

    Args:
        name: Its name.
        kind: ``counter`` or ``gauge``.
        told: What it is.
        samples: Labels and values.
    """
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield sample(name, labels, value)


def sample(name: str, labels: Labels, value: float) -> str:
    """Return a line with a value."""
    if not labels:
        return f"{name} {value!r}"
    inside = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value!r}"


@dataclass(frozen=True, slots=True)
class Figures:
    """A store's scheme, its vital figures, and its vocabulary's drift; None: it cannot drift."""

    scheme: str
    vitals: StoreVitals
    vocabulary: VocabularyStatus | None


def figures_of(store: Store) -> Figures:
    """Return the figures of a store."""
    vitals = store.maintenance.quick_stats()
    vocabulary = store.vocabulary.status() if vitals.follows_corpus else None
    return Figures(store.maintenance.scheme().label, vitals, vocabulary)


def build_lines(figures: Figures, *, is_file: bool) -> Iterator[str]:
    """Yield the metric that names versions, scheme and database; its value is always 1."""
    labels = {
        "version": __version__,
        "scheme": figures.scheme,
        "dialect": "sqlite" if is_file else "postgresql",
        "python": platform.python_version(),
    }
    yield from family(
        "simstore_build_info",
        "gauge",
        "Always 1; its labels name simstore's version, the store's scheme, SQLite or PostgreSQL, "
        "and Python's version.",
        [(labels, 1)],
    )


def store_lines(figures: Figures) -> Iterator[str]:
    """Yield the metrics of a store."""
    vitals, vocabulary = figures.vitals, figures.vocabulary
    yield from gauge("simstore_store_documents", "Stored documents.", vitals.document_count)
    yield from gauge(
        "simstore_store_fingerprints",
        "Distinct fingerprints of the standing generation.",
        vitals.fingerprint_count,
    )
    yield from family(
        "simstore_store_tail",
        "gauge",
        "Fingerprints and sketches that are in no page yet.",
        [
            ({"of": "fingerprints"}, vitals.tail_fingerprints),
            ({"of": "sketches"}, vitals.tail_sketches),
        ],
    )
    yield from gauge(
        "simstore_store_waiting_documents",
        "Documents that have no fingerprint in the standing generation.",
        vitals.waiting,
    )
    yield from gauge(
        "simstore_store_fresh",
        "1 where the standing generation covers every document and the present vocabulary.",
        int(vitals.fresh),
    )
    yield from family(
        "simstore_store_duplicates",
        "gauge",
        "Duplicates that were found before the insert, by their state.",
        (({"state": state}, count) for state, count in vitals.duplicates.items()),
    )
    yield from gauge("simstore_store_rejects", "Rejected records.", vitals.reject_count)
    yield from gauge("simstore_store_bytes", "Bytes of the file and its log.", vitals.file_bytes)
    if vocabulary is None:
        return
    drift = {
        "ranks": (vocabulary.changed_ranks, vocabulary.rank_count),
        "fingerprints": (vocabulary.changed_fingerprints, vocabulary.sampled),
    }
    yield from family(
        "simstore_vocabulary_drift",
        "gauge",
        "Share of ranks or frequencies, and of a sample of fingerprints, that a refresh would "
        "change.",
        (({"of": name}, part / whole if whole else 0.0) for name, (part, whole) in drift.items()),
    )
    yield from gauge(
        "simstore_vocabulary_terms", "Features that the vocabulary knows.", vocabulary.term_count
    )


def gauge(name: str, told: str, value: float) -> Iterator[str]:
    """Yield the lines of a gauge with one value."""
    return family(name, "gauge", told, [({}, value)])
