"""Scans and noisy copies asked of 100,000 documents, and of other packages on the same runs.

Usage: python benchmarks/noise_peers.py [--quick] [--data FOLDER] [--results FOLDER]

The data are those of ``benchmarks/noise.py``. Stored are the corrected texts of the scans, the
English documentation and books, and, up to the number of documents, texts of 1,500 characters of
their words, one to four in a row: real words, no page like another. Asked is what was recognized of
the scans, and copies of real texts with wrong characters.

datasketch, gaoya and rensa get the runs that simstore cuts (six letters, without blanks), 256
values, or 255, and as many bands as find most. They are asked for their candidates, and build in
memory; simstore is asked for its answers, which are verified by the texts. RapidFuzz compares some
of the scans with every text: the most that can be found. The table is in
docs/explanation/benchmarks.md.
"""

from __future__ import annotations

import importlib.util
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import xxhash
from noise import CHANCE, STORE, books, labelled, resemblance, scans, with_random_errors
from rapidfuzz import fuzz, process
from results import Report, Table, parser

from simstore import Store, compiled
from simstore.fingerprint.characters import CharacterSketching
from simstore.fingerprint.minhash import BandLayout
from simstore.services.channels.character_part import CharacterPart
from simstore.services.channels.sketch_search import SketchSearch
from simstore.text.tokens import token_pieces

NAMES = ("characters",)
SIZE = 6
_LENGTH = 1_500
_PEER_DOCUMENTS = 10_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
Ask = Callable[[str], set[int]]


def written(texts: Sequence[str], count: int, seed: int = 3) -> Iterator[str]:
    """Yield texts of some 1,500 characters: one to four words in a row of real texts, and so on."""
    words = [word for text in texts for word in text.split()]
    drawn = random.Random(seed)
    for _ in range(count):
        made: list[str] = []
        size = 0
        while size < _LENGTH:
            at = drawn.randrange(len(words))
            made += words[at : at + drawn.randint(1, 4)]
            size += sum(len(word) + 1 for word in words[at : at + 2])
        yield " ".join(made)[:_LENGTH]


def letters(text: str) -> str:
    """Return what simstore cuts runs from: the letters and digits, folded, without blanks."""
    return "".join(token for piece in token_pieces(text.casefold()) for token in piece)


def runs(text: str) -> list[str]:
    """Return the distinct runs of six."""
    found = letters(text)
    return list({found[at : at + SIZE] for at in range(max(len(found) - SIZE + 1, 1))})


def datasketch_index(texts: Sequence[str]) -> Ask:
    """MinHashLSH, 256 permutations, 85 bands of 3, hashed by xxHash."""
    from datasketch import MinHash, MinHashLSH

    def made(text: str) -> Any:
        sketch = MinHash(256, hashfunc=xxhash.xxh32_intdigest)
        sketch.update_batch([run.encode() for run in runs(text)])
        return sketch

    index = MinHashLSH(num_perm=256, params=(85, 3))
    for place, text in enumerate(texts):
        index.insert(place, made(text))
    return lambda text: set(index.query(made(text)))


def gaoya_index(texts: Sequence[str]) -> Ask:
    """MinHashStringIndex, 32 bits, 85 bands of 3, from a resemblance of 0.1 on."""
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(32, 0.1, 85, 3, None, runs)
    for place, text in enumerate(texts):
        index.insert_document(place, text)
    return lambda text: set(index.query(text))


def rensa_index(texts: Sequence[str]) -> Ask:
    """RMinHashLSH, 255 permutations, 85 bands."""
    from rensa import RMinHash, RMinHashLSH

    def made(text: str) -> Any:
        sketch = RMinHash(num_perm=255, seed=42)
        sketch.update(runs(text))
        return sketch

    index = RMinHashLSH(threshold=0.1, num_perm=255, num_bands=85)
    for place, text in enumerate(texts):
        index.insert(place, made(text))
    return lambda text: set(index.query(made(text)))


PEERS = {
    "datasketch MinHashLSH, 256 values, 85x3": ("datasketch", datasketch_index),
    "gaoya MinHashStringIndex, 85x3, from .1 on": ("gaoya", gaoya_index),
    "rensa RMinHashLSH, 255 values, 85 bands": ("rensa", rensa_index),
}


class Trial:
    """Texts, samples, and the places of the originals of these.

    Args:
        folder: Of the data.
        samples: Texts of which noisy copies are made.
    """

    def __init__(self, folder: Path, samples: int) -> None:
        self.right, read = scans(folder)
        (english,) = (one for one in labelled(folder) if one.language == "en")
        self.real = [*self.right, *english.texts, *books(folder).texts]
        drawn = random.Random(5)
        chosen = drawn.sample(range(len(self.right), len(self.real)), samples)
        self.asked: dict[str, list[tuple[int, str]]] = {"real scans": list(enumerate(read))}
        for share in (0.05, 0.1):
            self.asked[f"{share:.0%} wrong"] = [
                (at, with_random_errors(self.real[at], share, drawn, _LETTERS)) for at in chosen
            ]
        self.sketching = CharacterSketching()

    def texts(self, count: int) -> list[str]:
        """Return so many texts, the real ones first."""
        return [*self.real, *written(self.real, count - len(self.real))][:count]

    def tell(self, table: Table, name: str, texts: Sequence[str], made: float, ask: Ask) -> None:
        """Add the row of a peer: what is found of each kind of sample, chance candidates, times."""
        found, spent, told = self.answers(ask)
        self.add(table, name, texts, found, self.chance(texts, told), spent, made)

    def answers(self, ask: Ask) -> tuple[list[float], float, list[set[int]]]:
        """Return the share found of each kind, seconds of a sample, and the others told of each."""
        shares, others, spent = [], [], 0.0
        for samples in self.asked.values():
            found = 0
            for original, text in samples:
                begun = time.process_time()
                told = ask(text)
                spent += time.process_time() - begun
                found += original in told
                others.append(told - {original})
            shares.append(found / len(samples))
        return shares, spent / len(others), others

    def chance(self, texts: Sequence[str], told: Sequence[set[int]]) -> float:
        """Return the chance candidates of a sample among 100,000 documents."""
        samples = [text for some in self.asked.values() for _, text in some]
        found = sum(
            self._by_chance(text, texts, some) for text, some in zip(samples, told, strict=True)
        )
        return found / len(samples) * STORE / len(texts)

    def add(
        self,
        table: Table,
        name: str,
        texts: Sequence[str],
        found: Sequence[float],
        chance: float,
        spent: float,
        made: float,
    ) -> None:
        """Add a row."""
        table.add(
            name, f"{len(texts):,}", *(f"{share:.3f}" for share in found), f"{chance:,.0f}",
            f"{1_000 * spent:.1f}", f"{1_000 * made / len(texts):.2f}",
        )  # fmt: skip

    def _by_chance(self, text: str, texts: Sequence[str], told: set[int]) -> int:
        if not told:
            return 0
        own = self.sketching.sets([text]).row(0)
        # Of very many the share is told by some.
        some = sorted(told)[:: max(len(told) // 200, 1)]
        sets = self.sketching.sets([texts[at] for at in some])
        few = sum(resemblance(own, sets.row(row)) < CHANCE for row in range(len(some)))
        return round(few * len(told) / len(some))


def tell_store(table: Table, trial: Trial, texts: Sequence[str]) -> None:
    """Add the rows of a store: by the bands that it chooses, and by those that find most."""
    begun = time.process_time()
    with Store.create(":memory:", channels=NAMES) as store:
        store.add_many(((str(at), text) for at, text in enumerate(texts)), threads=1)
        store.maintenance.compact()
        made = time.process_time() - begun
        chosen = tell_bands(table, trial, texts, store, made, "chosen at packing")
        if chosen != BandLayout(85, 3):
            CharacterPart(NAMES[0]).pack_bands(store._opened, BandLayout(85, 3))
            tell_bands(table, trial, texts, store, made, "asked for")


def tell_bands(
    table: Table, trial: Trial, texts: Sequence[str], store: Store, made: float, why: str
) -> BandLayout:
    """Add the row of a store as it is packed; return its bands."""
    found, spent, wrong = trial.answers(
        lambda text: {int(match.key) for match in store.query(text, channels=NAMES)}
    )
    asked = [(at, text) for some in trial.asked.values() for at, text in some]
    with store._opened.database.read() as connection:
        search = SketchSearch(store._opened.snapshot(connection), NAMES[0])
        agreeing = search.find(trial.sketching.sketched([text for _, text in asked])[1])
    told = [
        # Documents are numbered from 1.
        {number - 1 for number in one} - {original}
        for one, (original, _) in zip(agreeing, asked, strict=True)
    ]
    name = f"simstore, {search.layout} ({why}), verified"
    trial.add(table, name, texts, found, trial.chance(texts, told), spent, made)
    table.note += (
        f" By {search.layout} simstore told {sum(map(len, wrong))} other texts of {len(texts):,} "
        f"for {len(told)} samples."
    )
    return search.layout


def tell_ceiling(table: Table, trial: Trial, texts: Sequence[str], sample: int) -> None:
    """Add the row of RapidFuzz, which compares scans with every text."""
    plain = [letters(text) for text in texts]
    some = trial.asked["real scans"][:: max(len(trial.right) // sample, 1)][:sample]
    begun = time.process_time()
    found = sum(
        process.extractOne(letters(text), plain, scorer=fuzz.ratio)[2] == original
        for original, text in some
    )
    spent = time.process_time() - begun
    table.add(
        f"RapidFuzz ratio, every text, {len(some)} scans", f"{len(texts):,}",
        f"{found / len(some):.3f}", "", "", "", f"{1_000 * spent / len(some):,.0f}", "",
    )  # fmt: skip


def main() -> None:
    given = parser(__doc__)
    given.add_argument("--data", type=Path, default=os.environ.get("SIMSTORE_TEST_DATA"))
    options = given.parse_args()
    if options.data is None:
        given.error("no texts: set SIMSTORE_TEST_DATA or give --data")
    compiled.enable(0.0)
    report = Report(
        "noise_peers",
        "Wrong characters: simstore and other packages",
        "Scans of newspapers, and copies with wrong characters at random, asked of their "
        "originals among other documents. The packages get the same runs of six letters; each "
        "has the bands that find most.",
    )
    trial = Trial(options.data, 20 if options.quick else 150)
    count, few = (4_000, 3_500) if options.quick else (STORE, _PEER_DOCUMENTS)
    table = report.table(
        "Scans and copies with wrong characters",
        ("", "documents", *(f"found: {name}" for name in trial.asked),
         "chance candidates of 100,000", "ms a query", "ms a document"),
        note="Processor time; peers: of candidates in memory, which are not verified.",
    )  # fmt: skip
    texts = trial.texts(count)
    some = texts[:few]
    for name, (package, index) in PEERS.items():
        if importlib.util.find_spec(package) is None:
            continue
        begun = time.process_time()
        ask = index(some)
        trial.tell(table, name, some, time.process_time() - begun, ask)
        del ask
    tell_ceiling(table, trial, texts, 5 if options.quick else 20)
    tell_store(table, trial, texts)
    report.finish(options.results)


if __name__ == "__main__":
    main()
