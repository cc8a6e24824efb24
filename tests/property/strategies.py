"""Hypothesis strategies that the property tests share."""

from __future__ import annotations

from hypothesis import strategies as st

MAX_BITS = 128

# Few words and few keys, so that documents repeat, resemble one another and tie in rank.
WORDS = (
    "river", "stone", "lamp", "harbour", "bridge", "the", "of", "a", "Río", "灯", "42",
    "stone's",
)  # fmt: skip
KEYS = (*(f"page {n}" for n in range(8)), "caf\udce9", "café")

bits = st.integers(1, MAX_BITS)
usual_bits = st.sampled_from([1, 3, 15, 16, 17, 32, 48, 63, 64, 65, 80, 100, 127, 128])


@st.composite
def bits_and_radius(draw: st.DrawFn) -> tuple[int, int]:
    chosen = draw(bits)
    return chosen, draw(st.one_of(st.integers(0, min(chosen, 6)), st.integers(0, chosen)))


def fingerprints_of(width: int) -> st.SearchStrategy[int]:
    """Fingerprints of M bits: any, nearly empty and nearly full ones."""
    full = (1 << width) - 1
    few = st.lists(st.integers(0, width - 1), max_size=3).map(lambda b: sum({1 << n for n in b}))
    return st.one_of(st.integers(0, full), few, few.map(lambda value: value ^ full))


@st.composite
def flipped(draw: st.DrawFn, value: int, width: int, count: int) -> int:
    """Return a fingerprint at a Hamming distance of exactly ``count``."""
    places = draw(st.permutations(range(width)))[:count]
    return value ^ sum(1 << place for place in places)


texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
keys = st.sampled_from(KEYS)
pages = st.tuples(keys, texts)


def page_lists(
    *, repeats: bool, min_size: int = 0, max_size: int = 12
) -> st.SearchStrategy[list[tuple[str, str]]]:
    """Lists of (key, text); ``repeats``: a key may occur again."""
    return st.lists(
        pages, min_size=min_size, max_size=max_size, unique_by=None if repeats else lambda p: p[0]
    )


def cuts_of(size: int) -> st.SearchStrategy[list[int]]:
    """Places at which a list of ``size`` items is cut, ascending; parts may be empty."""
    return st.lists(st.integers(0, size), max_size=4).map(sorted)


def parts_of(items: list, cuts: list[int]) -> list[list]:  # type: ignore[type-arg]
    """Cut a list at these places."""
    return [items[start:end] for start, end in zip([0, *cuts], [*cuts, len(items)], strict=True)]


def article_file(some_pages: list[tuple[str, str]], line_end: str = "\n") -> bytes:
    """Write pages as an article file."""
    return b"".join(
        f"{key}{line_end}{text}{line_end}\f".encode("utf-8", "surrogateescape")
        for key, text in some_pages
    )


# Text of every kind, lone surrogates (bytes that are not UTF-8) among it.
any_text = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"]),
        st.sampled_from("aA1_- \n\u00ad\u0301\u200d\ufe0f한글字カナกข"),
    )
)
