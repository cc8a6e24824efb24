import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

from checked_papers import english_paper

from simstore.model import Copy, MutualCheck, MutualPair
from simstore.reports.anonymous import unnamed
from simstore.reports.check_lines import (
    listed_sources,
    pair_rows,
    render_csv,
    render_jsonl,
    render_pan,
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


def mutual_of(paper):
    """The paper, and a copy of it as the other one, each with the other as its only source."""
    held = []
    for number, key in enumerate(("a.txt", "b.txt")):
        other = ("b.txt", "a.txt")[number]
        held.append(
            replace(
                paper,
                key=key,
                sources=(replace(paper.sources[0], key=other, document_id=1 - number),),
                cases=(replace(paper.cases[0], source_key=other, source_document_id=1 - number),),
                copies=(replace(paper.copies[0], source_key=other, source_document_id=1 - number),),
            )
        )
    pair = MutualPair(
        first=0, second=1, first_key="a.txt", second_key="b.txt", share=0.5, second_share=0.25,
        own_share=0.125, second_own_share=0.0,
        characters=10, identical=8, identical_share=0.4, cases=1,
    )  # fmt: skip
    return MutualCheck(papers=tuple(held), pairs=(pair,))


def test_names_of_papers_are_in_no_form_where_they_are_left_out():
    paper = english_paper()
    named = [replace(paper, key="a.txt"), replace(paper, key="b.txt")]
    papers, mutual = unnamed(named, mutual_of(paper))
    held = list(papers)
    said = b"".join([*render_jsonl(held, mutual), *render_csv(held, mutual), *render_pan(held)])
    assert b"a.txt" not in said
    assert b"b.txt" not in said
    assert paper.title.encode() not in said
    assert b"paper 2" in said
    assert pair_rows(mutual)[0][-2:] == ("paper 1", "paper 2")
    assert paper.sources[0].key.encode() in said


def test_pan_has_a_feature_a_case():
    paper = english_paper()
    first, second, *others = paper.cases
    joined = replace(first, end=second.end, source_end=900, copies=(*first.copies, *second.copies))
    paper = replace(paper, cases=(joined, *others))
    root = ElementTree.fromstring(b"".join(render_pan([paper])))  # noqa: S314 - our own output
    assert root.tag == "document"
    assert root.attrib == {"reference": paper.key}
    features = [feature.attrib for feature in root]
    assert [int(f["this_offset"]) for f in features] == [case.start for case in paper.cases]
    assert [int(f["source_offset"]) + int(f["source_length"]) for f in features] == [
        case.source_end for case in paper.cases
    ]


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
    root = ElementTree.fromstring(b"".join(render_pan([odd])))  # noqa: S314
    assert root[0].attrib["source_reference"] == '\\xff<"&\\x01'
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
