"""A client behaves as the store that its server serves: one suite for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import texts
from served import PATIENCE_SECONDS, Served, serve

from simstore import Files, Store
from simstore.client import Client
from simstore.errors import (
    DocumentNotFound,
    SourceNotFound,
)
from simstore.model import CheckOptions, Document, IngestProgress, QueryOptions
from simstore.services.ingest.ingest import Observer

pytestmark = pytest.mark.sqlite

LAMP, BREAD, LIBRARY = texts.LIGHTHOUSE, texts.BREAD, texts.LIBRARY_ZH
NEARLY = LAMP.replace("forty years", "sixty years")
# Slashes, blanks, what means something in an address, half of a path, bytes that are not UTF-8.
KEYS = (
    "https://example.org/a?b=c#d", "a b/../c", "..", "100%25", "pages/", "ключ 字",
    "caf\udce9\udcff", "\n\t\x7f", "*", "of", "/leading",
)  # fmt: skip
Held = Store | Client


@pytest.fixture(params=["store", "client"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Held]:
    """An empty store, or a client of a server of one."""
    place = tmp_path / "held.db"
    Store.create(place).close()
    if request.param == "store":
        with Store.open(place) as store:
            yield store
        return
    with serve(place) as served, Client(served.url) as client:
        yield client


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Held]]:
    """A store with texts of all kinds, clusters and passages, as it is and served."""
    place = tmp_path_factory.mktemp("library") / "library.db"
    with Store.create(place) as store:
        store.passages.build()
        store.add_many(
            [
                Document(
                    "lamp",
                    LAMP,
                    title="A lamp",
                    collection="light",
                    metadata={"port": "Corran"},
                    seen_at=1_000,
                ),
                Document("bread", BREAD, metadata={"n": [1, None, "é"]}, links=("lamp",)),
                Document(
                    "library",
                    LIBRARY,
                    title="图书馆",
                    collection="light",
                    published_at=900,
                    seen_at=2_000,
                ),
                *(Document(key, f"{LAMP} {n}") for n, key in enumerate(KEYS)),
            ]
        )
        store.add("nearly", NEARLY, on_duplicate="flag")
        store.add("skipped", NEARLY + " Yes.", on_duplicate="skip")
        store.add("bread again", BREAD)
        store.clusters.build()
        store.add("left", "", on_duplicate="keep")
        store.query_many([("lamp", LAMP)], record=True)
        broken = place.parent / "broken.jsonl"
        broken.write_text('{"id": 1}\n[]\n{"id": 2}\n', "utf-8")
        store.ingest([str(broken)])
        with serve(place) as served, Client(served.url) as client:
            yield {"store": store, "client": client}


@pytest.fixture(params=["store", "client"])
def shelf(request: pytest.FixtureRequest, library: dict[str, Held]) -> Held:
    """The library, to be read only."""
    return library[request.param]


# What is asked of the library; the answers of the client are those of the store.
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "query of many": lambda held: [
        replace(one, explanation=None)
        for one in held.query_many(
            [("lamp", LAMP), {"key": KEYS[6], "text": "caf\udce9"}, Document("x", LIBRARY)],
            QueryOptions(exclude_self=True, where=(("port", "Corran"),), since=1),
        )
    ],
    "show": lambda held: [held.get(key, with_text=True) for key in ("lamp", "library", *KEYS)],
    "story": lambda held: [held.duplicates.story(key) for key in ("lamp", "skipped", *KEYS)],
    "story by a rule": lambda held: held.duplicates.story("nearly", original="prefer:^nea"),
    "seen many": lambda held: held.seen([*KEYS, "lamp", "lamp", "never"]),
    "seen content": lambda held: [held.seen(text=BREAD), held.seen(digest=bytes(16))],
    "some documents of a run": lambda held: [
        [one.key for one in held.list(run_id=run_id, collection="light", limit=2)]
        for run_id in (0, 1, 999)
    ],
    "sizes": lambda held: held.stats(sizes=True),
    "collections": lambda held: [
        list(one) == list(one.list()) for one in (held.clusters, held.duplicates, held.rejects)
    ],
    "lengths": lambda held: [
        len(one) for one in (held.clusters, held.duplicates, held.rejects, held.runs)
    ],
    "are there any": lambda held: [
        bool(one) for one in (held.clusters, held.duplicates, held.rejects, held.runs)
    ],
    "cluster by key": lambda held: held.clusters["nearly"],
    "is in a cluster": lambda held: [
        key in held.clusters for key in ("lamp", "nearly", "library", "never", "", 3)
    ],
    "cluster of": lambda held: [held.clusters.of(key) for key in ("lamp", "left", *KEYS)],
    "cluster members": lambda held: [held.clusters.members(number) for number in (1, 999)],
    "query runs": lambda held: held.runs.query(3),
    "summary": lambda held: held.clusters.status(largest=True),
    "merges": lambda held: list(held.clusters.merges()),
    "check of options": lambda held: list(
        held.check_many(
            [("a\udcff", LIBRARY), ("b", "Nothing."), {"key": "lamp", "text": LAMP, "title": "T"}],
            CheckOptions(high=0.9, exclude=("near*", KEYS[6]), by="window", window=40),
        )
    ),
    "mutual check": lambda held: held.check_mutual(
        [("a\udcff", LAMP), ("b", f"Mine. {LAMP}"), {"key": "c", "text": LIBRARY, "title": "T"}],
        CheckOptions(high=0.9, by="window", window=40),
    ),
    "new and known rows": lambda held: [
        list(held.filter([{"id": "a", "text": LAMP}, {"id": "b", "text": "Other."}], keep=keep))
        for keep in ("new", "known")
    ],
    "filter": lambda held: held.filters.known(of=["keys"], capacity=500).to_bytes(),
}


def test_a_client_answers_as_the_store(library: dict[str, Held]) -> None:
    for question, ask in QUESTIONS.items():
        assert ask(library["client"]) == ask(library["store"]), question


def test_threads_may_share_a_store_or_a_client(held: Held) -> None:
    keys = [f"note {number}" for number in range(24)]

    def work(key: str) -> tuple[str, bool]:
        # Each by itself: a writer, a reader and a namespace that is first used by several.
        outcome = held.add(key, f"{LAMP} {key}")
        found = [match.key for match in held.query(f"{LAMP} {key}")]
        assert list(held.duplicates) == []
        return outcome, key in found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, keys)) == [("added", True)] * len(keys)
    assert sorted(one.key for one in held) == sorted(keys)


@pytest.mark.frames
def test_collections_are_frames(library: dict[str, Held]) -> None:
    pytest.importorskip("pandas")
    held, client = library["store"], library["client"]
    assert held.clusters.to_frame().equals(client.clusters.to_frame())
    assert held.duplicates.to_frame().equals(client.duplicates.to_frame())
    assert held.rejects.to_frame().equals(client.rejects.to_frame())
    assert held.runs.to_frame()["kind"].tolist() == client.runs.to_frame()["kind"].tolist()


def test_a_length_reads_nothing_of_a_collection_and_a_list_reads_it_once(
    shelf: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    spaces: list[Any] = [shelf.clusters, shelf.duplicates, shelf.rejects, shelf.runs]
    for space in spaces:
        read: list[object] = []
        whole = type(space)._all

        def counted(
            self: Any, whole: Callable[[Any], Any] = whole, read: list[object] = read
        ) -> Any:
            read.append(self)
            return whole(self)

        monkeypatch.setattr(type(space), "_all", counted)
        assert space
        assert len(space) > 0
        assert read == []
        assert len(list(space)) == len(space)
        assert len(read) == 1
    with pytest.raises(TypeError, match="no len"):
        len(cast("Any", shelf.vocabulary))


def test_what_a_paper_hides_is_told_as_by_a_store(shelf: Held, tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="needs python-docx")
    made = docx.Document()
    made.add_paragraph("My own words.").add_run("unseen").font.hidden = True
    made.save(str(tmp_path / "paper.docx"))
    (paper,) = shelf.check_many(Files(str(tmp_path / "paper.docx")))
    assert paper.flags == ("hidden text",)
    assert paper.warnings[0].places == ("paragraph 1: 6 characters marked as hidden",)


def test_what_a_step_raises_ends_a_check(shelf: Held) -> None:
    steps: list[None] = []
    papers = [("one", f"{LAMP} one."), ("two", f"{LAMP} two.")]
    assert len(list(shelf.check_many(papers, on_step=lambda: steps.append(None), threads=2))) == 2
    assert len(steps) >= 2

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        list(shelf.check_many(papers, on_step=stop))


def test_sources_are_queried_with_what_cannot_be_read(shelf: Held, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"key": "a", "text": "x"}\n{"key": 3\n{"key":"b","text":""}')
    read: list[tuple[int, int | None]] = []
    run = shelf.query_many(
        Files(str(tmp_path)), on_progress=lambda done, total: read.append((done, total))
    )
    assert [sample.key for sample in run.samples] == ["a", "b"]
    assert [one.position for one in run.rejections] == [1]
    assert (run.run_id, run.radius, run.bits, run.scheme, run.stale) == (None, 3, 64, "web/1", None)
    assert not read or read[-1][0] == read[-1][1] == (tmp_path / "a.jsonl").stat().st_size
    with pytest.raises(SourceNotFound, match="nowhere"):
        shelf.query_many(Files("nowhere"))


def test_how_files_were_decoded_is_told_wherever_they_are_read(held: Held, tmp_path: Path) -> None:
    text = texts.LIBRARY_ZH
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode("gbk"))
    heard: list[tuple[str, str]] = []
    observer = Observer(on_decoding=lambda key, how: heard.append((key, how.encoding)))
    summary = held.ingest([str(path)], observer=observer)
    assert (summary.added, summary.detected, heard) == (
        1, {"gb18030": 1}, [(str(path), "gb18030")],
    )  # fmt: skip
    assert held.get(str(path)).metadata["encoding_detected"] is True
    (sample,) = held.query_many(Files(str(path))).samples
    assert sample.decoding is not None
    assert (sample.decoding.encoding, sample.decoding.is_detected) == ("gb18030", True)
    assert held.query_many([("k", text)])[0].decoding is None


def test_many_documents_come_in_the_order_they_are_given(held: Held) -> None:
    given = [(f"page {n}", f"{n} {LAMP}") for n in range(1_200)]
    seen: list[IngestProgress] = []
    summary = held.add_many(iter(given), observer=Observer(on_progress=seen.append))
    assert (summary.added, summary.document_count) == (1_200, 1_200)
    assert summary.byte_count == sum(len(text.encode()) for _, text in given)
    assert seen[-1].document_count == 1_200
    assert [one.key for one in held.list()] == [key for key, _ in given]
    assert [one.text for one in held.list(limit=250, with_text=True)] == [
        text for _, text in given[:250]
    ]


def test_long_lists_are_fetched_in_parts_as_they_are_read(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many((f"{n}", f"{word} " * 30) for n, word in enumerate("abcde"))
        given = [(f"again {n}", f"{word} " * 30) for n, word in enumerate("abcde")]
        store.add_many(given, on_duplicate="flag")
        store.clusters.build()
        whole = [list(store.duplicates.list()), list(store.clusters.list()), list(store.list())]
    with (
        serve(tmp_path / "s.db", "--batch-documents", "2") as served,
        Client(served.url) as client,
    ):
        lists = [client.duplicates.list, client.clusters.list, client.list]
        for path, ask, items in zip(
            ("duplicates", "clusters", "documents"), lists, whole, strict=True
        ):
            reading = iter(ask())
            assert next(reading) == items[0]
            assert requests_for(served, f"/v1/{path}") == 1
            assert [items[0], *reading] == items
            assert requests_for(served, f"/v1/{path}") == -(-len(items) // 2)


def test_documents_of_a_run_are_chosen_by_the_server(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many((f"{n}", f"{word} " * 30) for n, word in enumerate("abcdefgh"))
        store.add("last", BREAD)
        run_id = store.get("last").run_id
    with (
        serve(tmp_path / "s.db", "--batch-documents", "2") as served,
        Client(served.url) as client,
    ):
        assert [one.key for one in client.list(run_id=run_id)] == ["last"]
        assert requests_for(served, "/v1/documents") == 1
        assert len(list(client.list(run_id=1))) == 8
        assert requests_for(served, "/v1/documents") == 5


def requests_for(served: Served, path: str) -> int:
    """Return how many requests for lists a server has answered."""
    told = httpx.get(f"{served.url}/metrics", timeout=PATIENCE_SECONDS).text
    counts = [
        int(float(line.rpartition(" ")[2]))
        for line in told.splitlines()
        if line.startswith("simstore_http_requests_total") and f'"{path}"' in line
    ]
    return sum(counts)


def test_keys_that_come_again_are_counted(held: Held) -> None:
    held.add_many([("old", "It was there."), ("new", "It is new.")])
    given: list[Any] = [
        # What was stored before this run is unchanged, then updated: the run lost nothing of its.
        ("old", "It was there."), ("old", "It changes."), ("old", "It changes again."),
        # Versions with their times are no repetitions.
        Document("dated", "One text.", seen_at=1_000), Document("dated", "Another.", seen_at=2_000),
        # What is skipped is not stored, and what it took the place of is lost.
        ("lamp", LAMP), ("copy", "Something else."), ("copy", LAMP), ("copy", "Something new."),
        ("z", "1 2 3"), ("z", "4 5 6"), ("y", "7 8"), ("y", "9 9"), ("z", "5 5"),
    ]  # fmt: skip
    summary = held.add_many(given, batch_documents=3, on_duplicate="skip")
    assert (summary.repeated, summary.repeated_keys) == (5, ("old", "copy", "z"))
    assert held.get("z").key == "z"


def test_keys_are_removed_all_or_none(held: Held) -> None:
    held.add_many((f"page {n}", f"{n}") for n in range(1_100))
    keys = [f"page {n}" for n in range(1_100)]
    with pytest.raises(DocumentNotFound) as caught:
        held.remove(*keys, "never\udcff")
    assert caught.value.key == "never\udcff"
    assert len(held) == 1_100
    done: list[tuple[int, int]] = []
    removed = held.remove(
        *keys, "never", "page 1", missing_ok=True,
        on_progress=lambda count, total: done.append((count, total)),
    )  # fmt: skip
    assert removed == 1_100
    assert done[-1][0] == done[-1][1] >= 1_100
    assert list(held) == []
    assert held.remove() == 0
