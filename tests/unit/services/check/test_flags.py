"""What hides words is told of documents, papers and passages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simstore import Store
from simstore.model import Document
from simstore.reports.check_html import html_report
from simstore.reports.check_lines import render_jsonl, total_facts

PLAIN = (
    "The ferry leaves the harbour at nine and returns before the evening tide comes in. "
    "Passengers wait on the long pier while the crew loads parcels for the island. "
    "Nobody in the village remembers a winter with so many storms as this one had."
)
# A character that shows nothing in long words of the first sentence, Cyrillic in the second.
HIDDEN = (
    " ".join(
        f"{word[:1]}\u200b{word[1:]}" if len(word) > 2 else word
        for word in PLAIN.split(". ")[0].split()
    )
    + ". "
)
MIXED = PLAIN.split(". ")[1].replace("e", "\u0435").replace("a", "\u0430") + ". "
PAPER = HIDDEN + MIXED + PLAIN.split(". ")[2]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "s.db")
    made.passages.build()
    made.add("source", PLAIN)
    return made


def test_disguised_copy_is_found_and_its_passages_say_what_hides_words(store: Store) -> None:
    checked = store.check(PAPER)
    assert checked.totals.share == 1.0
    assert [passage.kind for passage in checked.passages] == ["high"] * 3
    assert [passage.flags for passage in checked.passages] == [
        ("hidden characters",), ("mixed scripts",), (),
    ]  # fmt: skip
    assert checked.flags == ("hidden characters", "mixed scripts")
    assert checked.text == PAPER


def test_flags_are_in_every_form_of_the_report(store: Store) -> None:
    checked = store.check(PAPER)
    (line,) = render_jsonl([checked])
    record = json.loads(line)
    assert record["flags"] == ["hidden characters", "mixed scripts"]
    assert record["passages"][1]["flags"] == ["mixed scripts"]
    assert ("warning", "it hides words: hidden characters, mixed scripts") in total_facts(checked)
    for lang, said in (("en", "show nothing"), ("zh", "不可见")):
        assert said in html_report([checked], lang=lang, generated_at=0)


def test_plain_paper_has_no_flags(store: Store) -> None:
    checked = store.check(PLAIN)
    assert checked.flags == ()
    assert not any(passage.flags for passage in checked.passages)
    assert "warning" not in dict(total_facts(checked))


def test_document_and_comparison_say_what_hides_words(store: Store) -> None:
    store.add("hidden", PAPER)
    assert store.get("hidden").flags == ("hidden characters", "mixed scripts")
    assert store.get("hidden").text == PAPER
    assert store.get("source").flags == ()
    found = store.compare("source", Document("given", PAPER))
    assert (found.first.flags, found.second.flags) == ((), ("hidden characters", "mixed scripts"))
    (resemblance,) = (m for m in found.measurements if m.algorithm == "resemblance")
    assert set(resemblance.values.values()) >= {1.0}
