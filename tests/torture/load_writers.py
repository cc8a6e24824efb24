"""Command lines that write a store, and are killed: beside a server, or at once until they end."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from forked import Child, nursery
from postgres_servers import PostgresServer

from simstore import Store

from .load_sender import Sender, text_of

_DEADLINE_SECONDS = 150.0
_MOST_KILLS = 4


def race_of_writers(
    seed: int, folder: Path, url: str, postgres: PostgresServer | None
) -> Counter[str]:
    """Let some ``simstore ingest`` write a store, kill them, and compare with one clean run.

    Args:
        seed: Of the round.
        folder: Its folder.
        url: The store, which is made.
        postgres: The server that it is on; None: it is a file.
    """
    chance = random.Random(seed)
    sources = _write_sources(folder, chance)
    Store.create(url).close()
    counts: Counter[str] = Counter()
    words = [
        ["ingest", "--db", url, *chance.sample([str(path) for path in files], len(files))]
        for files in (sources[:2], sources[1:3], sources[2:], sources)
    ]
    running: dict[int, Child] = {}
    kills = [0] * len(words)
    disturbed = dict.fromkeys(range(len(words)), False)
    ended: set[int] = set()
    deadline = time.monotonic() + _DEADLINE_SECONDS
    try:
        while len(ended) < len(words):
            for number in range(len(words)):
                if number not in ended and number not in running:
                    running[number] = nursery().start("simstore", folder, words=words[number])
                    disturbed[number] = False
            time.sleep(chance.uniform(0.05, 0.5))
            number = chance.randrange(len(words))
            if number in running and kills[number] < _MOST_KILLS:
                kills[number] += 1
                running[number].signal(signal.SIGKILL)
                disturbed[number] = True
            elif postgres is not None and chance.random() < 0.2:
                postgres.restart("immediate")
                counts["kills"] += 1
                disturbed |= dict.fromkeys(running, True)
            for number, child in list(running.items()):
                if not child.is_running:
                    if _ended_well(child, words[number], disturbed=disturbed[number]):
                        ended.add(number)
                    del running[number]
            if time.monotonic() > deadline:
                raise AssertionError(f"writers {running} go on after {_DEADLINE_SECONDS:.0f} s")
    finally:
        for child in running.values():
            child.kill()
    counts["kills"] += sum(kills)
    _compare(folder, url, sources)
    counts["writers"] += len(words)
    return counts


def _ended_well(child: Child, words: Sequence[str], *, disturbed: bool) -> bool:
    """Return whether a command did all that it was to do; False: it was disturbed."""
    done = child.wait()
    if "Traceback" in done.errors:
        raise AssertionError(f"{words}: {done.errors}")
    if done.code == 0:
        return True
    if not disturbed:
        raise AssertionError(f"{words} failed undisturbed: {done.code}: {done.errors}")
    return False


def _write_sources(folder: Path, chance: random.Random) -> list[Path]:
    """Write files of documents; some texts are in several, each key has one text."""
    texts = [text_of(chance) for _ in range(300)]
    paths = []
    for number in range(4):
        path = folder / f"source-{number}.jsonl"
        lines = [
            json.dumps({"key": f"{number}/{place}", "text": chance.choice(texts)})
            for place in range(chance.randint(300, 1_500))
        ]
        shared = [json.dumps({"key": f"all/{place}", "text": texts[place]}) for place in range(100)]
        lines += shared
        chance.shuffle(lines)
        path.write_text("\n".join(lines) + "\n")
        paths.append(path)
    return paths


def _compare(folder: Path, url: str, sources: Sequence[Path]) -> None:
    """Hold a store against that of one run that nobody disturbed."""
    clean = folder / "clean.db"
    with Store.create(clean) as store:
        store.ingest([str(path) for path in sources])
    states = []
    for place in (url, str(clean)):
        with Store.open(place) as store:
            if problems := store.maintenance.fsck():
                raise AssertionError(f"{place}: fsck: {problems[:5]}")
            documents = [(one.key, one.text, one.revision) for one in store.list(with_text=True)]
            figures = store.stats()
            states.append((sorted(documents), figures.distinct_fingerprints, len(store)))
            if place == url:
                added = sum(run.added for run in store.runs.ingest(1_000))
                if added != len(documents):
                    raise AssertionError(f"runs added {added}, and there are {len(documents)}")
    if states[0] != states[1]:
        odd = set(states[0][0]) ^ set(states[1][0])
        raise AssertionError(
            f"not as of a clean run: {len(odd)}: {sorted(odd)[:4]}, {states[0][1:]}"
        )


class Beside(Sender):
    """Command lines that write and tidy up the store that is served; some of them are killed.

    Args:
        number: As of a :class:`Sender`, and so ``seed``, ``port`` and ``stop``.
        folder: Where they run.
        url: The store.
        may_fail: The database is disturbed: a command may say so and fail.
    """

    _UPKEEP = (("compact",), ("fsck",), ("stats",), ("vocabulary", "refresh"))

    def __init__(
        self,
        number: int,
        seed: int,
        port: int,
        stop: threading.Event,
        folder: Path,
        url: str,
        *,
        may_fail: bool,
    ) -> None:
        super().__init__(number, seed, port, stop)
        self._folder, self._url, self._may_fail = folder, url, may_fail
        self.kills = 0

    def step(self) -> None:
        """Run a command, to its end or not."""
        texts: dict[str, str] = {}
        if self.chance.random() < 0.5:
            texts = {self.key(): text_of(self.chance) for _ in range(self.chance.choice((5, 200)))}
            lines = [json.dumps({"key": key, "text": text}) for key, text in texts.items()]
            given = ("\n".join(lines) + "\n").encode()
            words = ["ingest", "--db", self._url, "--as", "jsonl", "-"]
        else:
            given = b""
            words = [*self.chance.choice(self._UPKEEP), "--db", self._url]
        child = nursery().start("simstore", self._folder, stdin=given, words=words)
        killed = self.chance.random() < 0.3
        if killed:
            time.sleep(self.chance.uniform(0, 0.4))
            child.signal(signal.SIGKILL)
            self.kills += 1
        done = child.wait()
        if "Traceback" in done.errors:
            self.ledger.faults.append(f"{self.name}: {words}: {done.errors[-1500:]}")
        if done.code == 0:
            if texts:
                self.ledger.added(f"{words}", texts, dict.fromkeys(texts, "added"))
        else:
            for key, text in texts.items():
                self.ledger.lost(f"{words}: {done.code}", self.ledger.after({key: text}))
            # A scheme whose fingerprints depend on nothing has no vocabulary to refresh.
            if not killed and not self._may_fail and words[0] != "vocabulary":
                self.ledger.faults.append(
                    f"{self.name}: {words}: {done.code}: {done.errors[-600:]}"
                )
        self._stop.wait(self.chance.uniform(0.1, 0.6))
