from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from simstore.errors import InvalidParameter, MissingExtra
from simstore.fingerprint.schemes import ExternalScheme, open_scheme
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.stopwords import ENGLISH
from simstore.fingerprint.web import WebScheme
from simstore.services.maintenance.scheme_choice import (
    SchemeChoice,
    choice_for_folder,
    differences,
    make_scheme,
)
from simstore.sources.course import read_hash_table


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


def test_option_that_does_not_fit_is_refused() -> None:
    for choice in [
        SchemeChoice("other"),
        SchemeChoice("web", features=5),
        SchemeChoice("web", hash_table="rows"),
        SchemeChoice("simtool", weights="tf"),
        SchemeChoice("simtool", tie="one"),
        SchemeChoice("simtool", fields=("a:enum:b,c:1",)),
        SchemeChoice("simtool", han="simplified"),
        SchemeChoice("simtool", shingle=2),
        SchemeChoice("web", feature_hash="sha1"),
        SchemeChoice("web", tie="two"),
        SchemeChoice("web", shingle=65),
        SchemeChoice("web", units="characters", stem="english"),
        SchemeChoice("web", units="characters", segmenter="jieba"),
        SchemeChoice("web", segmenter="other"),
        SchemeChoice("web", stem="klingon"),
        SchemeChoice("web", units="bytes"),
        SchemeChoice("web", shingle=0),
        SchemeChoice("web", han="traditional"),
        SchemeChoice("web", fields=("lang",)),
        SchemeChoice("web", units="characters", stopwords="builtin"),
        SchemeChoice("web", stopwords="builtin:klingon"),
        SchemeChoice("web", bits=0),
        SchemeChoice("web", bits=129),
        SchemeChoice("web", weights="df"),
        SchemeChoice("simtool", bits=0),
        SchemeChoice("simtool", features=0),
        SchemeChoice("simtool", features=-1, hash_table="rows"),
        SchemeChoice("simtool", bits=200, hash_table="rows"),
    ]:
        with pytest.raises(InvalidParameter):
            make_scheme(choice)


def test_every_option_of_web_reaches_the_scheme_and_comes_back(tmp_path: Path) -> None:
    choice = SchemeChoice(
        "web", 100, weights="tf-idf", tie="one", feature_hash="hanzi", segmenter="min-cut",
        shingle=2, stem="german", case="keep", width="keep", accents="strip", han="simplified",
        fields=("lang:enum:en,fr:2", "kind:enum:a,b,c:1"), stopwords="builtin:de",
    )  # fmt: skip
    made = make_scheme(choice)
    assert isinstance(made, WebScheme)
    assert made.parameters() | {"dictionary": "", "stemmer": ""} == {
        "weights": "tf-idf", "tie": "one", "feature_hash": "hanzi", "segmenter": "min-cut",
        "shingle": 2, "stem": "german", "dictionary": "", "stemmer": "",
        "fields": ["lang:enum:en,fr:2", "kind:enum:a,b,c:1"],
        "normalization": {"case": "keep", "width": "keep", "accents": "strip",
                          "han": "simplified", "disguises": "fold", "opencc": version("opencc")},
    }  # fmt: skip
    assert b"und" in made.stopwords
    again = open_scheme(made.record())
    assert again.record() == made.record()
    assert make_scheme(SchemeChoice("web")).parameters() == {
        "weights": "log-tf", "tie": "zero", "feature_hash": "xxh3",
    }  # fmt: skip


def test_missing_stop_words_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    with pytest.raises(MissingExtra, match=r"needs the extra 'stopwords': "):
        make_scheme(SchemeChoice("web", stopwords="builtin:de"))


@pytest.fixture
def course(tmp_path: Path) -> Path:
    (tmp_path / "hashvalue.txt").write_bytes((b"01" * 64 + b"\n") * 1000)
    (tmp_path / "stopwords.txt").write_bytes(b"the")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "is_named", "name", "used", "unused"),
    [
        (SchemeChoice(bits=64), False, "simtool", "hs", ""),
        (SchemeChoice("simtool", bits=16), True, "simtool", "hs", ""),
        (SchemeChoice(stopwords="HERE/stopwords.txt"), False, "simtool", "h", ""),
        (SchemeChoice(hash_table="builtin"), False, "simtool", "s", "h"),
        (SchemeChoice(stopwords="none"), False, "simtool", "h", "s"),
        (SchemeChoice("web"), True, "web", "", "hs"),
        (SchemeChoice("web", stopwords="HERE/stopwords.txt"), True, "web", "", "h"),
        # What only web has is refused, not a reason to choose it.
        (SchemeChoice(shingle=2), False, "simtool", "hs", ""),
    ],
)
def test_options_refine_the_choice_for_a_folder(
    course: Path, given: SchemeChoice, is_named: bool, name: str, used: str, unused: str
) -> None:
    files = {"h": "hashvalue.txt", "s": "stopwords.txt"}
    if given.stopwords:
        given = replace(given, stopwords=given.stopwords.replace("HERE", str(course)))
    if given.hash_table:
        given = replace(given, hash_table=given.hash_table.replace("HERE", str(course)))
    found = choice_for_folder(course, given, is_named=is_named)
    assert found.choice.name == name
    assert found.used == tuple(files[letter] for letter in used)
    assert found.unused == tuple(files[letter] for letter in unused)
    if given.shingle:
        with pytest.raises(InvalidParameter, match=r"shingle=\.\.\. is an option of the scheme"):
            make_scheme(found.choice)
        return
    made = make_scheme(found.choice)
    assert made.bits == (given.bits or 64)
    if name == "simtool":
        table = read_hash_table(course / "hashvalue.txt", given.features or 1000, made.bits)
        is_built_in = given.hash_table == "builtin"
        assert isinstance(made, SimtoolScheme)
        expected = SimtoolScheme(
            given.features or 1000,
            made.bits,
            hash_rows=None if is_built_in else table,
            stopwords=frozenset() if given.stopwords == "none" else frozenset([b"the"]),
        )
        assert made.record() == expected.record()


def test_option_of_a_store_that_stands_is_compared_alone() -> None:
    for option, given, other, said in [
        ("bits", 100, 64, "--bits is 100"),
        ("weights", "tf", "log-tf", "--weights is tf"),
        ("tie", "one", "zero", "--tie is one"),
        ("feature_hash", "md5", "xxh3", "--feature-hash is md5"),
        ("units", "characters", "words", "--units is characters"),
        ("shingle", 3, 1, "--shingle is 3"),
        ("segmenter", "forward-max", "chars", "--segmenter is forward-max"),
        ("stem", "german", "none", "--stem is german"),
        ("stopwords", "builtin", "none", "--stopwords are others"),
        ("fields", ("lang:enum:en,fr:3",), ("a:enum:b:1",), "--field is lang:enum:en,fr:3"),
    ]:
        bits = {} if option == "bits" else {"bits": 100}
        standing = make_scheme(SchemeChoice("web", **bits, **{option: given}))
        assert differences(SchemeChoice("web"), standing) == []
        assert differences(SchemeChoice("web", **{option: given}), standing) == []
        assert differences(SchemeChoice("web", **{option: other}), standing) == [said]


def test_flag_of_a_store_that_stands_is_compared_alone() -> None:
    for options, said in [
        ({"case": "keep"}, "--keep-case was not given"),
        ({"width": "keep"}, "--keep-width was not given"),
        ({"accents": "strip"}, "--strip-accents was not given"),
        ({"han": "simplified"}, "--fold-han was not given"),
        ({"han": "simplified-words"}, "--fold-han-words was not given"),
    ]:
        if "han" in options:
            pytest.importorskip("opencc")
        choice = SchemeChoice("web", **options)  # type: ignore[arg-type]
        assert differences(choice, make_scheme(choice)) == []
        assert differences(choice, make_scheme(SchemeChoice("web"))) == [said]


def test_files_of_a_store_that_stands_are_compared_by_what_they_hold(tmp_path: Path) -> None:
    table, other, words = tmp_path / "rows", tmp_path / "other", tmp_path / "words"
    table.write_bytes(b"0101\n1100\n")
    other.write_bytes(b"0101\n1110\n")
    words.write_bytes(b"and\nthe\n")
    choice = SchemeChoice("simtool", 3, 2, hash_table=str(table), stopwords=str(words))
    standing = make_scheme(choice)
    assert differences(choice, standing) == []
    # N and M, which say how much of the table is read, are those that stand.
    assert differences(SchemeChoice("simtool", hash_table=str(table)), standing) == []
    chosen = SchemeChoice("simtool", hash_table=str(other), stopwords="builtin", features=1)
    assert differences(chosen, standing) == ["--features is 2", "--stopwords are others"]
    chosen = SchemeChoice("simtool", hash_table=str(other))
    assert differences(chosen, standing) == ["--hash-table is another"]
    assert differences(SchemeChoice("web"), standing) == ["--scheme is simtool"]
    assert differences(SchemeChoice("web"), ExternalScheme(64)) == ["it holds fingerprints alone"]
    with pytest.raises(InvalidParameter, match="scheme web"):
        differences(SchemeChoice("simtool", shingle=2), standing)
