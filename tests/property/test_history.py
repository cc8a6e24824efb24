"""Names that are used again: the store holds the last text of each key, and answers by it."""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path

import pytest

from simstore import Files
from simstore.fingerprint.feature_hash import generated_rows
from simstore.reports.formats import render_simtool
from simstore.services import simtool
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

from .state import PROBES
from .strategies import WORDS, article_file

FEATURES = 5
TABLE = b"\n".join(bytes(row + ord("0")) for row in generated_rows(FEATURES))
SAMPLES = article_file([(f"sample {n}", text) for n, text in enumerate(PROBES)])


SEEDS = [pytest.param(seed, marks=() if seed < 8 else pytest.mark.thorough) for seed in range(400)]


@pytest.mark.parametrize("seed", SEEDS)
def test_store_holds_the_last_text_of_each_key_however_names_are_reused(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    held: dict[str, str] = {}
    contents: dict[str, list[tuple[str, str]]] = {}
    (tmp_path / "hashvalue.txt").write_bytes(TABLE)
    (tmp_path / "stopwords.txt").write_bytes(b"the of")
    (tmp_path / "sample.txt").write_bytes(SAMPLES)
    scheme = SchemeChoice(
        "simtool",
        16,
        FEATURES,
        hash_table=str(tmp_path / "hashvalue.txt"),
        stopwords=str(tmp_path / "stopwords.txt"),
    )
    monkeypatch.chdir(tmp_path)
    with Store.create("s.db", scheme=scheme, synchronous="normal") as store:
        for _ in range(12):
            name = chance.choice(["article.txt", "dump-1.txt", "dump-2.txt", "-", "add"])
            pages = [
                (chance.choice("PQXYZ"), " ".join(chance.choices(WORDS, k=chance.randint(1, 3))))
                for _ in range(chance.randint(1, 5))
            ]
            before = contents.get(name)
            if before and chance.random() < 0.4:
                # The same content again, or longer.
                pages = before if chance.random() < 0.5 else before + pages
            data = article_file(pages)
            options = IngestOptions(
                batch_documents=chance.randint(1, 6), from_start=chance.random() < 0.2
            )
            if name == "add":
                store.add(pages[0][0], f"{pages[0][1]}\n")
                pages = pages[:1]
            elif name == "-":
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
                store.ingest("-", options=options)
            else:
                if pages != before or chance.random() < 0.5:
                    Path(name).write_bytes(data)
                outcomes: list[str] = []
                observer = Observer(on_document=lambda _key, made, told=outcomes: told.append(made))
                store.ingest(name, options=options, observer=observer)
                read = pages[len(pages) - len(outcomes) :]
                for place, ((key, text), outcome) in enumerate(zip(read, outcomes, strict=True)):
                    follows = key in {later for later, _ in read[place + 1 :]}
                    assert outcome != "unchanged" or held[key] == f"{text}\n" or follows
                    held[key] = f"{text}\n" if outcome != "unchanged" else held[key]
            contents[name] = pages
            held.update((key, f"{text}\n") for key, text in pages)
            assert {one.key: one.text for one in store.list(with_text=True)} == held
        Path("article.txt").write_bytes(article_file([(one.key, held[one.key]) for one in store]))
        expected = render_simtool(simtool.run(tmp_path, FEATURES, 16))
        found = store.query_many(Files("sample.txt")).samples
        assert b"".join(render_simtool(found)) == b"".join(expected)
