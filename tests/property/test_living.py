"""Any life of a store: what is left is as in a store that was built from what is left alone.

Documents come with and without the check before the insert, change, are removed, expire; clusters
are brought up to date and generations made in between, or not.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from simstore.model import Document
from simstore.services.clusters import stored_clusters
from simstore.services.clusters.cluster import ClusterOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.services.removal import remove
from simstore.store import Store

from .state import State, state_of
from .strategies import keys

pytestmark = pytest.mark.slow

MIN_RESEMBLANCE = 0.5
DUPLICATE = 0.8
WORDS = [[f"{name}{number}" for number in range(34)] for name in ("river", "lamp", "stone")]
# Windows of 20 words over one row of words: of those next to each other 15 of 21 triples are
# common, of the next but one just half; so edges make chains.
WINDOWS = [" ".join(row[start : start + 20]) for row in WORDS for start in range(0, 15, 3)]
NEAR = [text.replace(text.split(" ")[-1], "changed") for text in WINDOWS]
SHORT = ["", "river0", "river0 river1 river2", "lamp0 lamp1 lamp2 lamp3"]
texts = st.sampled_from([*WINDOWS, *NEAR, *SHORT])
times = st.integers(1, 60).map(lambda day: day * 86_400)
modes = st.sampled_from(["keep", "flag", "skip"])
Given = tuple[str, str, int]
batches = st.lists(
    st.tuples(st.one_of(keys, st.sampled_from(["alike 0", "alike 1"])), texts, times),
    min_size=1,
    max_size=6,
    unique_by=lambda one: one[0],
)
SCHEMES = {
    "web": SchemeChoice("web"),
    "simtool": SchemeChoice("simtool", features=12, bits=24, stopwords="none"),
}


@dataclass(frozen=True)
class Held:
    """A document as it should be."""

    text: str
    first_seen: int
    last_seen: int


Star = tuple[str, tuple[tuple[str, float], ...]]


def kept_stars(store: Store) -> list[Star]:
    """Return the clusters that are kept: canonical key, members with their resemblances."""
    return sorted(
        (
            cluster.key,
            tuple(sorted((m.key, round(m.resemblance, 6)) for m in cluster.members)),
        )
        for cluster in store.clusters.list(min_size=2)
    )


def stars_of_the_moment(store: Store) -> list[Star]:
    found = store.clusters.once(ClusterOptions(min_resemblance=MIN_RESEMBLANCE))
    return sorted(
        (cluster.key, tuple(sorted((m.key, round(m.resemblance, 6)) for m in cluster.members)))
        for cluster in found.clusters
    )


class Life(RuleBasedStateMachine):
    """Changes a store and a plain dict, in the order of ingest, alike."""

    scheme = "web"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.held: dict[str, Held] = {}
        # When keys were first seen of which only that is left, and what they duplicate.
        self.skipped: dict[str, int] = {}
        self.store = self.made("store.db")

    def made(self, name: str) -> Store:
        choice = SCHEMES[self.scheme]
        return Store.create(self.folder / name, scheme=choice, synchronous="normal")

    @initialize(
        family=st.lists(st.sampled_from(WINDOWS[:5] + NEAR[:5]), min_size=3, max_size=5),
        given=batches,
        clustered=st.booleans(),
    )
    def begin(self, family: list[str], given: list[Given], clustered: bool) -> None:
        alike = [(f"alike {number}", text, 30 * 86_400) for number, text in enumerate(family)]
        self.add([*alike, *given], "keep", 2, refresh=True)
        if clustered:
            self.cluster(3)

    @rule(
        given=batches,
        mode=modes,
        batch_documents=st.integers(1, 3),
        refresh=st.booleans(),
    )
    def add(self, given: list[Given], mode: str, batch_documents: int, refresh: bool) -> None:
        self.store.add_many(
            [Document(key, text, seen_at=time) for key, text, time in given],
            on_duplicate=mode,
            batch_documents=batch_documents,
            refresh=refresh,
        )
        there = {one.key: one for one in self.store}
        for key, text, time in given:
            before = self.held.get(key)
            now = Held(text, min(self.skipped.get(key, time), time), time)
            if before is not None:
                # What is older than what was seen last is no update.
                later = text if time >= before.last_seen else before.text
                now = Held(later, min(before.first_seen, time), max(before.last_seen, time))
            self.held[key] = now
        for key, _, _ in given:
            self.skipped.pop(key, None)
        # Duplicates are not stored; stored ones leave where an earlier original comes.
        for key in self.held.keys() - there.keys():
            assert mode == "skip", key
            self.skipped[key] = self.held.pop(key).first_seen

    @precondition(lambda self: self.held)
    @rule(data=st.data(), refresh=st.booleans())
    def remove(self, data: st.DataObject, refresh: bool) -> None:
        some = st.lists(st.sampled_from(sorted(self.held)), min_size=1, max_size=4, unique=True)
        chosen = data.draw(some)
        with mock.patch.object(remove, "BATCH_DOCUMENTS", 2):
            assert self.store.remove(*chosen, refresh=refresh) == len(chosen)
        for key in chosen:
            del self.held[key]

    @precondition(lambda self: self.held)
    @rule(time=times, batch_documents=st.integers(1, 3))
    def expire(self, time: int, batch_documents: int) -> None:
        gone = {key for key, one in self.held.items() if one.last_seen < time}
        found = self.store.expire(not_seen_since=time, batch_documents=batch_documents)
        assert found.removed == len(gone)
        for key in gone:
            del self.held[key]
        left = {one.key for one in self.store.duplicates.list()}
        self.skipped = {key: seen for key, seen in self.skipped.items() if key in left}

    @rule(together=st.integers(1, 4))
    def cluster(self, together: int) -> None:
        with mock.patch.object(stored_clusters, "BATCH_TEXTS", together):
            self.store.clusters.build(min_resemblance=MIN_RESEMBLANCE)

    @precondition(lambda self: self.held)
    @rule(step=st.sampled_from(["refresh", "compact", "reopen"]))
    def tidy(self, step: str) -> None:
        if step == "reopen":
            self.store.close()
            self.store = Store.open(self.folder / "store.db", synchronous="normal")
        elif step == "refresh":
            self.store.vocabulary.refresh()
        else:
            self.store.maintenance.compact()

    @invariant()
    def store_holds_what_is_left(self) -> None:
        held = [
            (one.key, Held(one.text or "", one.first_seen, one.last_seen))
            for one in self.store.list(with_text=True)
        ]
        assert dict(held) == self.held
        skipped = {
            one.key: one.first_seen
            for one in self.store.duplicates.list()
            if one.state != "flagged"
        }
        assert skipped == self.skipped

    @invariant()
    def duplicates_point_at_standing_originals(self) -> None:
        flagged = {one.key for one in self.store.duplicates.list(state="flagged")}
        assert flagged <= set(self.held)
        for one in self.store.duplicates.list():
            assert (one.key in self.held) == (one.state == "flagged")
            assert one.resemblance >= DUPLICATE
            if one.state != "orphaned":
                assert one.original in self.held
            # What others were skipped because of stays, flagged, when it proves to be a duplicate.
            if one.state == "flagged":
                assert one.original not in flagged

    def teardown(self) -> None:
        try:
            self.compare()
        finally:
            self.store.close()
            shutil.rmtree(self.folder)

    def compare(self) -> None:
        """Build a store of what is left, and compare all that can be asked."""
        assert self.store.maintenance.fsck() == []
        self.store.vocabulary.refresh()
        self.store.clusters.build(min_resemblance=MIN_RESEMBLANCE)
        assert self.store.maintenance.fsck() == []
        with self.made("fresh.db") as fresh:
            fresh.add_many(
                Document(one.key, self.held[one.key].text, seen_at=self.held[one.key].first_seen)
                for one in self.store
            )
            fresh.vocabulary.refresh()
            fresh.clusters.build(min_resemblance=MIN_RESEMBLANCE)
            samples = [*WINDOWS[:6], *SHORT]
            assert self.state(self.store, samples) == self.state(fresh, samples)
            stars = kept_stars(fresh)
            assert kept_stars(self.store) == stars
            assert stars_of_the_moment(self.store) == stars
            assert stars_of_the_moment(fresh) == stars

    @staticmethod
    def state(store: Store, samples: list[str]) -> State:
        """Return the state; terms of which nothing is left may be listed with no count, or not."""
        found = state_of(store, samples)
        counted = tuple(term for term in found.vocabulary if term[2])
        return replace(found, vocabulary=counted)


class LifeOfRanks(Life):
    """Fingerprints that depend on the other documents."""

    scheme = "simtool"


TestLife = pytest.mark.filterwarnings("error")(Life.TestCase)
TestLifeOfRanks = pytest.mark.filterwarnings("error")(LifeOfRanks.TestCase)
# An example is short; to shrink one takes minutes, for every try makes two stores.
TestLife.settings = TestLifeOfRanks.settings = settings(
    max_examples=max(settings.default.max_examples // 2, 1),
    stateful_step_count=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
