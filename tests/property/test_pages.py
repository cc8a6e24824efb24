"""The quick forms of reading pages against plain ones: links joined, elements that stand open."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from hypothesis import example, given
from hypothesis import strategies as st

from simstore.sources.web_pages import _FLAT, _FORMATTING, _TAGS, _deepest, joined_address

FORMATTING = re.compile(
    r"<(/?)(a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s>])", re.IGNORECASE
)
ANY = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
addresses = st.lists(
    st.sampled_from(
        ["../", "./", "/", "..", ".", "a", "b.html", "?", "q=1", "#", ":", ";", "%20", " ", "é",
         "//", "-", "a/b", "x" * 700, "\n", "http://", "e.example"]
    ),
    max_size=8,
).map("".join)  # fmt: skip
bases = st.one_of(
    st.none(),
    addresses.map("https://e.example".__add__),
    addresses.map("https://e.example/".__add__),
    st.just("https://e.example/a/b/c/d.html?q=/../x"),
)
tags = st.lists(
    st.one_of(
        st.sampled_from(
            ["<b>", "</b>", "<B ", "<big>", "<bigger>", "<small\n", "</STRONG>", "<s>", "<span>",
             "<strike>", "<font color=1>", "<a href='<i>'>", "<aig>", "<div>", "</div>", "<p>",
             "<br>", "<", "/", ">", "<tt>", "<td>", "<table", "<em", "<code>", "<nobr>", "<u>"]
        ),
        st.text(max_size=3),
    ),
    max_size=40,
).map("".join)  # fmt: skip


def joined_by_urllib(base: str | None, target: str) -> str | None:
    """Return what a link leads to, by the library alone."""
    target = target.strip(" \t\r\n\f").partition("#")[0]
    try:
        address = urljoin(base or "", target)
        parts = urlsplit(address)
    except ValueError:
        return None
    is_usable = parts.scheme in ("http", "https") and parts.netloc and len(address) <= 2_000
    return address if target and is_usable else None


@given(bases, addresses)
@example("https://e.example/", "../../x")
@example("https://e.example/a/b", "/c/../d")
@example("https://e.example/a/b", "http://e.example/a?q=..#x")
def test_links_are_joined_as_by_the_library(base: str | None, target: str) -> None:
    if len(target) <= 1_500:
        assert joined_address(base, target) == joined_by_urllib(base, target)


def open_at_most(tags: re.Pattern[str], markup: str) -> int:
    """Return how many elements are open at most, counted tag by tag."""
    count = most = 0
    for closing, name in tags.findall(markup):
        if name.lower() not in _FLAT:
            count = max(0, count + (-1 if closing else 1))
            most = max(most, count)
    return most


@given(tags)
def test_depth_of_elements_is_that_of_the_plain_count(markup: str) -> None:
    assert _deepest(_TAGS.findall(markup), 0) == open_at_most(ANY, markup)
    assert _deepest(_FORMATTING.findall(markup), 0) == open_at_most(FORMATTING, markup)
