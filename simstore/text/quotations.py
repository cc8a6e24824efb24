"""Find quotations and the list of references in a text.

Spans are [start, end) in characters.
"""

from __future__ import annotations

import re

Span = tuple[int, int]

# A quotation ends in its own paragraph; an opening mark without a closing one is none.
_LONGEST = 4000
_PAIRS = (("“", "”"), ("„", "“”"), ("«", "»"), ("»", "«"), ("「", "」"), ("『", "』"), ("＂", "＂"))
_LETTER = "[0-9A-Za-z\u00c0-\u1fff]"
_QUOTED = re.compile(
    "|".join(
        rf"{opening}(?:(?!\n\s*\n)[^{opening}{closing}]){{1,{_LONGEST}}}[{closing}]"
        for opening, closing in _PAIRS
    )
    # A single mark within a word, or behind one that owns something, closes nothing.
    + rf"|‘(?:(?!\n\s*\n)(?:[^‘’]|’(?=\w))){{1,{_LONGEST}}}’(?!\w)"
    # Straight marks are the same on both sides: they stand next to what they enclose.
    # Han characters stand beside them without a blank.
    + rf'|(?<!{_LETTER})"(?=\S)(?:(?!\n\s*\n)[^"]){{1,{_LONGEST}}}(?<=\S)"(?!{_LETTER})'
)
# A stretch that begins and ends with ink, as long as it may be; cut at white space if possible.
_QUOTABLE = re.compile(
    rf"\S(?:(?:(?!\n\s*\n).){{0,{_LONGEST - 2}}}(?<=\S)(?=\s|$)|"
    rf"(?:(?!\n\s*\n).){{0,{_LONGEST - 2}}}(?<=\S))",
    re.DOTALL,
)
# Possessive: blanks that stand beside each other in a pattern would be shared out in every way.
_BLANK = "[ \\t\\r\\u00a0\\u3000]*+"
_NUMBER = rf"[#*]*{_BLANK}(?:(?:[\dIVX]+|[一二三四五六七八九十]+)[.)、． \t]{_BLANK})?"
_REFERENCES = re.compile(
    rf"^{_NUMBER}(?:references?|bibliography|works cited|literature cited|list of references|"
    rf"literatur(?:verzeichnis)?|bibliographie|参{_BLANK}考{_BLANK}文{_BLANK}献|"
    rf"參{_BLANK}考{_BLANK}文{_BLANK}獻|引用文[献獻]|主要参考文献|参考书目|參考書目)"
    rf"{_BLANK}[:：]?{_BLANK}[*_]*{_BLANK}$",
    re.IGNORECASE | re.MULTILINE,
)
_AFTERWARDS = re.compile(
    rf"^{_NUMBER}(?:appendix|appendices|acknowledge?ments?|about the authors?|"
    rf"附{_BLANK}[录錄]|致{_BLANK}[谢謝]|后记|作者简介)\b.{{0,40}}$",
    re.IGNORECASE | re.MULTILINE,
)


def quotations(text: str) -> list[Span]:
    """Return the quotations of a text with their marks, in order; none within another.

    Quotation marks of Western and Chinese texts count, title marks and apostrophes do not.
    """
    return [found.span() for found in _QUOTED.finditer(text)]


def in_marks(text: str) -> str:
    """Return a text in quotation marks, so that :func:`quotations` finds all of it.

    The marks are of a kind that is not in the text. What is too long for one quotation, and what
    has blank lines in it, is several.
    """
    if quotations(text.strip()) == [(0, len(text.strip()))]:
        return text
    *kinds, last = (("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"), ("＂", "＂"))
    opening, closing = next((one for one in kinds if not set(one) & set(text)), last)
    if opening == closing:
        text = text.replace(opening, '"')

    def marked(found: re.Match[str]) -> str:
        return f"{opening}{found[0]}{closing}"

    return _QUOTABLE.sub(marked, text)


def bibliography(text: str) -> Span | None:
    """Return the list of references with its heading; None without one.

    It begins at the last line that is such a heading, and ends before an appendix, the
    acknowledgements, or at the end of the text.
    """
    start = None
    for found in _REFERENCES.finditer(text):
        start = found.start()
        first = found.end()
    if start is None:
        return None
    behind = _AFTERWARDS.search(text, first)
    return start, len(text) if behind is None else behind.start()
