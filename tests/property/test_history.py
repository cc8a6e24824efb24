"""Any history of a live store: it holds what was put in, and answers as a batch run would."""

from __future__ import annotations

import io
import random
import shutil
import sys
import tempfile
from pathlib import Path

import oracle
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from simstore import Files
from simstore.fingerprint.feature_hash import generated_rows
from simstore.model import QueryOptions
from simstore.reports.formats import render_simtool
from simstore.services import simtool
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

from .state import PROBES
from .strategies import WORDS, article_file, keys, page_lists, texts

FEATURES = 5
TABLE = b"\n".join(bytes(row + ord("0")) for row in generated_rows(FEATURES))
SAMPLES = article_file([(f"sample {n}", text) for n, text in enumerate(PROBES)])


class Interrupted(Exception):
    """Stands for a process that ends in the middle."""


class History(RuleBasedStateMachine):
    """Changes a store and a plain dict alike."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        (self.folder / "sample.txt").write_bytes(SAMPLES)
        (self.folder / "rows").write_bytes(TABLE)
        (self.folder / "stop").write_bytes(b"the of")
        self.texts: dict[str, str] = {}
        self.bits = 16
        self.files = 0
        self.reindexing = False
        self.store = Store.create(self.folder / "s.db", scheme=self.scheme(), synchronous="normal")

    def scheme(self) -> SchemeChoice:
        return SchemeChoice(
            "simtool",
            self.bits,
            FEATURES,
            hash_table=str(self.folder / "rows"),
            stopwords=str(self.folder / "stop"),
        )

    @initialize(pages=page_lists(repeats=True, min_size=1, max_size=4))
    def begin(self, pages: list[tuple[str, str]]) -> None:
        self.ingest(pages, batch_documents=2, refresh=True)

    @precondition(lambda self: not self.reindexing)
    @rule(
        pages=page_lists(repeats=True, max_size=4),
        batch_documents=st.integers(1, 3),
        refresh=st.booleans(),
    )
    def ingest(self, pages: list[tuple[str, str]], batch_documents: int, refresh: bool) -> None:
        path = self.folder / f"article-{self.files}.txt"
        self.files += 1
        path.write_bytes(article_file(pages))
        options = IngestOptions(batch_documents=batch_documents, refresh=refresh)
        summary = self.store.ingest([str(path)], options=options)
        assert summary.added == len({key for key, _ in pages} - set(self.texts))
        self.texts.update((key, f"{text}\n") for key, text in pages)

    @precondition(lambda self: not self.reindexing)
    @rule(key=keys, text=texts)
    def add(self, key: str, text: str) -> None:
        known = self.texts.get(key)
        expected = "added" if known is None else "unchanged" if known == text else "updated"
        assert self.store.add(key, text) == expected
        self.texts[key] = text

    @precondition(lambda self: self.texts and not self.reindexing)
    @rule(data=st.data(), refresh=st.booleans())
    def remove(self, data: st.DataObject, refresh: bool) -> None:
        some = st.lists(st.sampled_from(sorted(self.texts)), min_size=1, max_size=3)
        chosen = set(data.draw(some))
        assert self.store.remove(*sorted(chosen), refresh=refresh) == len(chosen)
        for key in chosen:
            del self.texts[key]

    @precondition(lambda self: not self.reindexing)
    @rule()
    def refresh(self) -> None:
        self.store.vocabulary.refresh()
        assert self.store.stats().fresh

    @precondition(lambda self: not self.reindexing)
    @rule()
    def refresh_is_interrupted(self) -> None:
        def interrupt(_done: int, _total: int) -> None:
            raise Interrupted

        try:
            self.store.vocabulary.refresh(force=True, on_progress=interrupt)
        except Interrupted:
            self.reopen()

    @precondition(lambda self: not self.reindexing)
    @rule(bits=st.sampled_from([16, 24, 100]), interrupted=st.booleans())
    def reindex(self, bits: int, interrupted: bool) -> None:
        def interrupt(_done: int, _total: int) -> None:
            if interrupted:
                raise Interrupted

        before, self.bits = self.bits, bits
        try:
            self.store.maintenance.reindex(self.scheme(), on_progress=interrupt)
        except Interrupted:
            self.reindexing = True
            self.new_bits, self.bits = bits, before

    @precondition(lambda self: self.reindexing)
    @rule(resume=st.booleans())
    def end_reindex(self, resume: bool) -> None:
        if resume:
            self.store.maintenance.reindex(resume=True)
            self.bits = self.new_bits
        else:
            self.store.maintenance.abort_reindex()
        self.reindexing = False

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder / "s.db", synchronous="normal")

    @rule()
    def compact(self) -> None:
        self.store.maintenance.compact()

    @invariant()
    def store_holds_what_was_put_in(self) -> None:
        held = {one.key: one.text for one in self.store.list(with_text=True)}
        assert held == self.texts

    @invariant()
    def fresh_store_answers_as_the_course_tool(self) -> None:
        if not self.store.stats().fresh:
            return
        pages = article_file([(one.key, self.texts[one.key]) for one in self.store])
        expected, _ = oracle.simtool(pages, SAMPLES, b"the of", TABLE, FEATURES, self.bits)
        for plan in ("scan", "segments"):
            run = self.store.query_many(
                Files(str(self.folder / "sample.txt")), QueryOptions(plan=plan)
            )
            assert run.stale is None
            assert b"".join(render_simtool(run.samples)) == expected

    def teardown(self) -> None:
        try:
            assert self.store.maintenance.fsck() == []
            if not self.reindexing:
                self.store.vocabulary.refresh()
                assert self.store.stats().fresh
                assert self.store.maintenance.fsck() == []
        finally:
            self.store.close()
            shutil.rmtree(self.folder)


TestHistory = pytest.mark.slow(pytest.mark.filterwarnings("error")(History.TestCase))
# An example is short; to shrink one takes minutes, for every try makes a store.
TestHistory.settings = settings(
    max_examples=max(settings.default.max_examples // 4, 1),
    stateful_step_count=10,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


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
