"""Patterns that callers give: they mean what Python's mean, and never explode."""

from __future__ import annotations

import re

import pytest

from simstore.errors import InvalidParameter
from simstore.text.patterns import LONGEST_EXPRESSION, LONGEST_GLOB, MOST_GLOBS, Expression, Globs

SUPPORTED = (
    r"^https?://(www\.)?example\.org/", r"\d{3}", r"\w+@\w+", r"a$", r"(?m)^b$", r"[\w.-]+\Z",
    r"[]a]", r"[^]a]", r"[$]", r"a{,3}b", r"a{,}b", "é", r"(?i)É", r"\é", r"\x41", r"\u00e9",
    r"\N{LATIN SMALL LETTER E WITH ACUTE}", r"[\d\s]x", r"\S+\s\S", r"(?P<name>a)b", r"[\b]",
    r"\0", r"[\101]", "^.$", "[^a]$", "\udcff", "[\udcff]", r"\ ", "x{a}", "a{", r"(?s)a.b",
    r"[a\]]b", r"[\\]", r"\$", r"^[^\d]+$", r"[\D]", r"\W\t", "^.{2}$",
)  # fmt: skip
TEXTS = (
    "", "a", "b", "ab", "a\n", "a\nb", "é", "É", "aé1", "https://example.org/x", "1２3", "x@y",
    "é@ü", "\udcff", "a\udcff", "]", "aaab", "A", "\b", "\0", "a.b", "a b", "a\xa0b", "1x", " x",
    "x{a}", "a{", "a]b", "\\", "$", "x\u2028y", "一二", "Ⅷ", "٣", "a\x1cb", "_", "-\t",
    "\U00020000",
)  # fmt: skip


def test_an_expression_means_what_it_means_to_python() -> None:
    for expression in SUPPORTED:
        found = Expression(expression, "rule")
        compiled = re.compile(expression)
        for text in TEXTS:
            assert found.is_in(text) == (compiled.search(text) is not None), text


def test_what_is_not_supported_is_refused_and_told() -> None:
    for expression, reason in (
        ("(?=a)", "look-around"),
        (r"(a)\1", "refers to a group"),
        ("(?P<n>a)(?P=n)", "(?P"),
        ("a++", "possessive"),
        ("(?>a)", "atomic"),
        (r"\bx", r"(^|\W)"),
        (r"\Bx", r"\w"),
        (r"[\W]", r"[^\w...]"),
        (r"[\S]", r"[^\s...]"),
        (r"\q", r"\q"),
        ("[a", "no end"),
        ("(", "missing )"),
        ("*", "repetition"),
        ("x{1001}", "1001"),
        ("(?x)a", "(?x"),
        ("\\", "backslash"),
        (r"\x4", "2 hexadecimal"),
        (r"\xzz", "invalid literal"),
        (r"\UFFFFFFFF", "no character"),
        (r"\N{NO SUCH NAME}", "NO SUCH NAME"),
        ("x" * (LONGEST_EXPRESSION + 1), "longer than 1,000"),
        (r"\w" * 100, "too large"),
        ("((a{1,100}){1,100}){1,100}", "repetition"),
        ("(" * 500 + ")" * 499, "missing )"),
    ):
        with pytest.raises(InvalidParameter, match=r"^rule: no regular expression") as refused:
            Expression(expression, "rule")
        assert reason in str(refused.value), expression


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="surrogate"):
        Expression("\ud800", "rule")


def test_what_backtracking_never_ends_with_is_answered() -> None:
    for expression in ("(.+)+@", "(a|a)*b", "(a*)*b", "(.*a){20}b"):
        assert not Expression(expression, "rule").is_in("a" * 100_000), expression


def test_globs_fit_whole_names_byte_by_byte() -> None:
    globs = Globs(("a*", "[!b]?", "exact", "*" + "?*" * 400 + "z"))
    for name, fits in (
        (b"a", True), (b"a\nb", True), (b"xy", True), (b"by", False), (b"exact", True),
        (b"exactly", False), ("é".encode(), True), (b"\xffz", True), (b"b" * 5_000, False),
    ):  # fmt: skip
        assert globs.fit(name) == fits, name


@pytest.mark.slow
def test_too_many_or_too_long_globs_are_refused() -> None:
    # A key that is no pattern may be of any length.
    assert Globs(("x" * 5_000,) * MOST_GLOBS).fit(b"x" * 5_000)
    with pytest.raises(InvalidParameter, match="1,001 patterns: at most 1,000"):
        Globs(("x",) * (MOST_GLOBS + 1))
    with pytest.raises(InvalidParameter, match="at most 1,000"):
        Globs(("*" * (LONGEST_GLOB + 1),))
