import json
from dataclasses import replace
from xml.etree import ElementTree

from checked_papers import english_paper

from simstore.model import Copy
from simstore.reports.check_lines import (
    listed_sources,
    passage_rows,
    render_jsonl,
    render_pan,
    source_rows,
    total_facts,
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


def test_pan_of_several_papers_and_of_none_is_one_document():
    paper = english_paper()
    root = ElementTree.fromstring(b"".join(render_pan([paper] * 3)))  # noqa: S314
    assert [child.tag for child in root] == ["document"] * 3
    assert not len(ElementTree.fromstring(b"".join(render_pan([]))))  # noqa: S314


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


def test_the_table_tells_totals_and_passages_that_are_like_a_source():
    paper = english_paper()
    facts = dict(total_facts(paper))
    totals = paper.totals
    assert facts["copied"].startswith(f"{totals.share:.1%} ({totals.copied:,} of ")
    assert facts["with what is excluded"] == f"{totals.share_with_excluded:.1%}"
    plain = replace(paper, totals=replace(totals, share_with_excluded=totals.share))
    assert "with what is excluded" not in dict(total_facts(plain))
    rows = passage_rows(paper)
    assert len(rows) == sum(passage.kind != "none" for passage in paper.passages)
    # A terminal cuts what is long, and says so; a file gets all.
    told = [passage for passage in paper.passages if passage.kind != "none"]
    texts = (" ".join(paper.text[one.start : one.end].split()) for one in told)
    assert [row[-1] for row in rows] == list(texts)


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
