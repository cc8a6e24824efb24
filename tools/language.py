"""List words and sentence beginnings that docs/explanation/style.md rules out.

Usage: python tools/language.py FILE...

Comments and the first sentences of docstrings must not begin with Of, What, By, As, Who or Where.
The words of WORDS must not be in comments, docstrings, pages, and messages (string literals with a
blank in simstore/). Code in backticks, tags and template expressions are left out. The hits that
exist are counted per room in tools/ceilings.toml and may only fall (tools/ceilings.py).
"""

from __future__ import annotations

import argparse
import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from size import parsed

BEGINNING = re.compile(r"[\s#/*:!-]*\b(Of|What|By|As|Who|Where)\b")
WORDS = re.compile(
    r"(?<![\w.-])(?:told|tells|stands|standing|anew|aside|by\s+now|is\s+no\s+more(?!\s+than)"
    r"|has\s+gone|for\s+good(?!\s+(?:reason|measure)))(?![\w-])",
    re.IGNORECASE,
)
CODE = re.compile(
    r"```.*?```|``[^`]+``|`[^`\n]*`|</?[a-z][^<>]*>|\{[{%].*?[}%]\}", re.DOTALL | re.IGNORECASE
)
COMMENT = re.compile(r"/\*.*?\*/|(?<![:\w])//.*?$|(?<!\S)#\s.*?$", re.DOTALL | re.MULTILINE)
PAGES = {".md", ".html", ".json"}

Hit = tuple[int, str]


def words_in(text: str, line: int = 1) -> Iterator[Hit]:
    r"""Yield the words in a text that begins on a line, each with its line.

    >>> list(words_in("It is told\\nby `what stands` by\\nnow."))
    [(1, 'told'), (2, 'by now')]
    """
    text = CODE.sub(lambda found: "`" + "\n" * found[0].count("\n"), text)
    for found in WORDS.finditer(text):
        yield line + text.count("\n", 0, found.start()), " ".join(found[0].split())


def hits_in_prose(text: str, line: int) -> Iterator[Hit]:
    """Yield the hits in a comment or docstring."""
    if found := BEGINNING.match(text):
        yield line, f"begins with {found[1]}"
    yield from words_in(text, line)


def hits_in_python(source: str, has_messages: bool) -> Iterator[Hit]:
    """Yield the hits in a module; those in its string literals if they are messages."""
    tokens, nodes, docstrings = parsed(source)
    for token in tokens:
        if token.type == tokenize.COMMENT:
            yield from hits_in_prose(token.string, token.start[0])
    for docstring in docstrings:
        yield from hits_in_prose(str(docstring.value), docstring.lineno)
    for node in nodes if has_messages else ():
        match node:
            case ast.Constant(value=str() as text) if " " in text and node not in docstrings:
                yield from words_in(text, node.lineno)


def hits(path: Path, text: str) -> list[Hit]:
    """Return the hits in a file, named by its path in the repository, in the order of lines."""
    if path.suffix == ".py":
        found = hits_in_python(text, has_messages=path.parts[0] == "simstore")
    elif path.suffix in PAGES:
        found = words_in(text)
    else:
        found = (
            hit
            for comment in COMMENT.finditer(text)
            for hit in hits_in_prose(comment[0].strip(), text.count("\n", 0, comment.start()) + 1)
        )
    return sorted(found)


def main() -> None:
    """Print the hits of each file."""
    parser = argparse.ArgumentParser(description="List words that the style rules out.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="path from here")
    for path in parser.parse_args().files:
        for line, hit in hits(path, path.read_text(encoding="utf-8")):
            print(f"{path}:{line}: {hit}")


if __name__ == "__main__":
    main()
