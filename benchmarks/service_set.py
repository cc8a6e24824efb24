"""What a service is measured with: a store, and requests for it as they go over the wire.

They are made once and kept: a million texts take minutes. Requests stand in files one after
another, each as four bytes of length and its body, so that who sends them has nothing to compute.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from corpus import documents

from simstore import Store
from simstore.storage.migrate import HEAD

TOGETHER = 50
EDITED_WORDS = 3
# Stored texts that near-duplicates are made of, at most: so many that few have several.
_ORIGINALS = 100_000
# Requests that a peer is measured with too: it is given the originals of their edits.
PEER_BATCHES = 600
LENGTH = struct.Struct("<I")


@dataclass(frozen=True)
class Sizes:
    """How much is made.

    Attributes:
        stored: Documents of the store.
        batches: Requests of 50 documents to check and insert.
        queries: Requests of one text to look for.
    """

    stored: int
    batches: int
    queries: int


@dataclass(frozen=True)
class ServiceSet:
    """Where it lies. A tenth of the documents, and half of the samples, are edits of stored ones.

    Their keys begin with ``near-``, those of other documents with ``doc-``.
    """

    folder: Path
    sizes: Sizes

    @property
    def store(self) -> Path:
        return self.folder / "store.db"

    @property
    def batches(self) -> Path:
        return self.folder / "batches"

    @property
    def kept(self) -> Path:
        """The stored documents that the peer's edits are made of, as requests to store them."""
        return self.folder / "kept"

    @property
    def queries(self) -> Path:
        return self.folder / "queries"

    @property
    def originals(self) -> Path:
        """The key of what each sample is an edit of, one a line; an empty one: of nothing."""
        return self.folder / "originals"


def made(folder: Path, sizes: Sizes) -> ServiceSet:
    """Return a set of these sizes; make it where there is none that this simstore can use."""
    found = ServiceSet(folder, sizes)
    stamp = folder / "made-for"
    wanted = json.dumps({**asdict(sizes), "originals": _ORIGINALS, "schema": HEAD})
    if stamp.is_file() and stamp.read_text() == wanted:
        return found
    print(f"making {sizes.stored:,} documents and requests in {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    chance = random.Random(1)
    texts = documents(sizes.stored + sizes.batches * TOGETHER + sizes.queries)
    kept = _fill(found, texts)
    edited_first: dict[str, str] = {}
    _write(found.batches, _batches(texts, kept, sizes.batches, chance, edited_first))
    asked = list(edited_first.items())
    _write(found.kept, (_body(asked[at : at + TOGETHER]) for at in range(0, len(asked), TOGETHER)))
    originals: list[str] = []
    _write(found.queries, _queries(texts, kept, sizes.queries, chance, originals))
    found.originals.write_text("".join(f"{key}\n" for key in originals))
    stamp.write_text(wanted)
    return found


def bodies_of(file: Path) -> Iterator[bytes]:
    """Yield the bodies of requests in a file."""
    with file.open("rb") as stream:
        while head := stream.read(LENGTH.size):
            yield stream.read(LENGTH.unpack(head)[0])


def edited(text: str, chance: random.Random) -> str:
    """Return a text with three of its 600 words changed."""
    words = text.split(" ")
    for place in chance.sample(range(len(words)), EDITED_WORDS):
        words[place] = "edited"
    return " ".join(words)


def _fill(made_for: ServiceSet, texts: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    each = max(made_for.sizes.stored // _ORIGINALS, 1)
    kept: list[tuple[str, str]] = []

    def filling() -> Iterator[tuple[str, str]]:
        for number, one in enumerate(islice(texts, made_for.sizes.stored)):
            if number % each == 0:
                kept.append(one)
            yield one

    with Store.create(made_for.store, synchronous="normal") as store:
        store.add_many(filling())
        store.maintenance.compact()
    return kept


def _batches(
    texts: Iterator[tuple[str, str]],
    kept: list[tuple[str, str]],
    count: int,
    chance: random.Random,
    edited_first: dict[str, str],
) -> Iterator[bytes]:
    """Yield requests to store documents; note the originals of those that a peer gets, too."""
    for number in range(count):
        batch: list[tuple[str, str]] = []
        for place, (key, text) in enumerate(islice(texts, TOGETHER)):
            if place % 10 == 0:
                name, original = chance.choice(kept)
                key, text = f"near-{key}", edited(original, chance)
                if number < PEER_BATCHES:
                    edited_first[name] = original
            batch.append((key, text))
        yield _body(batch)


def _body(batch: Sequence[tuple[str, str]]) -> bytes:
    records = [{"key": key, "text": text} for key, text in batch]
    return json.dumps({"documents": records}, separators=(",", ":")).encode()


def _queries(
    texts: Iterator[tuple[str, str]],
    kept: list[tuple[str, str]],
    count: int,
    chance: random.Random,
    originals: list[str],
) -> Iterator[bytes]:
    for number, (_, text) in enumerate(islice(texts, count)):
        key = ""
        if number % 2:
            key, original = chance.choice(kept)
            text = edited(original, chance)
        originals.append(key)
        yield json.dumps({"text": text}).encode()


def _write(file: Path, bodies: Iterator[bytes]) -> None:
    with file.open("wb") as stream:
        for body in bodies:
            stream.write(LENGTH.pack(len(body)) + body)
