"""Count code lines per room.

Usage: python tools/size.py [FOLDER]... [--json]

A code line holds code: blank lines, comments and docstrings do not count. A room is a folder
directly below FOLDER (default: simstore); modules next to those folders are the room ".".
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import tokenize
from collections import Counter
from functools import lru_cache
from pathlib import Path

NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@lru_cache(maxsize=1)
def parsed(source: str) -> tuple[list[tokenize.TokenInfo], list[ast.AST], list[ast.Constant]]:
    """Return the tokens of a module, all nodes of its syntax tree, and its docstrings."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = []
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str()) as text), *_]:
                    docstrings.append(text)
    return tokens, nodes, docstrings


def code_lines(source: str) -> int:
    r"""Return the number of lines that hold code.

    >>> code_lines("# Why.\n\nfirst = (\n    1\n)\n")
    3
    """
    tokens, _, docstrings = parsed(source)
    code: set[int] = set()
    for token in tokens:
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    for text in docstrings:
        code.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(code)


def rooms(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Return the code lines and the files of each room of a folder."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py")):
        room, *rest = path.relative_to(folder).parts
        room = room if rest else "."
        lines[room] += code_lines(path.read_text(encoding="utf-8"))
        files[room] += 1
    return lines, files


def main() -> None:
    """Print the rooms of each folder, the largest first."""
    parser = argparse.ArgumentParser(description="Count code lines per room.")
    parser.add_argument("folders", nargs="*", type=Path, default=[Path("simstore")])
    parser.add_argument("--json", action="store_true", help="print a JSON object per folder")
    options = parser.parse_args()
    for folder in options.folders:
        lines, files = rooms(folder)
        if options.json:
            print(json.dumps({"total": lines.total(), "files": files.total(), "rooms": lines}))
            continue
        print(f"{folder}: {lines.total()} code lines in {files.total()} files")
        for room, count in lines.most_common():
            print(f"  {room:24s}{count:7d}{files[room]:5d}")


if __name__ == "__main__":
    main()
