"""Texts with wrong characters: how many originals sketches find, at how many chance candidates.

Usage: python benchmarks/noise.py [--quick] [--queries] [--data FOLDER] [--image FILE]

With ``--queries`` a store is asked instead, with all its channels and with those of words: the
real scans among the other texts, and real titles of three words and more, of Debian's packages and
manual pages (``/var/lib/dpkg/status``, ``/usr/share/man``) and of news pages (``foreign/pages``),
in which one word was replaced, left out or put in. One title in five is not stored, and asked as
it is.

The data are the folder that SIMSTORE_TEST_DATA names: ``labelled/docs.jsonl.gz`` (documentation,
one document of each group and language, English and Chinese), ``foreign/books`` (novels and essays,
in pieces of 2,000 characters) and ``foreign/ocr`` (scanned newspaper articles and their corrected
texts). A share of the characters of a text is made wrong: at random (six of ten replaced, two left
out, two inserted), or as recognition of print confuses them (``rn`` and ``m``, ``c`` and ``e``,
lost and invented blanks). Found is a text whose sketch agrees with that of its original in a band.

Chance candidates are the stored texts that agree in a band and have fewer than a fifth of their
shingles in common with the sample. They are counted in the stores at hand and told for 100,000
documents: twice the documents have twice as many. The tables are in docs/explanation/detection.md.
"""

from __future__ import annotations

import gzip
import html
import json
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from results import Report, parser

from simstore import Store, compiled
from simstore.fingerprint import minhash
from simstore.fingerprint.characters import CharacterSketching, similarity_sketches
from simstore.fingerprint.minhash import BandLayout
from simstore.fingerprint.shingle_sets import ShingleSets
from simstore.fingerprint.titles import is_one_word_apart, title_words

SHARES = (0.02, 0.05, 0.1, 0.2)
LENGTHS = {"en": (4, 5, 6, 7), "zh": (2, 3, 4, 5)}
DEFAULT = {"en": 6, "zh": 3}
LAYOUTS = {
    "256 values of 8 bits": ((85, 3), (64, 4), (51, 5), (42, 6)),
    "the first 128 of them": ((42, 3), (32, 4), (25, 5), (21, 6)),
    "128 permutations, 16 bits": ((42, 3), (32, 4), (25, 5), (21, 6)),
}
STORE = 100_000
# Fewer shingles in common than this share are common by chance.
CHANCE = 0.2
# A candidate whose sketch agrees in so small a share of its values need not be read.
LEAST_ESTIMATE = 0.1
_PIECE = 2_000
_LONGEST = 8_000
# What print is taken for: by which letters, and the other way round.
_CONFUSED = (
    ("rn", "m"), ("c", "e"), ("l", "1"), ("l", "i"), ("i", "1"), ("o", "0"), ("h", "b"), ("u", "n"),
    ("t", "f"), ("s", "5"), ("cl", "d"), ("vv", "w"), ("a", "o"), ("e", "o"), ("n", "ii"),
    ("g", "q"),
    ("S", "8"), ("B", "8"), ("I", "l"), ("D", "O"), ("f", "l"), ("v", "y"), ("h", "li"), ("r", "i"),
)  # fmt: skip
_CONFUSED_HAN = (
    "未末", "日曰", "己已", "人入", "土士", "干千", "大太", "王玉", "目自", "田由", "甲申", "木本",
    "白自", "了子", "力刀", "天夫", "今令", "牛午", "鸟乌", "晴睛", "侯候", "拔拨", "免兔", "戊戌",
    "微徽", "折拆", "竟竞", "贷货", "住往", "没设", "治冶", "待侍", "问间", "外处", "因困", "洒酒",
)  # fmt: skip
Matrix = NDArray[np.bool_]


@dataclass(frozen=True)
class Corpus:
    """Texts that a store has, none a version of another.

    Attributes:
        name: What the tables call it.
        language: ``en`` or ``zh``.
    """

    name: str
    language: str
    texts: list[str]


def labelled(folder: Path) -> list[Corpus]:
    """Return the documentation in English and Chinese, one document of each group."""
    texts: dict[str, list[str]] = {"en": [], "zh": []}
    seen = set()
    with gzip.open(folder / "labelled" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            language = "zh" if row["lang"].startswith("zh") else "en"
            is_long = len(row["text"]) >= (150 if language == "zh" else 400)
            group = row["group"], language
            # All poems are one group.
            if group in seen or not is_long:
                continue
            seen.add(group)
            texts[language].append(row["text"][:_LONGEST])
    names = {"en": "documentation", "zh": "Chinese"}
    return [Corpus(names[language], language, found) for language, found in texts.items()]


def books(folder: Path) -> Corpus:
    """Return pieces of the books."""
    found = []
    for path in sorted((folder / "foreign" / "books").iterdir()):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
        found += [text[at : at + _PIECE] for at in range(0, len(text) - _PIECE, _PIECE)]
    return Corpus("books", "en", found)


def scans(folder: Path) -> tuple[list[str], list[str]]:
    """Return the corrected texts, and what was recognized of each."""
    rows = []
    for name in ("train", "dev"):
        path = folder / "foreign" / "ocr" / f"{name}.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines]
    parts = ("ground_truth", "ocr_hypothesis")
    right, read = ([row[part]["transcription_unit"] for row in rows] for part in parts)
    return right, read


def with_random_errors(text: str, share: float, drawn: random.Random, letters: str) -> str:
    """Return a text of which a share of the characters is wrong."""
    made = []
    for character in text:
        if character.isspace() or drawn.random() >= share:
            made.append(character)
            continue
        kind = drawn.random()
        if kind < 0.6:
            made.append(drawn.choice(letters))
        elif kind >= 0.8:
            made += [character, drawn.choice(letters)]
    return "".join(made)


def _confusions() -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for one, other in (*_CONFUSED, *_CONFUSED_HAN):
        table.setdefault(one, []).append(other)
        table.setdefault(other, []).append(one)
    return table


_TABLE = _confusions()
_LONG = [one for one in _TABLE if len(one) > 1]


def with_confusions(text: str, share: float, drawn: random.Random, letters: str) -> str:
    """Return a text of which a share of the characters is wrong as recognized print is.

    What has no look-alike in the table becomes another letter of the text's; one error in ten is a
    blank that is lost or invented, one in twenty a mark that is none.
    """
    made = []
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if drawn.random() >= share:
            made.append(character)
            continue
        kind = drawn.random()
        if character.isspace():
            made.append("" if kind < 0.5 else character)
        elif kind < 0.1:
            made += [character, " "]
        elif kind < 0.15:
            made += [character, drawn.choice(".,'-*^")]
        else:
            pair = text[at - 1 : at + 1]
            if pair in _LONG:
                character, at = pair, at + 1
            made.append(drawn.choice(_TABLE.get(character) or [drawn.choice(letters)]))
    return "".join(made)


NOISES = {"random": with_random_errors, "confused": with_confusions}


def sketched(sets: ShingleSets, kind: str) -> NDArray[Any]:
    """Return the sketches of sets, of one of the kinds of LAYOUTS."""
    if kind.endswith("16 bits"):
        return minhash.sketches(sets)
    return similarity_sketches(sets)


def agreeing(some: NDArray[Any], others: NDArray[Any], layout: tuple[int, int]) -> Matrix:
    """Return which of some sketches agree in a band with which of others."""
    found = np.zeros((len(some), len(others)), np.bool_)
    bands = BandLayout(*layout)
    own = minhash.band_values(some, bands)
    for place, values in enumerate(minhash.band_values(others, bands).T):
        found |= own[:, place, None] == values[None, :]
    return found


def resemblance(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / max(len(one) + len(other) - common, 1)


@dataclass
class Measured:
    """What a layout finds, and what it costs.

    Attributes:
        found: Share of the originals by (kind of noise, share of wrong characters).
        chance: Chance candidates a sample in STORE documents.
        read: Those that the estimate leaves.
    """

    found: dict[tuple[str, float], float]
    chance: float
    read: float


class Trial:
    """Sketches of a corpus, of one length of shingle, and of noisy copies of some of its texts."""

    def __init__(self, corpus: Corpus, length: int, count: int) -> None:
        size = {"en": (length, DEFAULT["zh"]), "zh": (DEFAULT["en"], length)}[corpus.language]
        self.sketching = CharacterSketching(shingle=size[0], wide=size[1])
        drawn = random.Random(5)
        self.corpus = corpus
        self.sets = self.sketching.sets(corpus.texts)
        self.chosen = drawn.sample(range(len(corpus.texts)), min(count, len(corpus.texts)))
        letters = _letters(corpus)
        self.copies: dict[tuple[str, float], ShingleSets] = {}
        for name, make in NOISES.items():
            for share in SHARES:
                made = [make(corpus.texts[at], share, drawn, letters) for at in self.chosen]
                self.copies[name, share] = self.sketching.sets(made)

    def measure(self, kind: str) -> Iterator[tuple[tuple[int, int], Measured]]:
        """Yield the layouts of a kind of sketch with what they find."""
        stored = sketched(self.sets, kind)
        some = np.array(self.chosen)
        copies = {key: sketched(made, kind) for key, made in self.copies.items()}
        known: dict[tuple[int, int], float] = {}
        for layout in LAYOUTS[kind]:
            bands = BandLayout(*layout)
            own = minhash.band_values(stored[some], bands)
            found = {
                key: float((minhash.band_values(made, bands) == own).any(axis=1).mean())
                for key, made in copies.items()
            }
            yield layout, Measured(found, *self.background(stored, layout, known))

    def background(
        self,
        stored: NDArray[Any],
        layout: tuple[int, int],
        known: dict[tuple[int, int], float],
    ) -> tuple[float, float]:
        """Return the chance candidates, and those that have to be read, in STORE documents."""
        pairs = agreeing(stored[self.chosen], stored, layout)
        pairs[np.arange(len(self.chosen)), self.chosen] = False
        chance = read = 0
        for row, other in zip(*map(np.ndarray.tolist, np.nonzero(pairs)), strict=True):
            one = self.chosen[row]
            if (one, other) not in known:
                known[one, other] = resemblance(self.sets.row(one), self.sets.row(other))
            if known[one, other] < CHANCE:
                chance += 1
                read += bool((stored[one] == stored[other]).mean() >= LEAST_ESTIMATE)
        each = STORE / (len(self.chosen) * len(stored))
        return chance * each, read * each


def _letters(corpus: Corpus) -> str:
    if corpus.language == "en":
        return "abcdefghijklmnopqrstuvwxyz"
    return "".join(re.findall("[\u4e00-\u9fff]", "".join(corpus.texts[:100])))


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def tell_curves(report: Report, corpora: Sequence[Corpus], count: int) -> dict[str, Any]:
    """Add the tables of all layouts and lengths; return the points for the picture."""
    points: dict[str, Any] = {}
    columns = ("shingle, sketch, bands", *(
        f"{share:.0%} {'confused' if noise == 'confused' else 'wrong'}"
        for noise in NOISES for share in SHARES
    ), "chance candidates", "of these read")  # fmt: skip
    for corpus in corpora:
        texts = f"{len(corpus.texts):,} texts"
        table = report.table(f"Noise: {corpus.name} ({texts})", columns)
        for length in LENGTHS[corpus.language]:
            trial = Trial(corpus, length, count)
            kinds = LAYOUTS if length == DEFAULT[corpus.language] else list(LAYOUTS)[:1]
            for kind in kinds:
                for layout, one in trial.measure(kind):
                    table.add(
                        f"{length} characters, {kind}, {layout[0]}x{layout[1]}",
                        *(f"{one.found[n, share]:.3f}" for n in NOISES for share in SHARES),
                        _shown(one.chance),
                        _shown(one.read),
                    )
                    if kind == next(iter(LAYOUTS)):
                        key = f"{corpus.name}/{length}/{layout[0]}x{layout[1]}"
                        points[key] = {
                            "chance": one.chance,
                            **{str(share): one.found["random", share] for share in SHARES},
                        }
    return points


def tell_scans(
    report: Report, right: Sequence[str], read: Sequence[str], others: Sequence[Corpus]
) -> dict[str, Any]:
    """Add the table of the real scans."""
    points: dict[str, Any] = {}
    names = [corpus.name for corpus in others]
    table = report.table(
        f"Real scans: {len(right)} newspaper articles",
        ("shingle, sketch, bands", "found", "chance candidates among the corrected texts", *(
            f"among {name}" for name in names)),
        note="Asked is what was recognized, stored are the corrected texts.",
    )  # fmt: skip
    for length in LENGTHS["en"]:
        sketching = CharacterSketching(shingle=length)
        sets = [sketching.sets(texts) for texts in (right, read, *(c.texts for c in others))]
        for kind in LAYOUTS if length == DEFAULT["en"] else list(LAYOUTS)[:1]:
            stored, asked, *backgrounds = (sketched(made, kind) for made in sets)
            for layout in LAYOUTS[kind]:
                bands = BandLayout(*layout)
                own = minhash.band_values(asked, bands) == minhash.band_values(stored, bands)
                found = float(own.any(axis=1).mean())
                among = agreeing(asked, stored, layout)
                np.fill_diagonal(among, val=False)
                chance = [among.mean() * STORE]
                chance += [agreeing(asked, one, layout).mean() * STORE for one in backgrounds]
                table.add(
                    f"{length} characters, {kind}, {layout[0]}x{layout[1]}",
                    f"{found:.3f}",
                    *map(_shown, chance),
                )
                if kind == next(iter(LAYOUTS)):
                    key = f"scans/{length}/{layout[0]}x{layout[1]}"
                    points[key] = {"chance": chance[0], "scans": found}
    return points


def draw(points: Mapping[str, Mapping[str, float]], path: Path) -> None:
    """Draw recall against chance candidates."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.2), layout="constrained")
    axes = figure.subplots(1, 4, sharey=True)
    four = ("#0072B2", "#009E73", "#E69F00", "#D55E00")
    colours = dict(zip(map(str, SHARES), four, strict=True))
    panels = (
        ("books", DEFAULT["en"]),
        ("documentation", DEFAULT["en"]),
        ("Chinese", DEFAULT["zh"]),
    )
    for axis, (name, length) in zip(axes, panels, strict=False):
        chosen = _points(points, f"{name}/{length}/")
        for share, colour in colours.items():
            line = [(at, point[share]) for _, at, point in chosen]
            axis.plot(
                *zip(*line, strict=True), "o-", color=colour, label=f"{float(share):.0%} wrong"
            )
        _name(axis, chosen)
        axis.set_title(f"{name}, {length} characters")
    lengths = zip(LENGTHS["en"], ("#56B4E9", "#0072B2", "#CC79A7", "#999999"), strict=True)
    for length, colour in lengths:
        chosen = _points(points, f"scans/{length}/")
        line = [(at, point["scans"]) for _, at, point in chosen]
        axes[3].plot(*zip(*line, strict=True), "o-", color=colour, label=f"{length} characters")
        if length == DEFAULT["en"]:
            _name(axes[3], chosen)
    axes[3].set_title("real scans")
    for axis in axes:
        axis.set_xscale("log")
        axis.axvline(100, color="#BBBBBB", linewidth=0.8, zorder=0)
        axis.set_xlabel("chance candidates a query,\nof 100,000 documents")
        axis.grid(visible=True, color="#EEEEEE")
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_ylim(0, 1.02)
    axes[0].set_ylabel("originals found")
    axes[0].legend(frameon=False, fontsize=8, loc="center left")
    axes[3].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(0, 0.4))
    figure.savefig(path, dpi=110)


# What occurs less often is drawn as if it did so often.
_LEAST_DRAWN = 0.5


def _points(
    points: Mapping[str, Mapping[str, float]], of: str
) -> list[tuple[str, float, Mapping[str, float]]]:
    """Return the bands of some curves, where they are drawn, and what they find."""
    return [
        (key.removeprefix(of), max(point["chance"], _LEAST_DRAWN), point)
        for key, point in points.items()
        if key.startswith(of)
    ]


def _name(axis: Any, chosen: Sequence[tuple[str, float, Mapping[str, float]]]) -> None:
    """Write the bands below their points."""
    names: dict[float, list[str]] = {}
    for layout, at, _ in chosen:
        names.setdefault(at, []).append(layout)
    for at, layouts in names.items():
        text = ", ".join(layouts)
        axis.annotate(
            text, (at, 0.02), rotation=90, fontsize=8, color="#555555", ha="center",
            bbox={"facecolor": "white", "linewidth": 0, "pad": 0.5},
        )  # fmt: skip


_HAN = re.compile("[\u4e00-\u9fff]")
_HAN_ALONE = re.compile("[\u4e00-\u9fff]{6,24}")
_NAME = re.compile(r'\.SH "?NAME"?\n(.*?)\n\.', re.DOTALL)
_EDITS = ("replaced", "left out", "put in")
_ALL = ("simhash", "minhash", "characters")
_WORDS = ("simhash", "minhash")


def titles(most: int) -> list[str]:
    """Return titles of three to twelve words that this system has, in a mixed order."""
    found = set()
    for line in Path("/var/lib/dpkg/status").read_text("utf-8", "replace").splitlines():
        if line.startswith("Description: "):
            found.add(line.removeprefix("Description: ").strip())
    for path in sorted(Path("/usr/share/man").glob("man[1358]/*.gz"))[::3]:
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as page:
            name = _NAME.search(page.read(3_000))
        if name and "\\- " in name[1]:
            title = name[1].replace("\n", " ").split("\\- ", 1)[1]
            found.add(re.sub(r"\\f.|\\", "", title).strip())
    chosen = sorted(title for title in found if 3 <= len(title.split()) <= 12)
    random.Random(4).shuffle(chosen)
    return chosen[:most]


def headings(folder: Path, most: int) -> list[str]:
    """Return headings of Chinese documentation, of 6 to 24 characters, in a mixed order."""
    found = set()
    with gzip.open(folder / "labelled" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["lang"].startswith("zh"):
                for line in row["text"].splitlines():
                    title = line.strip(" #=*").strip()
                    if _HAN_ALONE.fullmatch(title):
                        found.add(title)
    chosen = sorted(found)
    random.Random(4).shuffle(chosen)
    return chosen[:most]


_HEADLINE = re.compile(
    r"""<meta[^>]+property=["']og:title["'][^>]+content=(["'])(?P<meta>.*?)\1"""
    r"""|<title[^>]*>(?P<title>.*?)</title>|<a\b[^>]*>(?P<link>[^<]{15,120})</a>""",
    re.DOTALL,
)


def headlines(folder: Path, most: int) -> list[str]:
    """Return headlines of three to twelve words: of news pages, and of what they link to."""
    found = set()
    for path in sorted((folder / "foreign" / "pages").glob("*.html.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as page:
            for one in _HEADLINE.finditer(page.read()):
                words = html.unescape(one[one.lastgroup or 0]).split()
                least = 5 if one["link"] else 3
                title = " ".join(words)
                if least <= len(words) <= 12 and len(title_words(title)) >= 3:
                    found.add(title)
    chosen = sorted(found)
    random.Random(4).shuffle(chosen)
    return chosen[:most]


def edited(title: str, edit: str, drawn: random.Random, words: Sequence[str]) -> str:
    """Return a title in which one word is another, is left out or is put in."""
    made = _words(title)
    at = drawn.randrange(len(made))
    if edit == "put in":
        made.insert(at, drawn.choice(words))
    elif edit == "replaced":
        made[at] = drawn.choice([word for word in words[:50] if word != made[at]])
    else:
        del made[at]
    return ("" if _HAN.match(title) else " ").join(made)


def tell_queries(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the tables of what a store finds."""
    right, read = scans(folder)
    others = [text for corpus in (*labelled(folder), books(folder)) for text in corpus.texts]
    table = report.table(
        f"Real scans asked of a store of {len(right) + len(others):,} documents",
        ("channels", "found", "other texts told", "of newspapers"),
    )
    with Store.create(":memory:", channels=_ALL) as store:
        store.add_many([(f"n{at}", text) for at, text in enumerate(right)])
        store.add_many([(f"o{at}", text) for at, text in enumerate(others)])
        for channels in (_WORDS, _ALL):
            run = store.query_many(
                [(f"n{n}", text) for n, text in enumerate(read)], channels=channels
            )
            found = sum(any(match.key == one.key for match in one) for one in run)
            wrong = [match.key for one in run for match in one if match.key != one.key]
            table.add(
                ", ".join(channels), f"{found / len(read):.3f}", len(wrong),
                sum(key.startswith("n") for key in wrong),
            )  # fmt: skip
    most, count = (1_000, 40) if quick else (6_000, 400)
    tell_titles(report, "Titles of packages and manual pages", titles(most), count)
    tell_titles(report, "Headlines of news pages", headlines(folder, most), count)
    chinese = headings(folder, most)
    tell_titles(report, "Headings of Chinese documentation", chinese, count)


def tell_titles(report: Report, name: str, every: Sequence[str], count: int) -> None:
    """Add the table of titles in which a word was changed.

    Found is the original. Right is what differs from the sample in one word at most, by a
    comparison with every title; the ceiling is the most alike by RapidFuzz, one for each sample.
    """
    strangers, stored = every[::5], [title for at, title in enumerate(every) if at % 5]
    drawn = random.Random(7)
    words = [word for title in stored[:500] for word in _words(title)]
    drawn.shuffle(words)
    table = report.table(
        f"{name}: {len(stored):,} stored, one word changed",
        ("words", "change", *(f"{part} {what}"
                              for part in ("found", "right of those told")
                              for what in ("by words", "by all", "by RapidFuzz"))),
    )  # fmt: skip
    cut = [title_words(title) for title in stored]
    with Store.create(":memory:", channels=_ALL) as store:
        store.add_many([(f"t{at}", title) for at, title in enumerate(stored)])
        for least, most in ((3, 4), (5, 8), (9, 12)):
            of_length = [n for n, one in enumerate(stored) if least <= len(_words(one)) <= most]
            chosen = drawn.sample(of_length, min(count, len(of_length)))
            for edit in _EDITS:
                asked = [(f"t{n}", edited(stored[n], edit, drawn, words)) for n in chosen]
                right = [_right(text, cut) for _, text in asked]
                told = [
                    [{match.key for match in one} for one in store.query_many(asked, channels=c)]
                    for c in (_WORDS, _ALL)
                ]
                told.append([_most_alike(text, stored) for _, text in asked])
                keys = [key for key, _ in asked]
                table.add(
                    f"{least}-{most}", edit,
                    *(f"{sum(map(set.__contains__, one, keys)) / len(keys):.3f}" for one in told),
                    *(f"{_share(one, right):.3f}" for one in told),
                )  # fmt: skip
        asked = [(f"s{at}", title) for at, title in enumerate(strangers)]
        answers = [store.query_many(asked, channels=channels) for channels in (_WORDS, _ALL)]
    right = [_right(text, cut) for _, text in asked]
    told = [[{match.key for match in one} for one in run] for run in answers]
    table.note = (
        f"Of {len(asked):,} titles that are not stored {sum(map(bool, right)) / len(asked):.3f} "
        f"have one that differs in a word; {sum(map(bool, told[0])) / len(asked):.3f} have a match "
        f"by words, {sum(map(bool, told[1])) / len(asked):.3f} by all channels, of which "
        f"{_share(told[1], right):.3f} are right."
    )


def _words(title: str) -> list[str]:
    """Return the words of a title; of Chinese every two characters."""
    return re.findall("[\u4e00-\u9fff]{1,2}|[^\\s\u4e00-\u9fff]+", title)


def _right(text: str, stored: Sequence[tuple[str, ...]]) -> set[str]:
    """Return the keys of the titles that differ from a text in one word at most."""
    own = title_words(text)
    return {
        f"t{at}"
        for at, other in enumerate(stored)
        if abs(len(other) - len(own)) <= 2 and is_one_word_apart(own, other)
    }


def _most_alike(text: str, stored: Sequence[str]) -> set[str]:
    """Return the key of the title that is most like a text, of all of them."""
    return {f"t{process.extractOne(text, stored, scorer=fuzz.ratio)[2]}"}


def _share(told: Sequence[set[str]], right: Sequence[set[str]]) -> float:
    count = sum(map(len, told))
    return sum(len(one & other) for one, other in zip(told, right, strict=True)) / max(count, 1)


def main() -> None:
    given = parser(__doc__)
    given.add_argument("--queries", action="store_true", help="ask a store instead")
    given.add_argument("--data", type=Path, default=os.environ.get("SIMSTORE_TEST_DATA"))
    given.add_argument("--image", type=Path, help="draw the curves into this file (PNG)")
    options = given.parse_args()
    if options.data is None:
        given.error("no texts: set SIMSTORE_TEST_DATA or give --data")
    compiled.enable(0.0)
    report = Report(
        "noise",
        "Wrong characters, and what finds the originals",
        "Recall of sketches of characters against the chance candidates that have to be looked "
        "at, by the length of the shingles, the sketch and its bands.",
    )
    if options.queries:
        tell_queries(report, options.data, quick=options.quick)
        print(report.markdown(3))
        return
    corpora = [*labelled(options.data), books(options.data)]
    if options.quick:
        corpora = [Corpus(one.name, one.language, one.texts[:150]) for one in corpora]
    right, read = scans(options.data)
    points = tell_curves(report, corpora, 40 if options.quick else 300)
    english = [corpus for corpus in corpora if corpus.language == "en"]
    points |= tell_scans(report, right, read, english)
    if options.image:
        draw(points, options.image)
    print(report.markdown(3))


if __name__ == "__main__":
    main()
