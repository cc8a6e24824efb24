"""Texts in other encodings, cut short: are they read right, rejected, or stored as another text?

Usage: python benchmarks/text_encodings.py [--quick] [--texts FOLDER] [--pieces N]

The texts are the translations that Django ships (``pip install django``): real sentences by many
people in every language here. Or those of ``--texts``: files named ``ru.txt``, ``ja.txt`` and so on
in UTF-8. A text is encoded and cut at so many bytes, wherever that falls, in the middle of a
character too. A piece is right if the text is what it was, but for half a character at its end,
which must be told as bytes that could not be read.
"""

from __future__ import annotations

import ast
import importlib.util
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from results import Report, parser

from simstore.sources.encoding_detection import decoded
from simstore.sources.encodings import Decoded

LENGTHS = (50, 200, 2_000)
# Each encoding with the languages that are written in it.
WRITTEN_IN = {
    "gb18030": ("zh_Hans",),
    "big5": ("zh_Hant",),
    "shift_jis": ("ja",),
    "euc_jp": ("ja",),
    "iso2022_jp": ("ja",),
    "hz": ("zh_Hans",),
    "euc_kr": ("ko",),
    "koi8-r": ("ru",),
    "koi8-u": ("uk",),
    "cp866": ("ru",),
    "cp1250": ("cs", "pl", "hu"),
    "cp1251": ("ru", "bg", "uk"),
    "cp1252": ("de", "fr", "es"),
    "cp1253": ("el",),
    "cp1254": ("tr",),
    "cp1255": ("he",),
    "cp1256": ("ar",),
    "cp1257": ("lt",),
    "cp874": ("th",),
    "utf-8": ("zh_Hans", "ja", "ko", "ru", "de", "fr", "ar", "el"),
    "utf-8-sig": ("zh_Hans", "ru", "de"),
    "utf-16": ("zh_Hans", "ja", "ko", "ru", "de", "ar"),
    "utf-16-le": ("zh_Hans", "zh_Hant", "ja", "ko", "ru", "de", "fr", "ar", "el", "th"),
    "utf-16-be": ("zh_Hans", "zh_Hant", "ja", "ko", "ru", "de", "fr", "ar", "el", "th"),
}
# Shorter ones are names and single words.
LEAST_BYTES = 30
_STRINGS = re.compile(r'^msgstr(?:\[\d\])? ((?:".*"\n)+)', re.MULTILINE)


@dataclass(frozen=True)
class Piece:
    """Some bytes, and the text that they were."""

    data: bytes
    text: str
    cut: int


def sentences(language: str, folder: Path | None) -> list[str]:
    """Return the paragraphs that are known in a language."""
    if folder is not None:
        place = folder / f"{language}.txt"
        return place.read_text(encoding="utf-8").splitlines() if place.exists() else []
    spec = importlib.util.find_spec("django")
    if spec is None or spec.origin is None:
        raise SystemExit("the texts are Django's translations: pip install django, or --texts")
    root = Path(spec.origin).parent
    found: dict[str, None] = {}
    for place in sorted(root.glob(f"**/locale/{language}/LC_MESSAGES/django.po")):
        for match in list(_STRINGS.finditer(place.read_text(encoding="utf-8")))[1:]:
            told = "".join(ast.literal_eval(line) for line in match[1].splitlines())
            if len(told.encode()) >= LEAST_BYTES:
                found[" ".join(told.split())] = None
    return list(found)


def pieces(
    encoding: str, language: str, length: int, count: int, folder: Path | None
) -> Iterator[Piece]:
    """Yield pieces of texts in an encoding, each cut at so many bytes."""
    chosen = random.Random(f"{encoding} {language} {length}")
    known = sentences(language, folder)
    for _ in range(count if known else 0):
        made, text = b"", ""
        while len(made) < length + 8:
            # What the encoding does not have, such as a typographer's quotation marks, is left out.
            text += chosen.choice(known).encode(encoding, "ignore").decode(encoding) + "\n"
            made = text.encode(encoding)
        data = made[:length]
        whole = data.decode(encoding, "ignore").removeprefix("\ufeff")
        yield Piece(data, whole, length - len(whole.encode(encoding)))


def verdict(piece: Piece, found: Decoded | str) -> str:
    """Return whether a piece was read right, rejected, or wrong, and whether that was told."""
    if isinstance(found, str):
        return "rejected"
    if found.text.rstrip("\ufffd") == piece.text and "\ufffd" not in piece.text:
        return "right" if "\ufffd" not in found.text or found.replaced else "wrong, untold"
    return "wrong, told" if found.is_detected or found.replaced else "wrong, untold"


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--texts", type=Path, help="folder of texts: ru.txt, ja.txt, ...")
    made.add_argument("--pieces", type=int, default=200, help="of each language and length")
    given = made.parse_args()
    count = 20 if given.quick else given.pieces
    report = Report("text_encodings", "Encodings that nothing declares", __doc__ or "")
    columns = ["encoding", "languages", *(f"{length:,} bytes" for length in LENGTHS)]
    table = report.table(
        "Read right (rejected / wrong)",
        columns,
        note="Wrong ones are told as detected, but where it says *untold*.",
    )
    totals: dict[int, Counter[str]] = {length: Counter() for length in LENGTHS}
    for encoding, languages in WRITTEN_IN.items():
        cells = []
        for length in LENGTHS:
            counts: Counter[str] = Counter()
            for language in languages:
                for piece in pieces(encoding, language, length, count, given.texts):
                    counts[verdict(piece, decoded(piece.data))] += 1
            totals[length] += counts
            cells.append(cell(counts))
        table.add(encoding, ", ".join(languages), *cells)
    table.add("all", "", *(cell(totals[length]) for length in LENGTHS))
    for length in LENGTHS[1:]:
        counts = totals[length]
        share = counts["right"] / counts.total()
        report.target(f"read right at {length:,} bytes", 0.995, share, unit="")
    untold = sum(counts["wrong, untold"] for counts in totals.values())
    report.target("wrong without a word", 0, untold, at_most=True, unit="")
    report.finish(given.results)


def cell(counts: Counter[str]) -> str:
    total = counts.total()
    if not total:
        return "no text"
    wrong = counts["wrong, told"] + counts["wrong, untold"]
    untold = f", {counts['wrong, untold']} untold" if counts["wrong, untold"] else ""
    return f"{counts['right'] / total:.4f} ({counts['rejected']} / {wrong}{untold})"


if __name__ == "__main__":
    main()
