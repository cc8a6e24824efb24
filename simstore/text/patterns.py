r"""Regular expressions given by callers, matched by RE2 in linear time.

Regular expressions run in RE2, which does not backtrack. They are written as for Python's ``re``
and mean the same: ``\w``, ``\d`` and ``\s`` are those of Unicode, ``$`` also stands before a last
line end. What cannot be had in linear time, or would mean something else, is refused: look-around,
back-references, atomic groups, possessive repeats, ``\b`` and ``\B``, ``\W`` and ``\S`` between
brackets, the flags ``a``, ``L``, ``u`` and ``x``, more than 1,000 repeats.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from fnmatch import translate
from typing import Any

from simstore.errors import InvalidParameter, printable
from simstore.text.decoding import encode

LONGEST_EXPRESSION = 1_000
MOST_GLOBS, LONGEST_GLOB = 1_000, 1_000
# Of the compiled form: steps a character takes where it has to try them all, and bytes.
_MOST_STEPS, _MOST_BYTES = 10_000, 8 << 20

_NUMBERS = r"\p{Nd}"
_WORDS = r"_\p{L}\p{N}"
_BLANKS = r"\t-\r\x1c-\x20\x{85}\p{Z}"
_OUTSIDE = {
    "d": _NUMBERS, "D": r"\P{Nd}", "w": f"[{_WORDS}]", "W": f"[^{_WORDS}]", "s": f"[{_BLANKS}]",
    "S": f"[^{_BLANKS}]", "A": r"\A", "Z": r"\z", "z": r"\z",
}  # fmt: skip
_INSIDE = {"d": _NUMBERS, "D": r"\P{Nd}", "w": _WORDS, "s": _BLANKS, "b": r"\x{8}"}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_DIGITS = {"x": 2, "u": 4, "U": 8}
_REMEDIES = {
    "b": r"name what stands there, as in (^|\W) and (\W|$)",
    "B": r"name what stands there, as in \w",
    "W": r"use it outside of brackets, or [^\w...]",
    "S": r"use it outside of brackets, or [^\s...]",
}
_OPEN_REPEAT = re.compile(r"\{,(\d*)\}")
_OCTAL = re.compile(r"0[0-7]{0,2}|[0-3][0-7]{2}")
_NAME = re.compile(r"\{([^{}]{1,100})\}")
_LINEWISE = re.compile(r"\(\?[a-zA-Z]*m")
# A byte that is not UTF-8, which stands in a text as half a character, is a character of its own.
_BYTES = {code: 0x10FF00 + (code & 0xFF) for code in range(0xDC80, 0xDD00)}


class Expression:
    """A regular expression to search texts with.

    Args:
        expression: As for Python's ``re``; see this module for what is not supported.
        what: What holds it, for messages, such as ``"policy 'prefer:x'"``.

    Raises:
        InvalidParameter: It is no expression, one that is not supported, or too large.
    """

    def __init__(self, expression: str, what: str) -> None:
        import re2

        encode(expression)
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _MOST_BYTES
        try:
            if len(expression) > LONGEST_EXPRESSION:
                raise ValueError(f"it is longer than {LONGEST_EXPRESSION:,} characters")
            translated = _Translation(expression).text()
            self._compiled: Any = re2.compile(_bytes_of(translated), options)
            steps = max(self._compiled.programsize, self._compiled.reverseprogramsize)
            if steps > _MOST_STEPS:
                raise ValueError(
                    r"it is too large; repeat less, or write [0-9A-Za-z_] in place of \w"
                )
        except (ValueError, re2.error) as error:
            raise InvalidParameter(f"{what}: no regular expression ({_reason(error)})") from None

    def is_in(self, text: str) -> bool:
        """Return whether a text has a match."""
        return self._compiled.search(_bytes_of(text)) is not None


class Globs:
    """Patterns of whole names with ``*``, ``?`` and ``[...]``, of which one byte is one.

    Args:
        patterns: The patterns.

    Raises:
        InvalidParameter: They are too many, or one is too long.
    """

    def __init__(self, patterns: tuple[str, ...]) -> None:
        if len(patterns) > MOST_GLOBS:
            raise InvalidParameter(f"{len(patterns):,} patterns: at most {MOST_GLOBS:,} are taken")
        for pattern in patterns:
            if len(pattern) > LONGEST_GLOB and any(mark in pattern for mark in "*?["):
                raise InvalidParameter(
                    f"a pattern of {len(pattern):,} characters, {printable(pattern[:40])!r}...: "
                    f"at most {LONGEST_GLOB:,} are taken"
                )
        # A star takes the first place where what follows it fits, and no other: nothing explodes.
        self._patterns = [re.compile(encode(translate(one)), re.DOTALL) for one in patterns]

    def fit(self, name: bytes) -> bool:
        """Return whether a name is one of them, or fits one."""
        return any(pattern.match(name) for pattern in self._patterns)


class _Translation:
    """An expression of Python's ``re`` as RE2 writes it."""

    def __init__(self, expression: str) -> None:
        self._given = expression
        self._place = 0
        self._ends_lines = _LINEWISE.search(expression) is not None

    def text(self) -> str:
        """Return it.

        Raises:
            ValueError: Something in it is not supported.
        """
        made: list[str] = []
        while self._place < len(self._given):
            made.append(self._next())
        return "".join(made)

    def _next(self) -> str:
        given, place = self._given, self._place
        mark = given[place]
        if mark == "\\":
            return self._escape(_OUTSIDE)
        if mark == "[":
            return self._brackets()
        self._place += 1
        if mark == "$" and not self._ends_lines:
            return r"(?:\n?\z)"
        if mark == "{" and (found := _OPEN_REPEAT.match(given, place)):
            self._place = found.end()
            return f"{{0,{found[1]}}}"
        return mark

    def _brackets(self) -> str:
        given = self._given
        made = ["["]
        self._place += 1
        if given.startswith("^", self._place):
            made.append("^")
            self._place += 1
        first = self._place
        while self._place < len(given):
            mark = given[self._place]
            if mark == "\\":
                made.append(self._escape(_INSIDE))
                continue
            self._place += 1
            if mark == "]" and self._place > first + 1:
                return "".join([*made, "]"])
            made.append(_literal(mark) if mark in "[]" else mark)
        raise ValueError("a bracket [ has no end")

    def _escape(self, known: dict[str, str]) -> str:
        """Return what stands for a backslash and what it escapes."""
        given = self._given
        start = self._place + 1
        mark = given[start : start + 1]
        self._place = start + 1
        if mark in known:
            return known[mark]
        if mark in _CONTROLS:
            return _literal(_CONTROLS[mark])
        if mark in _DIGITS:
            self._place += _DIGITS[mark]
            digits = given[start + 1 : self._place]
            if len(digits) < _DIGITS[mark] or not digits.isalnum() or not digits.isascii():
                raise ValueError(f"\\{mark} needs {_DIGITS[mark]} hexadecimal digits")
            if int(digits, 16) > sys.maxunicode:
                raise ValueError(f"\\{mark}{digits} is no character")
            return _literal(chr(int(digits, 16)))
        if found := _OCTAL.match(given, start):
            self._place = found.end()
            return _literal(chr(int(found[0], 8)))
        if mark == "N" and (found := _NAME.match(given, start + 1)):
            self._place = found.end()
            try:
                return _literal(unicodedata.lookup(found[1]))
            except KeyError:
                raise ValueError(f"no character is called {found[1]}") from None
        if not mark:
            raise ValueError("a backslash stands at the end")
        if mark.isascii() and mark.isalnum():
            remedy = f"; {_REMEDIES[mark]}" if mark in _REMEDIES else ""
            if mark.isdigit():
                remedy = ": it refers to a group"
            raise ValueError(f"\\{mark} is not supported here{remedy}")
        return _literal(mark)


def _literal(mark: str) -> str:
    return rf"\x{{{ord(mark.translate(_BYTES)):x}}}"


def _bytes_of(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Of other halves of characters there are none in a stored key.
        return text.translate(_BYTES).encode("utf-8", "replace")


def _reason(error: Exception) -> str:
    """Return what an error says, of RE2 by its own words."""
    said = error.args[0] if error.args else ""
    if not isinstance(said, bytes):
        return str(said)
    reason = said.decode("utf-8", "replace")
    if "perl operator" in reason or "bad repetition" in reason:
        reason += "; look-around, atomic groups and possessive repeats are not supported"
    return reason
