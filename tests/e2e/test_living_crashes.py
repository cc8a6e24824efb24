"""A store's life with kills in it: it ends where the same life without them ends.

A child takes steps: documents come, change, are flagged and skipped, are removed, expire; clusters
are brought up to date, generations made, the file compacted. It is killed at random instants, and
the next child goes on with the step that was not acknowledged.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from forked import Child, Nursery
from jobs import take_step

from simstore import Store
from simstore.services.maintenance.scheme_choice import SchemeChoice

from . import corpora
from .states import assert_sound, state_of
from .trials import seeds

pytestmark = pytest.mark.slow

DAY = 86_400
STEPS = 40
SCHEMES = {
    "web": SchemeChoice("web"),
    "simtool": SchemeChoice("simtool", features=60, stopwords="none"),
}
Step = tuple[str, dict[str, Any]]


def a_life(seed: int) -> list[Step]:
    """Return steps; each that adds brings copies, edits and changed documents along."""
    chance = random.Random(f"life {seed}")
    pages = iter(corpora.pages(seed, 2_000, prefix="p", repeats=False))
    known: dict[str, str] = {}
    steps: list[Step] = []
    for number in range(STEPS):
        verbs = ["add", "remove", "expire", "cluster", "refresh", "compact"]
        verb = chance.choices(verbs, [9, 2, 1, 2, 1, 1])[0] if number > 2 else "add"
        if verb == "add":
            given = []
            for key, page in (next(pages) for _ in range(chance.randint(3, 9))):
                text = page
                if known and chance.random() < 0.6:
                    # An edit of what was there, now and then under its own key.
                    source = chance.choice(sorted(known))
                    tokens = known[source].split(" ")
                    tokens[chance.randrange(len(tokens))] = "edited"
                    text = " ".join(tokens)
                    key = source if chance.random() < 0.3 else key
                known[key] = text
                given.append((key, text, (number + 10) * DAY + chance.randrange(DAY)))
            steps.append((verb, {"given": given, "mode": chance.choice(["keep", "flag", "skip"])}))
        elif verb == "remove":
            keys = chance.sample(sorted(known), min(len(known), chance.randint(1, 5)))
            for key in keys:
                del known[key]
            steps.append((verb, {"keys": keys}))
        elif verb == "expire":
            steps.append((verb, {"time": (number + 2) * DAY}))
        else:
            steps.append((verb, {}))
    # Whatever was drawn: something is flagged at the end, something skipped, something an orphan.
    for name in ("first", "last"):
        text = " ".join(f"{name}{number}" for number in range(20))
        for mode in ("keep", "flag", "skip"):
            given = [(f"{name}-{mode}", text, STEPS * DAY)]
            steps.append(("add", {"given": given, "mode": mode}))
    steps.append(("remove", {"keys": ["first-keep"]}))
    return steps


def kill_in_a_step(child: Child, chance: random.Random) -> list[str]:
    """Kill a process somewhere in one of its next steps; return all that it said."""
    said = []
    for _ in range(chance.randint(1, 7)):
        line = child.message()
        if line is None:
            break
        said.append(line)
    time.sleep(chance.random() * chance.choice((0.01, 0.08)))
    return said + child.kill()


def whole_state(path: Path, samples: list[tuple[str, str]]) -> tuple[Any, ...]:
    """Return all that two stores of the same life must agree in."""
    with Store.open(path) as store:
        # What a life ends with, so that the step before the end does not matter.
        store.clusters.build()
        times = [(one.key, one.first_seen, one.last_seen, one.revision) for one in store.list()]
        duplicates = sorted(
            (one.key, one.state, one.original, one.resemblance, one.first_seen, one.last_seen)
            for one in store.duplicates.list()
        )
        clusters = sorted(
            (one.key, tuple((m.key, m.resemblance) for m in one.members))
            for one in store.clusters.list(min_size=1)
        )
    return state_of(path, samples), times, duplicates, clusters


@seeds(2)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_life_with_kills_ends_as_the_same_life_without(
    nursery: Nursery, tmp_path: Path, scheme: str, seed: int
) -> None:
    chance = random.Random(f"kills {scheme} {seed}")
    steps = a_life(seed)
    samples = corpora.samples(seed, corpora.pages(seed, 60, prefix="p", repeats=False), 10)
    clean, path = tmp_path / "clean.db", tmp_path / "store.db"
    with Store.create(clean, scheme=SCHEMES[scheme]) as store:
        for verb, arguments in steps:
            take_step(store, verb, **arguments)
    Store.create(path, scheme=SCHEMES[scheme]).close()
    done = kills = 0
    while done < len(steps):
        command = {"place": str(path), "steps": steps, "start": done}
        child = nursery.start("live", tmp_path, **command)
        if kills < 6:
            said = kill_in_a_step(child, chance)
            kills += 1
        else:
            said = list(child.messages())
            finished = child.wait()
            assert (finished.code, finished.errors) == (0, "")
        done = max([done, *(int(line) for line in said if line.isdigit())])
        assert_sound(path)
    expected = whole_state(clean, samples)
    _, _, duplicates, clusters = expected
    assert {state for _, state, *_ in duplicates} == {"flagged", "skipped", "orphaned"}
    assert max(len(members) for _, members in clusters) > 1
    assert whole_state(path, samples) == expected
    assert_sound(path)
