r"""Regular expressions and patterns given by callers, matched without backtracking.

Regular expressions have the syntax of RE2, which matches in linear time: no look-around and no
back-references; ``\w``, ``\d``, ``\s`` and ``\b`` are those of ASCII.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Any

from simstore.errors import InvalidParameter, printable
from simstore.text.decoding import encode, well_formed

LONGEST_EXPRESSION = 1_000
MOST_GLOBS, LONGEST_GLOB = 1_000, 1_000
# Of the compiled form: steps a character takes where it has to try them all, and bytes.
_MOST_STEPS, _MOST_BYTES = 10_000, 8 << 20


class Expression:
    """A regular expression to search texts with.

    A byte that is not UTF-8 is U+FFFD, in the expression and in the text.

    Args:
        expression: As RE2 takes it.
        what: What holds it, for messages, such as ``"policy 'prefer:x'"``.

    Raises:
        InvalidParameter: It is no expression, or too large.
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
            self._compiled: Any = re2.compile(well_formed(expression).encode(), options)
            steps = max(self._compiled.programsize, self._compiled.reverseprogramsize)
            if steps > _MOST_STEPS:
                raise ValueError("it is too large; repeat less")
        except (ValueError, re2.error) as error:
            raise InvalidParameter(f"{what}: no regular expression ({_reason(error)})") from None

    def is_in(self, text: str) -> bool:
        """Return whether a text has a match."""
        return self._compiled.search(well_formed(text).encode()) is not None


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


def _reason(error: Exception) -> str:
    """Return in words why RE2 takes an expression for none."""
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
