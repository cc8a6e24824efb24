"""What is kept in memory answers as the file does, whoever writes meanwhile, and how."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_places import place_of

from simstore.model import Document, QueryOptions, WriteRequest
from simstore.search import sorted_tables
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.services.open_store.open_store import OpenStore
from simstore.storage.engine import Connection
from simstore.store import Store

from .test_batches import new_store
from .test_clusters import TEXTS

few = settings(max_examples=max(settings.default.max_examples // 2, 1))
KEYS = st.sampled_from([f"page {number}" for number in range(8)])
PAGES = st.lists(st.tuples(KEYS, TEXTS), max_size=4)
SCHEMES = st.sampled_from(
    [
        SchemeChoice("web"),
        SchemeChoice("web", bits=100),
        SchemeChoice("web", bits=24, weights="tf-idf"),
    ]
)
Step = tuple[str, Any]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["add", "add", "other adds", "write", "fail"]), PAGES),
        st.tuples(st.sampled_from(["remove", "other removes"]), KEYS),
        st.tuples(st.sampled_from(["pack", "other packs", "ask", "values", "warm"]), st.none()),
    ),
    max_size=12,
)


class _Fails(Exception):
    pass


def fail(store: Store, pages: list[tuple[str, str]]) -> None:
    """Add pages in a transaction that is undone after it has looked at them."""
    opened: OpenStore = store._opened
    begun = opened.write

    @contextmanager
    def undone(*given: Any) -> Iterator[Connection]:
        with begun(*given) as connection:
            yield connection
            raise _Fails

    opened.write = undone  # type: ignore[method-assign]
    try:
        with pytest.raises(_Fails):
            store.add_many([*pages, ("page 0", "what is undone")], on_duplicate="flag", threads=1)
    finally:
        del opened.write  # type: ignore[method-assign]


def matches_of(store: Store, samples: list[str], options: QueryOptions) -> list[Any]:
    asked = [(f"sample {place}", text) for place, text in enumerate(samples)]
    return [one.matches for one in store.query_many(asked, options)]


def values_of(store: Store) -> list[Any]:
    with store.fingerprints.reader() as reader:
        return [reader.count, reader.near(0, reader.bits)]


@pytest.mark.slow
@few
@given(STEPS, st.lists(TEXTS, min_size=1, max_size=5), SCHEMES, st.integers(1, 9))
def test_resident_answers_are_those_of_the_file_after_every_write(
    steps: list[Step], samples: list[str], scheme: SchemeChoice, few_of_all: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, new_store(scheme) as (place, plain):
        for module, name in ((sorted_tables, "_BUFFERED"),):
            patch.setattr(module, name, few_of_all)
        with (
            Store.open(place / "s.db", resident=True, synchronous="normal") as kept,
            kept.runs.writer() as writer,
        ):

            def write(pages: list[tuple[str, str]]) -> None:
                documents = tuple(Document(key, text) for key, text in pages)
                writer.commit(writer.prepare([WriteRequest(documents, "flag", 0.5)]))

            does: dict[str, Callable[[Any], object]] = {
                "add": lambda pages: kept.add_many(pages, on_duplicate="flag", threads=1),
                "other adds": lambda pages: plain.add_many(pages, threads=1),
                "write": write,
                "fail": lambda pages: fail(kept, pages),
                "remove": lambda key: kept.remove(key, missing_ok=True),
                "other removes": lambda key: plain.remove(key, missing_ok=True),
                "pack": lambda _: kept.maintenance.compact(),
                "other packs": lambda _: plain.maintenance.compact(),
                "ask": lambda _: None,
                "values": lambda _: values_of(kept),
                "warm": lambda _: kept.maintenance.warm(),
            }
            for step, given_with in steps:
                does[step](given_with)
                if step == "ask" or len(steps) < 6:
                    for options in (QueryOptions(), QueryOptions(radius=8, limit=2)):
                        wanted = matches_of(plain, samples, options)
                        assert matches_of(kept, samples, options) == wanted
            assert matches_of(kept, samples, QueryOptions()) == matches_of(
                plain, samples, QueryOptions()
            )
            assert values_of(kept) == values_of(plain)


def test_a_snapshot_of_before_is_answered_as_it_is(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db", create=True, resident=True) as store:
        texts = {f"page {n}": f"river stone {n} lamp harbour bridge {n * n}" for n in range(30)}
        store.add_many(texts.items())
        with store.fingerprints.reader() as before:
            count, held = before.count, before.near(0, 64)
            store.remove("page 3")
            store.add("page 4", "another text by far, of other words")
            with store.fingerprints.reader() as after:
                assert after.near(0, 64) != held
            assert before.near(0, 64) == held
            assert len(held) == count


@pytest.mark.slow
def test_what_another_process_writes_is_found_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    program = (
        "import sys\n"
        "from simstore import Store\n"
        f"with Store.open({place_of(path)!r}) as store:\n"
        "    for line in sys.stdin:\n"
        "        key, _, text = line.rstrip().partition('=')\n"
        "        store.add(key, text) if text else store.remove(key)\n"
        "        print(key, flush=True)\n"
    )
    with (
        Store.open(path, create=True, resident=True) as store,
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None

        def tell(line: str) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            print(line, file=process.stdin, flush=True)
            assert process.stdout.readline()

        for number in range(6):
            text = f"the lamp {number} at the harbour bridge {number * 11}"
            assert not store.query(text)
            tell(f"k{number}={text}")
            assert [one.key for one in store.query(text)] == [f"k{number}"]
            store.add(f"own {number}", text + " by us", on_duplicate="flag")
            assert f"own {number}" in [one.key for one in store.query(text + " by us")]
            tell(f"k{number}")
            assert f"k{number}" not in [one.key for one in store.query(text)]
            store.remove(f"own {number}")
        process.stdin.close()
        assert process.wait(60) == 0
