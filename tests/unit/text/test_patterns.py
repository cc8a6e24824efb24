"""Patterns that callers give: RE2's expressions and globs, which never explode."""

from __future__ import annotations

import pytest

from simstore.errors import InvalidParameter
from simstore.text.patterns import LONGEST_EXPRESSION, LONGEST_GLOB, MOST_GLOBS, Expression, Globs


def test_an_expression_finds_what_it_names() -> None:
    for expression, text, is_in in (
        (r"^https?://(www\.)?example\.org/", "https://example.org/x", True),
        (r"^https?://(www\.)?example\.org/", "https://example.com/example.org/", False),
        (r"\bb\d$", "a b1", True),
        ("(?i)É", "é", True),
        ("^.$", "\udcff", True),
    ):
        assert Expression(expression, "rule").is_in(text) == is_in, expression


def test_what_is_no_expression_is_refused_with_the_reason() -> None:
    for expression, reason in (
        ("(?=a)", "(?="),
        (r"(a)\1", r"\1"),
        ("[a", "missing ]"),
        ("(", "missing )"),
        ("*", "repetition"),
        ("x" * (LONGEST_EXPRESSION + 1), "longer than 1,000"),
        (r"\pL" * 100, "too large"),
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
