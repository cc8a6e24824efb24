"""Write the frozen tables of characters into ``simstore/text/data``.

Usage, with Python 3.11, whose tables are those of Unicode 14.0, confusable-homoglyphs 3.3.1 and
OpenCC 1.4.2::

    python tools/make_tables.py

A table that is made from newer data belongs to a new version of the scheme.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "simstore" / "text" / "data"
CLASSES = """\
# First code point of each run of equal characters, and their class: m marks with a combining class
# other than 0, w letters, other marks and numbers, u unassigned or private use, s everything else.
# A run ends where the next one begins; the last one ends at 10FFFF. Frozen, so that a newer Python
# never changes a token. Unicode Character Database, version 14.0.0, general categories.
"""
LOOKALIKES = """\
# A script, a letter of another script that looks like one of its letters, and that letter. From
# confusable-homoglyphs 3.3.1, which holds the data of Unicode Technical Standard 39
# (confusables.txt; Unicode licence, see NOTICE).
"""
HAN = """\
# Traditional Chinese characters and their simplified ones: OpenCC 1.4.2 (Apache License 2.0, see
# NOTICE) was asked for each code point alone, tw2s, again and again until nothing changed.
"""
# Scripts that letters are folded into, by their names in Unicode, and the letters that stand for
# them: ASCII for Latin, today's alphabets for the others.
_TARGETS = {
    "LATIN": (*range(0x41, 0x5B), *range(0x61, 0x7B)),
    "CYRILLIC": range(0x400, 0x460),
    "GREEK": range(0x391, 0x3CA),
}
# Scripts of living languages in whose texts such a letter beside Latin ones is no disguise.
_APART = ("ARABIC", "ETHIOPIC", "GEORGIAN", "HEBREW", "MALAYALAM", "MYANMAR", "NKO", "ORIYA")
_HAN_BLOCKS = (range(0x3400, 0xA000), range(0x20000, 0x31350))


def class_of(code_point: int) -> str:
    """Return the class of a code point, as the file of classes names it."""
    category = unicodedata.category(chr(code_point))
    if category in ("Cn", "Co"):
        return "u"
    if unicodedata.combining(chr(code_point)):
        return "m"
    return "w" if category[0] in "LMN" else "s"


def classes() -> Iterator[tuple[str, ...]]:
    """Yield the start of each run of code points of one class, and the class."""
    last = ""
    for code_point in range(0x110000):
        if (kind := class_of(code_point)) != last:
            yield f"{code_point:X}", kind
        last = kind


def script_of(character: str) -> str:
    """Return the script of a letter by its name; phonetic letters are a script of their own."""
    if 0x250 <= ord(character) <= 0x2AF:
        return "PHONETIC"
    return unicodedata.name(character, "").split(" ")[0]


def lookalikes() -> Iterator[tuple[str, ...]]:
    """Yield script, letter of another script, and the letter that it looks like."""
    path = files("confusable_homoglyphs") / "confusables.json"
    class_of: dict[str, set[str]] = {}
    for character, others in json.loads(path.read_text("utf-8")).items():
        group = {character} | {other["c"].strip("\u200e") for other in others}
        group = {c for c in group if len(c) == 1 and unicodedata.category(c)[0] == "L"}
        joined = group.union(*(class_of.get(c, set()) for c in group))
        class_of.update(dict.fromkeys(joined, joined))
    for script, points in _TARGETS.items():
        for source in sorted(class_of):
            if (
                script_of(source) in (script, *_APART)
                or unicodedata.normalize("NFKC", source) != source
            ):
                continue
            targets = [t for t in map(chr, points) if t in class_of[source] and t != source]
            targets = [t for t in targets if script_of(t) == script]
            # The same case, where there is one.
            targets.sort(key=lambda t: (t.isupper() != source.isupper(), t))
            if targets:
                yield script, source, targets[0]


def han() -> Iterator[tuple[str, ...]]:
    """Yield each traditional character with its simplified one."""
    from opencc import OpenCC

    converter = OpenCC("tw2s")
    for point in (p for block in _HAN_BLOCKS for p in block):
        given = chr(point)
        if unicodedata.category(given) == "Cn":
            continue
        made, steps = given, 0
        while (further := converter.convert(made)) != made and steps < 5:
            made, steps = further, steps + 1
        if made != given and len(made) == 1 and unicodedata.category(made) != "Cn":
            yield given, made


def write(name: str, head: str, rows: Iterable[tuple[str, ...]]) -> None:
    """Write a table: its description, and a line for each row."""
    lines = [" ".join(row) + "\n" for row in rows]
    (FOLDER / name).write_text(head + "".join(lines), "utf-8")


def main() -> None:
    """Write all tables."""
    if unicodedata.unidata_version != "14.0.0":
        raise SystemExit(f"this Python has Unicode {unicodedata.unidata_version}, not 14.0.0")
    write("classes.txt", CLASSES, classes())
    write("lookalikes.txt", LOOKALIKES, lookalikes())
    write("han.txt", HAN, han())


if __name__ == "__main__":
    main()
