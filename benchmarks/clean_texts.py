"""Precision of the scheme web on clean texts of many languages: translated manual pages.

Usage: python benchmarks/clean_texts.py --manuals FOLDER [--quick]

FOLDER is a folder of manual pages, one folder a language (``de/man1/ls.1.gz``), as packages of
Debian have them: ``apt-get download manpages-de manpages-ja ...``, and ``dpkg-deb -x FILE ROOT`` of
each; FOLDER is ``ROOT/usr/share/man`` then. The markup of roff is taken off.

The truth is made here, by none of simstore's code: two pages are a pair where their sets of 3-token
shingles have a resemblance of at least 0.5, texts in NFKC and lower case, nothing folded; tokens
are runs of letters and digits, and single characters of scripts without blanks. The queries
are ``query --min-resemblance 0.5``, and ``query --channels simhash`` (radius 3).
"""

from __future__ import annotations

import gzip
import random
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from results import Report, parser

from simstore import Store
from simstore.model import Document
from simstore.text.disguises import fold_disguises

MOST, QUICK = 400, 120
LEAST_TOKENS = 60
# Of mono-lingual folders; traditional Chinese is another folder than simplified.
ENGLISH = ("man1", "man2", "man3", "man4", "man5", "man7", "man8")
_COMMENT = re.compile(r"""^[.'][ \t]*\\["#].*$|\\["#].*$""", re.MULTILINE)
_FONT = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\[,/&|^%:]|\\s[-+]?\d")
_NAMED = re.compile(r"\\(?:\[[^\]]*\]|\(..|\*\(..|\*\[[^\]]*\]|\*.)")
_MACRO = re.compile(r"^[.'][ \t]*[A-Za-z.\\]*[ \t]*", re.MULTILINE)
_TOKEN = re.compile(
    "[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff]|"
    "[^\\W_\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff]+"
)


def plain(source: str) -> str:
    """Return a manual page without its markup."""
    text = _COMMENT.sub("", source)
    text = re.sub(r"^[.']TH .*$", "", text, flags=re.MULTILINE)
    text = _NAMED.sub("", _FONT.sub("", text)).replace("\\-", "-").replace("\\e", "\\")
    text = _MACRO.sub("", text).replace('"', " ")
    return "\n".join(line for line in map(str.strip, text.splitlines()) if line)


def pages(folders: Sequence[Path], most: int) -> list[str]:
    """Return the pages of a language; of links and of equal pages one."""
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.gz")):
            if path.is_symlink() or not path.is_file():
                continue
            text = plain(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
            if "\ufffd" not in text and len(tokens(text)) >= LEAST_TOKENS:
                found.setdefault(text, path.name)
    chosen = list(found)
    random.Random(0).shuffle(chosen)
    return chosen[:most]


def tokens(text: str) -> list[str]:
    """Return the tokens of a text in NFKC and lower case."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def true_pairs(texts: Sequence[str]) -> dict[tuple[int, int], float]:
    """Return the resemblance of all pairs that have shingles in common, by counting them."""
    sets = []
    by_shingle: dict[tuple[str, ...], list[int]] = {}
    common: Counter[tuple[int, int]] = Counter()
    for number, text in enumerate(texts):
        words = tokens(text)
        shingles = {tuple(words[i : i + 3]) for i in range(len(words) - 2)}
        sets.append(len(shingles))
        for shingle in shingles:
            others = by_shingle.setdefault(shingle, [])
            for other in others:
                common[other, number] += 1
            others.append(number)
    return {(a, b): shared / (sets[a] + sets[b] - shared) for (a, b), shared in common.items()}


def found_pairs(store: Store, texts: Sequence[str], **options: object) -> set[tuple[int, int]]:
    """Return the pairs that a store finds when each of its texts is asked for."""
    asked = [Document(str(number), text) for number, text in enumerate(texts)]
    run = store.query_many(asked, **options)  # type: ignore[arg-type]
    return {
        (int(sample.key), int(match.key))
        for sample in run.samples
        for match in sample.matches
        if int(sample.key) < int(match.key)
    }


def languages(manuals: Path) -> Iterator[tuple[str, list[Path]]]:
    """Yield each language with its folders."""
    english = [manuals / name for name in ENGLISH if (manuals / name).is_dir()]
    if english:
        yield "en", english
    for folder in sorted(manuals.iterdir()):
        if folder.is_dir() and not re.fullmatch(r"man\w+", folder.name):
            yield folder.name, [folder]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--manuals", type=Path, default=Path("/usr/share/man"))
    chosen = options.parse_args()
    report = Report("clean_texts", "Clean texts of many languages")
    columns = ["language", "pages", "true pairs"]
    for name in ("J", "radius 3"):
        columns += [f"{name}: found", f"{name}: false"]
    table = report.table("Pairs of manual pages", [*columns, "told"])
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for language, folders in languages(chosen.manuals):
            texts = pages(folders, QUICK if chosen.quick else MOST)
            if len(texts) < 50:
                continue
            likeness = true_pairs(texts)
            true = {pair for pair, value in likeness.items() if value >= 0.5}
            with Store.create(Path(folder) / f"{language}.db", synchronous="normal") as store:
                store.add_many(Document(str(n), text) for n, text in enumerate(texts))
                by_text = found_pairs(store, texts, min_resemblance=0.5)
                by_bits = found_pairs(store, texts, channels=("simhash",), radius=3)
            told = sum(bool(fold_disguises(text).counts.flags()) for text in texts)
            row = [
                len(part) for found in (by_text, by_bits) for part in (found & true, found - true)
            ]
            totals.update({str(place): n for place, n in enumerate([len(texts), len(true), *row])})
            totals["told"] += told
            table.add(language, len(texts), len(true), *row, told)
        table.add("all", *(totals[str(place)] for place in range(len(columns) - 1)), totals["told"])
    report.finish(chosen.results)


if __name__ == "__main__":
    main()
