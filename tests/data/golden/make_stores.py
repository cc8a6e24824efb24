"""Make the golden stores of a revision: ``python tests/data/golden/make_stores.py 0002``.

Runs once, with the simstore whose latest revision it is, before a migration follows it; the files
are kept for good, so that every later simstore must open, upgrade and query what each older one
wrote. ``store-REVISION.db`` has the scheme ``web``, ``course-REVISION.db`` the scheme ``simtool``;
the JSON files beside them say what they hold and answer. ``packed-REVISION.db``, from 0009 on,
holds the fingerprints of :func:`packed_values`, packed. ``web2-REVISION.db`` has the scheme
``web/2``, disguised pages and a passage index: :func:`describe_web2` says what else is asked of it.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from simstore import Files, Store
from simstore.model import QueryOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage import migrate

HERE = Path(__file__).resolve().parent
MADE_AT = 1_795_305_600  # 2026-11-22 UTC
RADIUS = 8

PAGES = [
    ("harbour-1", "The harbour was quiet at dawn, and the first boats came in with the tide."),
    ("harbour-2", "The harbour was quiet at dawn, and the first boats came in with the wind."),
    ("harbour-copy", "The harbour was quiet at dawn, and the first boats came in with the tide."),
    ("bread", "Mix flour, water and salt; let the dough rest for a night; bake it hot and long."),
    (
        "bread-2",
        "Mix flour, water, and salt; let the dough rest for a night; bake it hot and long!",
    ),
    ("rules", "A record that cannot be read is counted, kept, and named with file and position."),
    (
        "tale",
        "Once there was a clockmaker who could not sleep, for every clock struck its own hour.",
    ),
    (
        "tale-2",
        "Once there was a clockmaker who could not sleep, since each clock struck its own hour.",
    ),
    ("han", "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"),
    ("han-2", "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬臧"),
    ("kana", "むかしむかしあるところにおじいさんとおばあさんがありました"),
    ("empty", ""),
    ("again", "The first text of this key, which the next record replaces."),
    ("again", "The second text of this key, which replaced the one before it."),
]
# Of web/2: pages of every kind of disguise, marks that stay, both scripts of Chinese.
DISGUISED = [
    ("hidden",
     "The har\u200bbour was qui\u2062et at da\u202ewn, and the fi\u3164rst boats came in"
     "."),
    ("mixed",
     "The h\u0430rb\u043eur was quiet at d\u0430wn, \u0430nd the first b\u043e\u0430ts c"
     "\u0430me in."),
    ("spaced", "T h e   h a r b o u r   w a s   q u i e t   a t   d a w n ."),
    ("entities", "Mix fl&#111;ur, w&#x61;ter &amp; salt; let the dough rest for a n&iacute;ght."),
    ("broken",
     "Once there was a clock-\nmaker who could not sleep, for ev\u00ad\nery clock struck"
     "."),
    ("zalgo",
     "O\u0309n\u0312c\u0313e\u0346 t\u033ah\u0326e\u034dr\u0309e\u0312 w\u0313a\u0346s"
     "\u033a a\u0326 c\u034dl\u0309o\u0312c\u0313k\u0346m\u033aa\u0326k\u034de\u0309r"
     "\u0312."),
    ("struck",
     "A\u0336 r\u0336e\u0336c\u0336o\u0336r\u0336d\u0336 that cannot be read is counted "
     "and kept, and so on."),
    ("yoruba", "Gbogbo ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba fún wa."),
    ("vietnamese",
     "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi."),
    ("greek", "Ἐν ἀρχῇ ἦν ὁ λόγος, καὶ ὁ λόγος ἦν πρὸς τὸν θεόν, καὶ θεὸς ἦν ὁ λόγος ᾧ."),
    ("traditional", "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏"),
    ("thai", "ทะเลสงบเงียบในยามรุ่งอรุณ " * 12),
]  # fmt: skip
PAPER = (
    "What follows is not mine. Once there was a clockm\u0430ker who could not sl\u200beep, for "
    "every clock struck its own hour. 天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏。"
    "The harbour was quiet at dawn, and the last boats went out with the tide."
)
SAMPLES = [
    ["asked-harbour", "The harbour was quiet at dusk, and the first boats came in with the tide."],
    ["asked-bread", "Mix flour, water and salt; let the dough rest for a night; bake it hot."],
    [
        "asked-tale",
        "Once there was a clockmaker who could not sleep, for every clock struck the hour.",
    ],
    ["asked-han", "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收"],
    ["asked-nothing", "Quite another matter, of which nobody has written yet."],
    ["asked-empty", ""],
]


def main(revision: str, only: str = "") -> None:
    """Write the stores and what they hold; or ``only`` that of ``web2``."""
    if revision != migrate.HEAD:
        raise SystemExit(f"this simstore writes revision {migrate.HEAD}, not {revision}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        _write_web2(revision)
        if only == "web2":
            return
        _write_sources(Path())
        course = SchemeChoice("simtool", features=40, bits=16)
        for name, choice, source in (
            (f"store-{revision}", SchemeChoice("web"), "crawl.jsonl"),
            (f"course-{revision}", course, "article.txt"),
        ):
            path = Path(f"{name}.db")
            with Store.create(path, scheme=choice) as store:
                store.ingest([source])
                described = describe(store)
                store.query_many(Files("article.txt"), record=True)
            _set_times(path)
            (HERE / path.name).write_bytes(path.read_bytes())
            text = json.dumps(described, ensure_ascii=False, indent=1)
            (HERE / f"{name}.json").write_text(text + "\n", "utf-8")
        path = Path(f"packed-{revision}.db")
        with Store.create(path, fingerprints_only=True) as store:
            store.fingerprints.add(packed_values())
            store.maintenance.pack()
        _set_times(path)
        (HERE / path.name).write_bytes(path.read_bytes())


def _write_web2(revision: str) -> None:
    path = Path(f"web2-{revision}.db")
    with Store.create(path, scheme=SchemeChoice("web/2")) as store:
        store.add_many([*PAGES, *DISGUISED])
        store.passages.build(fingerprints=True)
        described = describe_web2(store)
    _set_times(path)
    (HERE / path.name).write_bytes(path.read_bytes())
    text = json.dumps(described, ensure_ascii=False, indent=1)
    (HERE / f"{path.stem}.json").write_text(text + "\n", "utf-8")


def packed_values() -> list[int]:
    """Return fingerprints of 64 bits whose segments have few values, so that pages are long."""
    source = random.Random(9)
    common = [source.getrandbits(16) for _ in range(3)]
    values = set()
    while len(values) < 1_500:
        segments = [source.choice([*common, source.getrandbits(16)]) for _ in range(4)]
        values.add(sum(segment << 16 * place for place, segment in enumerate(segments)))
    return sorted(values)


def describe(store: Store) -> dict[str, object]:
    """Return what a store holds and answers."""
    found = store.query_many([(key, text) for key, text in SAMPLES], QueryOptions(radius=RADIUS))
    return {
        "scheme": store.maintenance.scheme().record(),
        "documents": [
            [one.key, one.text, one.fingerprint, one.collection, dict(one.metadata), one.revision,
             one.duplicate_of]
            for one in store.list(with_text=True)
        ],
        "rejects": [[one.rejection.position, one.rejection.reason] for one in store.rejects.list()],
        "vocabulary": [
            [one.rank, one.term, one.document_count, one.total_count]
            for one in store.vocabulary.terms(40)
        ],
        "answers": [
            [one.key, one.fingerprint, [[match.distance, match.key] for match in one.matches]]
            for one in found
        ],
    }  # fmt: skip


def describe_web2(store: Store) -> dict[str, object]:
    """Return what a store of ``web/2`` holds and answers, and what it finds in a paper."""
    asked = [*SAMPLES, *([key, text] for key, text in DISGUISED)]
    found = store.query_many([(key, text) for key, text in asked], QueryOptions(radius=RADIUS))
    paper = store.check(PAPER)
    return {
        **describe(store),
        "disguised": [
            [one.key, one.fingerprint,
             [[match.distance, match.key, round(match.resemblance or 0, 4)]
              for match in one.matches]]
            for one in found
        ],
        "flags": list(paper.flags),
        "passages": [
            [one.start, one.end, one.kind, round(one.similarity, 4), list(one.flags)]
            for one in paper.passages
        ],
        "copies": [
            [one.start, one.end, one.source_key, one.source_start, one.source_end]
            for one in paper.copies
        ],
    }  # fmt: skip


def _write_sources(folder: Path) -> None:
    lines = [
        json.dumps(
            {"url": key, "text": text, "collection": key[:3], "length": len(text)},
            ensure_ascii=False,
        )
        for key, text in PAGES
    ]
    lines.insert(6, '{"url": "no text"}')
    (folder / "crawl.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "article.txt").write_text(
        "".join(f"{key}\n{text}\n\f" for key, text in PAGES), "utf-8"
    )
    for name in ("crawl.jsonl", "article.txt"):
        os.utime(folder / name, (MADE_AT, MADE_AT))


def _set_times(path: Path) -> None:
    columns = {
        "store": ["created_at"],
        "scheme": ["created_at"],
        "generation": ["created_at", "switched_at"],
        "ingest_run": ["started_at", "finished_at"],
        "document": ["first_seen", "last_seen", "version_seen"],
        "snapshot": ["first_seen", "last_seen"],
        "reject": ["rejected_at"],
        "query_run": ["started_at"],
    }
    with closing(sqlite3.connect(path)) as connection:
        for table, names in columns.items():
            for name in names:
                given = f"WHERE {name} IS NOT NULL"
                connection.execute(f"UPDATE {table} SET {name} = {MADE_AT} {given}")
        connection.commit()
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


if __name__ == "__main__":
    main(*sys.argv[1:])
