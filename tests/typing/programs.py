"""Programs as users write them; type checkers find nothing wrong with them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from simstore import (
    Client,
    ClustersStatus,
    Document,
    Files,
    IngestSummary,
    Match,
    QueryOptions,
    QueryRun,
    Results,
    Store,
    dedupe,
    options,
    results,
)


def keys_near(held: Store | Client, text: str) -> list[str]:
    """Work on a store and on a client of a server."""
    return [match.key for match in held.query(text, radius=3, limit=10)]


def ingest(store: Store | Client, folder: Path) -> int:
    summary: IngestSummary = store.ingest(folder, collection="news", progress=True)
    summary = store.add_many([("a", "text"), {"id": "b", "text": "b"}, Document("c", "text")])
    summary = store.add_many({"a": "text"}, on_duplicate="skip")
    summary = store.add_many(enumerate(["one", "two"]))
    return summary.added


def ask(store: Store | Client) -> Results[Match]:
    run: QueryRun = store.query_many(["one text", "another"], min_resemblance=0.5)
    for result in run:
        for match in result:
            print(match.key.upper(), match.distance)
    run = store.query_many(Files("a.txt"), QueryOptions(radius=3))
    return store.query("text", QueryOptions(radius=3), limit=1)


def look_after(store: Store) -> ClustersStatus:
    store.expire("90d")
    store.expire(not_seen_since=timedelta(days=90))
    store.expire(not_seen_since=datetime(2026, 5, 1))
    print(store.export("a.parquet", part="unique", format="auto").document_count)
    print(store.maintenance.compact().bytes_after, store.runs.ingest()[0].added)
    print(store.clusters.list().to_frame(), store.maintenance.scheme().bits)
    return store.clusters.build(min_resemblance=0.5)


def as_newcomers_write(store: Store | Client, texts: list[str]) -> list[str]:
    unique: list[str] = list(dedupe(texts, min_resemblance=0.9))
    for match in store.query(unique[0], min_resemblance=0.5, since=timedelta(days=30)):
        print(match.key, len(dedupe(texts).groups))
    clustering: results.Clustering = store.clusters(min_resemblance=0.5)
    print(clustering.to_frame(), len(store.duplicates), "key" in store.clusters)
    store.expire(datetime(2026, 5, 1))
    options.QueryOptions(since="30 days")
    return [cluster.key for cluster in store.clusters] + [store.clusters["key"].key]
