"""Seeded corpora: small pages with near-duplicates, repeated ids, repeated texts, odd bytes."""

from __future__ import annotations

import json
import random
from pathlib import Path

_SYLLABLES = [a + b for a in "bdklm" for b in "aeiou"]
_HAN = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"


def words(seed: int, count: int = 400) -> list[str]:
    """Return made-up words."""
    chance = random.Random(f"words {seed}")
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4)))] = None
    return list(found)


def pages(
    seed: int, count: int, *, prefix: str = "page", repeats: bool = True
) -> list[tuple[str, str]]:
    """Return (id, text) pages.

    One in five is a near-duplicate of an earlier page, one in twenty has the very text of one;
    with ``repeats`` one in twelve has the id of one; a few are empty or hold Han text.
    """
    chance = random.Random(f"pages {seed}")
    known = words(seed % 7)
    weights = [1 / (rank + 3) for rank in range(len(known))]
    made: list[tuple[str, str]] = []
    for number in range(count):
        key = f"{prefix}-{number:05d}"
        kind = chance.random()
        if made and kind < 0.05:
            text = chance.choice(made)[1]
        elif made and kind < 0.25:
            tokens = chance.choice(made)[1].split(" ")
            for _ in range(chance.randint(1, 2)):
                tokens[chance.randrange(len(tokens))] = chance.choice(known)
            text = " ".join(tokens)
        elif kind < 0.27:
            text = ""
        elif kind < 0.30:
            text = "".join(chance.choices(_HAN, k=40))
        else:
            text = " ".join(chance.choices(known, weights, k=chance.randint(20, 60))) + "\n"
        if repeats and made and chance.random() < 1 / 12:
            key = chance.choice(made)[0]
        made.append((key, text))
    return made


def article_file(path: Path, made: list[tuple[str, str]]) -> Path:
    """Write pages as an article file."""
    path.write_bytes("".join(f"{key}\n{text}\f" for key, text in made).encode())
    return path


def json_lines_file(path: Path, made: list[tuple[str, str]], *, broken_every: int = 40) -> Path:
    """Write pages as JSON Lines with metadata, and some lines that cannot be used."""
    lines = []
    for number, (key, text) in enumerate(made):
        if broken_every and number % broken_every == broken_every - 1:
            lines.append('{"key": "broken", "text": 7}' if number % 2 else "{not json")
        record = {"key": key, "text": text, "collection": f"c{number % 3}", "number": number % 5}
        lines.append(json.dumps(record, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def samples(seed: int, made: list[tuple[str, str]], count: int = 25) -> list[tuple[str, str]]:
    """Return samples near some of the pages, and some that are near none."""
    chance = random.Random(f"samples {seed}")
    found = []
    for number in range(count):
        tokens = chance.choice(made)[1].split(" ")
        for _ in range(number % 4):
            tokens[chance.randrange(len(tokens))] = "changed"
        found.append((f"sample-{number:03d}", " ".join(tokens)))
    return found


def course_folder(folder: Path, *, features: int = 1000, seed: int = 1) -> Path:
    """Make a folder with the course tool's two files."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(f"table {seed}")
    rows = (f"{chance.getrandbits(64):064b}" for _ in range(features))
    (folder / "hashvalue.txt").write_text("\n".join(rows) + "\n")
    (folder / "stopwords.txt").write_text("ba be bi\n")
    return folder
