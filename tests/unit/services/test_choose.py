from __future__ import annotations

from pathlib import Path

import pytest

from simstore.errors import InvalidParameter, SourceNotFound
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.stopwords import ENGLISH
from simstore.fingerprint.web import WebScheme
from simstore.services.choose import SchemeChoice, choice_for_folder, make_scheme
from simstore.store import create_for_folder


def test_defaults_of_the_schemes() -> None:
    web = make_scheme(SchemeChoice())
    assert isinstance(web, WebScheme)
    assert (web.bits, web.weights, web.tie, web.stopwords) == (64, "log-tf", "zero", frozenset())
    simtool = make_scheme(SchemeChoice("simtool"))
    assert isinstance(simtool, SimtoolScheme)
    assert (simtool.bits, simtool.ranked_features, simtool.stopwords) == (64, 1000, ENGLISH)


def test_options_reach_the_scheme(tmp_path: Path) -> None:
    (tmp_path / "stop").write_bytes(b"One TWO")
    (tmp_path / "rows").write_bytes(b"0101\n1100\n")
    simtool = make_scheme(
        SchemeChoice(
            "simtool", 3, 2, hash_table=str(tmp_path / "rows"), stopwords=str(tmp_path / "stop")
        )
    )
    assert isinstance(simtool, SimtoolScheme)
    assert (simtool.bits, simtool.ranked_features) == (3, 2)
    assert simtool.stopwords == {b"one", b"two"}
    assert simtool.packed_hash_table() == b"\x40\xc0"
    for name, expected in (("builtin", ENGLISH), ("none", frozenset())):
        for scheme in ("web", "simtool"):
            made = make_scheme(SchemeChoice(scheme, stopwords=name))
            assert made.stopwords == expected  # type: ignore[attr-defined]


def test_stop_words_of_any_language_stop_their_terms(tmp_path: Path) -> None:
    (tmp_path / "stop").write_text("Über\nnaïve\nΚΑΙ Ｔｈｅ", encoding="utf-8")
    scheme = make_scheme(SchemeChoice("web", stopwords=str(tmp_path / "stop")))
    counts = scheme.count(["über NAÏVE και the THE cat"])
    assert counts.terms == (b"cat",)


@pytest.mark.parametrize(
    "choice",
    [
        SchemeChoice("other"),
        SchemeChoice("web", features=5),
        SchemeChoice("web", hash_table="rows"),
        SchemeChoice("simtool", weights="tf"),
        SchemeChoice("simtool", tie="one"),
        SchemeChoice("web", bits=0),
        SchemeChoice("web", bits=129),
        SchemeChoice("web", weights="df"),
        SchemeChoice("simtool", bits=0),
        SchemeChoice("simtool", features=0),
        SchemeChoice("simtool", features=-1, hash_table="rows"),
        SchemeChoice("simtool", bits=200, hash_table="rows"),
    ],
)
def test_option_that_does_not_fit_is_refused(choice: SchemeChoice) -> None:
    with pytest.raises(InvalidParameter):
        make_scheme(choice)


def test_missing_files_are_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "nothing")
    for choice in (
        SchemeChoice("web", stopwords=missing),
        SchemeChoice("simtool", hash_table=missing),
    ):
        with pytest.raises(SourceNotFound) as raised:
            make_scheme(choice)
        assert raised.value.name == missing


def test_folder_with_the_course_files_gets_their_scheme(tmp_path: Path) -> None:
    assert choice_for_folder(tmp_path) == SchemeChoice("web")
    (tmp_path / "hashvalue.txt").write_bytes(b"01" * 64 + b"\n")
    assert choice_for_folder(tmp_path).name == "web"
    (tmp_path / "stopwords.txt").write_bytes(b"the")
    choice = choice_for_folder(tmp_path)
    assert (choice.name, choice.features, choice.bits) == ("simtool", None, None)
    with pytest.raises(InvalidParameter, match="line 2"):
        create_for_folder(tmp_path / "s.db", tmp_path)
    assert not (tmp_path / "s.db").exists()
    (tmp_path / "hashvalue.txt").write_bytes((b"01" * 64 + b"\n") * 1000)
    store, _ = create_for_folder(tmp_path / "s.db", tmp_path)
    with store:
        assert store.scheme()["features"] == 1000
        assert store.scheme()["bits"] == 64
