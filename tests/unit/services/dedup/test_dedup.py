"""Rows of files without their near-duplicates: the output, also after interrupted runs."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from simstore import Store, dedup_rows, outputs
from simstore.errors import InvalidParameter, StorageError, UnreadableSource
from simstore.rows.lines import LineWriter
from simstore.services.dedup import signed_rows, stored_rows
from simstore.services.dedup.work_files import WorkFiles
from simstore.sources.reader import ReadOptions

WORDS = [f"word{n}" for n in range(3_000)]


def _text(seed: int, changed: int = 0) -> str:
    chosen = random.Random(seed).choices(WORDS, k=80)
    for place in range(changed):
        chosen[place * 17] = f"other{seed}-{place}"
    return " ".join(chosen)


def _rows(count: int = 60) -> list[dict[str, Any]]:
    """Return rows of which every third is a light edit of the one before it, each fifth a copy."""
    rows: list[dict[str, Any]] = []
    for n in range(count):
        of = n - 1 if n % 3 == 2 else n - 5 if n % 5 == 0 and n >= 5 else n
        rows.append({"id": f"k{n}", "text": _text(of, 1 if n % 3 == 2 else 0), "n": n})
    return rows


def _oracle(rows: list[dict[str, Any]], least: float = 0.5) -> list[int | None]:
    """Return which earlier kept row each duplicates, by shingles of three words, one by one."""
    sets = [
        {tuple(words[n : n + 3]) for n in range(len(words) - 2)}
        for words in (row["text"].lower().split() for row in rows)
    ]
    kept: list[int] = []
    result: list[int | None] = []
    for n, one in enumerate(sets):
        shares = [(len(one & sets[k]) / len(one | sets[k]), -k) for k in kept]
        share, place = max(shares, default=(0.0, 0))
        result.append(-place if share >= least else None)
        if share < least:
            kept.append(n)
    return result


def _lines(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    return _rows()


@pytest.fixture
def source(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(_lines(rows)))
    return path


def test_kept_lines_are_the_bytes_of_the_input(
    source: Path, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    summary = dedup_rows(source, tmp_path / "out.jsonl", log=tmp_path / "log.jsonl")
    expected = _oracle(rows)
    lines = _lines(rows)
    kept = [line for line, of in zip(lines, expected, strict=True) if of is None]
    assert (tmp_path / "out.jsonl").read_bytes() == b"".join(kept)
    assert (summary.read, summary.kept) == (len(rows), len(kept))
    told = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert {one["position"]: one["original_position"] for one in told} == {
        n: of for n, of in enumerate(expected) if of is not None
    }
    assert all(0.5 <= one["resemblance"] <= 1 for one in told)
    assert {one.name for one in tmp_path.iterdir()} == {"rows.jsonl", "out.jsonl", "log.jsonl"}


def test_what_another_process_stores_meanwhile_is_seen_before_rows_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = 3

    def ids(numbers: range, words: int) -> list[dict[str, Any]]:
        return [{"id": n, "text": _text(n + words)} for n in numbers]

    # Of the other 4 rows are the same ones, 4 have keys of this one's rows, and 2 are its own.
    here = ids(range(10), 0)
    there = [*here[:4], *ids(range(4, 8), 500), *ids(range(20, 22), 0)]
    for name, some in (("here", here), ("there", there)):
        (tmp_path / f"{name}.jsonl").write_bytes(b"".join(_lines(some)))
    judged: list[int] = []
    real, options = stored_rows._Judging._known, stored_rows.IngestOptions

    def known(self: Any, *arguments: Any) -> Any:
        judged.append(1)
        found = real(self, *arguments)
        if len(judged) == 1:
            with monkeypatch.context() as patched, Store(tmp_path / "s.db") as other:
                patched.setattr(stored_rows._Judging, "_known", real)
                dedup_rows(tmp_path / "there.jsonl", tmp_path / "there.out", store=other)
        return found

    monkeypatch.setattr(stored_rows._Judging, "_known", known)
    monkeypatch.setattr(
        stored_rows, "IngestOptions", lambda **given: options(batch_documents=texts, **given)
    )
    with Store(tmp_path / "s.db") as store:
        dedup_rows(tmp_path / "here.jsonl", tmp_path / "here.out", store=store)
        kept = [
            json.loads(line)["text"]
            for name in ("here", "there")
            for line in (tmp_path / f"{name}.out").read_text().splitlines()
        ]
        assert sorted(one.text or "" for one in store.list()) == sorted(kept)
    assert len(judged) == 2
    assert len(kept) == len(set(kept)) == 16


def test_with_a_store_later_files_lose_what_earlier_had(rows: Any, tmp_path: Path) -> None:
    one, other = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    lines = _lines(rows)
    one.write_bytes(b"".join(lines[:30]))
    # The same ids again, for other texts: two files that number their rows.
    again = [{**row, "id": f"k{n}"} for n, row in enumerate(rows[30:])]
    other.write_bytes(b"".join(_lines(again)) + lines[0])
    with Store(tmp_path / "s.db") as store:
        dedup_rows(one, tmp_path / "1.out", store=store, read=ReadOptions(format="jsonl"))
        summary = dedup_rows(
            other,
            tmp_path / "2.out",
            store=store,
            log=tmp_path / "log",
            read=ReadOptions(format="jsonl"),
        )
    expected = _oracle([*rows[:30], *again, rows[0]])[30:]
    kept = [
        line for line, of in zip([*_lines(again), lines[0]], expected, strict=True) if of is None
    ]
    assert (tmp_path / "2.out").read_bytes() == b"".join(kept)
    assert summary.read == 31
    told = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert told[-1]["duplicate_of"] == "k0"
    assert told[-1]["basis"] == "same"
    assert told[-1]["original_source"] is None


def test_the_longest_or_preferred_row_is_kept(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": _text(1)},
        {"id": "b", "text": _text(1) + " and some more words"},
        {"id": "www", "text": _text(1) + " x"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(_lines(rows)))
    for policy, kept in (("first", 0), ("longest", 1), ("prefer:^www", 2)):
        dedup_rows(path, tmp_path / "out.jsonl", policy=policy, replace=True)
        assert (tmp_path / "out.jsonl").read_bytes() == _lines(rows)[kept]


def test_other_policies_than_the_first_want_files_and_no_store(
    source: Path, tmp_path: Path
) -> None:
    with Store(":memory:") as store, pytest.raises(InvalidParameter, match="a store cannot"):
        dedup_rows(source, tmp_path / "o.jsonl", store=store, policy="longest")
    with pytest.raises(InvalidParameter, match="standard input"):
        dedup_rows("-", tmp_path / "o.jsonl", policy="longest")


def test_files_of_a_folder_are_written_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text(_text(1))
    (tmp_path / "in" / "sub" / "b.txt").write_text(_text(1, 1))
    (tmp_path / "in" / "sub" / "c.txt").write_text(_text(2))
    summary = dedup_rows(tmp_path / "in", tmp_path / "out")
    found = sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.txt"))
    assert found == ["a.txt", os.path.join("sub", "c.txt")]
    assert summary.dropped == 1


@pytest.mark.parquet
def test_parquet_files_end_up_in_a_folder_with_their_types(rows: Any, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pip install '.[parquet]' runs this test")
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "in").mkdir()
    for n, part in enumerate((rows[:30], rows[30:])):
        pq.write_table(pa.Table.from_pylist(part), tmp_path / "in" / f"{n}.parquet")
    dedup_rows(tmp_path / "in", f"{tmp_path}/out/")
    made = [pq.read_table(tmp_path / "out" / f"{n}.parquet") for n in range(2)]
    expected = [row["id"] for row, of in zip(rows, _oracle(rows), strict=True) if of is None]
    assert [*made[0]["id"].to_pylist(), *made[1]["id"].to_pylist()] == expected
    dedup_rows(tmp_path / "in", tmp_path / "one.parquet", mark=True)
    marked = pq.read_table(tmp_path / "one.parquet")
    assert marked.num_rows == len(rows)
    assert str(marked.schema.field("cluster").type) == "int64"


@pytest.mark.parametrize(
    ("name", "field", "on_reject"),
    [("c.csv", None, "keep"), ("c.csv", "body", "drop"), ("c.parquet", None, "drop")],
)
def test_columns_without_the_text_are_refused_before_anything_is_written(
    tmp_path: Path, name: str, field: str | None, on_reject: Any
) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "Rye", "body": "Rye", "b": "Rye"}\n')
    if name.endswith(("csv", "tsv")):
        (tmp_path / name).write_text("id,story\n1,Rye.\n2,Oats.\n")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        table = pyarrow.table({"id": [1, 2], "story": ["Rye.", "Oats."]})
        parquet.write_table(table, str(tmp_path / name))
    before = sorted(tmp_path.iterdir())
    options = ReadOptions(text_field=field)
    with pytest.raises(InvalidParameter, match=rf"{name}: no text: .*story.* \(text_field names"):
        dedup_rows(
            [tmp_path / "a.jsonl", tmp_path / name],
            f"{tmp_path / 'out'}/",
            on_reject=on_reject,
            rejects=tmp_path / "rejects.jsonl",
            read=options,
        )
    assert sorted(tmp_path.iterdir()) == before


class _Stop(Exception):
    """Ends a run, as a signal does."""


STEPS = (
    (WorkFiles, "append"),
    (stored_rows, "ingest_documents"),
    (stored_rows, "mark_written"),
    (LineWriter, "write"),
    (outputs, "publish"),
)


def _stopping(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """End a run at its n-th step, before or after it: noting, storing, writing, publishing."""
    count = 0

    def stopping(real: Any, name: str) -> Any:
        def step(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == after:
                raise _Stop
            made = real(*arguments, **named)
            # Behind the last step the run is done.
            count += name != "mark_written"
            if count == after:
                raise _Stop
            return made

        return step

    for owner, name in STEPS:
        monkeypatch.setattr(owner, name, stopping(getattr(owner, name), name))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("with_store", [False, True])
def test_a_run_that_is_stopped_anywhere_leaves_the_output_whole_and_loses_no_row(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_store: bool
) -> None:
    monkeypatch.setattr("simstore.rows.lines.BATCH_ROWS", 30)
    monkeypatch.setattr(stored_rows, "_GROUP_ROWS", 30)
    dedup_rows(source, tmp_path / "whole.jsonl", log=tmp_path / "whole.log")
    new, old = (tmp_path / "whole.jsonl").read_bytes(), b"an earlier output"
    stages = set()
    for after in range(1, 200):
        place = tmp_path / str(after)
        place.mkdir()
        out, log = place / "out.jsonl", place / "log.jsonl"
        out.write_bytes(old)
        with Store(tmp_path / f"{after}.db") if with_store else Store(":memory:") as store:
            given = store if with_store else None
            with monkeypatch.context() as patched:
                _stopping(patched, after)
                try:
                    dedup_rows(source, out, store=given, log=log, replace=True)
                except _Stop:
                    pass
                else:
                    break
            left = {path.name for path in place.iterdir()}
            assert left in ({"out.jsonl"}, {"out.jsonl", "log.jsonl"}), after
            assert out.read_bytes() in (old, new), after
            stages.add((out.read_bytes() == new, len(left)))
            dedup_rows(source, out, store=given, log=log, replace=True)
            assert out.read_bytes() == new, after
    else:
        pytest.fail("it never came to an end")
    assert stages == {(False, 1), (True, 1), (True, 2)}


def test_a_full_disk_is_reported_and_leaves_the_output_as_it_was(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "out.jsonl"
    out.write_text("an earlier output")
    for owner, name in ((LineWriter, "write"), (WorkFiles, "_file")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, full)
            with pytest.raises(StorageError, match="No space left"):
                dedup_rows(source, out, replace=True)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "rows.jsonl"]
        assert out.read_text() == "an earlier output"


def test_rows_of_an_interrupted_run_are_kept_by_the_same_command_alone(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    with Store(tmp_path / "s.db") as store:
        with monkeypatch.context() as patched:
            patched.setattr(outputs, "publish", _stop)
            with pytest.raises(_Stop):
                dedup_rows(source, out, store=store)
        stored = store.stats().document_count
        assert dedup_rows(source, tmp_path / "other.jsonl", store=store).kept == 0
        assert dedup_rows(source, out, store=store).kept == stored
        # From now on they are known.
        assert dedup_rows(source, out, store=store, replace=True).kept == 0
        sources = [name for run in store.runs.ingest() for name in run.sources]
        assert any(name.endswith(", written") for name in sources)


def test_the_same_command_twice_at_once_writes_complete_outputs(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    monkeypatch.setattr("simstore.rows.lines.BATCH_ROWS", 10)
    monkeypatch.setattr(stored_rows, "_GROUP_ROWS", 20)
    real, written = stored_rows.ingest_documents, []

    def ingest(*arguments: Any, **named: Any) -> Any:
        made = real(*arguments, **named)
        with monkeypatch.context() as patched, Store(tmp_path / "s.db") as other:
            patched.setattr(stored_rows, "ingest_documents", real)
            dedup_rows(source, out, store=other, replace=True)
        monkeypatch.setattr(stored_rows, "ingest_documents", real)
        written.append(out.read_bytes())
        return made

    monkeypatch.setattr(stored_rows, "ingest_documents", ingest)
    with Store(tmp_path / "s.db") as store:
        dedup_rows(source, out, store=store, replace=True)
    dedup_rows(source, tmp_path / "alone.jsonl")
    assert written == [out.read_bytes()] == [(tmp_path / "alone.jsonl").read_bytes()]


def _stop(*_arguments: Any, **_named: Any) -> None:
    raise _Stop


def test_an_input_that_changes_while_it_is_read_is_noticed(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = signed_rows._signed

    def changing(*arguments: Any) -> Any:
        with source.open("ab") as file:
            file.write(b'{"text": "more"}\n')
        return real(*arguments)

    monkeypatch.setattr(signed_rows, "_signed", changing)
    with pytest.raises(UnreadableSource, match="changed since"):
        dedup_rows(source, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("name", ["out.csv", "-"])
def test_no_rows_on_standard_input_are_a_file_without_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    made = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", type("In", (), {"buffer": io.BytesIO()}))
    monkeypatch.setattr(sys, "stdout", type("Out", (), {"buffer": made}))
    summary = dedup_rows("-", "-" if name == "-" else tmp_path / name)
    assert (summary.read, summary.written) == (0, 0)
    assert made.getvalue() == b""
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b""] * (name != "-")


def test_a_copy_of_a_dropped_row_goes_with_it_and_with_a_store_with_what_it_resembles_most(
    tmp_path: Path,
) -> None:
    words = _text(1).split()
    near = [f"new{n}" for n in range(16)] + words[16:]
    nearer = near[:-12] + [f"end{n}" for n in range(12)]
    texts = {"a": words, "b": near, "c": nearer, "copy": near}
    rows = [{"id": key, "text": " ".join(text)} for key, text in texts.items()]
    (tmp_path / "rows.jsonl").write_bytes(b"".join(_lines(rows)))
    told = []
    with Store(tmp_path / "s.db") as store:
        for n, given in enumerate((None, store)):
            log = tmp_path / f"log{n}"
            made = dedup_rows(
                tmp_path / "rows.jsonl", tmp_path / f"{n}",
                store=given, log=log, min_resemblance=0.5,
            )  # fmt: skip
            assert made.kept == 2
            lines = map(json.loads, log.read_text().splitlines())
            told.append({one["key"]: one["duplicate_of"] for one in lines})
    assert told == [{"b": "a", "copy": "a"}, {"b": "a", "copy": "c"}]
