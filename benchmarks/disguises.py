"""Texts that were disguised and are found, and clean texts that are left alone.

Usage: python benchmarks/disguises.py [--quick] [--held-out] [--locale FOLDER]

Texts are made of the message catalogues of installed programs (GNU gettext, ``*.mo``), which
translators wrote: consecutive messages, 100 to 600 words, no message twice. Half of the programs,
by a hash of their names, are for looking at while something is changed; the others were held out
(``--held-out``) and looked at once, at the end. For scripts without blanks between words a word is
a run of so many characters (``_WORD_LENGTHS``).

Asked is the default ``query`` of a store that holds all texts of the language; *found* is the text
that was disguised or edited. On clean texts, each is asked of the others: *pairs* are those with a
resemblance of at least 0.5; *told* is the share of texts of which hidden characters, mixed scripts,
stacked marks or spaced letters are told.
"""

from __future__ import annotations

import gettext
import hashlib
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from results import Report, parser

from simstore import Store
from simstore.model import Document
from simstore.text.disguises import CYRILLIC, LATIN, fold_disguises, lookalikes

LANGUAGES = ("en_GB", "de", "fr", "es", "pl", "tr", "vi", "ru", "el", "ar", "hi", "th", "ja", "ko",
             "zh_CN", "zh_TW")  # fmt: skip
EDITED = ("ja", "ko", "th", "ar", "hi", "ru", "de", "en_GB", "zh_CN")
# Characters of a word, where no blanks say it.
_WORD_LENGTHS = {"th": 4, "ja": 2, "zh_CN": 2, "zh_TW": 2}
_MARKUP = re.compile(r"%[-+ #0-9.*]*(?:\([^)]*\))?[a-z]*|<[^>]*>|\{[^}]*\}|\\[nt]|_(?=\w)")
_ZALGO = [chr(point) for point in range(0x300, 0x370) if point != 0x34F]

Change = Callable[[str, random.Random], str]


def catalogues(locale: Path, language: str, *, held_out: bool) -> Iterator[list[str]]:
    """Yield the messages of each program's catalogue in a language, without markup."""
    for path in sorted((locale / language / "LC_MESSAGES").glob("*.mo")):
        if (hashlib.blake2b(path.stem.encode()).digest()[0] & 1) != held_out:
            continue
        with path.open("rb") as file:
            try:
                known = gettext.GNUTranslations(file)._catalog
            except (OSError, UnicodeDecodeError):
                continue
        made = [m for k, m in known.items() if k and isinstance(m, str) and len(m) > 15]
        yield [" ".join(_MARKUP.sub(" ", message).split()) for message in made]


def texts_of(locale: Path, language: str, most: int, *, held_out: bool) -> list[str]:
    """Return texts of 100 to 600 words; no message is in two of them."""
    draw = random.Random(language)
    found: list[str] = []
    seen: set[str] = set()
    for messages in catalogues(locale, language, held_out=held_out):
        part: list[str] = []
        wanted = draw.randint(120, 560)
        for message in messages:
            if message in seen:
                continue
            seen.add(message)
            part.append(message)
            size = len(words_of(" ".join(part), language))
            if size >= wanted:
                if size <= 600:
                    found.append("\n".join(part))
                part, wanted = [], draw.randint(120, 560)
    draw.shuffle(found)
    return found[:most]


def words_of(text: str, language: str) -> list[str]:
    """Return the words of a text, and the white space between them, if any."""
    length = _WORD_LENGTHS.get(language)
    if length is None:
        return re.findall(r"\S+", text)
    pieces: list[str] = []
    for run in re.findall(r"[\x00-\x7f]+|[^\x00-\x7f]+", text):
        if run.isascii():
            pieces += run.split()
        else:
            pieces += [run[i : i + length] for i in range(0, len(run), length)]
    return pieces


def replaced(
    text: str, language: str, share: float, others: Sequence[str], draw: random.Random
) -> str:
    """Return a text with so many of its words replaced by words of other texts."""
    words = words_of(text, language)
    for place in draw.sample(range(len(words)), round(share * len(words))):
        words[place] = draw.choice(others)
    return ("" if language in _WORD_LENGTHS else " ").join(words)


def _within_words(mark: str, share: float = 1.0) -> Change:
    def change(text: str, draw: random.Random) -> str:
        def word(found: re.Match[str]) -> str:
            run = found[0]
            place = draw.randrange(1, len(run))
            return run[:place] + mark + run[place:] if draw.random() < share else run

        return re.sub(r"[^\W\d_]{2,}", word, text)

    return change


def _every(characters: str) -> Change:
    def change(text: str, draw: random.Random) -> str:
        return "".join(c + draw.choice(characters) if c.isalpha() else c for c in text)

    return change


def _homoglyphs(share: float) -> Change:
    like: dict[str, list[str]] = {}
    for source, target in lookalikes()[LATIN].items():
        if "\u0370" <= source <= "\u058f":
            like.setdefault(target, []).append(source)

    def change(text: str, draw: random.Random) -> str:
        return "".join(
            draw.choice(like[c]) if c in like and draw.random() < share else c for c in text
        )

    return change


def _to_latin(text: str, draw: random.Random) -> str:
    like = {t: s for s, t in lookalikes()[CYRILLIC].items() if s.isascii()}
    return "".join(like[c] if c in like and draw.random() < 0.3 else c for c in text)


def _entities(share: float) -> Change:
    def change(text: str, draw: random.Random) -> str:
        return "".join(f"&#{ord(c)};" if c.isalpha() and draw.random() < share else c for c in text)

    return change


def _zalgo(least: int, most: int) -> Change:
    def change(text: str, draw: random.Random) -> str:
        return "".join(
            c + "".join(draw.choices(_ZALGO, k=draw.randint(least, most))) if c.isalpha() else c
            for c in text
        )

    return change


def _spaced(text: str, draw: random.Random) -> str:  # noqa: ARG001 - as the others
    return "   ".join(" ".join(word) for word in text.split())


def _thinly_spaced(text: str, draw: random.Random) -> str:  # noqa: ARG001 - as the others
    return " ".join("\u2009".join(word) for word in text.split())


def _broken(hyphen: str) -> Change:
    def change(text: str, draw: random.Random) -> str:
        def word(found: re.Match[str]) -> str:
            run = found[0]
            if draw.random() > 0.15:
                return run
            place = draw.randrange(3, len(run) - 2)
            return f"{run[:place]}{hyphen}\n{run[place:]}"

        return re.sub(r"[^\W\d_]{6,}", word, text)

    return change


def _traditional(text: str, draw: random.Random) -> str:  # noqa: ARG001 - as the others
    from opencc import OpenCC

    return str(OpenCC("s2t").convert(text))


_LATIN = ("en_GB", "de", "fr", "es", "pl", "tr", "vi")
_BLANKS = (*_LATIN, "ru", "el", "ar", "hi", "ko")
DISGUISES: dict[str, tuple[Change, tuple[str, ...]]] = {
    "U+200B in each word": (_within_words("\u200b"), (*_BLANKS, "zh_CN")),
    "U+3164 in each word": (_within_words("\u3164"), _BLANKS),
    "U+2062 in each word": (_within_words("\u2062"), _BLANKS),
    "U+202E, U+202C in each word": (_within_words("\u202e\u202c"), _BLANKS),
    "tags behind each letter": (_every("\U000e0041\U000e0062"), _BLANKS),
    "look-alikes, 30 % of the letters": (_homoglyphs(0.3), _LATIN),
    "look-alikes, all letters that have one": (_homoglyphs(1.0), _LATIN),
    "Latin look-alikes in Cyrillic, 30 %": (_to_latin, ("ru",)),
    "HTML entities, 10 % of the letters": (_entities(0.1), LANGUAGES),
    "HTML entities, all letters": (_entities(1.0), LANGUAGES),
    "4 to 9 marks on each letter": (_zalgo(4, 9), (*_LATIN, "ru", "el")),
    "1 to 3 marks on each letter": (_zalgo(1, 3), (*_LATIN, "ru", "el")),
    "struck through (U+0336)": (_every("\u0336"), (*_LATIN, "ru", "el")),
    "letters spaced out, three blanks between words": (_spaced, (*_LATIN, "ru", "el")),
    "thin blanks between letters": (_thinly_spaced, (*_LATIN, "ru", "el")),
    "15 % of long words broken, hyphen": (_broken("-"), (*_LATIN, "ru", "el")),
    "15 % of long words broken, soft hyphen": (_broken("\u00ad"), (*_LATIN, "ru", "el")),
    "traditional of simplified": (_traditional, ("zh_CN",)),
}


class Library:
    """Texts of one language, in a store."""

    def __init__(self, folder: Path, language: str, texts: Sequence[str]) -> None:
        self.language, self.texts = language, texts
        self.words = [word for text in texts for word in words_of(text, language)]
        self.store = Store.create(folder / f"{language}.db", synchronous="normal")
        self.store.add_many(Document(str(number), text) for number, text in enumerate(texts))

    def found(self, asked: Sequence[str]) -> int:
        """Return how many of the texts are found by what was made of each."""
        runs = self.store.query_many(
            [Document(str(number), text) for number, text in enumerate(asked)]
        )
        return sum(
            any(match.key == sample.key for match in sample.matches) for sample in runs.samples
        )

    def pairs(self) -> set[tuple[str, str]]:
        """Return the pairs of clean texts that resemble each other."""
        runs = self.store.query_many(
            [Document(str(number), text) for number, text in enumerate(self.texts)],
            min_resemblance=0.5,
        )
        return {
            (sample.key, match.key)
            for sample in runs.samples
            for match in sample.matches
            if sample.key < match.key
        }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--held-out", action="store_true", help="the programs kept for the end")
    options.add_argument("--locale", type=Path, default=Path("/usr/share/locale"))
    chosen = options.parse_args()
    report = Report("disguises", "Disguises, scripts and clean texts")
    most = 20 if chosen.quick else 100
    with tempfile.TemporaryDirectory() as folder:
        libraries = {
            language: Library(Path(folder), language, texts)
            for language in LANGUAGES
            if (texts := texts_of(chosen.locale, language, most, held_out=chosen.held_out))
        }
        disguises(report, libraries)
        edited(report, libraries)
        clean(report, libraries)
    report.finish(chosen.results)


def disguises(report: Report, libraries: dict[str, Library]) -> None:
    """Measure how many disguised texts are found."""
    table = report.table("Disguised texts that are found", ["disguise", "texts", "found"])
    for name, (change, languages) in DISGUISES.items():
        count = total = 0
        for language in languages:
            library = libraries.get(language)
            if library is None:
                continue
            draw = random.Random(f"{name}{language}")
            asked = [change(text, draw) for text in library.texts]
            total += len(asked)
            count += library.found(asked)
        table.add(name, total, f"{count / max(total, 1):.3f}")


def edited(report: Report, libraries: dict[str, Library]) -> None:
    """Measure how many edited texts are found, by script."""
    shares = (0.05, 0.1)
    table = report.table("Texts of which words were replaced that are found",
                         ["language", "texts", *(f"{share:.0%}" for share in shares)])  # fmt: skip
    for language in EDITED:
        library = libraries.get(language)
        if library is None:
            continue
        row = []
        for share in shares:
            draw = random.Random(f"{language}{share}")
            asked = [replaced(t, language, share, library.words, draw) for t in library.texts]
            row.append(f"{library.found(asked) / len(asked):.3f}")
        table.add(language, len(library.texts), *row)


def clean(report: Report, libraries: dict[str, Library]) -> None:
    """Measure what folding does to clean texts."""
    table = report.table("Clean texts", ["language", "texts", "pairs", "told"])
    for language, library in libraries.items():
        told = 0
        for text in library.texts:
            counts = fold_disguises(text).counts
            told += bool(counts.flags())
        share = told / len(library.texts)
        table.add(language, len(library.texts), len(library.pairs()), f"{share:.3f}")


if __name__ == "__main__":
    main()
