from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import texts
from stores import SIMTOOL, create

from simstore import Document, Store
from simstore.services.clusters.cluster import ClusterOptions

DAY = 86_400
PAIRS = list(texts.pairs())
FIRST = 1_700_006_400 // DAY * DAY


def dated(store: Store) -> None:
    """Fill a store: a pair of texts a day, one of each pair behind the other; a copy at the end."""
    for day, pair in enumerate(PAIRS):
        seen = FIRST + day * DAY + 100
        store.add_many(
            [
                Document(f"{day}/a", pair.a, seen_at=seen),
                Document(f"{day}/b", pair.b, seen_at=seen + 50),
            ],
            threads=1,
        )


def test_documents_and_duplicates_stand_where_they_were_first_seen(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        dated(store)
        seen = FIRST + 40 * DAY
        store.add_many(
            [
                Document("same", PAIRS[0].a, seen_at=seen),
                Document("near", PAIRS[0].a + " x", seen_at=seen),
            ],
            on_duplicate="skip",
            threads=1,
        )
        before = store.maintenance.stats_over_time()
        assert before.cluster_sizes is None
        assert not any(slot.near for slot in before.slots)
        store.clusters.build(min_resemblance=0.6)
        found = store.maintenance.stats_over_time()
        stored = list(store)
        clusters = store.clusters.once(ClusterOptions(min_resemblance=0.6)).clusters
    assert found.slot_seconds == DAY
    assert [slot.start for slot in found.slots] == [FIRST + day * DAY for day in range(41)]
    by_day = Counter((one.first_seen - FIRST) // DAY for one in stored)
    assert [slot.documents for slot in found.slots] == [by_day[day] for day in range(41)]
    copies = Counter((one.first_seen - FIRST) // DAY for one in stored if one.duplicate_of)
    assert [slot.copies for slot in found.slots] == [copies[day] for day in range(41)]
    behind = {one.key for each in clusters for one in each.members[1:] if one.basis != "same"}
    near = Counter(
        (one.first_seen - FIRST) // DAY
        for one in stored
        if one.key in behind and one.duplicate_of is None
    )
    assert sum(near.values()) > 3
    assert [slot.near for slot in found.slots] == [near[day] for day in range(41)]
    assert [slot.skipped_copies for slot in found.slots] == [0] * 40 + [1]
    assert [slot.skipped_near for slot in found.slots] == [0] * 40 + [1]
    assert found.cluster_sizes == Counter(len(one.members) for one in clusters)
    assert found.distances == Counter(one.distance for each in clusters for one in each.members[1:])


def test_dates_before_1970_have_their_places(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add_many([Document("a", "one", seen_at=-90), Document("b", "two", seen_at=30)])
        found = store.maintenance.stats_over_time()
    assert [(slot.start, slot.documents) for slot in found.slots] == [(-120, 1), (-60, 0), (0, 1)]


def test_the_vocabulary_grows_as_counted_one_by_one(tmp_path: Path) -> None:
    scheme = "simtool"
    words = [f"zq{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}" for n in range(100)]
    texts_of = [" ".join([*words[: 5 + n // 2], "lamp"]) for n in range(60)]
    options = {"scheme": SIMTOOL} if scheme == "simtool" else {}
    with create(tmp_path, **options) as store:  # type: ignore[arg-type]
        store.add_many((f"k{n:02}", text) for n, text in enumerate(texts_of))
        found = store.maintenance.stats_over_time()
    known: set[str] = set()
    for number, part in enumerate(found.vocabulary):
        held = [word for text in texts_of[10 * number : 10 * number + 10] for word in text.split()]
        fresh = sum(word not in known for word in held)
        known.update(held)
        assert (part.documents, part.sampled) == (10 * number + 10, 10 * number + 10)
        assert part.terms == len(known)
        assert part.new_share == pytest.approx(fresh / len(held))
    assert len(found.vocabulary) == 6
    assert (found.changed_ranks is None) == (scheme == "web")
    assert (found.changed_fingerprints is None) == (scheme == "web")
