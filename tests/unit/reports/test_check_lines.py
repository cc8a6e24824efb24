import csv
import io
import json
from dataclasses import replace

from checked_papers import english_paper

from simstore.model import Copy
from simstore.reports.check_lines import (
    listed_sources,
    render_csv,
    render_jsonl,
    source_rows,
)


def test_jsonl_has_a_line_a_paper_with_totals_sources_cases_copies_and_passages():
    paper = english_paper()
    (line,) = b"".join(render_jsonl([paper])).splitlines()
    record = json.loads(line)
    assert record["totals"]["copied"] == paper.totals.copied
    assert [source["key"] for source in record["sources"]] == [s.key for s in paper.sources]
    assert record["other_sources"] == 0
    assert [(c["start"], c["end"]) for c in record["copies"]] == [
        (copy.start, copy.end) for copy in paper.copies
    ]
    assert [(c["start"], c["source"], c["copies"]) for c in record["cases"]] == [
        (case.start, case.source_key, list(case.copies)) for case in paper.cases
    ]
    assert record["totals"]["identical"] == paper.totals.identical
    assert [p["kind"] for p in record["passages"]] == [p.kind for p in paper.passages]
    assert all(p["copy"] is None or p["copy"] < len(paper.copies) for p in record["passages"])


def test_csv_has_a_row_a_case_with_its_text():
    paper = english_paper()
    rows = list(csv.DictReader(io.StringIO(b"".join(render_csv([paper, paper])).decode())))
    assert len(rows) == 2 * len(paper.cases) > 2
    for row, case in zip(rows, paper.cases * 2, strict=True):
        assert (int(row["start"]), int(row["end"])) == (case.start, case.end)
        assert (int(row["source_start"]), row["source"]) == (case.source_start, case.source_key)
        assert row["text"] == " ".join(paper.text[case.start : case.end].split())
        assert row["among"] == "library"
        assert int(row["identical"]) == case.identical
    titles = {source.key: source.title for source in paper.sources}
    assert rows[0]["title"] == titles[rows[0]["source"]]


def test_keys_of_any_bytes_are_written_as_text():
    paper = english_paper()
    hostile = '\udcff<"&\x01'
    odd = replace(
        paper,
        key=hostile,
        copies=(
            Copy(
                start=0,
                end=1,
                source_key=hostile,
                source_document_id=1,
                source_start=0,
                source_end=1,
                similarity=1.0,
                evidence="text",
                blocks=(),
                source_text="\udcff\ud800",
            ),
        ),
        passages=(),
        cases=(replace(paper.cases[0], source_key=hostile, copies=(0,)),),
    )
    row = b"".join(render_csv([odd])).decode()
    assert '\\xff<""&\\x01' in row
    record = json.loads(b"".join(render_jsonl([odd])))
    assert record["paper"] == '\\xff<"&\x01'
    assert record["paper_base64"]


def test_primary_sources_are_listed_and_the_others_counted():
    paper = english_paper()
    first, *rest = paper.sources
    others = tuple(replace(one, order=None, added=0, added_share=0.0) for one in rest)
    paper = replace(paper, sources=(replace(first, order=1, added_share=0.5), *others))
    assert listed_sources(paper) == ([paper.sources[0]], len(rest))
    assert listed_sources(paper, all_sources=True) == (list(paper.sources), 0)
    record = json.loads(b"".join(render_jsonl([paper])))
    assert [source["key"] for source in record["sources"]] == [first.key]
    assert record["other_sources"] == len(rest)
    whole = json.loads(b"".join(render_jsonl([paper], all_sources=True)))
    assert len(whole["sources"]) == len(paper.sources)
    assert [row[1] for row in source_rows(paper, all_sources=True)] == ["50.0%", *[""] * len(rest)]
    # Without primary ones (a result of an older version) all are listed.
    assert listed_sources(replace(paper, sources=others)) == (list(others), 0)
