"""Stores to be looked at in a browser."""

from __future__ import annotations

import random
from pathlib import Path

from checked_papers import articles, reworded

from simstore import Store
from simstore.model import Document

DAY = 86_400
# 2026-01-05 06:00 UTC, a Monday.
BEGUN = 1_767_592_800
SITES = ("https://gazette.example", "https://post.example", "https://harbour.example")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'/\u202e"
# Bytes that are no UTF-8, as they come from old addresses.
LATIN = "https://gazette.example/caf\udce9/menu?a=1&b=2#top"
_WORDS = (
    "harbour", "bridge", "keeper", "council", "barge", "tide", "river", "lock", "ferry", "pilot",
    "beacon", "signal", "quay", "crane", "cargo", "ledger", "market", "square", "tower", "garden",
    "baker", "oven", "flour", "loaf", "window", "street", "lantern", "winter", "spring", "ladder",
    "copper", "timber", "carpet", "mirror", "letter", "sailor", "village", "meadow", "orchard",
)  # fmt: skip


def titled(text: str) -> str:
    return text.strip().partition("\n")[0]


def full_store(path: Path) -> Path:
    """Make a store with a story: months of articles, copies, versions, clusters, rejects."""
    made = random.Random(11)
    with Store.create(path) as store:
        store.passages.build()
        for number, (key, text) in enumerate(articles().items()):
            site = SITES[number % 3]
            seen = BEGUN + number * 2 * DAY
            store.add(f"{site}/{key}", text, title=titled(text), collection="news",
                      metadata={"language": key.split("-")[1], "section": key.split("-")[0]},
                      seen_at=seen, published_at=seen - 3_600)  # fmt: skip
        for week in range(14):
            store.add_many(list(_week(made, week)), on_duplicate="flag" if week % 2 else "skip")
        _story(store)
        store.ingest([str(_broken(path.parent))])
        store.clusters.build()
    return path


def _week(made: random.Random, week: int) -> list[Document]:
    held = list(articles().items())
    found = []
    for number in range(made.randint(4, 14)):
        seen = BEGUN + week * 7 * DAY + number * 3_600
        key = f"{SITES[number % 3]}/2026/{week:02d}/{number}"
        if number % 4 == 0:
            copied, text = held[(7 * week + number) % len(held)]
            changed = text if number % 8 else reworded(text, 12)
            found.append(Document(key, changed, title=titled(text), seen_at=seen,
                                  links=(f"{SITES[0]}/{copied}",)))  # fmt: skip
        else:
            words = " ".join(made.choices(_WORDS, k=160 + 4 * week))
            found.append(Document(key, words.capitalize(), title=None, seen_at=seen))
    return found


def _story(store: Store) -> None:
    """A document with several versions, copied by others that link to it."""
    bridge = articles()["news-en-001"]
    key = f"{SITES[0]}/bridge"
    for visit, text in enumerate((bridge[:900], bridge, bridge, bridge + "\n\nUpdated on Monday.")):
        store.add(key, text, title=titled(bridge), seen_at=BEGUN + (20 + 3 * visit) * DAY)
    store.add(f"{SITES[1]}/wire/bridge", reworded(bridge, 15), title=titled(bridge),
              seen_at=BEGUN + 26 * DAY, links=(key,))  # fmt: skip
    store.add(f"{SITES[2]}/copies/bridge", bridge, title=titled(bridge), seen_at=BEGUN + 27 * DAY,
              links=(key,), on_duplicate="skip")  # fmt: skip
    tea = articles()["science-en-002"]
    store.add(HOSTILE, f"{HOSTILE}\n{tea} {HOSTILE}", title=HOSTILE, collection=HOSTILE,
              metadata={HOSTILE: HOSTILE}, seen_at=BEGUN + 30 * DAY)  # fmt: skip
    store.add(LATIN, "The menu of the old café, with nine soups and a pudding of the house, has not"
              " been changed since the bridge was opened.", seen_at=BEGUN + 31 * DAY)  # fmt: skip


def _broken(folder: Path) -> Path:
    """Return a file with records that cannot be stored."""
    path = folder / "crawl-2026-05.jsonl"
    lines = [f'{{"key": "bad-{number}", "text": {number}}}' for number in range(3)]
    lines += ["not JSON at all <b>bold</b> \u202e"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def empty_store(path: Path) -> Path:
    with Store.create(path) as store:
        store.passages.build()
    return path


def store_without_texts(path: Path) -> Path:
    with Store.create(path, text=False) as store:
        store.add_many(list(articles().items()))
    return path


def store_of_fingerprints(path: Path) -> Path:
    with Store.create(path, fingerprints_only=True) as store:
        store.fingerprints.add(list(range(1, 2_000_000, 1_001)))
    return path
