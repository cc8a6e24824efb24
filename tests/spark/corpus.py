"""Documents with copies, versions, templates, empty pages, updates and dates."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from simstore import Store

WORDS = [f"{first}{second}" for first in "bcdfglmnprst" for second in (
    "arbour", "ella", "idge", "olten", "uster", "anvil", "enoir", "illow", "ound", "umber",
    "acre", "eeve", "ick", "orn", "ury", "atten", "essel", "isten", "ottle", "unnel",
)]  # fmt: skip
Star = tuple[str, tuple[tuple[str, str, float, int | None], ...]]


def documents(count: int, seed: int) -> list[dict[str, Any]]:
    """Return records of about the kinds that a crawl has."""
    random_one = random.Random(seed)
    made: list[dict[str, Any]] = []
    for number in range(count):
        kind = random_one.random()
        record: dict[str, Any] = {"key": f"page {number}"}
        if made and kind < 0.3:
            words = random_one.choice(made)["text"].split(" ")
            for _ in range(random_one.randrange(6)):
                words[random_one.randrange(len(words))] = random_one.choice(WORDS)
            record["text"] = " ".join(words)
        elif made and kind < 0.36:
            record["text"] = random_one.choice(made)["text"]
        elif kind < 0.38:
            record["text"] = ""
        elif kind < 0.41:
            record["text"] = " ".join(random_one.choices(WORDS, k=random_one.randrange(1, 8)))
        else:
            record["text"] = " ".join(random_one.choices(WORDS, k=random_one.randrange(15, 90)))
        if made and kind > 0.96:
            # A later record of a page that is there.
            record["key"] = random_one.choice(made)["key"]
        if random_one.random() < 0.2:
            record["seen"] = 1_600_000_000 + random_one.randrange(1_000)
        made.append(record)
    return made


def write(folder: Path, records: Sequence[dict[str, Any]], files: int) -> list[str]:
    """Write records to JSON Lines, and return the names of the files in their order."""
    names = []
    for number in range(files):
        part = records[number * len(records) // files : (number + 1) * len(records) // files]
        path = folder / f"part-{number}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in part), "utf-8")
        names.append(str(path))
    return names


def stars_of_rows(rows: Iterable[dict[str, Any]]) -> list[Star]:
    """Return clusters of the table that a run writes, in one order."""
    found: dict[str, list[tuple[str, str, float, int | None]]] = {}
    for row in rows:
        member = (row["key"], row["role"], round(row["resemblance"], 12), row["distance"])
        found.setdefault(row["duplicate_of"] or row["key"], []).append(member)
    return sorted((canonical, tuple(sorted(members))) for canonical, members in found.items())


def stars_of_store(store: Store) -> list[Star]:
    """Return the clusters that a store keeps, of two or more, in the same form."""
    return stars_of(store.clusters.list())


def stars_of(clusters: Iterable[Any]) -> list[Star]:
    """Return clusters in the same form."""
    return sorted(
        (
            cluster.key,
            tuple(
                sorted(
                    (
                        member.key,
                        "canonical" if member.key == cluster.key else "member",
                        round(member.resemblance, 12),
                        member.distance,
                    )
                    for member in cluster.members
                )
            ),
        )
        for cluster in clusters
        if len(cluster.members) > 1
    )
