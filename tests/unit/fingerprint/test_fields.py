from __future__ import annotations

import pytest

from simstore.errors import InvalidParameter
from simstore.fingerprint.schemes import open_scheme
from simstore.fingerprint.simhash import to_integers
from simstore.fingerprint.web import EnumeratedField, WebScheme

LANGUAGES = EnumeratedField("lang", ("en", "fr", "zh", "de", "el"), 3)


def made(scheme: WebScheme, text: str, metadata: dict[str, object]) -> int:
    return to_integers(scheme.fingerprints(scheme.count([text], [metadata])))[0]


def test_code_of_the_slides() -> None:
    for count, place, expected in (
        (2, 1, 0xFFFFFFFFFFFFFFFF),
        (3, 2, 0xAAAAAAAAAAAAAAAA),
        (5, 1, 0x9249249249249249),
        (5, 4, 0x4924924924924924),
        (7, 6, 0x6DB6DB6DB6DB6DB6),
        (8, 7, 0xFFFFFFFFFFFFFFFF),
        (100, 1, 0x8102040810204081),
        (100, 99, 0xE3C78F1E3C78F1E3),
    ):
        # Printed by the slides' getSimHash(MatterType), compiled and run by OpenJDK 17.
        names = tuple(str(n) for n in range(count))
        field = EnumeratedField.parse(f"n:enum-slides:{','.join(names)}:1")
        assert str(field) == f"n:enum-slides:{','.join(names)}:1", count
        assert field.hashes(64)[f"n={place}"] == expected, count


def test_value_weighs_as_much_as_so_many_words() -> None:
    for weights in ("log-tf", "tf", "uniform"):
        for weight, expected in ((1, 0), (2, 2**64 - 1)):
            # The word's bits against the value's 64 ones: the heavier one decides.
            scheme = WebScheme(weights=weights, fields=[EnumeratedField("x", ("n", "y"), weight)])
            word = made(scheme, "boats", {})
            both = made(scheme, "boats", {"x": "y"})
            assert both == (word if weight == 1 else expected), weights


def test_document_without_a_listed_value_has_no_such_feature() -> None:
    for metadata in ({}, {"lang": "it"}, {"lang": None}, {"lang": ["en"]}, {"other": "en"}):
        scheme = WebScheme(fields=[LANGUAGES])
        assert made(scheme, "the boats came in", metadata) == made(
            WebScheme(), "the boats came in", {}
        ), metadata
        assert made(scheme, "the boats came in", {"lang": "zh"}) != made(
            scheme, "the boats came in", {}
        ), metadata


def test_numbers_and_truth_values_are_written_as_in_json() -> None:
    field = EnumeratedField("v", ("1", "true", "2.5"))
    assert [field.term_of({"v": v}) for v in (1, True, 2.5, "1", False, 2)] == [
        "v=1", "v=true", "v=2.5", "v=1", None, None,
    ]  # fmt: skip


def test_no_text_has_the_feature_of_a_field() -> None:
    scheme = WebScheme(fields=[LANGUAGES])
    counts = scheme.count(["lang=en lang = en =", "==="], [{}, {"lang": "en"}])
    columns, _ = counts.row(0)
    assert b"lang=en" not in [counts.terms[column] for column in columns]
    columns, _ = counts.row(1)
    assert b"lang=en" in [counts.terms[column] for column in columns]


def test_field_comes_back_from_its_description() -> None:
    field = EnumeratedField("k", ("a:b", "c"), 7)
    assert str(field) == "k:enum:a:b,c:7"
    assert EnumeratedField.parse(str(field)) == field
    scheme = WebScheme(fields=[LANGUAGES, field])
    opened = open_scheme(scheme.record())
    assert opened.reads_metadata
    assert opened.record() == scheme.record()
    assert len(scheme.known_answers()) == len(WebScheme().known_answers()) + 4


def test_field_that_is_not_described_well_is_refused() -> None:
    for text in (
        "lang",
        "lang:enum",
        "lang:enum:a,b",
        "lang:text:a,b:1",
        "lang:enum:a,b:x",
        "lang:enum:a,b:-1",
        "lang:enum:a,b:0",
        "lang:enum:a,b:1000001",
        "lang:enum:a,,b:1",
        "lang:enum:a,a:1",
        "lang:enum::1",
        ":enum:a,b:1",
        "-:enum:a,b:1",
        "lang:enum:a,b:1.5",
        "lang:enum:a,b:",
    ):
        with pytest.raises(InvalidParameter, match="field"):
            EnumeratedField.parse(text)


def test_fields_that_the_fingerprint_cannot_hold_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="2 bits cannot tell 5 values apart"):
        WebScheme(2, fields=[LANGUAGES])
    with pytest.raises(InvalidParameter, match="named twice"):
        WebScheme(fields=[LANGUAGES, LANGUAGES])
