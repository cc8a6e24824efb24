"""What hides words is told of documents, papers and passages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simstore import Store
from simstore.model import Document
from simstore.reports.check_html import html_report
from simstore.reports.check_lines import render_jsonl, total_facts
from simstore.text.separators import letters_between_words

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


def test_flags_are_in_every_form_of_the_report(store: Store) -> None:
    checked = store.check(PAPER)
    (line,) = render_jsonl([checked])
    record = json.loads(line)
    assert record["flags"] == ["hidden characters", "mixed scripts"]
    assert record["passages"][1]["flags"] == ["mixed scripts"]
    assert ("warning", "it hides words: hidden characters, mixed scripts") in total_facts(checked)
    for lang, said in (("en", "show nothing"), ("zh", "不可见")):
        assert said in html_report([checked], lang=lang, generated_at=0)


def test_document_and_comparison_say_what_hides_words(store: Store) -> None:
    store.add("hidden", PAPER)
    assert store.get("hidden").flags == ("hidden characters", "mixed scripts")
    assert store.get("hidden").text == PAPER
    assert store.get("source").flags == ()
    found = store.compare("source", Document("given", PAPER))
    assert (found.first.flags, found.second.flags) == ((), ("hidden characters", "mixed scripts"))
    (resemblance,) = (m for m in found.measurements if m.algorithm == "resemblance")
    assert set(resemblance.values.values()) >= {1.0}


@pytest.mark.parametrize(
    "disguised",
    [
        " ".join(f"{word} x" for word in PLAIN.split()),
        " ".join(f"{word} {'bcdfg'[n % 5]}" for n, word in enumerate(PLAIN.split())),
        PLAIN.replace(" ", "q"),
    ],
)
def test_copy_with_a_letter_between_all_words_is_found_and_flagged(
    store: Store, disguised: str
) -> None:
    checked = store.check(disguised)
    assert checked.totals.share > 0.98
    assert checked.flags == ("letters between words",)
    (warning,) = checked.warnings
    assert warning.count >= PLAIN.count(" ")
    assert warning.spans == tuple((one.start, one.end) for one in checked.passages if one.flags)
    record = json.loads(b"".join(render_jsonl([checked])))
    assert [(one["kind"], one["count"]) for one in record["warnings"]] == [
        ("letters between words", warning.count)
    ]


def test_chinese_copy_with_a_letter_between_all_characters_is_found(store: Store) -> None:
    text = "小镇的清晨从河边的茶馆开始，老人们带着鸟笼慢慢走来，桥上的石板被脚步磨得发亮。"
    store.add("chinese", text)
    checked = store.check("".join(f"{c}k" if c not in "，。" else c for c in text))
    assert checked.totals.share > 0.95
    assert checked.flags == ("letters between words",)


def test_names_with_initials_sequences_and_long_words_are_no_disguise() -> None:
    honest = (
        "Smith J, Jones B, Brown C, Black D, White E, Green F, Gray G, Reed H, King I, Lee K.",
        "A. Smith, B. Jones, C. Brown, D. Black, E. White, F. Green, G. Gray, H. Reed, K. Lee",
        "ACGTACGGTCAAGCT" * 40,
        "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz " * 3,
        "el gato y la casa y el perro y la luna y el sol y un mar y una isla",
        "f ( x ) = a x + b x + c x + d x + e x + g x + h x + i x + j x + k x + l x",
        "股票A和股票B、股票C都涨了，A股、B股、H股分别上涨。",
    )
    for text in honest:
        assert letters_between_words(text) == []
