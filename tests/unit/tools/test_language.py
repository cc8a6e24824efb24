"""The language checker finds words and beginnings in prose and leaves code alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT


@pytest.mark.parametrize(
    ("name", "text", "hits"),
    [
        ("a.py", "# Of two\nx = 1  # Where it is\n", "1: begins with Of, 2: begins with Where"),
        ("a.py", '"""What it does."""\n', "1: begins with What"),
        ("a.py", 'def f():\n    """Do.\n\n    It stands by\n    now."""\n', "4: by now, 4: stands"),
        ("a.py", "# Whose, Often, Byte, Asked.\n", ""),
        ("a.py", "# an outstanding, long-standing `told` and told_by and part.aside\n", ""),
        ("a.py", "# is no more than 4, for good reason\n", ""),
        ("simstore/a.py", 'x = f"{1} is told anew"\n', "1: anew, 1: told"),
        ("simstore/a.py", 'x = "told"\n', ""),
        ("tests/a.py", 'x = "is told anew"\n', ""),
        (
            "a.md",
            "Has gone.\n```\ntold\n```\n`aside` ``told`` for good",
            "1: Has gone, 5: for good",
        ),
        ("a.html", "<aside>\n{{ told }} put aside {% if anew %}</aside>\n", "2: aside"),
        ("a.js", "let told = 1; // By told\n", "1: begins with By, 1: told"),
        ("a.css", "/* As\n   told */\n.aside { top: 0 }\n", "1: begins with As, 2: told"),
        ("a.sh", "told=1\n# Who asks\n", "2: begins with Who"),
    ],
)
def test_hits_of_a_file(tmp_path: Path, name: str, text: str, hits: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, str(ROOT / "tools" / "language.py"), name]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, encoding="utf-8")
    assert done.stdout.replace(f"{name}:", "").splitlines() == hits.split(", ") * bool(hits)
