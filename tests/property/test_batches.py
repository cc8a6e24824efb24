"""However documents come into a store, it ends in the same state."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import oracle
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from postgres_places import is_on_server

from simstore import Files
from simstore.model import IngestSummary
from simstore.reports.formats import render_simtool
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

from .state import PROBES, State, assert_sound, state_of
from .strategies import article_file, cuts_of, page_lists, parts_of

Pages = list[tuple[str, str]]

# Ranks of few features tie and change with every page.
SIMTOOL = SchemeChoice("simtool", bits=24, features=4)
WEB = SchemeChoice("web")
# Document frequencies change with every page too.
IDF = SchemeChoice("web", bits=24, weights="tf-idf")
SCHEMES = st.sampled_from(
    [
        SIMTOOL,
        SchemeChoice("simtool", bits=100, features=50),
        WEB,
        IDF,
        SchemeChoice("web", bits=100, weights="log-tf-idf", shingle=2),
    ]
)


# An example with stores takes a tenth of a second and more.
few = settings(max_examples=max(settings.default.max_examples * 3 // 10, 1))


@cache
def empty_store(scheme: SchemeChoice) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        Store.create(path, scheme=scheme, synchronous="normal").close()
        return path.read_bytes()


@contextmanager
def new_store(scheme: SchemeChoice = SIMTOOL) -> Iterator[tuple[Path, Store]]:
    """Yield a folder and a store in it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if is_on_server(place / "s.db"):
            Store.create(place / "s.db", scheme=scheme).close()
        else:
            (place / "s.db").write_bytes(empty_store(scheme))
        with Store.open(place / "s.db", synchronous="normal") as store:
            yield place, store


def reopened(store: Store, place: Path) -> Store:
    store.close()
    return Store.open(place / "s.db", synchronous="normal")


def ingest(store: Store, path: Path, data: bytes, **options: object) -> IngestSummary:
    path.write_bytes(data)
    return store.ingest([str(path)], options=IngestOptions(**options))  # type: ignore[arg-type]


def counts_of(summaries: Sequence[IngestSummary]) -> tuple[int, ...]:
    names = ("added", "updated", "unchanged", "identical_texts", "rejected", "byte_count")
    return tuple(sum(getattr(one, name) for one in summaries) for name in names)


def state_after_one_batch(pages: Pages, scheme: SchemeChoice) -> tuple[State, tuple[int, ...]]:
    with new_store(scheme) as (place, store):
        summary = ingest(store, place / "article.txt", article_file(pages))
        assert_sound(store)
        return state_of(store), counts_of([summary])


@pytest.mark.slow
@given(page_lists(repeats=True), st.data(), SCHEMES, st.integers(1, 13), st.sampled_from([1, 2, 3]))
def test_any_split_into_sessions_files_and_batches_equals_one_batch(
    pages: Pages, data: st.DataObject, scheme: SchemeChoice, batch_documents: int, threads: int
) -> None:
    whole = state_after_one_batch(pages, scheme)
    parts = parts_of(pages, data.draw(cuts_of(len(pages))))
    sessions = parts_of(parts, data.draw(cuts_of(len(parts))))
    with new_store(scheme) as (place, store):
        summaries = []
        for number, some in enumerate(filter(None, sessions)):
            names = []
            for part in some:
                names.append(str(place / f"article-{number}-{len(names)}.txt"))
                Path(names[-1]).write_bytes(article_file(part))
            options = IngestOptions(
                batch_documents=batch_documents, threads=threads, refresh=data.draw(st.booleans())
            )
            summaries.append(store.ingest(names, options=options))
            store = reopened(store, place)
        store.vocabulary.refresh()
        assert_sound(store)
        assert (state_of(store), counts_of(summaries)) == whole
        store.close()


@pytest.mark.slow
@few
@given(page_lists(repeats=True), SCHEMES)
def test_documents_from_a_caller_equal_documents_from_a_file(
    pages: Pages, scheme: SchemeChoice
) -> None:
    whole = state_after_one_batch(pages, scheme)
    with new_store(scheme) as (_, store):
        store.add_many([(key, f"{text}\n") for key, text in pages], threads=1, batch_documents=5)
        assert state_of(store) == whole[0]


@pytest.mark.slow
@few
@given(page_lists(repeats=False, min_size=1), st.sampled_from([3, 24, 100]), st.data())
def test_answer_equals_the_course_tool_over_the_stored_documents(
    pages: Pages, bits: int, data: st.DataObject
) -> None:
    generator = data.draw(st.randoms(use_true_random=False))
    rows = b"".join(b"%s\n" % f"{generator.getrandbits(bits):0{bits}b}".encode() for _ in range(9))
    samples = article_file([(f"sample {n}", text) for n, text in enumerate(PROBES)])
    features = data.draw(st.integers(1, 9))
    expected, _ = oracle.simtool(article_file(pages), samples, b"the of", rows, features, bits)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "rows").write_bytes(rows)
        (place / "stop").write_bytes(b"the of")
        (place / "sample.txt").write_bytes(samples)
        scheme = SchemeChoice(
            "simtool", bits, features, str(place / "rows"), stopwords=str(place / "stop")
        )
        with Store.create(place / "s.db", scheme=scheme, synchronous="normal") as store:
            for number, part in enumerate(parts_of(pages, data.draw(cuts_of(len(pages))))):
                ingest(store, place / f"article-{number}.txt", article_file(part))
            run = store.query_many(Files(str(place / "sample.txt")))
            assert b"".join(render_simtool(run.samples)) == expected


@pytest.mark.slow
@few
@given(page_lists(repeats=True, min_size=1), st.integers(1, 5), SCHEMES)
@example([("page 0", "lamp"), ("page 0", "stone"), ("page 0", "lamp")], 1, SIMTOOL)
def test_file_ingested_again_is_all_unchanged(
    pages: Pages, batch_documents: int, scheme: SchemeChoice
) -> None:
    with new_store(scheme) as (place, store):
        ingest(store, place / "article.txt", article_file(pages), batch_documents=batch_documents)
        before = state_of(store)
        for _ in range(2):
            again = store.ingest([str(place / "article.txt")])
            assert counts_of([again])[:5] == (0, 0, len(pages), 0, 0)
            assert state_of(store) == before
        assert_sound(store)


@pytest.mark.slow
@few
@given(page_lists(repeats=True, min_size=1), page_lists(repeats=True, min_size=1))
@example([("page 0", "")], [("page 0", ""), ("page 0", "river")])
@example([("page 0", "lamp")], [("page 0", "river"), ("page 0", "lamp")])
def test_two_files_that_share_keys_end_as_before_and_report_texts_that_differ(
    first: Pages, second: Pages
) -> None:
    with new_store() as (place, store):
        names = [str(place / "article-1.txt"), str(place / "article-2.txt")]
        for name, pages in zip(names, (first, second), strict=True):
            Path(name).write_bytes(article_file(pages))
        store.ingest(names)
        before = state_of(store)
        again = store.ingest(names)
        assert (again.added, again.document_count) == (0, len(first) + len(second))
        # A text that the store does not hold is not unchanged.
        differing = dict(first).items() - dict(second).items()
        assert again.updated or not {key for key, _ in differing} & dict(second).keys()
        assert state_of(store) == before


@pytest.mark.slow
@few
@given(page_lists(repeats=False, min_size=1), st.data(), SCHEMES)
def test_file_edited_and_restored_is_updated_both_times(
    pages: Pages, data: st.DataObject, scheme: SchemeChoice
) -> None:
    place_of_edit = data.draw(st.integers(0, len(pages) - 1))
    edited = list(pages)
    edited[place_of_edit] = (pages[place_of_edit][0], "bridge " + pages[place_of_edit][1])
    with new_store(scheme) as (place, store):
        path = place / "article.txt"
        ingest(store, path, article_file(pages))
        before = state_of(store)
        changed = ingest(store, path, article_file(edited))
        assert counts_of([changed])[:3] == (0, 1, len(pages) - 1)
        assert state_of(store) != before
        restored = ingest(store, path, article_file(pages))
        assert counts_of([restored])[:3] == (0, 1, len(pages) - 1)
        assert_sound(store)
        assert state_of(store) == before


def edited_in(pages: Pages, edits: dict[int, str]) -> Pages:
    return [(key, edits.get(number, text)) for number, (key, text) in enumerate(pages)]


@pytest.mark.slow
@few
@given(
    page_lists(repeats=True, min_size=1, max_size=6),
    st.dictionaries(st.integers(0, 5), st.sampled_from(["harbour", "lamp lamp"]), max_size=3),
    st.sampled_from([1, 2, 3]),
)
@example([("page 0", "river"), ("page 0", "stone")], {0: "harbour"}, 1)
def test_file_edited_where_pages_share_an_id_gives_the_same_in_any_batches(
    pages: Pages, edits: dict[int, str], batch_documents: int
) -> None:
    states = []
    for most in (1_000, batch_documents):
        with new_store() as (place, store):
            path = place / "article.txt"
            first = ingest(store, path, article_file(pages), batch_documents=most)
            second = ingest(
                store, path, article_file(edited_in(pages, edits)), batch_documents=most
            )
            assert_sound(store)
            states.append((state_of(store), counts_of([first, second])))
    assert states[0] == states[1]


@pytest.mark.slow
@few
@given(page_lists(repeats=True, min_size=1, max_size=8), st.sampled_from([1, 2, 3]))
@example(
    [("a", "X"), ("b", "X"), ("a", "Y"), ("a", "X"), ("c", "X")],
    1,
)
def test_duplicates_are_named_alike_in_any_batches(pages: Pages, batch_documents: int) -> None:
    named = []
    for most in (1_000, batch_documents):
        with new_store(WEB) as (_, store):
            heard: list[tuple[str, str]] = []
            observer = Observer(
                on_duplicate=lambda key, original, heard=heard: heard.append((key, original))
            )
            store.add_many(pages, batch_documents=most, threads=1, observer=observer)
            named.append(heard)
    assert named[0] == named[1]


@pytest.mark.parametrize("scheme", [SIMTOOL, WEB])
def test_states_of_different_stores_differ(scheme: SchemeChoice) -> None:
    """The comparison that all the tests above rest on can tell states apart."""
    with new_store(scheme) as (_, store):
        seen = [state_of(store)]
        for change in (
            lambda: store.add("a", "river stone"),
            lambda: store.add("b", "river stone"),
            lambda: store.add("a", "lamp"),
            lambda: store.add("a", "lamp", title="A"),
            lambda: store.remove("b"),
        ):
            change()
            seen.append(state_of(store))
    assert all(a != b for place, a in enumerate(seen) for b in seen[:place])
