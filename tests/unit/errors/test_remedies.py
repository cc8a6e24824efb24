"""Messages name their remedies in the words of who reads them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import simstore
from simstore import Store
from simstore.errors import (
    DocumentNotFound,
    MalformedRecord,
    OutputExists,
    StoreNotFound,
)
from simstore.errors.remedies import SHELL, from_http, in_words, speak_to
from simstore.sources.fields import no_text

PACKAGE = Path(simstore.__file__).parent
# Where messages are written that Python programs see.
ROOMS = (
    "client", "errors", "fingerprint", "model", "search", "services", "sources", "storage",
    "store", "text", "known_filter.py", "outputs.py",
)  # fmt: skip
TOKEN = re.compile(r"`simstore [^`]*`|(?<![\w-])--[a-z][a-z-]+")


def words_of(path: Path) -> Iterator[str]:
    """Yield the commands and options in strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    told = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield from TOKEN.findall(node.value)


def all_words() -> set[str]:
    found: set[str] = set()
    for room in ROOMS:
        place = PACKAGE / room
        for path in [place] if place.suffix else place.rglob("*.py"):
            if path.name != "remedies.py":
                found.update(words_of(path))
    return found


@pytest.mark.slow
def test_every_command_and_option_of_a_message_has_words_in_python() -> None:
    words = all_words()
    assert len(words) > 50
    left = {word for word in words - SHELL if TOKEN.search(in_words(f"x; {word} y", "python"))}
    assert left == set()


def test_a_message_speaks_to_who_reads_it() -> None:
    for error, python, command, http in (
        (
            DocumentNotFound("a"),
            "`store.list()` shows",
            "`simstore list` shows",
            "`GET /v1/documents` shows",
        ),
        (
            OutputExists("a"),
            "replace it with replace=True",
            "replace it with --force",
            "replace it with --force",
        ),
        (
            StoreNotFound("a.db"),
            "`Store(path)` or `Store.create(path)`, or name another place",
            "`simstore init` or `simstore ingest SOURCE`, or name another with --db",
            "--db",
        ),
        # Why a record was rejected is stored for all.
        (
            MalformedRecord("a", 0, no_text(["text"], ["story"])),
            "(text_field names the text)",
            "(--text-field names the text)",
            "(text_field names the text)",
        ),
        # What is quoted is the caller's own.
        (
            DocumentNotFound("--force `simstore list`"),
            "key '--force `simstore list`'",
            "key '--force `simstore list`'",
            "key '--force `simstore list`'",
        ),
    ):
        assert python in str(error), error
        assert command in error.told("command line"), error
        assert http in error.told("http"), error
        before = speak_to("command line")
        try:
            assert command in str(error), error
        finally:
            speak_to(before)
        assert in_words(from_http(error.told("http")), "command line") == error.told(
            "command line"
        ), error


def test_a_store_speaks_python(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound) as missing:
        Store.open(tmp_path / "none.db")
    assert "--" not in str(missing.value)
