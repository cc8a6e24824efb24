"""Write the frozen tables of the scheme web/2: look-alike letters, and Chinese characters.

Usage, with the packages confusable-homoglyphs 3.3.1 and OpenCC 1.4.2 and the Unicode tables of
Python 3.11::

    python tests/make_folding_tables.py lookalikes > simstore/text/lookalikes.py
    python tests/make_folding_tables.py han > simstore/text/han_table.py

A table that is made anew with newer data belongs to a new version of the scheme.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from importlib.resources import files

_LOOKALIKES = '''"""Letters of one script that look like letters of another. Generated, do not edit.

Made by tests/make_folding_tables.py from confusable-homoglyphs 3.3.1, which holds the data of
Unicode Technical Standard 39 (confusables.txt; Unicode licence, see NOTICE). For each script, the
letters of other scripts that look like one of its letters, and those letters, in the same order.
"""

'''
_HAN = '''"""Traditional Chinese characters and their simplified ones. Generated, do not edit.

Made by tests/make_folding_tables.py: OpenCC 1.4.2 (Apache License 2.0, see NOTICE) was asked for
each code point alone, ``tw2s``, again and again until nothing changed. Both strings are in the same
order.
"""

'''
# Scripts that letters are folded into, by their names in Unicode, and the letters that stand for
# them: of Latin those of ASCII, of the others those of their alphabets today.
_TARGETS = {
    "LATIN": (*range(0x41, 0x5B), *range(0x61, 0x7B)),
    "CYRILLIC": range(0x400, 0x460),
    "GREEK": range(0x391, 0x3CA),
}
# Scripts of languages of today in whose texts such a letter beside Latin ones is no disguise.
_APART = ("ARABIC", "ETHIOPIC", "GEORGIAN", "HEBREW", "MALAYALAM", "MYANMAR", "NKO", "ORIYA")
_HAN_BLOCKS = (range(0x3400, 0xA000), range(0x20000, 0x31350))


def script_of(character: str) -> str:
    """Return the script of a letter by its name; letters for phonetics are one of their own."""
    if 0x250 <= ord(character) <= 0x2AF:
        return "PHONETIC"
    return unicodedata.name(character, "").split(" ")[0]


def lookalikes() -> None:
    path = files("confusable_homoglyphs") / "confusables.json"
    class_of: dict[str, set[str]] = {}
    for character, others in json.loads(path.read_text("utf-8")).items():
        group = {character} | {other["c"].strip("\u200e") for other in others}
        group = {c for c in group if len(c) == 1 and unicodedata.category(c)[0] == "L"}
        joined = group.union(*(class_of.get(c, set()) for c in group))
        class_of.update(dict.fromkeys(joined, joined))
    print(_LOOKALIKES + "LOOKALIKES = {")
    for script, points in _TARGETS.items():
        pairs = []
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
                pairs.append((source, targets[0]))
        print(f'    "{script}": (')
        for strings in zip(*pairs, strict=True):
            joined_string = "".join(strings)
            for start in range(0, len(joined_string), 60):
                print(f"        {joined_string[start : start + 60]!a}".replace("'", '"'))
            print("        ,")
        print("    ),")
    print("}")


def han() -> None:
    from opencc import OpenCC

    converter = OpenCC("tw2s")
    pairs = []
    for point in (p for block in _HAN_BLOCKS for p in block):
        given = chr(point)
        if unicodedata.category(given) == "Cn":
            continue
        made, steps = given, 0
        while (further := converter.convert(made)) != made and steps < 5:
            made, steps = further, steps + 1
        if made != given and len(made) == 1 and unicodedata.category(made) != "Cn":
            pairs.append((given, made))
    print(_HAN, end="")
    for name, strings in zip(("TRADITIONAL", "SIMPLIFIED"), zip(*pairs, strict=True), strict=True):
        joined = "".join(strings)
        print(f"{name} = (")
        for start in range(0, len(joined), 45):
            print(f'    "{joined[start : start + 45]}"')
        print(")")


def main() -> None:
    if unicodedata.unidata_version != "14.0.0":
        raise SystemExit(f"this Python has Unicode {unicodedata.unidata_version}, not 14.0.0")
    {"lookalikes": lookalikes, "han": han}[sys.argv[1]]()


if __name__ == "__main__":
    main()
