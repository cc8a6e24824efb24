"""Stores that a campaign damages: small, and with a row in nearly each table."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

from simstore import Document, Files, Store
from simstore.errors import SimstoreError
from simstore.services.maintenance.scheme_choice import SchemeChoice

from .scenarios import _WORDS

NAMES = ("web", "wide", "plain", "course", "textless", "values")
# A store of which the last writes are in its log alone.
LOGGED = "logged"
# What is asked of each store; written beside the templates.
SAMPLES = "samples.json"
_DOCUMENTS = 48


def make_templates(folder: Path) -> None:
    """Make a folder for each store: ``s.db``, and ``older.db``, its file some writes before.

    Args:
        folder: Where; each becomes a folder of this one.
    """
    for number, name in enumerate(NAMES):
        place = folder / name
        place.mkdir()
        _fill(name, place, random.Random(number))
    _leave_log(folder / "plain", folder / LOGGED)


def _leave_log(sound: Path, place: Path) -> None:
    """Make a store as a killed process leaves it: its last writes are in the log."""
    writing = place.with_name("writing")
    shutil.copytree(sound, writing)
    shutil.copytree(sound, place)
    with Store.open(writing / "s.db") as store:
        store.add("page 26", "a text that is in the log, and in the file only later")
        store.remove("page 3")
        for name in ("s.db", "s.db-wal"):
            shutil.copy(writing / name, place / name)


def commits(log: bytes) -> list[int]:
    """Return where a log of SQLite may end: behind each commit, and where there is none.

    Args:
        log: The file: a header of 32 bytes, then frames of 24 bytes and a page; the second number
            of a frame is the size of the file, where the frame is the last of a commit.
    """
    frame = 24 + int.from_bytes(log[8:12])
    ends = range(32 + frame, len(log) + 1, frame)
    return [0, *(end for end in ends if int.from_bytes(log[end - frame + 4 : end - frame + 8]))]


def _fill(name: str, place: Path, chance: random.Random) -> None:
    path = place / "s.db"
    if name == "values":
        with Store.create(path, fingerprints_only=True, bits=100) as store:
            store.fingerprints.add([chance.getrandbits(100) for _ in range(90)])
            store.maintenance.compact()
            _keep_older(store, place)
            store.fingerprints.add([chance.getrandbits(100) for _ in range(30)])
        _write_samples(place, [])
        return
    documents = _documents(chance)
    with _create(name, path) as store:
        store.add_many(documents[:30])
        changed = [_changed(one, chance) for one in documents[:6]]
        store.add_many(changed)
        store.remove(*(one.key for one in documents[26:30]))
        store.add_many(
            [Document(f"again {n}", documents[n].text + " more") for n in range(8, 12)],
            on_duplicate="flag",
        )
        store.add_many(
            [Document(f"left {n}", documents[n].text) for n in range(8, 14)],
            on_duplicate="skip",
        )
        store.remove(documents[8].key)
        store.tokens.add("one", "write")
        broken = place / "broken.jsonl"
        lines = [json.dumps({"key": "of a file", "text": documents[40].text, "lang": "en"})]
        broken.write_text("\n".join([*lines, '{"key": 1}']) + "\n")
        store.ingest([str(broken)])
        sample = place / "sample.jsonl"
        sample.write_text(json.dumps({"key": "sample", "text": documents[9].text}) + "\n")
        store.query_many(Files(str(sample)), record=True)
        if name != "textless":
            store.clusters.build()
        if name in ("web", "wide"):
            store.passages.build()
        if name != "plain":
            store.maintenance.compact(columns=name == "wide" or None)
        _keep_older(store, place)
        store.add_many(documents[30:])
        store.add_many([_changed(one, chance) for one in documents[14:18]])
        if name != "textless":
            store.clusters.build()
        findings = store.maintenance.fsck()
        if findings:
            raise AssertionError((name, findings))
    texts = [one.text for one in (documents[9], documents[33], changed[2])]
    _write_samples(place, [*texts, " ".join(texts[0].split()[:20]), "nothing like it is there"])


def _create(name: str, path: Path) -> Store:
    if name == "course":
        return Store.create(path, scheme="simtool")
    if name == "wide":
        return Store.create(path, scheme=SchemeChoice("web", bits=128), keep_columns=True)
    return Store.create(path, text=name != "textless")


def _keep_older(store: Store, place: Path) -> None:
    """Keep the file as it is now, from which single pages come back."""
    with_error = False
    try:
        store.maintenance.backup(place / "older.db")
    except SimstoreError:
        with_error = True
    # A copy page by page has the numbers of the pages of the file.
    if with_error:
        shutil.copy(place / "s.db", place / "older.db")


def _write_samples(place: Path, texts: list[str]) -> None:
    (place / SAMPLES).write_text(json.dumps(texts))


def _documents(chance: random.Random) -> list[Document]:
    made: list[Document] = []
    for number in range(_DOCUMENTS):
        if made and chance.random() < 0.4:
            words = chance.choice(made).text.split()
            words[chance.randrange(len(words))] = chance.choice(_WORDS)
        else:
            words = chance.choices([*_WORDS, *(f"{w}{number}." for w in _WORDS)], k=80)
        made.append(
            Document(
                f"page {number}",
                " ".join(words),
                title=f"Page {number}" if number % 3 else None,
                collection="odd" if number % 2 else None,
                metadata={"lang": "en", "number": number} if number % 4 else {},
                seen_at=1_600_000_000 + 86_400 * number,
                links=(f"page {number // 2}",) if number % 5 else (),
            )
        )
    return made


def _changed(one: Document, chance: random.Random) -> Document:
    words = one.text.split()
    chance.shuffle(words)
    return Document(one.key, " ".join(words), seen_at=1_700_000_000)
